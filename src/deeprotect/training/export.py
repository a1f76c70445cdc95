"""From a torch module to the layers of a bundle: numbers in float32, nothing about the machine they were made on.

A module of ours says beside its class which layers it becomes.
"""

from collections.abc import Iterable, Iterator
from functools import singledispatch

import numpy as np
from torch import Tensor, nn

from deeprotect.bundle.layers.activations import Activation
from deeprotect.bundle.layers.layer import Float32s, Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Scale
from deeprotect.bundle.layers.structure import Flatten, Unflatten
from deeprotect.bundle.network import Network
from deeprotect.signals.schema import Floats
from deeprotect.training import networks

RELU, CLIP = Activation("relu"), Activation("clip")


def to_network(module: nn.Module, inputs: int) -> Network:
    """The same function as a network of layers."""
    return Network(tuple(layers_of(module)), inputs)


@singledispatch
def layers_of(module: nn.Module) -> Iterable[Layer]:
    """A module outside the vocabulary is a mistake of ours."""
    raise TypeError(f"{type(module).__name__} has no layers")


@layers_of.register
def _sequential(module: nn.Sequential) -> Iterator[Layer]:
    for part in module:
        yield from layers_of(part)


@layers_of.register
def _identity(_: nn.Identity) -> Iterable[Layer]:
    return ()


@layers_of.register
def _relu(_: nn.ReLU) -> Iterable[Layer]:
    return (RELU,)


@layers_of.register
def _tanh(_: nn.Tanh) -> Iterable[Layer]:
    return (Activation("tanh"),)


@layers_of.register
def _sigmoid(_: nn.Sigmoid) -> Iterable[Layer]:
    return (Activation("sigmoid"),)


@layers_of.register
def _clip(_: networks.Clip) -> Iterable[Layer]:
    return (CLIP,)


@layers_of.register
def _flatten(_: networks.FlattenSeries) -> Iterable[Layer]:
    return (Flatten(),)


@layers_of.register
def _unflatten(module: networks.UnflattenSeries) -> Iterable[Layer]:
    return (Unflatten(module.channels),)


@layers_of.register
def _linear(module: nn.Linear) -> Iterable[Layer]:
    return (Affine(array(module.weight.T), array(module.bias)),)


@layers_of.register
def _convolution(module: nn.Conv1d) -> Iterable[Layer]:
    kernel = array(module.weight.permute(2, 1, 0))
    return (Convolution(kernel, array(module.bias), stride=module.stride[0], padding=int(module.padding[0])),)


@layers_of.register
def _standardise(module: networks.Standardise) -> Iterable[Layer]:
    return (Scale(array(module.mean), array(1 / module.scale), array(0 * module.mean)),)


@layers_of.register
def _restore(module: networks.Restore) -> Iterable[Layer]:
    return Scale(array(0 * module.mean), array(module.scale), array(module.mean)), CLIP


def float32(values: Floats) -> Float32s:
    return np.ascontiguousarray(values, dtype=np.float32)


def array(values: Tensor | None) -> Float32s:
    assert values is not None  # all our layers have a bias
    return np.ascontiguousarray(values.detach().float().numpy())
