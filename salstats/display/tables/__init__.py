"""Publication tables: frames in, great-tables objects out."""
