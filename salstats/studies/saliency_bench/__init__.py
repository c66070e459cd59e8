"""Every table of Saliency-Bench (doi:10.48550/arXiv.2310.08537), and a check of the printed ones."""
