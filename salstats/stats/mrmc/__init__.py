"""Studies of several readers and cases: methods compared for readers and cases in general."""
