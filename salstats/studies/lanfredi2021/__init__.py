"""The results of lanfredi2021: its printed numbers from its workbooks, and its tables from raw recordings."""
