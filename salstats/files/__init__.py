"""Files that are read and written: outputs under a temporary name and then renamed, and the map folder."""
