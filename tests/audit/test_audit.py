"""The audit's bound is valid, its search finds far inputs, and it comes close to what is true."""

import json
import sys

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from tests.mutations import houses

from deeprotect.audit.audit import attack, audit
from deeprotect.audit.bound import lower_bound
from deeprotect.audit.pairs import farthest, neighbours
from deeprotect.audit.trials import outputs_of
from deeprotect.cli import experiments
from deeprotect.cli.run import run
from deeprotect.errors import InputError
from deeprotect.privacy import laplace
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import SensitiveCounts, design
from deeprotect.privacy.channel.discrete_channel import make
from deeprotect.privacy.relaxed import basis
from deeprotect.privacy.sensitivity import linear_l1
from deeprotect.privacy.subspace import subspace
from deeprotect.training.dataset import LabelledWindows

RUNS = 8_000


def linear_house(weights, epsilon=2.0):
    """Certified noise on an encoder Wx; the decoder is its transpose."""
    features, dim = weights.shape
    sums = np.abs(weights).sum(axis=1)
    noise = laplace.certified(Box(tuple((-sums).tolist()), tuple(sums.tolist())), epsilon, linear=weights)
    networks = [_product(weights.T, dim, features), _product(weights, features, dim)]
    return houses.bundle(noise, dim, encoder=networks[0], decoder=networks[1])


def _product(matrix, inputs, outputs):
    constant = numpy_helper.from_array(matrix.astype(np.float32), "matrix")
    return houses.graph([helper.make_node("MatMul", ["given", "matrix"], ["made"])], inputs, outputs, [constant])


def coded_house(epsilon, codes=6, secrets=(), **promise):
    """Randomised response on the place of the largest sample."""
    cost = 1.0 - np.eye(codes)
    plan = design(cost, np.ones(codes), secrets=secrets, **({"ldp_epsilon": epsilon} | promise))
    return houses.bundle(make(plan), codes, **houses.code_book(codes))


def people(ann, bob):
    """Windows whose largest sample is at the given places, labelled by person."""
    places = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (ann, bob)])
    labels = np.repeat(np.array(["ann", "bob"], dtype=object), [sum(ann), sum(bob)])
    samples = np.eye(len(ann))[places][:, :, None]
    return LabelledWindows(samples, {"person": labels}, np.zeros(len(places), dtype=np.int64), len(places), "")


@given(st.floats(0.01, 0.9), st.floats(0.01, 0.9), st.integers(0, 10**6))
def test_the_bound_stays_below_the_true_ratio_as_often_as_it_says(p, q, seed):
    rng, runs, trials = np.random.default_rng(seed), 500, 2_000
    bounds = lower_bound(rng.binomial(runs, p, trials), rng.binomial(runs, q, trials), runs)
    truth = max(0.0, np.log(p / q))
    assert (bounds > truth + 1e-12).mean() < 0.05


def test_the_most_that_runs_can_show_is_the_textbook_value():
    assert lower_bound(100_000, 0, 100_000) == pytest.approx(10.2, abs=0.02)
    assert lower_bound(0, 0, 100) == lower_bound(100, 100, 100) == lower_bound(0, 100, 100) == 0


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_randomised_response_is_shown_to_within_a_tenth(epsilon):
    finding = audit(coded_house(epsilon), runs=100_000).findings[0]
    assert 0.9 * epsilon < finding.epsilon
    assert finding.epsilon < 1.06 * epsilon  # the bound may exceed the truth, rarely and by little


def test_variants_of_an_output_are_counted_together():
    windows = np.random.default_rng(6).random((12, 3))
    channel = make(design(1.0 - np.eye(3), np.ones(3), ldp_epsilon=1.0), variants=4)
    house = houses.bundle(channel, 3, encoder=houses._largest(3), decoder=houses._look_up(windows))
    output = outputs_of(house)
    shown = house.schema.unscale(house.decode(np.arange(12.0)[:, None])).reshape(12, 3)
    assert output(shown).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert output(shown + 0.01).tolist() == [12] * 12
    assert audit(house, runs=20_000).findings[0].epsilon > 0.85


def test_counted_runs_took_no_part_in_choosing():
    finding = audit(houses.on_samples(), runs=RUNS).findings[0]
    assert finding.tally.runs == RUNS // 2


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_farthest_codes_of_a_linear_encoder(seed):
    weights = np.random.default_rng(seed).normal(size=(3, 8))
    house = linear_house(weights)
    found = farthest(house, runs=RUNS)
    noise = house.mechanism.noise_scales[0]
    assert found.allowed > 0.98 * linear_l1(weights).value / noise
    assert found.allowed <= house.mechanism.event.epsilon


def test_relaxed_neighbours_lie_in_the_box_and_differ_along_the_directions_only():
    directions = basis(np.random.default_rng(4).normal(size=(6, 2)))
    house = houses.bundle(subspace(directions, 2.0, inferences=("person",)), 6)
    pair = neighbours(house)
    difference = (pair.second - pair.first)[0]
    assert min(pair.first.min(), pair.second.min()) >= 0
    assert max(pair.first.max(), pair.second.max()) <= 1
    assert np.allclose(directions @ (directions.T @ difference), difference, atol=1e-9)
    assert 0.95 * 2.0 < pair.allowed <= 2.0
    finding = attack(house, pair, guarantee="rldp", claim=2.0, runs=RUNS)
    assert 0.3 < finding.epsilon < 2.3


COUNTS = 100 * np.array([[30, 5, 5], [5, 5, 30]])


def named_house(**promise):
    return coded_house(None, codes=3, secrets=[SensitiveCounts("person", ("ann", "bob"), COUNTS, 1.0)], **promise)


def test_a_named_promise_needs_labelled_windows():
    with pytest.raises(InputError, match="--data"):
        audit(_without_ldp(named_house()), runs=RUNS)


def _without_ldp(house):
    """As if some output were impossible for some codes: then there is no LDP side."""
    certificate = house.mechanism.certificate() | {"ldp_epsilon": None}
    object.__setattr__(house.mechanism, "certificate", lambda: certificate)
    return house


def test_without_labelled_windows_the_ldp_side_is_attacked_and_the_rest_is_named():
    result = audit(named_house(ldp_epsilon=1.5), runs=RUNS)
    assert [finding.guarantee for finding in result.findings] == ["ldp"]
    assert "--data" in result.left_out[0]


def test_windows_like_the_calibration_ones_keep_the_named_promise():
    result = audit(named_house(), runs=20_000, windows=people(*COUNTS.tolist()))
    named = {finding.guarantee: finding for finding in result.findings}["named"]
    assert "ann" in named.pair.found
    assert 0.1 < named.epsilon < 1.0


def test_windows_unlike_the_calibration_ones_can_break_it_and_that_shows():
    result = audit(named_house(), runs=20_000, windows=people([40, 0, 0], [0, 0, 40]))
    assert not {finding.guarantee: finding for finding in result.findings}["named"].holds


def test_too_few_and_too_many_runs_are_refused():
    for runs in (10, 10**7):
        with pytest.raises(InputError, match="runs"):
            audit(houses.on_samples(), runs=runs)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """The verb on a bundle in a folder of its own."""
    houses.on_samples().save(tmp_path / "protector")
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(experiments.audit)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["audit", "protector", "--runs", str(RUNS), *arguments])
        return run(app), capsys.readouterr().out

    return call


def test_the_command_prints_the_bound_and_draws_it(command, tmp_path):
    code, out = command("--json", "--out", "picture.png")
    finding = json.loads(out)["findings"][0]
    assert finding["claim"] == 2.0
    assert code == (0 if finding["holds"] else 1)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_fails_when_the_bound_exceeds_the_claim(command, monkeypatch):
    draw = laplace.discrete_laplace
    monkeypatch.setattr(
        laplace, "discrete_laplace", lambda scale, *rest, entropy: draw(scale / 3, *rest, entropy=entropy)
    )
    code, out = command()
    assert code == 1
    assert "ABOVE THE CLAIM" in out
