import numpy as np
import pytest
from safetensors.numpy import save

from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError


def written(**arrays):
    tensors = TensorWriter()
    tensors.arrays.update(arrays)
    return tensors.to_bytes()


def test_an_array_that_two_layers_share_is_kept_once():
    tensors, shared = TensorWriter(), np.ones(3, np.int32)
    assert tensors.put(shared) == tensors.put(shared) != tensors.put(shared.copy())
    assert len(tensors.arrays) == 2


@pytest.mark.parametrize(
    "array",
    [np.ones(2, np.float32), np.ones(2, np.int64), np.ones((2, 2), np.int8), np.ones(0, np.int8)],
    ids=["float32", "int64", "two axes", "empty"],
)
def test_weights_must_be_whole_numbers_of_the_right_form(array):
    with pytest.raises(BundleError):
        TensorReader(save({"a": array})).integers("a")


@pytest.mark.parametrize("ends", [(-128, 127), (-129, 0), (0, 32_768), (-32_768, 32_767), (0, 65_535)])
def test_numbers_lie_in_as_few_octets_as_hold_them_and_come_back(ends):
    array = np.array(ends, np.int32)
    found = TensorReader(written(a=array)).integers("a")
    assert found.tolist() == list(ends)
    assert len(written(a=array)) < len(save({"a": array.astype(np.int32)}))


def test_numbers_that_nobody_reads_are_refused():
    reader = TensorReader(written(a=np.ones(1, np.int32), payload=np.ones(9, np.int32)))
    reader.integers("a")
    with pytest.raises(BundleError, match="no layer uses"):
        reader.check_all_used()


@pytest.mark.parametrize(
    "damage", [lambda c: c + b"\0" * 8, lambda c: c[:-1], lambda c: b"\xff" * 8 + c, lambda _: b""]
)
def test_bytes_beside_the_numbers_are_refused(damage):
    """So that no file is two things at once, depending on who reads it."""
    with pytest.raises(BundleError, match="not a file of tensors"):
        TensorReader(damage(written(a=np.ones(4, np.int32))))
