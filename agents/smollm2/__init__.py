"""SmolLM2-135M on AutoResearch: a real language model that a CPU can train, and its scaffold."""
