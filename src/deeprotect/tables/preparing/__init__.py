"""Mending what can be mended honestly: sort, drop, split, resample, convert; nothing is filled."""
