"""Layers that were chosen so that a wrong bound would show, in bundles that ran and told."""

import numpy as np
import pytest
from tests.bundle.hostile_layers import OVERFLOW, PLACES, VALUES, hostile
from typer.testing import CliRunner

from deeprotect import Protector
from deeprotect.bundle import Bundle
from deeprotect.bundle.verification.verify import verify
from deeprotect.cli.app import app

BLOCKS = (1, 2, 3, 8, 500)


@pytest.fixture(params=[OVERFLOW, PLACES], ids=["squares beyond int32", "sums beyond float32"])
def forged(request, made, tmp_path):
    hostile(made("channel ldp"), request.param).save(tmp_path / "forged")
    return tmp_path / "forged"


def windows(count=503):
    """Scaled: some on which the layers come to their ends, each with a bit to tell."""
    random = np.random.default_rng(1)
    rows = random.choice([0.0, 0.5, 1.0, 300 / 256], size=(count, VALUES))
    return np.where(random.random((count, 1)) < 0.5, rows, rows[:, :1])


def test_every_window_comes_back_whatever_it_holds(forged):
    assert verify(forged).holds
    bundle = Bundle.load(forged)
    live, samples = Protector(bundle).stream(), bundle.schema.unscale(windows().reshape(-1, 4, 2))
    for count, window in enumerate(samples, 1):
        assert len(live.push(window)) == 4
        assert live.cost.draws == count


def test_codes_are_the_same_in_every_block(forged):
    network, rows = Bundle.load(forged).encoder, windows()
    alone = np.concatenate([network(row[None]) for row in rows])
    assert np.isfinite(alone).all()
    for size in BLOCKS:
        for first in range(min(size, 3)):
            cut = [network(rows[start : start + size]) for start in range(first, len(rows), size)]
            assert np.array_equal(np.concatenate(cut), alone[first:])


@pytest.mark.long
def test_an_audit_gives_a_verdict(forged):
    done = CliRunner().invoke(app, ["audit", str(forged), "--runs", "1000"])
    assert done.exit_code == 0, done.output
