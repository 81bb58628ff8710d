"""AutoResearch: machine-learning tasks whose actions are programs and whose reward is their score."""
