"""Numbers that were chosen to break what reads them: in a manifest, in layers, in a channel's tables."""

import json
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from safetensors.numpy import save

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.layers.layer import Bounds
from deeprotect.bundle.layers.products import Convolution, Product
from deeprotect.bundle.layers.tensors import LONGEST_HEADER, TENSORS, TensorReader
from deeprotect.bundle.manifest import DEEPEST_NESTING, digest
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError
from deeprotect.policy import Policy
from deeprotect.privacy.size_limits import MOST_CODES

HUGE = 10**400


def refused(path):
    """By both who read bundles, with one short line; what is said."""
    with pytest.raises(BundleError) as error:
        Bundle.load(path)
    assert len(str(error.value)) < 600
    assert str(error.value).isprintable()
    with suppress(BundleError):
        assert not verify(path).holds
    return str(error.value)


def rewritten(bundle, folder, old, new):
    """The manifest's text changed where JSON itself is the trick, its digest mended."""
    bundle.save(folder)
    (folder / "card.html").unlink()
    path = folder / "manifest.json"
    text = path.read_text().replace(old, new, 1)
    body = json.loads(text)
    stated = body.pop("digest")
    path.write_text(text.replace(stated, digest(body)))
    return folder


@pytest.mark.parametrize("number", ["1e400", "-1e400", str(HUGE), f"-{HUGE}"])
@pytest.mark.parametrize("place", ['"rows": ', '"epsilon": ', '"feature_extractor": {"unknown": ', '"noise_scales": ['])
def test_a_number_that_no_float_holds_is_refused_wherever_it_stands(made, tmp_path, number, place):
    opened = place.split("{", maxsplit=1)[0] + "{" if "{" in place else None
    old, new = (opened, f"{place}{number}, ") if opened else (place, f"{place}{number}, ")
    if place in ('"rows": ', '"epsilon": '):
        new = f'{place}{number}, "beside": '
    assert "too large to compute with" in refused(rewritten(made("laplace"), tmp_path / "forged", old, new))


@pytest.mark.parametrize("value", [-1, "640", 640.5, 2**60])
def test_a_record_of_training_counts_in_whole_numbers(made, forge, value):
    assert "training.rows" in refused(forge(made("laplace"), training__rows=value))


@pytest.mark.parametrize("depth", [DEEPEST_NESTING, 200, 900])
@pytest.mark.parametrize("ends", [("[", "]"), ('{"a": ', "}")], ids=["lists", "objects"])
def test_nesting_is_bounded_before_anything_walks_it(made, tmp_path, depth, ends):
    nested = ends[0] * depth + "1" + ends[1] * depth
    path = rewritten(made("laplace"), tmp_path / "forged", '"certificate": {', f'"certificate": {{"x": {nested}, ')
    assert "nested deeper" in refused(path)


def test_a_long_row_of_digits_is_no_name(made, forge):
    assert "longer than" in refused(forge(made("laplace"), created="1" * 5000))


def test_two_channels_of_one_name_are_refused(made, forge):
    channels = made("laplace").manifest.policy["stream"]["channels"]
    assert "two channels of one name" in refused(
        forge(made("laplace"), policy__stream__channels=[*channels, channels[0]])
    )


@pytest.mark.parametrize("classes", [[HUGE], [2**62, 2**62], [0], [-1], []], ids=["huge", "product", "0", "-1", "none"])
def test_classes_of_a_decision_must_be_those_of_its_scores(made, forge, classes):
    refused(forge(made("channel ldp"), encoder=[*made("channel ldp").manifest.encoder[:-1], argmax(made, classes)]))


def argmax(made, classes):
    return made("channel ldp").manifest.encoder[-1] | {"classes": classes}


@pytest.mark.parametrize("stride", [0, -1, 5, 2**40, 2**62, HUGE])
def test_a_stride_beyond_the_series_is_refused_when_shapes_are_looked_at(stride):
    kernel = Product(np.ones((2, 2, 3), np.int32), np.ones(3, np.int32), 0, np.ones(3, np.int32))
    with pytest.raises(BundleError, match="does not fit"):
        Convolution(kernel, stride, 0).prepare(Bounds.between(0, 1, (4, 2)))


@pytest.mark.parametrize("resolution", [5e-324, 1e-310, 1e-201, 2.0**-51])
def test_a_resolution_below_what_numbers_hold_is_refused(made, forge, resolution):
    path = forge(made("laplace"), policy__stream__channels__0__resolution=resolution)
    assert "finer than numbers in its range" in refused(path)


@pytest.mark.parametrize("rate", [5e-324, 1e-7, 1e10])
def test_a_rate_is_one_of_a_sensor(made, forge, rate):
    assert "not a plausible sampling rate" in refused(forge(made("laplace"), policy__stream__rate_hz=rate))


def test_whatever_is_not_refused_can_be_told(made, forge):
    """The widest ranges and rates that a policy may have."""
    changed = {"policy__stream__rate_hz": 1e-6, "policy__stream__channels__0__range": [0.0, 5e-324]}
    bundle = Bundle.load(forge(made("laplace"), **changed))
    assert "per window" in card(bundle)
    scaled = np.array([0.0, 0.5, 1.0, np.inf])[:, None] * np.ones(2)
    assert np.isfinite(bundle.schema.unscale(scaled)).all()


def test_a_resolution_never_makes_what_is_no_number():
    for low, high, resolution in [(-1e300, 1e300, 1e285), (0.0, 1e-190, 1e-199), (-4.0, 4.0, 2.0**-49)]:
        channel = {"unit": "g", "range": [low, high], "resolution": resolution}
        policy = Policy.of(rate_hz=10, window=2, channels={"x": channel}, useful=["a"], epsilon=1.0)
        released = policy.schema().unscale(np.linspace(0, 1, 50)[:, None])
        assert ((low <= released) & (released <= high)).all()


QUANTISE = {"op": "quantise", "shift": "q", "shift_scale": 0, "factor": "q", "factor_scale": 0, "low": 0, "high": 9}
ROUND = {"op": "round", "low": 0, "high": 9}


def affine(weights, bias):
    return {"op": "affine", "weights": weights, "bias": bias, "bias_shift": 0, "shift": bias}


WIDE = [affine("w", "b"), ROUND]


@pytest.mark.long
def test_few_bytes_do_not_ask_for_hours(bundle, forge):
    """One large tensor, multiplied with again and again."""
    tensors = {
        "n": np.ones((8, 4000), np.int8),
        "w": np.ones((4000, 4000), np.int8),
        "b": np.ones(4000, np.int8),
        "q": np.ones((1, 8), np.int8),
    }
    first, last = [QUANTISE, affine("n", "b"), ROUND], affine("m", "c")
    tensors |= {"m": np.ones((4000, 8), np.int8), "c": np.ones(8, np.int8)}
    forged = {"files": {TENSORS: save(tensors)}, "encoder": []}
    nested = [{"op": "residual", "layers": WIDE * 5}, ROUND] * 5
    for inner, says in [(WIDE, None), (WIDE * 50, "multiplications"), (nested * 4, "multiplications")]:
        path = forge(bundle, **forged, decoder=[*first, *inner, last])
        Bundle.load(path) if says is None else refused(path).index(says)


def test_a_tensor_that_many_layers_name_is_in_memory_once():
    tensors = TensorReader(save({"w": np.ones((4, 4), np.int8)}))
    assert tensors.integers("w", axes=2) is tensors.integers("w", axes=2)
    with pytest.raises(ValueError, match="read-only"):
        tensors.integers("w", axes=2)[0, 0] = 2


MANY = json.dumps({f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(20_000)})


def test_a_list_of_more_tensors_than_a_bundle_has_is_not_read():
    assert len(MANY) > LONGEST_HEADER
    with pytest.raises(BundleError, match="lists more tensors"):
        TensorReader(len(MANY).to_bytes(8, "little") + MANY.encode())


CHECK = """
import resource, sys
from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.ratios import WHOLE, ldp_ratio
codes, outputs = map(int, sys.argv[1:])
weights = tuple((WHOLE, *[0] * (outputs - 1)) for _ in range(codes))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(ldp_ratio(weights))
except PolicyError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.parametrize("sizes", [(256, 512), (MOST_CODES, MOST_CODES)])
def test_checking_a_channel_takes_little_memory(sizes):
    done = subprocess.run([sys.executable, "-c", CHECK, *map(str, sizes)], capture_output=True, text=True, check=True)
    found, megabytes = done.stdout.splitlines()
    assert found == "1"
    assert int(megabytes) < 200
