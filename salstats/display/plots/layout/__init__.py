"""Layout of all figures: panels, rows, texts and pages in millimetres, marks, legends, the theme."""
