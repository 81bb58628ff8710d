"""Vision-language-action policies: what a robot sees and is told, to tokens that are its motion."""
