"""Evidence for what the method claims, one ``wmrl bench`` command each."""
