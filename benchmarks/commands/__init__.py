"""The commands of ``wmrl``, one module each."""
