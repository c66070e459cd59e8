"""Kernels on arrays, and the registry that says what each metric is."""
