"""One module per real-world file format; each returns a frame or a study."""
