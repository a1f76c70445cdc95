"""What leaves the laboratory: manifest, ONNX encoder and decoder, certificate, model card."""

from deeprotect.bundle.bundle import Bundle

__all__ = ["Bundle"]
