"""Linear mixed models on arrays: fitted by REML or ML, with their tests and intervals."""
