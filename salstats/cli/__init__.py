"""The command line: commands made from the public functions they call."""
