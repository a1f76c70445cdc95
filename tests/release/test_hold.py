"""Held draws: an episode is charged once, shows one output, and touches no other."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mutations import protectors

from deeprotect.api import Protector
from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Request, encode, stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Frame, Windows
from deeprotect.signals.windowing import cut

HELD, CODES = protectors.HELD, protectors.CODES
HELD_BUNDLE = protectors.held()


@pytest.fixture(scope="module")
def held() -> Bundle:
    return protectors.held()


def episode_codes(bundle, private):
    (codes,) = encode([Request.of(private, bundle, MemoryLedger(Price.of(bundle.mechanism)))])
    return codes


def windows(count: int, *, seed: int = 0) -> Windows:
    samples = np.random.default_rng(seed).uniform(-4, 4, size=(count, CODES, 1))
    places = np.arange(count)
    return Windows(samples, Frame(np.full(count, CODES), places * CODES, places // HELD))


def test_an_episode_is_charged_once_and_shows_one_output(held):
    ledger, private = MemoryLedger(Price.of(held.mechanism)), windows(5 * HELD + 2)
    (released,) = stream([private], held, ledger=ledger, entropy=SystemEntropy())
    assert ledger.spending.draws == 6
    assert ledger.spending.per_stream == 6 * protectors.EPSILON
    for episode in range(6):
        shown = released.samples[private.frame.episodes == episode]
        assert (shown == shown[0]).all()


def test_no_window_touches_another_episode(held):
    private, other = windows(4 * HELD), windows(4 * HELD, seed=1)
    before = episode_codes(held, private)
    for episode in range(4):
        changed = private.samples.copy()
        changed[private.frame.episodes == episode] = other.samples[private.frame.episodes == episode]
        after = episode_codes(held, Windows(changed, private.frame))
        others = np.arange(4) != episode
        assert (after[others] == before[others]).all()


def test_a_code_is_what_most_of_an_episode_shows(held):
    samples = np.zeros((HELD, CODES, 1))
    samples[:, 2], samples[0, 1] = 3.0, 4.0
    private = Windows(samples, Frame(np.full(HELD, CODES), np.arange(HELD), np.zeros(HELD, dtype=np.int64)))
    assert episode_codes(held, private).tolist() == [[2.0]]


def test_a_window_of_no_number_spoils_its_own_episode_only(held):
    private = windows(3 * HELD)
    private.samples[HELD] = np.nan
    codes = episode_codes(held, private)
    clean = episode_codes(held, windows(3 * HELD))
    assert codes[[0, 2]].tolist() == clean[[0, 2]].tolist()
    assert np.isfinite(codes).all()


def test_windows_that_are_not_listened_to_have_no_say():
    bundle = protectors.held(listen=2)
    private, other = windows(HELD), windows(HELD, seed=1)
    heard, _ = bundle.hold.heard(np.array([HELD]))
    changed = np.where(np.isin(np.arange(HELD), heard)[:, None, None], private.samples, other.samples)
    assert episode_codes(bundle, private).tolist() == episode_codes(bundle, Windows(changed, private.frame)).tolist()
    assert len(heard) == 2


def test_a_table_is_released_episode_by_episode_in_its_own_form(held):
    rows = 3 * HELD * CODES + 5
    table = protectors.table(rows)
    released = Protector(held).protect(table).table
    assert released.num_rows == rows
    assert released["time"].equals(table["time"])
    outputs = released["acc_x"].to_numpy()[: 3 * HELD * CODES].reshape(3, HELD, CODES)
    assert (outputs == outputs[:, :1]).all()


def test_a_promise_for_windows_is_not_taken_for_one_for_episodes(held):
    manifest = held.manifest.model_copy(update={"policy": protectors.coded().manifest.policy})
    with pytest.raises(BundleError, match="ε is per episode, the policy's per window"):
        Bundle(manifest, held.files).checked("it")


def recordings(counts: list[int]) -> pa.Table:
    """Recordings of so many whole windows, one after the other."""
    rows = [CODES * count for count in counts]
    names = np.repeat([f"r{number}" for number in range(len(counts))], rows)
    return pa.table({"recording": names, "acc_x": np.zeros(sum(rows))})


@given(st.lists(st.integers(1, 3 * HELD), min_size=1, max_size=8))
@example([1, 1, 1, 1, 1, 1])  # six recordings of one window: six draws
@example([HELD])  # and one of the same windows: a single one
def test_recordings_cost_what_their_own_episodes_cost_and_short_ones_the_most(counts):
    cost = Protector(HELD_BUNDLE).protect(recordings(counts)).cost
    draws = sum(-(-count // HELD) for count in counts)
    assert (cost.draws, cost.per_stream) == (draws, draws * protectors.EPSILON)
    assert draws >= -(-sum(counts) // HELD)


@given(st.lists(st.integers(1, 3 * HELD), min_size=1, max_size=8))
def test_a_stretch_no_longer_than_an_episode_touches_two_and_one_more_for_each_recording_that_begins_in_it(counts):
    recording, rows = np.repeat(np.arange(len(counts)), counts), np.zeros((CODES * sum(counts), 1))
    parts = cut([(rows, recording.repeat(CODES))], window=CODES, channels=1, hold=HELD)
    episodes = [episode for part in parts for episode in part.frame.episodes.tolist()]
    assert len(episodes) == sum(counts)
    for start in range(len(episodes)):
        stretch = slice(start, start + HELD)
        begin = len(set(recording[stretch].tolist())) - 1
        assert len(set(episodes[stretch])) <= 2 + begin
