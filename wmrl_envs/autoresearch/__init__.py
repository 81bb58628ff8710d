"""AutoResearch: machine-learning tasks; actions are programs, the reward is their score."""
