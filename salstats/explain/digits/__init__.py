"""The embedded study of real networks: handwritten digits on cluttered canvases, from seeds to scores.

Needs torch and scikit-learn; only making the study anew imports it. `salstats.datasets.load_digits_scores`
and the demo read what it made.
"""
