"""One module per change, in order of their numbers."""
