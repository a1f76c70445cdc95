"""A membership attack on bundles: who took part in training, told from the numbers that a bundle holds."""
