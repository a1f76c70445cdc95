"""Isolation finds any influence of one window on another, at any two places, in any step, and none where none is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mutations import mixing, protectors
from tests.networks import GRID, product, quantise, rectified

from deeprotect.auditing.isolation import STREAMS, isolation, pool, separating
from deeprotect.auditing.pairs import candidates
from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.products import Affine
from deeprotect.bundle.layers.rounding import Clip, Round, Scale
from deeprotect.bundle.network import MOST_ROWS, Network
from deeprotect.privacy.mechanisms import laplace


def test_streams_go_beyond_blocks_of_networks_of_this_version_and_the_last():
    sizes = [size for stream in STREAMS for size in stream]
    assert max(sizes) > 8_192 + 1
    assert min(sizes) == 1
    assert any(MOST_ROWS + 1 < size <= 4 * MOST_ROWS for size in sizes)


@given(st.integers(2, 300))
def test_of_any_two_places_some_set_has_the_first_and_not_the_second(count):
    sets = np.array(list(separating(count)))
    first_only = (sets[:, :, None] & ~sets[:, None, :]).any(axis=0)
    assert (first_only | np.eye(count, dtype=bool)).all()


def deep(dim=3) -> Bundle:
    """Networks of several layers, so that rows really go through products in blocks."""
    rng = np.random.default_rng(0)
    layers = [Affine(product(rng.normal(size=(dim, dim)))) for _ in range(3)]
    network = Network((quantise(dim), layers[0], rectified(), layers[1], rectified(), layers[2], Scale(GRID)), dim)
    return protectors.bundle(laplace.baseline(dim, 2.0), dim, encoder=network, decoder=network)


def tilted() -> Bundle:
    """A channel whose codes meet in no corner of the cube, as those of a trained one."""
    codes = protectors.CODES
    book = protectors.code_book(codes)
    scores = Affine(product(np.random.default_rng(1).normal(size=(codes, codes))))
    rounded, decision = book["encoder"].layers
    encoder = Network((rounded, scores, Round(Clip(-(1 << 20), 1 << 20)), decision), codes)
    return protectors.bundle(protectors.randomised_response(), codes, encoder=encoder, decoder=book["decoder"])


@pytest.mark.long
@pytest.mark.parametrize("make", [protectors.on_samples, protectors.coded, tilted, deep])
def test_sound_protectors_keep_windows_apart(make):
    bundle = make()
    found = isolation(bundle, candidates(bundle))
    assert found.holds
    assert found.batches > 100
    assert str(found) == f"windows are released independently of each other: checked on {found.batches} batches"


def _found(streams=((9,), (4, 5)), make=protectors.on_samples):
    bundle = make()
    return isolation(bundle, candidates(bundle), streams=streams)


@pytest.mark.long
@settings(max_examples=25)
@given(st.integers(2, 40), st.data())
def test_one_window_that_reaches_one_other_is_found_wherever_they_are(count, data):
    source, target = data.draw(st.permutations(range(count)))[:2]
    encode = Bundle.encode

    def leaking(self, private):
        code = encode(self, private).copy()
        if len(code) == count:
            code[target] += 1e-3 * code[source]
        return code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bundle, "encode", leaking)
        found = _found(streams=((count,),))
    assert not found.holds
    assert found.touched[0].startswith("encode")


@pytest.mark.long
@pytest.mark.parametrize("sizes", [sizes for sizes in STREAMS if max(sizes) > 1], ids=str)
def test_a_code_given_to_all_windows_is_found_in_a_stream_of_any_size_by_itself(monkeypatch, sizes):
    mixing.first_code_for_all(monkeypatch)
    assert not _found(streams=(sizes,), make=protectors.coded).holds


def test_windows_change_to_ones_of_another_code():
    bundle, rng = protectors.coded(), np.random.default_rng(0)
    known = pool(bundle, candidates(bundle), rng)
    chosen = rng.integers(len(known.windows), size=500)
    assert (known.codes[known.of_another_code(chosen, rng)] != known.codes[chosen]).all()


def _mixed(values):
    return values + 1e-9 * values.mean(axis=0)


@pytest.mark.long
def test_the_step_that_mixes_is_named(monkeypatch):
    from deeprotect.release import engine
    from deeprotect.signals.schema import Schema

    steps = [
        ("scale", Schema, "scale", _mixed),
        ("encode", Bundle, "encode", _mixed),
        ("privatise", laplace.GridLaplace, "privatise", _mixed),
        ("decode", Bundle, "decode", _mixed),
        ("decode", Schema, "unscale", _mixed),
        ("release", engine, "one", lambda answer: replace(answer, windows=_mixed(answer.windows))),
    ]
    for step, owner, name, mixed in steps:
        with monkeypatch.context() as patch:
            sound = getattr(owner, name)
            patch.setattr(owner, name, lambda *args, sound=sound, mixed=mixed, **more: mixed(sound(*args, **more)))
            assert _found().touched[0].startswith(f"{step}: of")


@pytest.mark.long
@pytest.mark.parametrize("statistic", [np.max, np.min, np.median, np.ptp])
def test_statistics_of_a_batch_are_found_though_most_changes_do_not_move_them(monkeypatch, statistic):
    encode = Bundle.encode
    monkeypatch.setattr(Bundle, "encode", lambda self, private: encode(self, private) + 0.1 * statistic(private))
    assert not _found(streams=((65,),)).holds


@pytest.mark.long
@pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-5])
def test_influence_too_weak_to_turn_most_codes_is_found_at_the_edge_between_two(monkeypatch, share):
    encode = Bundle.encode
    monkeypatch.setattr(
        Bundle, "encode", lambda self, private: encode(self, private + share * np.roll(private, 1, axis=0))
    )
    assert _found(make=tilted, streams=((9,), (65,))).touched[0].startswith("encode")


def test_an_encoder_that_gives_windows_by_themselves_one_code_is_found(monkeypatch):
    encode = Bundle.encode
    monkeypatch.setattr(Bundle, "encode", lambda self, private: encode(self, private - private.mean(axis=0)))
    assert _found().touched[0].startswith("encode")


@pytest.mark.parametrize("tell", [mixing.places_told, mixing.sizes_told])
def test_an_encoder_that_tells_its_place_or_the_size_of_its_block_is_found_though_no_window_moves_another(
    monkeypatch, tell
):
    tell(monkeypatch)
    found = _found()
    assert found.touched[0].startswith("encode: of 521 windows, ")
    assert "came out differently in blocks of" in found.touched[0]


@pytest.mark.long
@pytest.mark.parametrize("block", [2, 3, 7, 64, 500])
def test_a_last_bit_that_turns_in_blocks_of_one_size_only_is_found(monkeypatch, block):
    encode = Bundle.encode

    def turned(self, private):
        code = encode(self, private)
        return np.nextafter(code, 9.0) if len(code) == block else code

    monkeypatch.setattr(Bundle, "encode", turned)
    assert f"in blocks of {block} than one by one" in _found().touched[0]


def test_a_mechanism_that_adds_up_in_the_order_of_its_block_is_found(monkeypatch):
    privatise = laplace.GridLaplace.privatise

    def told(self, code, *, entropy):
        return privatise(self, code, entropy=entropy) * (1 + 1e-15 * (np.arange(len(code)) == len(code) - 1)[:, None])

    monkeypatch.setattr(laplace.GridLaplace, "privatise", told)
    assert _found().touched[0].startswith("privatise")


def test_equal_windows_that_share_their_noise_are_found(monkeypatch):
    sound = laplace.GridLaplace.privatise

    def remembered(self, code, *, entropy):
        unique, where = np.unique(code, axis=0, return_inverse=True)
        return sound(self, unique, entropy=entropy)[where.ravel()]

    monkeypatch.setattr(laplace.GridLaplace, "privatise", remembered)
    assert _found().touched[0].startswith("privatise")


def test_an_encoder_with_a_memory_is_found_even_where_windows_come_one_by_one(monkeypatch):
    encode, last = Bundle.encode, {}

    def remembering(self, private):
        code = encode(self, private)
        mixed = code + 0.5 * last.get("code", 0.0)
        last["code"] = code[-1:]
        return mixed

    monkeypatch.setattr(Bundle, "encode", remembering)
    assert not _found(streams=((1, 1, 1),)).holds


def test_what_comes_out_differently_the_second_time_is_said_so(monkeypatch):
    rng, decode = np.random.default_rng(0), Bundle.decode
    monkeypatch.setattr(Bundle, "decode", lambda self, noisy: decode(self, noisy) + rng.random() * 1e-3)
    assert not _found().holds


def test_a_pipe_that_joins_released_windows_is_found_at_release(monkeypatch):
    from deeprotect.release import engine

    sound = engine.one

    def joined(answers):
        released = sound(answers)
        return replace(released, windows=released.windows + 0.1 * np.roll(released.windows, 1, axis=0))

    monkeypatch.setattr(engine, "one", joined)
    assert _found().touched[0].startswith("release")


def test_the_finding_says_how_many_windows_changed_and_goes_to_json(monkeypatch):
    encode = Bundle.encode
    monkeypatch.setattr(Bundle, "encode", lambda self, private: encode(self, private[:1]).repeat(len(private), axis=0))
    found = _found(streams=((9,),), make=protectors.coded)
    assert found.touched == ("encode: of 9 windows, number 1 changed, and 8 of the others with it",)
    assert found.to_json() == {"batches": found.batches, "touched": list(found.touched), "holds": False}
    assert replace(found, touched=()).holds
