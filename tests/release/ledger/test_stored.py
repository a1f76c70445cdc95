"""Charging and recording: each key once, what is recorded first leaves, limits hold over streams, apps and time."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.release.ledger.bookings import Asked, charge, record
from tests.release.ledger.prices import price

from deeprotect.errors import BudgetError, LedgerError
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import LONGEST_RUN
from deeprotect.release.ledger.statement import statement
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Run

RUNS = (Run("a", 0, 3), Run("b", 2, 2))


def spent(address, person="walk", name="in_all", *, clock):
    people = {each.name: each for each in statement(Database.existing(address), clock=clock).people}
    return people[person].spent(name).epsilon if person in people else 0


def drawn(count, start=0.0):
    return np.arange(count, dtype=np.float64)[:, None] + start


def test_a_key_is_charged_once_and_its_first_draw_leaves_for_good(open_ledger, address, clock):
    first, second = open_ledger(), open_ledger()
    for ledger in (first, second):
        assert charge(ledger, RUNS, count=5).all()
    assert spent(address, clock=clock) == 25
    assert np.array_equal(record(first, RUNS, drawn(5)), drawn(5))
    assert np.array_equal(record(second, RUNS, drawn(5, 100)), drawn(5))
    assert (first.tally.charged, second.tally.charged, second.tally.repeated) == (5, 0, 5)


def test_runs_may_be_cut_otherwise_the_second_time(open_ledger, address, clock):
    first, second = open_ledger(), open_ledger()
    charge(first, [Run("a", 0, 10)], count=10)
    record(first, [Run("a", 3, 4)], drawn(4))  # it died before the rest was drawn
    again = [Run("a", 5, 10), Run("a", 0, 5)]
    assert charge(second, again, count=15).all()
    released = record(second, again, drawn(15, 100))[:, 0]
    assert released.tolist() == [2, 3, *range(102, 110), 110, 111, 112, 0, 1]
    assert spent(address, clock=clock) == 75
    assert record(first, [Run("a", 0, 10)], drawn(10))[:, 0].tolist() == [110, 111, 112, 0, 1, 2, 3, 102, 103, 104]


def test_a_draw_that_is_asked_for_twice_at_once_is_one(open_ledger, address, clock):
    ledger, twice = open_ledger(), [Run("a", 0, 3), Run("a", 1, 3)]
    assert charge(ledger, twice, count=6).all()
    assert record(ledger, twice, drawn(6))[:, 0].tolist() == [0, 1, 2, 1, 2, 5]
    assert spent(address, clock=clock) == 20


@pytest.mark.parametrize("other", [{"stream": "run"}, {"app": "maps"}, {"bundle": "another"}])
def test_another_stream_app_or_bundle_is_another_draw(open_ledger, other):
    for ledger, start in ((open_ledger(person="p"), 0), (open_ledger(**{"person": "p"} | other), 50)):
        charge(ledger, RUNS, count=5)
        assert np.array_equal(record(ledger, RUNS, drawn(5, start)), drawn(5, start))


def test_long_runs_are_kept_in_short_rows(open_ledger, address, clock):
    count = 2 * LONGEST_RUN + 7
    first, second = open_ledger(), open_ledger()
    charge(first, [Run("", 0, count)], count=count)
    record(first, [Run("", 0, count)], drawn(count))
    middle = [Run("", LONGEST_RUN - 2, LONGEST_RUN)]
    assert charge(second, middle, count=LONGEST_RUN).all()
    assert np.array_equal(record(second, middle, drawn(LONGEST_RUN, -9)), drawn(LONGEST_RUN, LONGEST_RUN - 2))
    assert spent(address, clock=clock) == 5 * count


@pytest.mark.long
def test_many_recordings_at_once_keep_their_own_draws(open_ledger):
    runs = [Run(str(number), 0, 1) for number in range(1200)]
    first, second = open_ledger(), open_ledger()
    for ledger, start in ((first, 0), (second, 5000)):
        charge(ledger, runs, count=1200)
        assert np.array_equal(record(ledger, runs, drawn(1200, start)), drawn(1200))


@pytest.mark.parametrize(
    "values",
    [[[0.0], [255.0]], [[256.0], [3.0]], [[70000.0], [1.0]], [[-1.0], [2.0]], [[0.1, np.nan], [-0.0, np.inf]]],
)
def test_draws_come_back_bit_for_bit(open_ledger, values):
    ledger, given = open_ledger(), np.array(values)
    charge(ledger, [Run("", 0, 2)], count=2)
    record(ledger, [Run("", 0, 2)], given)
    assert record(open_ledger(), [Run("", 0, 2)], np.zeros_like(given)).tobytes() == given.tobytes()


@pytest.mark.long
@given(counts=st.lists(st.integers(1, 7), min_size=1, max_size=12), cut=st.integers(0, 12), values=st.integers(1, 3))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_episodes_of_any_length_come_back_window_by_window(open_ledger, counts, cut, values):
    name = f"{counts} {cut} {values}"
    runs = [Run(name, 0, min(cut, len(counts))), Run(f"{name} more", 0, len(counts) - min(cut, len(counts)))]
    runs, lengths = [run for run in runs if run.count], np.array(counts)
    shown = np.random.default_rng(0).integers(0, 300, size=(sum(counts), values)).astype(float)
    first, second = open_ledger(), open_ledger()
    for ledger in (first, second):
        charge(ledger, runs, count=len(counts))
    assert np.array_equal(record(first, runs, shown, lengths), shown)
    assert np.array_equal(record(second, runs, np.zeros_like(shown), lengths), shown)


def test_what_is_kept_takes_as_much_memory_as_there_are_windows(open_ledger):
    """One long episode among many short ones: none is filled up to its length."""
    runs = [Run(str(number), 0, 1) for number in range(500)]
    lengths = np.array([50_000] + [1] * 499)
    ledger, shown = open_ledger(), np.zeros((lengths.sum(), 1))
    charge(ledger, runs, count=500)
    tracemalloc.start()
    record(ledger, runs, shown, lengths)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * shown.nbytes


def test_nothing_is_recorded_that_was_not_charged(open_ledger):
    ledger = open_ledger()
    charge(ledger, [Run("a", 0, 3)], count=3)
    with pytest.raises(BudgetError, match="must be charged before"):
        record(ledger, [Run("a", 0, 4)], drawn(4))


def test_nothing_asked_is_nothing_charged(open_ledger):
    ledger = open_ledger(in_all=5.0)
    assert charge(ledger, (), count=0).shape == (0,)
    assert record(ledger, (), np.empty((0, 3))).shape == (0, 3)


def test_accounts_of_two_ledgers_are_never_charged_in_one(open_ledger, tmp_path, clock):
    """Numbers of streams are a ledger's own: in another they would be somebody else's."""
    other = StoredLedger(Database.existing_or_new(str(tmp_path / "other.db")), Account("walk"), price(), clock=clock)
    asked = [Asked(ledger, [Run("a", 0, 1)], np.ones(1, dtype=np.int64)) for ledger in (open_ledger(), other)]
    with pytest.raises(LedgerError, match="two ledgers"), asked[0].ledger.open(asked) as books:
        books.charge()


def test_numbers_may_be_numpys(open_ledger):
    assert charge(open_ledger(), [Run("a", np.int64(0), np.int64(2))], count=2).all()


def test_draws_without_numbers_are_refused(open_ledger):
    with pytest.raises(BudgetError, match="needs the number of each draw"):
        charge(open_ledger(), (), count=3)


def test_a_refused_charge_leaves_nothing_behind(open_ledger, address, clock):
    ledger = open_ledger(in_all=24.0)
    with pytest.raises(BudgetError):
        charge(ledger, RUNS, count=5)
    assert spent(address, clock=clock) == 0
    assert charge(ledger, RUNS[:1], count=3).all()


def test_a_limit_is_the_persons_over_streams_and_apps(open_ledger):
    limits = {"person": "ann", "in_all": 50.0}
    charge(open_ledger("watch", app="maps", **limits), RUNS, count=5)
    charge(open_ledger("phone", app="health", **limits), RUNS[:1], count=3)
    with pytest.raises(
        BudgetError, match=r"'ann' has spent ε = 40 of in_all = 50; 5 draws would cost ε = 25; ε = 10 remains"
    ):
        charge(open_ledger("phone", app="maps", **limits), RUNS, count=5)


def test_other_peoples_spending_does_not_count(open_ledger):
    charge(open_ledger("watch", person="ann", in_all=25.0), RUNS, count=5)
    assert charge(open_ledger("phone", person="bob", in_all=25.0), RUNS, count=5).all()


def test_a_stream_stays_with_its_person(open_ledger):
    charge(open_ledger("watch", person="ann", in_all=25.0), RUNS, count=5)
    with pytest.raises(BudgetError, match="'ann' has spent"):
        charge(open_ledger("watch", in_all=25.0), [Run("c", 0, 1)], count=1)
    with pytest.raises(LedgerError, match="stream 'watch' belongs to 'ann'"):
        open_ledger("watch", person="bob")


def test_sums_are_exact_where_binary_fractions_are_not(open_ledger):
    ledger = open_ledger(epsilon=0.1, in_all=1.0)
    for number in range(10):
        assert charge(ledger, [Run("", number, 1)], count=1).all()
    with pytest.raises(
        BudgetError, match=r"spent ε = 1 of in_all = 1; 1 draw would cost ε = 0.1; ε = 0 remains; it never frees"
    ):
        charge(ledger, [Run("", 10, 1)], count=1)


def test_an_hour_rolls(open_ledger, clock):
    ledger = open_ledger(per_hour=25.0, per_day=50.0)
    charge(ledger, [Run("", 0, 2)], count=2)
    clock.move(minutes=30)
    charge(ledger, [Run("", 2, 3)], count=3)
    with pytest.raises(
        BudgetError, match=r"3 draws would cost ε = 15; ε = 0 remains; it frees at 2026-11-16 13:30:00 UTC"
    ):
        charge(ledger, [Run("", 5, 3)], count=3)
    clock.move(minutes=30, microseconds=-1)
    with pytest.raises(BudgetError):
        charge(ledger, [Run("", 5, 2)], count=2)
    clock.move(microseconds=1)
    assert charge(ledger, [Run("", 5, 2)], count=2).all()
    clock.move(hours=2)
    charge(ledger, [Run("", 7, 3)], count=3)
    clock.move(hours=2)
    with pytest.raises(BudgetError, match=r"ε = 50 of per_day = 50; .* frees at 2026-11-17 12:00:00 UTC"):
        charge(ledger, [Run("", 10, 1)], count=1)


def test_more_than_a_limit_holds_is_never_promised(open_ledger):
    with pytest.raises(BudgetError, match="never left at once"):
        charge(open_ledger(per_hour=20.0), RUNS, count=5)


def test_a_clock_that_is_set_back_frees_nothing(open_ledger, clock):
    ledger = open_ledger(per_hour=25.0)
    charge(ledger, RUNS, count=5)
    clock.move(days=-400)
    with pytest.raises(BudgetError):
        charge(ledger, [Run("c", 0, 1)], count=1)


def test_a_repeated_draw_is_free_when_all_is_spent(open_ledger):
    charge(open_ledger(in_all=25.0), RUNS, count=5)
    assert charge(open_ledger(in_all=25.0), RUNS, count=5).all()


def test_when_all_is_spent_the_rest_are_placeholders_for_good(open_ledger, address, clock):
    limits = {"per_hour": 15.0, "when_spent": "placeholder"}
    ledger = open_ledger(**limits)
    assert charge(ledger, RUNS, count=5).tolist() == [True, True, True, False, False]
    assert np.array_equal(record(ledger, RUNS, drawn(5)), drawn(5))
    assert (ledger.tally.charged, ledger.tally.placeholders) == (3, 2)
    clock.move(hours=3)
    again = open_ledger(**limits)
    assert charge(again, RUNS, count=5).tolist() == [True, True, True, False, False]
    assert np.array_equal(record(again, RUNS, drawn(5, 9)), drawn(5))
    assert spent(address, clock=clock) == 15


def test_several_prices_add_up_for_a_person(open_ledger, address, clock):
    charge(open_ledger("s", bundle="one", at=price(0.25)), RUNS, count=5)
    charge(open_ledger("s", bundle="two", at=price(3.0)), RUNS, count=5)
    assert spent(address, "s", clock=clock) == 16.25
    with pytest.raises(BudgetError, match=r"has spent ε = 16.25 of in_all = 17"):
        charge(open_ledger("s", bundle="three", at=price(1.0, in_all=17.0)), RUNS, count=5)
