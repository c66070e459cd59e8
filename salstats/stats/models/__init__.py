"""Formulas, families, covariance and fits of regression models."""
