"""The main job: a small language model learns to write solutions, under every reward arm."""
