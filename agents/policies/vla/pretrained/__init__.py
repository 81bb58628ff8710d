"""Published robot policies behind this package's interfaces."""
