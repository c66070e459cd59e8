"""How far readers, methods or trainings agree: coefficients on arrays, their intervals, one frame."""
