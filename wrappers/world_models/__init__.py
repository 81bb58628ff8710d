"""Filled in by the modules of this folder."""
