"""FeatureExtractors, one file each: a window in, few features out, and a window back."""
