"""What figures share: panels, rows, texts and pages in millimetres, marks, legends, the theme."""
