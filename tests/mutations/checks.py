"""Checks that sound code passes and a planted bug does not: the audit, re-derivation, and the laws of a release."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sqlalchemy import func, select
from tests.mutations import protectors

from deeprotect.auditing import audit
from deeprotect.auditing.isolation import Isolation, isolation
from deeprotect.auditing.pairs import candidates
from deeprotect.bundle import Bundle
from deeprotect.bundle.verification.verify import steps
from deeprotect.engines.arrow import release_batches
from deeprotect.engines.job import Job, Part
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.errors import DeeprotectError, EntropyError, ReleasedBeforeError
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.protector import Protector
from deeprotect.release import engine
from deeprotect.release.engine import Released
from deeprotect.release.episodes import Episodes, Observing
from deeprotect.release.ledger import Account, MemoryLedger, Price
from deeprotect.release.ledger.archive import forget_draws
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, draws
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Frame, Hold, Run, Windows
from deeprotect.training.codebook.calibration_recordings import CalibrationDraws
from deeprotect.training.labelled_windows import LabelledWindows

RUNS = 8_000
BEYOND_CHANCE, BEYOND_CHANCE_OF_FEW = 0.3, 0.6


@dataclass(frozen=True)
class Check:
    """`holds` judges what `made` gives. With `shipped` the bug is in the maker only, and sound code judges."""

    name: str
    holds: Callable[[Any], bool]
    made: Callable[[], Any] = lambda: None
    shipped: bool = False


def _windows(samples):
    count, length = samples.shape[:2]
    return Windows(samples, Frame(np.full(count, length), np.arange(count) * length))


def _release(bundle, samples, *, ledger=None, entropy=None):
    ledger, entropy = ledger or MemoryLedger(Price.of(bundle.mechanism)), entropy or SystemEntropy()
    parts = engine.stream([_windows(samples)], bundle, ledger=ledger, entropy=entropy)
    return np.concatenate([part.samples for part in parts])


def _stays_below_the_claim(bundle, *, audits):
    """With room for chance: at these runs the bounds' standard errors are 0.1, and 0.25 for the few whole batches.

    Several audits where one alone may miss a bug: noise drawn once for many windows may be one that tells little, and
    of redrawn episodes one audit in ten misses what is wrong. With a clipped code all bugs exceed by five standard
    errors and more. Whether windows are kept apart is a check of its own, and left out here.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "isolation", lambda *_: Isolation(0, ()))
        return all(
            finding.epsilon <= finding.claim + (BEYOND_CHANCE if finding.runs == RUNS else BEYOND_CHANCE_OF_FEW)
            for _ in range(audits)
            for finding in audit.audit(bundle, runs=RUNS).findings
        )


def _keeps_windows_apart(bundle):
    """The part of an audit that needs no statistics, by itself: the rest takes longer."""
    return isolation(bundle, candidates(bundle)).holds


def _is_verified(bundle):
    return not any(step.breaks for step in steps(bundle))


def _lies_on_the_grid(bundle):
    box = bundle.mechanism.box
    code = np.random.default_rng(0).random((500, box.dim))
    steps = (bundle.mechanism.privatise(code, entropy=SystemEntropy()) - box.low) / np.array(
        [float(s) for s in box.steps]
    )
    return bool(np.abs(steps - np.rint(steps)).max() < 1e-6)


def _differs_each_time(bundle):
    samples = np.zeros((8, bundle.schema.window, 1))
    return not np.array_equal(_release(bundle, samples), _release(bundle, samples))


def _shows_one_output(bundle):
    episodes = _released_episodes(bundle)
    return bool((episodes == episodes[:, :1]).all())


def _shows_one_script(bundle):
    """No released episode changes more often than a script may, nor anywhere but between slots."""
    shown, scripts = _released_episodes(bundle).argmax(axis=2), bundle.mechanism.scripts
    slots = shown.reshape(len(shown), scripts.slots, scripts.windows)
    changes = np.count_nonzero(np.diff(slots[:, :, 0], axis=1), axis=1)
    return bool((slots == slots[:, :, :1]).all() and (changes <= scripts.changes).all())


def _released_episodes(bundle):
    samples = np.random.default_rng(2).uniform(-4, 4, size=(40 * protectors.HELD, bundle.schema.window, 1))
    frame = Frame(
        np.full(len(samples), bundle.schema.window), np.arange(len(samples)), np.arange(len(samples)) // protectors.HELD
    )
    (released,) = engine.stream(
        [Windows(samples, frame)], bundle, ledger=MemoryLedger(Price.of(bundle.mechanism)), entropy=SystemEntropy()
    )
    return released.samples.reshape(40, protectors.HELD, -1)


def _refuses_seeds(bundle):
    try:
        _release(bundle, np.zeros((1, bundle.schema.window, 1)), entropy=SeededEntropy(0))
    except EntropyError:
        return True
    return False


def _each_window_has_its_own_noise(bundle):
    code = np.full((64, bundle.mechanism.dim), 0.5)
    noisy = bundle.mechanism.privatise(code, entropy=SystemEntropy())
    return len(np.unique(noisy, axis=0)) > 32


class _Watched:
    """A bundle that writes down what each step is given, and fails at one step on demand."""

    def __init__(self, bundle, *, fail_at=None):
        self.bundle, self.fail_at, self.given = bundle, fail_at, {}
        self.schema, self.mechanism, self.event = bundle.schema, self, bundle.mechanism.event
        self.hold, self.pool, self.repeat = bundle.hold, bundle.pool, bundle.mechanism.repeat

    def encode(self, private):
        return self._note("encode", private, self.bundle.encode)

    def privatise(self, code, *, entropy):
        return self._note("privatise", code, lambda given: self.bundle.mechanism.privatise(given, entropy=entropy))

    def decode(self, noisy_code):
        return self._note("decode", noisy_code, self.bundle.decode)

    def _note(self, step, given, work):
        self.given[step] = given
        if step == self.fail_at:
            raise DeeprotectError("planted")
        return work(given)


def _code_depends_on_its_own_window_only(bundle):
    """The codes of windows, each released alone and all in company."""
    samples = np.random.default_rng(1).uniform(-3, 3, size=(9, bundle.schema.window, 1))
    together = _codes(bundle, samples)
    return all(np.array_equal(_codes(bundle, samples[[place]]), together[[place]]) for place in range(9))


def _codes(bundle, samples):
    watched = _Watched(bundle)
    _release(watched, samples)
    return watched.given["privatise"]


def _release_depends_on_its_own_window_only(bundle):
    """The same window after two different ones, many times: what is released of it must not tell which came before.

    Each pair is a release of its own: over one long release a bug may wander so far that all ends look alike.
    """
    low, high = (np.full((bundle.schema.window, 1), value) for value in (-4.0, 4.0))
    after_low, after_high = (
        [_release(bundle, np.stack([before, low]))[1, 0, 0] for _ in range(500)] for before in (low, high)
    )
    return stats.ks_2samp(after_low, after_high).pvalue > 1e-6


def _decoder_gets_noise(bundle):
    watched = _Watched(bundle)
    _release(watched, np.random.default_rng(2).uniform(-4, 4, size=(50, bundle.schema.window, 1)))
    return bool((watched.given["privatise"] == watched.given["decode"]).mean() < 0.05)


def _failure_stays_charged(bundle):
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    with suppress(DeeprotectError):
        _release(_Watched(bundle, fail_at="decode"), np.zeros((3, bundle.schema.window, 1)), ledger=ledger)
    return ledger.spending.draws == 3


def _each_window_informs_one_draw(bundle):
    """Live, from the beginning of an episode and from what was before it, with a gap at any place."""
    return all(_informs_one_draw(bundle, observe, gap) for observe in ("beginning", "before") for gap in range(1, 15))


def _informs_one_draw(bundle, observe, gap):
    episodes, looked = Episodes(bundle, None, Observing.of(bundle, observe, 4)), []
    windows = np.zeros((bundle.hold.windows, bundle.schema.window, 1))
    answer = Released(windows, np.zeros((len(windows), 1)), np.zeros(1, dtype=bool))
    for number in (*range(gap), *range(gap + 1, 30)):
        episodes.take(number, np.full((bundle.schema.window, 1), float(number)), part=0, number=number)
        for episode, request in episodes.due():
            looked += request.observed[:, 0, 0].tolist()
            Episodes.settle(episode, answer)
    return len(looked) == len(set(looked)) > 0


def _what_is_kept_is_paid_for(bundle):
    """Two batches in a ledger on disk: as many draws are paid for as are kept, and that is all of them."""
    with TemporaryDirectory() as folder:
        database = Database.existing_or_new(f"{folder}/ledger.db")
        ledger = StoredLedger(database, Account("walk"), Price.of(bundle.mechanism))
        for start in (0, 4):
            frame = Frame(np.full(4, bundle.schema.window), np.arange(4), runs=(Run("a", start, 4),))
            batch = Windows(np.zeros((4, bundle.schema.window, 1)), frame)
            list(engine.stream([batch], bundle, ledger=ledger, entropy=SystemEntropy()))
        with database.reading() as connection:
            kept = connection.execute(select(func.sum(draws.c.draws))).scalar()
            paid = connection.execute(select(func.sum(charges.c.draws)).where(charges.c.paid == 1)).scalar()
    return kept == paid == 8


def _what_is_forgotten_is_never_drawn_again(bundle):
    """A release whose draws were removed is refused, whoever asks for it."""
    frame = Frame(np.full(4, bundle.schema.window), np.arange(4), runs=(Run("a", 0, 4),))
    batch = Windows(np.zeros((4, bundle.schema.window, 1)), frame)
    then = utc_now() - timedelta(days=60)
    with TemporaryDirectory() as folder:
        database = Database.existing_or_new(f"{folder}/ledger.db")
        ledger = StoredLedger(database, Account("walk"), Price.of(bundle.mechanism), clock=lambda: then)
        list(engine.stream([batch], bundle, ledger=ledger, entropy=SystemEntropy()))
        forget_draws(database, older_than=timedelta(days=30))
        with suppress(ReleasedBeforeError):
            list(engine.stream([batch], bundle, ledger=ledger, entropy=SystemEntropy()))
            return False
    return True


def _an_attempt_made_again_gets_the_first_draws(bundle):
    """The same share of a table on two workers, as engines retry and speculate: one release, paid for once."""
    table = protectors.table().append_column("recording", pa.array(["a"] * protectors.table().num_rows))
    with TemporaryDirectory() as folder:
        place = LedgerPlace(f"{folder}/ledger.db", Account("walk"))
        parts = {"a": Part(1, table.num_rows, "what is in it")}
        job = replace(Job.of(bundle, table.schema, place=place), parts=parts)
        first, again = (pa.Table.from_batches(release_batches(table.to_batches(), job)) for _ in range(2))
        with Database.existing(place.address).reading() as connection:
            paid = connection.execute(select(func.sum(charges.c.draws))).scalar()
    return first.equals(again) and paid == -(-table.num_rows // bundle.schema.window)


def _draws_what_the_integers_say(channel):
    runs, entropy = 20_000, SeededEntropy(5)
    for code, row in enumerate(channel.probabilities):
        drawn = channel.privatise(np.full((runs, 1), float(code)), entropy=entropy)[:, 0].astype(int)
        if stats.chisquare(np.bincount(drawn, minlength=len(row)), row * runs).pvalue < 1e-6:
            return False
    return True


def _keeps_scripts_as_often_as_the_integers_say(mechanism):
    runs, script, count = 20_000, 5, mechanism.scripts.count
    drawn = mechanism.privatise(np.full((runs, 1), float(script)), entropy=SeededEntropy(5))[:, 0].astype(int)
    chances = np.full(count, (1 - mechanism.kept) / count)
    chances[script] += mechanism.kept
    return stats.chisquare(np.bincount(drawn, minlength=count), chances * runs).pvalue > 1e-6


def _covers_the_truth(_):
    """The stated confidence, worked out for ten classes of twenty recordings whose windows are all of one code."""
    truth, recordings, windows = 0.3, 20, 30
    recording = np.repeat(np.arange(recordings), windows)
    labels = {"person": np.full(len(recording), "ann", dtype=object)}
    found = LabelledWindows(np.zeros((len(recording), 1, 1)), labels, recording, len(recording), "")
    holds = []
    for wrong in range(recordings + 1):
        draws = CalibrationDraws.of(found, (recording < wrong).astype(np.int64), hold=Hold(), codes=2)
        (cell,) = draws.shares("person", ["ann"], epsilon=1.0).shares[0]
        ((promise,), _) = RecordedShares("person", tuple("abcdefghij"), [[cell] * 10], 1.0).calibrated(confidence=0.95)
        holds.append(promise.low[1] <= truth * UNIT <= promise.high[1])
    return bool(stats.binom.pmf(np.arange(recordings + 1), recordings, truth)[holds].sum() ** 10 >= 0.95)


def _no_row_passes_raw(bundle):
    table = protectors.table()
    released, raw = Protector(bundle).protect(table).table["acc_x"].to_numpy(), table["acc_x"].to_numpy()
    return not np.isclose(released, raw, rtol=0, atol=1e-9).any()


def _nothing_but_channels_and_time_leaves(bundle):
    return set(Protector(bundle).protect(protectors.table()).table.column_names) == {"time", "acc_x"}


def _no_bundle_chooses_what_leaves(bundle):
    return "note" not in Protector(bundle).protect(protectors.table()).table.column_names


def _choosing() -> Bundle:
    """Its policy says that recordings are named in a stranger's column."""
    bundle = protectors.on_samples()
    policy = bundle.policy.vary(stream={"columns": {"recording": "note"}}).to_json()
    return Bundle(bundle.manifest.model_copy(update={"policy": policy}), bundle.files)


def _shipped_noise():
    return protectors.unchecked(protectors.narrow_box(), 2)


def _shipped_channel(make):
    return lambda: protectors.unchecked(make(), protectors.CODES, **protectors.code_book(protectors.CODES))


_audited_once, _audited_thrice = (partial(_stays_below_the_claim, audits=number) for number in (1, 3))
AUDIT_SAMPLES = Check("audit (noise on samples)", _audited_thrice, protectors.on_samples)
AUDIT_CLIPPED = Check("audit (clipped code)", _audited_once, protectors.clipped)
AUDIT_CHANNEL = Check("audit (channel)", _audited_thrice, protectors.coded)
AUDIT_SCRIPTS = Check("audit (scripts)", _audited_thrice, protectors.scripted)
AUDIT_HELD = Check("audit (held draws)", _audited_thrice, protectors.held)
ISOLATION_SAMPLES = Check("audit (windows kept apart)", _keeps_windows_apart, protectors.on_samples)
ISOLATION_CHANNEL = Check("audit (windows kept apart in a channel)", _keeps_windows_apart, protectors.coded)
VERIFY_NOISE = Check("verify (noise)", _is_verified, _shipped_noise, shipped=True)
VERIFY_CHANNEL = Check("verify (channel)", _is_verified, _shipped_channel(protectors.randomised_response), shipped=True)
VERIFY_NAMED = Check("verify (named channel)", _is_verified, _shipped_channel(protectors.named), shipped=True)
VERIFY_GIVEN = Check("verify (given the useful class)", _is_verified, _shipped_channel(protectors.given), shipped=True)
GRID = Check("law: noisy codes lie on the public grid", _lies_on_the_grid, protectors.on_samples)
FRESH = Check("law: two releases differ", _differs_each_time, protectors.on_samples)
ONE_SCRIPT = Check("law: an episode shows one script", _shows_one_script, protectors.scripted)
ONE_DRAW = Check("law: an episode shows one output", _shows_one_output, protectors.held)
NO_SEED = Check("law: seeded entropy is refused", _refuses_seeds, protectors.on_samples)
OWN_NOISE = Check("law: each window has its own noise", _each_window_has_its_own_noise, protectors.on_samples)
OWN_CODE = Check("law: a code depends on its window only", _code_depends_on_its_own_window_only, protectors.on_samples)
OWN_RELEASE = Check(
    "law: a released window tells of its own window only",
    _release_depends_on_its_own_window_only,
    protectors.on_samples,
)
DECODER = Check("law: the decoder gets noisy codes", _decoder_gets_noise, protectors.on_samples)
ONE_DRAW_OF_A_WINDOW = Check("law: a window informs one draw at most", _each_window_informs_one_draw, protectors.held)
PAID_FOR = Check("law: what is kept is paid for", _what_is_kept_is_paid_for, protectors.on_samples)
FORGOTTEN = Check(
    "law: what is forgotten is never drawn again", _what_is_forgotten_is_never_drawn_again, protectors.on_samples
)
ONE_ATTEMPT = Check(
    "law: an attempt made again gets the first draws",
    _an_attempt_made_again_gets_the_first_draws,
    protectors.on_samples,
)
CHARGED = Check("law: a failed release stays charged", _failure_stays_charged, protectors.on_samples)
NO_RAW = Check("law: no row passes unchanged", _no_row_passes_raw, protectors.on_samples)
COLUMNS = Check(
    "law: only channels, recording and time leave", _nothing_but_channels_and_time_leaves, protectors.on_samples
)
CHOSEN = Check("law: no bundle chooses which column leaves", _no_bundle_chooses_what_leaves, _choosing)
INTEGERS = Check(
    "claim: the channel draws what its integers say", _draws_what_the_integers_say, protectors.randomised_response
)
SCRIPT_INTEGERS = Check(
    "claim: scripts are kept as often as the integers say",
    _keeps_scripts_as_often_as_the_integers_say,
    lambda: protectors.scripted().mechanism,
)
COVERAGE = Check("claim: confidence sets cover the truth", _covers_the_truth)
