"""From counts of tokens to probabilities: event models, attribute selection, the score, its calibration."""
