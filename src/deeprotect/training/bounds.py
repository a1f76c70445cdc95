"""What is certain about a learnt encoder: its layers as the privacy room knows them."""

from collections.abc import Iterator

import numpy as np
from torch import Tensor, nn

from deeprotect.privacy.network import Activation, Affine, Conv1d, Flatten, Fold, Layer
from deeprotect.signals.schema import Floats
from deeprotect.training.networks import Standardise, Unflatten

ACTIVATIONS = {nn.Sigmoid: "sigmoid", nn.Tanh: "tanh", nn.ReLU: "relu", nn.GELU: "gelu", nn.Identity: "identity"}


def layers_of(module: nn.Module) -> list[Layer] | None:
    """The module as a list of layers with known bounds; None when it holds a step without one."""
    try:
        return list(_layers(module))
    except NotImplementedError:
        return None


def weights_of(layers: list[Layer] | None) -> Floats | None:
    """The matrix of an encoder that is one affine map."""
    if layers and len(layers) == 1 and isinstance(layers[0], Affine):
        return layers[0].weights
    return None


def _layers(module: nn.Module) -> Iterator[Layer]:
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from _layers(part)
    elif type(module) in ACTIVATIONS:
        yield Activation(ACTIVATIONS[type(module)])  # type: ignore[arg-type]
    else:
        yield _layer(module)


def _layer(module: nn.Module) -> Layer:
    match module:
        case nn.Linear():
            return Affine(_array(module.weight), _array(module.bias))
        case nn.Conv1d() if module.dilation == (1,) and module.groups == 1:
            kernel, bias = _array(module.weight), _array(module.bias)
            return Conv1d(kernel, bias, stride=module.stride[0], padding=int(module.padding[0]))
        case Standardise():
            scale = _array(module.scale)
            return Affine(np.diag(1 / scale), -_array(module.mean) / scale)
        case Unflatten():
            return Fold(module.channels)
        case nn.Flatten():
            return Flatten()
    raise NotImplementedError


def _array(values: Tensor | None) -> Floats:
    if values is None:
        raise NotImplementedError
    return values.detach().double().numpy()
