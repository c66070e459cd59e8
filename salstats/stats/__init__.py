"""Statistics on frames: tidy frame in, tidy frame out; no images."""
