"""A small causal language model, trained from a grammar of solution scripts, that ships with the package."""
