"""What ``wmrl demos`` does: demonstrations collected, successes counted, strips drawn."""
