"""How many cases and readers a study needs."""
