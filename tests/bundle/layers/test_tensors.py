import numpy as np
import pytest

from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError


def written(**arrays):
    tensors = TensorWriter()
    tensors.arrays.update(arrays)
    return tensors.to_bytes()


def test_an_array_that_two_layers_share_is_kept_once():
    tensors, shared = TensorWriter(), np.ones(3, np.float32)
    assert tensors.put(shared) == tensors.put(shared) != tensors.put(shared.copy())
    assert len(tensors.arrays) == 2


@pytest.mark.parametrize(
    "array",
    [np.array([1.0, np.nan], np.float32), np.array([np.inf], np.float32), np.ones(2), np.ones((2, 2), np.float32)],
    ids=["NaN", "infinity", "float64", "two axes"],
)
def test_weights_must_be_finite_float32_of_the_right_form(array):
    with pytest.raises(BundleError):
        TensorReader(written(a=array)).floats("a", axes=1)


def test_numbers_that_nobody_reads_are_refused():
    reader = TensorReader(written(a=np.ones(1, np.float32), payload=np.ones(9, np.float32)))
    reader.floats("a", axes=1)
    with pytest.raises(BundleError, match="no layer uses"):
        reader.check_all_used()


@pytest.mark.parametrize(
    "damage", [lambda c: c + b"\0" * 8, lambda c: c[:-1], lambda c: b"\xff" * 8 + c, lambda _: b""]
)
def test_bytes_beside_the_numbers_are_refused(damage):
    """So that no file is two things at once, depending on who reads it."""
    with pytest.raises(BundleError, match="not a file of tensors"):
        TensorReader(damage(written(a=np.ones(4, np.float32))))
