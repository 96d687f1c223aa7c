"""What the counts say: event models, attribute selection, scores and probabilities."""
