"""Bundles, which training hands to release: manifest, tensors, networks as layers, certificate, model card."""

from deeprotect.bundle.bundle import Bundle

__all__ = ["Bundle"]
