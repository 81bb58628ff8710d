"""The main job, its tables and plots, and the command line ``wmrl``."""
