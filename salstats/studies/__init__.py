"""The published studies: what each scores, shows and printed."""
