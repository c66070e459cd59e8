"""Every table and figure of Blake et al. 2025 (MRxaI, CEUR-WS 4059, paper 9) from its masks or scores."""
