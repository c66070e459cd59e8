"""Engine below the statistics: groups, pairs and resampled units, draws, estimands, intervals and tests."""
