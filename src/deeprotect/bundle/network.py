"""The two networks of a bundle, run by onnxruntime on float32 batches."""

from functools import cached_property
from typing import Any

import numpy as np

from deeprotect.errors import BundleError
from deeprotect.signals.schema import Floats

BATCH = 8_192  # windows at a time, so that memory does not grow with the table


class Network:
    """An ONNX graph from (n, inputs) to (n, outputs)."""

    def __init__(self, content: bytes, *, name: str) -> None:
        self._content = content
        self._name = name

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(self._content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises several private types for one thing: not a graph
            raise BundleError(f"{self._name} is not an ONNX network: {str(error).splitlines()[0]}") from None

    @property
    def inputs(self) -> int:
        return int(self._session.get_inputs()[0].shape[1])

    @property
    def outputs(self) -> int:
        return int(self._session.get_outputs()[0].shape[1])

    def __call__(self, batch: Floats) -> Floats:
        name = self._session.get_inputs()[0].name
        parts = [
            self._session.run(None, {name: batch[start : start + BATCH].astype(np.float32)})[0]
            for start in range(0, len(batch), BATCH)
        ]
        empty = np.empty((0, self.outputs))
        return np.concatenate([empty, *parts]).astype(np.float64)
