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
        return self._width(self._session.get_inputs())

    @property
    def outputs(self) -> int:
        return self._width(self._session.get_outputs())

    def _width(self, values: Any) -> int:
        shape: list[Any] = values[0].shape if len(values) == 1 else []
        if len(shape) != 2 or not isinstance(shape[1], int):
            raise BundleError(f"{self._name} is not a network from one row of numbers to another; train again")
        return int(shape[1])

    def __call__(self, batch: Floats) -> Floats:
        name = self._session.get_inputs()[0].name
        parts = [self._run(name, batch[start : start + BATCH]) for start in range(0, len(batch), BATCH)]
        empty = np.empty((0, self.outputs))
        return np.concatenate([empty, *parts]).astype(np.float64)

    def _run(self, name: str, batch: Floats) -> Any:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, and mechanisms take infinities
            rows = batch.astype(np.float32)
        try:
            return self._session.run(None, {name: rows})[0]
        except Exception:  # its message may quote the numbers it ran on
            raise BundleError(f"{self._name} fails on windows that it must accept; train again") from None
