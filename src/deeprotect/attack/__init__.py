"""Apps and attackers: models, predictions, confidence intervals, and splits."""
