"""The reward path: anchor sampling, world-model rewards and their correction."""
