"""Numbers of cases and readers that a planned study needs."""
