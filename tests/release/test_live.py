"""Live streams: row for row, one draw for a window at most, nothing raw when something fails."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mutations import protectors
from tests.release.traced import MOST, WINDOW, Traced, numbered

from deeprotect.api import Protector
from deeprotect.errors import BudgetError, EntropyError, InputError, StreamError, TableError
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.ledger.limits import Limits, exact
from deeprotect.release.live import LiveStream
from deeprotect.signals import Hold

HELD, CODES = protectors.HELD, protectors.CODES
HOLDS = st.integers(1, 6).flatmap(lambda windows: st.builds(Hold, st.just(windows), st.integers(1, windows)))
LISTEN_TO = st.sampled_from(["beginning", "before"])
SIZES = st.lists(st.integers(0, 9), max_size=20)


def book(bundle, **limits):
    return MemoryLedger(Price.of(bundle.mechanism, limits=Limits(tuple(limits.items()))))


def live(bundle, *, ledger=None, entropy=None, **listening):
    return LiveStream(bundle, ledger=ledger or book(bundle), entropy=entropy or SystemEntropy(), **listening)


def pushed(stream, rows, sizes):
    """All that comes back of rows that are pushed in pieces of these sizes, and then the rest at once."""
    borders = np.minimum(np.cumsum(sizes), len(rows)).astype(int) if sizes else []
    pieces = [stream.push(piece) for piece in np.split(rows, borders)]
    return np.concatenate([*pieces, stream.finish()])


@given(HOLDS, LISTEN_TO, st.lists(st.integers(0, 40), min_size=1, max_size=4), SIZES)
def test_every_row_comes_back_once_however_it_was_pushed(hold, listen_to, recordings, sizes):
    stream = live(Traced(hold), listen_to=listen_to)
    for rows in recordings:
        assert len(pushed(stream, np.zeros((rows, 1)), sizes)) == rows
        assert stream.waiting == stream.dropped == 0


@given(HOLDS, LISTEN_TO, st.lists(st.integers(0, 25), min_size=1, max_size=4), SIZES)
def test_each_window_informs_at_most_one_draw(hold, listen_to, recordings, sizes):
    bundle, first = Traced(hold), 0
    ledger = book(bundle)
    stream = live(bundle, ledger=ledger, listen_to=listen_to)
    for windows in recordings:
        pushed(stream, numbered(windows, first=first), sizes)
        first += windows
    heard = [window for draw in bundle.heard for window in draw]
    assert len(heard) == len(set(heard))
    assert stream.cost.draws == len(bundle.heard)  # and each draw is paid for


class Seeing(Traced):
    """Keeps the windows that it is asked to encode."""

    def encode(self, private):
        self.seen = [*getattr(self, "seen", []), *private.copy()]
        return super().encode(private)


@given(st.integers(1, 30), SIZES, st.integers(0, 29))
def test_a_row_is_in_one_window(rows, sizes, changed):
    seen = []
    for value in (0.0, 1.0):
        bundle, samples = Seeing(Hold(1, 1)), np.zeros((rows, 1))
        samples[changed % rows] = value * MOST
        pushed(live(bundle), samples, sizes)
        seen.append(np.stack(bundle.seen))
    assert np.count_nonzero((seen[0] != seen[1]).any(axis=(1, 2))) == 1


@given(HOLDS, st.integers(0, 25), SIZES)
def test_a_draw_listens_to_the_beginning_of_its_episode(hold, windows, sizes):
    bundle = Traced(hold)
    pushed(live(bundle), numbered(windows), sizes)
    starts = range(0, windows, hold.windows)
    assert bundle.heard == [list(range(at, min(at + hold.listen, windows))) for at in starts]


@given(HOLDS.filter(lambda hold: hold.windows > 1), st.integers(0, 25), SIZES)
def test_a_draw_listens_to_the_end_of_the_episode_before(hold, windows, sizes):
    bundle = Traced(hold)
    pushed(live(bundle, listen_to="before"), numbered(windows), sizes)
    starts = range(hold.windows, windows, hold.windows)
    border = max(1, hold.windows - hold.listen)  # windows before it are for their own draw, the others for the next
    first, late = min(hold.listen, border), hold.windows - border
    expected = [list(range(min(first, windows)))] + [list(range(at - late, at)) for at in starts]
    assert bundle.heard == [each for each in expected if each]
    assert bundle.drawn_from_nothing == 0


@pytest.mark.parametrize("listen_to", ["beginning", "before"])
def test_three_windows_with_finish_after_each_cost_three_draws(listen_to):
    """And in one recording a single one, however long the hold: every recording begins an episode of its own."""
    apart, together = (live(protectors.held(), listen_to=listen_to) for _ in range(2))
    for _ in range(3):
        window = np.zeros((CODES, 1))
        assert len(apart.push(window)) + len(apart.finish()) == CODES
        together.push(window)
    together.finish()
    assert (apart.cost.draws, apart.cost.per_stream) == (3, 3 * protectors.EPSILON)
    assert (together.cost.draws, together.cost.per_stream) == (1, protectors.EPSILON)


def test_a_row_leaves_when_its_window_is_full_where_draws_are_not_held():
    stream = live(Traced(Hold()))
    assert [len(stream.push([0.0])) for _ in range(5)] == [0, 2, 0, 2, 0]
    assert stream.waiting == 1


@given(HOLDS, st.integers(1, 60))
def test_no_row_waits_longer_than_its_listening_takes(hold, rows):
    beginning, before = live(Traced(hold)), live(Traced(hold), listen_to="before")
    for row in range(rows):
        beginning.push([0.0])
        before.push([0.0])
        assert beginning.waiting < hold.listen * WINDOW
        first = row < hold.windows * WINDOW  # of the recording: its draw looks at its own windows
        assert before.waiting < (hold.listen * WINDOW if first else WINDOW)


@pytest.mark.parametrize("listen_to", ["beginning", "before"])
def test_an_episode_shows_one_output_and_is_paid_for_once(listen_to):
    stream = live(protectors.held(listen=2), listen_to=listen_to)
    released = stream.push(np.random.default_rng(0).uniform(-4, 4, size=(3 * HELD * CODES, 1)))
    outputs = released.reshape(3, HELD, CODES)
    assert (outputs == outputs[:, :1]).all()
    assert stream.cost.draws == 3
    assert stream.cost.per_stream == stream.cost.draws * protectors.EPSILON


@pytest.mark.long
def test_what_is_listened_to_decides_what_is_drawn():
    """A draw keeps its code with probability e²/(e² + 3) = 0.71; one that listened elsewhere, a quarter of the time."""
    rows = np.zeros((2 * HELD, CODES, 1))
    rows[:HELD, 1], rows[HELD:, 2] = 4.0, 4.0
    drawn = {"beginning": [], "before": []}
    for listen_to, outputs in drawn.items():
        for _ in range(400):
            released = live(protectors.held(), listen_to=listen_to).push(rows.reshape(-1, 1))
            outputs.append(int(released.reshape(-1, CODES)[-1].argmax()))
    assert np.mean(np.array(drawn["beginning"]) == 2) > 0.55
    assert np.mean(np.array(drawn["before"]) == 1) > 0.55


@pytest.mark.parametrize("listen_to", ["beginning", "before"])
def test_what_fails_is_dropped_and_the_stream_goes_on(listen_to):
    bundle = Traced(Hold(3, 2), fail_at="privatise")
    stream = live(bundle, listen_to=listen_to)
    stream.push(numbered(1)[:1])
    with pytest.raises(StreamError, match="7 rows were dropped; the stream goes on") as caught:
        stream.push(numbered(3))
    assert "1234" not in str(caught.value)
    assert (stream.dropped, stream.waiting) == (7, 0)
    bundle.fail_at, bundle.heard = None, []
    assert len(pushed(stream, numbered(6, first=50), [])) == 12
    heard = [window for draw in bundle.heard for window in draw]
    assert heard
    assert min(heard) >= 50  # nothing from before the failure is ever drawn from


def test_a_failed_draw_stays_paid_for():
    bundle = Traced(Hold(), fail_at="privatise")
    ledger = book(bundle)
    stream = live(bundle, ledger=ledger)
    with pytest.raises(StreamError):
        stream.push(numbered(2))
    assert stream.cost.draws == 2  # of one push, which are charged together


def test_a_spent_budget_keeps_its_own_error_and_says_what_was_dropped():
    stream = live(Traced(Hold()), ledger=book(Traced(Hold()), in_all=exact(2.0)))
    assert len(stream.push(numbered(2))) == 4
    with pytest.raises(BudgetError) as caught:
        stream.push(numbered(1))
    assert caught.value.__notes__ == ["2 rows were dropped; the stream goes on with the next one"]


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        ([1.0, 2.0], "shape"),
        ([[[1.0]]], "shape"),
        (["0.5", "1234x"], "must be numbers"),
        ([[float("nan")]], "'acc_x' is missing or infinite"),
        ([[float("inf")]], "'acc_x' is missing or infinite"),
        (None, "missing or infinite|shape"),
    ],
)
def test_wrong_samples_are_refused_without_being_quoted(samples, says):
    stream = live(Traced(Hold()))
    stream.push([7.0])
    with pytest.raises(TableError, match=says) as caught:
        stream.push(samples)
    assert "1234" not in str(caught.value)
    assert stream.waiting == 0
    assert len(stream.push(numbered(1))) == WINDOW


def test_a_channel_in_another_unit_is_warned_of_once():
    stream = live(Traced(Hold()))
    with pytest.warns(UserWarning, match="'acc_x' lies largely outside"):
        stream.push([[2 * MOST]] * WINDOW)
    stream.push([[2 * MOST]] * WINDOW)  # warnings are errors here


def test_an_interrupted_push_drops_what_waits():
    class Interrupted(Traced):
        def encode(self, private):
            raise KeyboardInterrupt

    stream = live(Interrupted(Hold()))
    with pytest.raises(KeyboardInterrupt):
        stream.push(numbered(1))
    assert (stream.dropped, stream.waiting) == (WINDOW, 0)


@pytest.mark.parametrize("listen_to", ["beginning", "before"])
def test_memory_does_not_grow_with_the_stream(listen_to):
    stream = live(protectors.held(), listen_to=listen_to)
    rows = np.zeros((HELD * CODES, 1))
    for _ in range(20):
        stream.push(rows)
    tracemalloc.start()
    try:
        for _ in range(300):
            stream.push(rows)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 50_000  # 300 episodes of samples alone are 58 kB


def test_seeded_entropy_is_refused():
    with pytest.raises(EntropyError):
        live(Traced(Hold()), entropy=SeededEntropy(0))


def test_listening_beyond_an_episode_is_refused():
    with pytest.raises(InputError, match="between 1 and the 3 windows"):
        live(Traced(Hold(3, 3)), listen=4)


def test_a_protectors_stream_listens_to_three_windows_where_the_policy_does_not_say():
    stream = Protector(protectors.held()).stream()
    sizes = [len(stream.push(np.zeros((CODES, 1)))) for _ in range(HELD)]
    assert sizes == [0, 0, 3 * CODES, CODES, CODES, CODES]
    stream = Protector(protectors.held(listen=1)).stream()
    assert len(stream.push(np.zeros((CODES, 1)))) == CODES
