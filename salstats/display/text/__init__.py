"""Words and numbers: what columns, statistics and terms are called in print."""
