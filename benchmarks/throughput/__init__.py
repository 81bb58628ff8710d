"""Speed, side by side: each comparison is one module and one ``wmrl bench`` command."""
