"""Policies over token sequences."""
