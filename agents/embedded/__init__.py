"""The small language model that ships with the package, and how it is trained."""
