"""Repairs without inventing data: sort, drop, split, resample, convert."""
