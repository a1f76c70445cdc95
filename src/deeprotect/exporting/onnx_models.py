"""The two graphs of a bundle: windows of one draw to a code, a released index to a window."""

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.bundle.episode_encoder import GRID, EpisodeEncoder
from deeprotect.exporting.onnx_graph import DOUBLE, FLOAT, INT64, Graph
from deeprotect.signals import Schema


def encoder_model(bundle: Bundle) -> bytes:
    """`windows` (window, time, channel) in units, all that one draw looks at, to `code` (1, coordinate)."""
    graph, encoder = Graph(), EpisodeEncoder.of(bundle.encoder, bundle.hold, None)
    rows = graph.cast(graph.reshape(_scaled(graph, bundle.schema), -1, bundle.schema.dim), FLOAT)
    evidence = graph.cast(graph.chain(encoder.evidence.layers, rows), DOUBLE)
    code = evidence if encoder.single else _pooled(graph, encoder, evidence)
    shape = [None, bundle.schema.window, len(bundle.schema.channels)]
    return graph.model(code, given=("windows", DOUBLE, shape), named=("code", DOUBLE, [None, bundle.encoder.outputs]))


def _scaled(graph: Graph, schema: Schema) -> str:
    """Clipped to the public range, and that to [0, 1]; what is no number stays none, and the encoder takes it."""
    low, high = graph.double(schema.low), graph.double(schema.high)
    clipped = graph.node("Min", graph.node("Max", "windows", low), high)
    kept = graph.node("Where", graph.node("IsNaN", "windows"), "windows", clipped)
    return graph.node("Div", graph.node("Sub", kept, low), graph.double(schema.high - schema.low))


def _pooled(graph: Graph, encoder: EpisodeEncoder, evidence: str) -> str:
    """The code of an episode: what its windows say, added up."""
    windows = graph.cast(graph.node("Shape", evidence, start=0, end=1), DOUBLE)
    if encoder.decision is not None:
        sums = graph.node("ReduceSum", evidence, graph.whole([0]))
        return graph.decide(encoder.decision, sums, graph.reshape(windows, 1, 1))
    on_grid = graph.node(
        "Mul", graph.node("Round", graph.node("Div", evidence, graph.double(GRID))), graph.double(GRID)
    )
    return graph.node("Div", graph.node("ReduceSum", on_grid, graph.whole([0])), windows)


def outputs_model(bundle: Bundle) -> bytes:
    """`index` (window,) to `windows` (window, time, channel) in units."""
    graph, count = Graph(), bundle.mechanism.public_outputs or 0
    windows = bundle.decode(np.arange(count, dtype=np.float64)[:, None])
    shape = [None, bundle.schema.window, len(bundle.schema.channels)]
    found = graph.node("Gather", graph.double(windows), "index")
    return graph.model(found, given=("index", INT64, [None]), named=("windows", DOUBLE, shape))
