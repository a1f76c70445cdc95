"""From a torch module to the layers of a bundle: numbers in float32, nothing about the machine they were made on."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_linear_bn_eval

from deeprotect.bundle.layers.activations import Activation
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Float32s, Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Scale
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.layers.summaries import PiecewiseLinear, Spectrum, Statistics
from deeprotect.bundle.network import Network
from deeprotect.signals.schema import Floats
from deeprotect.training import networks
from deeprotect.training.codebook import coder
from deeprotect.training.codebook.joint_classes import SURE, Codes
from deeprotect.training.minimisers.sparse import SparseCode

RELU, CLIP = Activation("relu"), Activation("clip")
FIXED: dict[type[nn.Module], tuple[Layer, ...]] = {
    nn.Identity: (),
    nn.ReLU: (RELU,),
    nn.Tanh: (Activation("tanh"),),
    nn.Sigmoid: (Activation("sigmoid"),),
    networks.Clip: (CLIP,),
    networks.Flatten: (Flatten(),),
}


def to_network(module: nn.Module, inputs: int) -> Network:
    """The same function as a network of layers."""
    return Network(tuple(layers_of(module)), inputs)


def layers_of(module: nn.Module) -> Iterator[Layer]:
    """A module outside the vocabulary is a mistake of ours: a KeyError."""
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from layers_of(part)
    elif type(module) in FIXED:
        yield from FIXED[type(module)]
    else:
        yield from _EXPORTS[type(module)](module)


def _linear(module: nn.Linear) -> Iterator[Layer]:
    yield Affine(_array(module.weight.T), _array(module.bias))


def _convolution(module: nn.Conv1d) -> Iterator[Layer]:
    kernel = _array(module.weight.permute(2, 1, 0))
    yield Convolution(kernel, _array(module.bias), stride=module.stride[0], padding=int(module.padding[0]))


def _standardise(module: networks.Standardise) -> Iterator[Layer]:
    yield Scale(_array(module.mean), _array(1 / module.scale), _array(0 * module.mean))


def _restore(module: networks.Restore) -> Iterator[Layer]:
    yield Scale(_array(0 * module.mean), _array(module.scale), _array(module.mean))
    yield CLIP


def _unflatten(module: networks.Unflatten) -> Iterator[Layer]:
    yield Unflatten(module.channels)


def _coder(module: coder.Coder) -> Iterator[Layer]:
    encoding = PiecewiseLinear(_array(module.encoding.low), _array(module.encoding.width))
    yield Unflatten(module.channels)
    yield Concatenation(
        (
            (*_convolutions(module.convolutions), Flatten()),
            (Spectrum(),),
            (Statistics(), Concatenation(((), (encoding,)))),
        )
    )
    yield from _linear(fuse_linear_bn_eval(module.first, module.normalise))
    yield RELU
    yield from _linear(module.last)


def _convolutions(modules: nn.ModuleList) -> Iterator[Layer]:
    """Those that keep the shape of a series add to it, as in `Coder`."""
    for each in modules:
        assert isinstance(each, nn.Conv1d)
        layers = (*_convolution(each), RELU)
        same = each.stride == (1,) and each.in_channels == each.out_channels
        yield from (Residual(layers),) if same else layers


def _codes(module: Codes) -> Iterator[Layer]:
    classes, table = tuple(module.counts), module.table.numpy().astype(np.int64)
    yield Argmax(classes, table) if module.abstain is None else Argmax(classes, table, SURE, module.abstain)


def _sparse(module: SparseCode) -> Iterator[Layer]:
    """Soft thresholding as relu: code = p − q and drive = u − v, all four of them never negative."""
    mean, analysis, carry = (values.double().numpy() for values in (module.mean, module.analysis, module.carry))
    features = len(carry)
    one, none = np.eye(features), np.zeros((features, features))
    bias = np.repeat([0.0, -module.threshold], 2 * features)
    start = Affine(_float32(analysis @ np.hstack([one, -one, one, -one])), _float32(bias))
    kept = np.vstack([np.hstack([one, none]), np.hstack([none, one]), np.zeros((2 * features, 2 * features))])
    moved = np.vstack([one, -one, carry, -carry])
    step = Affine(_float32(np.hstack([kept, moved, -moved])), start.bias)
    yield Scale(_float32(mean), np.ones(len(mean), np.float32), np.zeros(len(mean), np.float32))
    yield from (start, RELU, *(step, RELU) * (module.steps - 1))
    yield Affine(_float32(np.vstack([none, none, one, -one])), np.zeros(features, np.float32))


def _float32(values: Floats) -> Float32s:
    return np.ascontiguousarray(values, dtype=np.float32)


def _array(values: Tensor | None) -> Float32s:
    assert values is not None  # all our layers have a bias
    return np.ascontiguousarray(values.detach().float().numpy())


_EXPORTS: dict[type[nn.Module], Callable[[Any], Iterator[Layer]]] = {
    nn.Linear: _linear,
    nn.Conv1d: _convolution,
    networks.Standardise: _standardise,
    networks.Restore: _restore,
    networks.Unflatten: _unflatten,
    coder.Coder: _coder,
    Codes: _codes,
    SparseCode: _sparse,
}
