"""Masks, maps and shapes: arrays in, arrays out."""
