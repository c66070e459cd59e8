"""From a study to frames: scores, features, thresholds, masks."""
