"""A simulated cluster: what real grading and world-model grading cost as training grows."""
