"""Figures: frames in, plotnine objects out."""
