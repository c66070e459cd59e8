"""Agreement of readers, methods or trainings: coefficients on arrays, their intervals, one frame."""
