"""What the coverage atlas measures: studies that are drawn, and the calls that analyse them."""
