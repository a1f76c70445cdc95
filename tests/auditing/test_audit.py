"""The audit comes close to what is true, attacks every promise by windows and by batches, and fails on both."""

import json
import sys

import numpy as np
import pytest
import typer
from tests.mutations import protectors

from deeprotect.auditing.audit import audit
from deeprotect.auditing.distinguisher import outputs_of
from deeprotect.auditing.isolation import Isolation
from deeprotect.cli import bundles
from deeprotect.cli.run import run
from deeprotect.errors import InputError
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.mechanisms import laplace
from deeprotect.privacy.mechanisms.relaxed import basis
from deeprotect.privacy.sampling import DiscreteLaplace
from deeprotect.signals import Schema

RUNS = 8_000


@pytest.fixture
def attacks_only(monkeypatch):
    """Whether windows touch each other is asked in test_isolation.py, and below of the command."""
    monkeypatch.setattr("deeprotect.auditing.audit.isolation", lambda *_: Isolation(0, ()))


@pytest.fixture
def few_batches(attacks_only, monkeypatch):
    """Where it is asked what is attacked, or how much one window shows, and not how much a batch shows."""
    monkeypatch.setattr("deeprotect.auditing.audit._BATCHES", 0.001)
    monkeypatch.setattr("deeprotect.auditing.audit._FEWEST_BATCHES", 80)
    monkeypatch.setattr("deeprotect.auditing.batches._PILOT", 16)


@pytest.mark.usefixtures("few_batches")
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_randomised_response_is_shown_to_within_a_tenth(coded, epsilon):
    finding = audit(coded(epsilon), runs=100_000).findings[0]
    assert 0.9 * epsilon < finding.epsilon
    assert finding.epsilon < 1.06 * epsilon  # the bound may exceed the truth, rarely and by little


@pytest.mark.usefixtures("few_batches")
def test_variants_of_an_output_are_counted_together():
    windows = np.random.default_rng(6).random((12, 3))
    channel = make(design(1.0 - np.eye(3), np.ones(3), ldp_epsilon=1.0), variants=4)
    bundle = protectors.bundle(channel, 3, **protectors.code_book(3, windows))
    output = outputs_of(bundle)
    shown = bundle.decode(np.arange(12.0)[:, None]).reshape(12, 3)
    assert output(shown).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert output(shown + 0.01).tolist() == [output.count] * 12
    assert audit(bundle, runs=60_000).findings[0].epsilon > 0.85


@pytest.mark.usefixtures("few_batches")
def test_counted_runs_took_no_part_in_choosing():
    for finding in audit(protectors.on_samples(), runs=1_000).findings:
        assert finding.tally.runs == finding.runs // 2


@pytest.mark.usefixtures("attacks_only")
def test_windows_of_a_table_are_tried_as_inputs(coded):
    """A coder that answers one window in the world otherwise: no other candidate shows it."""
    bundle, odd = coded(1.0), np.array([[0.3, 0.1, 0.2, 0.25, 0.05, 0.15]])
    encode = type(bundle).encode
    constant = lambda self, private: 5.0 * np.isclose(private.reshape(len(private), -1), odd).all(axis=1)[:, None]  # noqa: E731
    try:
        type(bundle).encode = constant
        without, among = (audit(bundle, runs=20_000, windows=each).findings[0] for each in (None, odd))
    finally:
        type(bundle).encode = encode
    assert without.pair.allowed == 0.0
    assert among.epsilon > 0.8


@pytest.mark.usefixtures("few_batches")
def test_an_rldp_promise_that_rests_on_a_clip_box_is_attacked_by_any_two_windows():
    directions = basis(np.random.default_rng(4).normal(size=(6, 2)))
    mechanism = laplace.paper_mode2(Box.unit(6), 2.0, directions=directions, inferences=("person",))
    rldp = [finding for finding in audit(protectors.bundle(mechanism, 6), runs=1_000).findings if finding.claim == 2.0]
    assert [finding.pair.found for finding in rldp] == ["farthest codes"] * 2


@pytest.mark.usefixtures("few_batches")
def test_every_promise_is_attacked_by_windows_and_by_batches_and_confidence_is_split():
    directions = basis(np.random.default_rng(4).normal(size=(6, 2)))
    mechanism = laplace.paper_mode2(Box.unit(6), 2.0, directions=directions, inferences=("person",))
    findings = audit(protectors.bundle(mechanism, 6), runs=1_000).findings
    assert [finding.guarantee for finding in findings] == ["ldp", "ldp", "rldp", "rldp"]
    assert [finding.observed == "one window is seen" for finding in findings] == [True, False] * 2
    assert {finding.tally.confidence for finding in findings} == {1 - 0.05 / 4}


def test_too_few_and_too_many_runs_are_refused():
    for runs in (10, 10**7):
        with pytest.raises(InputError, match="runs"):
            audit(protectors.on_samples(), runs=runs)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """The verb on a bundle in a folder of its own."""
    protectors.on_samples().save(tmp_path / "protector")
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(bundles.audit)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["audit", "protector", "--runs", str(RUNS), *arguments])
        return run(app), capsys.readouterr().out

    return call


@pytest.mark.long
def test_the_command_prints_the_bounds_and_draws_them(command, tmp_path):
    code, out = command("--json", "--out", "picture.png")
    result = json.loads(out)
    assert [finding["claim"] for finding in result["findings"]] == [2.0, 2.0]
    assert result["isolation"]["holds"]
    assert code == (0 if result["holds"] else 1)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_fails_when_the_bound_exceeds_the_claim(command, monkeypatch):
    monkeypatch.setattr(
        laplace, "DiscreteLaplace", lambda scales: DiscreteLaplace(tuple(scale / 3 for scale in scales))
    )
    code, out = command()
    assert code == 1
    assert "ABOVE THE CLAIM" in out
    assert "windows are released independently of each other: checked on" in out


def test_the_command_fails_when_windows_touch_each_other_whatever_the_bounds(command, monkeypatch):
    unscale = Schema.unscale

    def mixed(self, scaled):
        return unscale(self, scaled + 1e-6 * scaled.mean(axis=0))

    monkeypatch.setattr(Schema, "unscale", mixed)
    code, out = command()
    assert code == 1
    assert "WINDOWS TOUCH EACH OTHER" in out
    assert "ABOVE THE CLAIM" not in out
