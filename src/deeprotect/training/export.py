"""From a torch module to ONNX bytes that say nothing about the machine they were made on."""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

OPSET = 18
IR_VERSION = 10
"""What onnxruntime 1.18, the oldest one supported, can read."""


def to_onnx(module: nn.Module, inputs: int, *, input_name: str, output_name: str) -> bytes:
    """A float32 graph (row, inputs) -> (row, outputs) with any number of rows; equal modules give equal bytes."""
    example = torch.zeros(2, inputs)
    rows = torch.export.Dim("rows", min=1)
    with _quiet():
        program = torch.onnx.export(
            copy.deepcopy(module).float().eval(),
            (example,),
            input_names=[input_name],
            output_names=[output_name],
            dynamic_shapes=({0: rows},),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    return _bare(program)


def _bare(program: Any) -> bytes:
    """The exporter notes stack traces, file names and its version: none of it belongs in a bundle."""
    model = program.model_proto
    model.ir_version = IR_VERSION
    for field in ("producer_name", "producer_version", "doc_string", "metadata_props"):
        model.ClearField(field)
    model.graph.name = "graph"
    for field in ("doc_string", "metadata_props", "value_info"):
        model.graph.ClearField(field)
    graph = model.graph
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    return bytes(model.SerializeToString(deterministic=True))


@contextmanager
def _quiet() -> Iterator[None]:
    """Third-party chatter: deprecations inside torch, and log lines about torchvision's absence."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
