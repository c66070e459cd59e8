"""What statistics share: who is grouped, paired, resampled; draws, estimands, intervals, tests."""
