"""The embedded digits study: handwritten digits on cluttered canvases, from seeds to scores."""
