"""The apps of the mock phone, one module each (two where the view is long)."""
