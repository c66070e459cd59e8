"""The report: one folder with every table, figure and frame, and one page."""
