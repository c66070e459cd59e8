"""What we write and lock: outputs under a temporary name and then renamed, and the map folder."""
