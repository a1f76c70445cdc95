"""The encoder of a bundle, in plain numpy, against torch and ONNX Runtime on the same weights and windows."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from deeprotect.signals.schema import Floats
from studies.benchmark.made_up import Shape, coder
from studies.benchmark.ratio import REPEATS, Ratio, Work, compare

WINDOWS = 4096
BLOCK = 128
"""Windows at a time for the peers, too: more leave the cache, and would flatter us."""
SINGLE = 64


def encoders(*, windows: int = WINDOWS, repeats: int = REPEATS) -> list[Ratio]:
    """Windows in blocks and one at a time; peers that are not installed are left out."""
    from deeprotect.training.export import COARSE, to_network
    from deeprotect.training.trainer import single_thread

    rows, module = Shape().windows(windows).reshape(windows, -1), coder(Shape())
    ours = to_network(module, rows, COARSE)
    ratios = []
    with single_thread():
        for peer, theirs in _peers(module, rows):
            for how, size, some in (("blocks", BLOCK, rows), ("one at a time", 1, rows[:SINGLE])):
                faster = compare(_in_blocks(ours, some, size), _in_blocks(theirs, some, size), repeats=repeats)
                ratios.append(Ratio(f"encoder in numpy, {how}", peer, "throughput", faster))
    return ratios


def _in_blocks(network: Any, rows: Floats, size: int) -> Work:
    def work() -> int:
        for start in range(0, len(rows), size):
            network(rows[start : start + size])
        return len(rows)

    return work


def _peers(module: Any, rows: Floats) -> Iterator[tuple[str, Any]]:
    import torch

    def in_torch(some: Floats) -> Any:
        with torch.inference_mode():
            return module(torch.tensor(some, dtype=torch.float32)).numpy()

    yield "torch", in_torch
    # It looks up a telemetry host when it is imported, unless told not to.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
        import onnxscript  # noqa: F401
    except ModuleNotFoundError:
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(_onnx(module, rows.shape[1]), options, providers=["CPUExecutionProvider"])
    yield (
        "ONNX Runtime",
        lambda some: session.run(None, {"window": some.astype(np.float32)})[0],
    )


def _onnx(module: Any, values: int) -> bytes:
    import torch

    given, rows = (torch.zeros(2, values),), torch.export.Dim("rows", min=1)
    with _quiet():
        program: Any = torch.onnx.export(
            module, given, input_names=["window"], dynamic_shapes=({0: rows},), dynamo=True, verbose=False
        )
    return bytes(program.model_proto.SerializeToString())


@contextmanager
def _quiet() -> Iterator[None]:
    """Third-party chatter: deprecations inside torch, and log lines about packages that are absent."""
    import logging

    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
