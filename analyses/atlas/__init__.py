"""Scenarios of the coverage atlas: simulated studies, and the calls that analyse them."""
