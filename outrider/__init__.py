"""The command line and the composition of the parts; no logic of its own."""
