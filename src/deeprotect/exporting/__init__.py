"""Export of bundles for browsers, devices and ONNX."""
