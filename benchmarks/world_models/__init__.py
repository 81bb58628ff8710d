"""How good world models are, and what they cost."""
