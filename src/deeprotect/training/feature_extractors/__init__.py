"""FeatureExtractors, one per file: they reduce a window to a few features and reconstruct it."""
