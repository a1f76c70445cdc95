"""Mistakes that people make in release paths, each planted in the real code, and the checks that must catch it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from tests.mutations import checks, intervals, mixing
from tests.mutations.bug import Bug, Patch

from deeprotect.bundle.layers.erasing import WINDOW_BITS
from deeprotect.bundle.layers.rounding import Clip, Round, Scale
from deeprotect.bundle.layers.structure import Residual
from deeprotect.engines.part_ledger import PartLedger
from deeprotect.errors import BudgetError, DeeprotectError
from deeprotect.privacy.channel import beyond
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel, ExactDraw
from deeprotect.privacy.channel.scripts import ScriptResponse, keep_for
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms import laplace
from deeprotect.privacy.sampling import DiscreteLaplace, below
from deeprotect.release import engine
from deeprotect.release.by_time import ByTime
from deeprotect.release.engine import Pipeline, Released, Request
from deeprotect.release.episodes import Episodes
from deeprotect.release.ledger.books import StoredBooks
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Frame, Windows
from deeprotect.signals.schema import Schema
from deeprotect.tables.columns import Columns
from deeprotect.tables.roles import ColumnMap
from deeprotect.training.export import LayerBuilder
from deeprotect.training.fitting import blind, fit
from deeprotect.training.labelled_windows import read_windows


def half_the_noise_drawn(patch: Patch) -> None:
    patch.setattr(laplace, "DiscreteLaplace", lambda scales: DiscreteLaplace(tuple(scale / 2 for scale in scales)))


def half_the_noise_stated(patch: Patch) -> None:
    whole = laplace.GridLaplace.to_json

    def halved(self):
        fields = whole(self)
        return fields | {"scales": [laplace._text(scale / 2) for scale in self.scales]}

    patch.setattr(laplace.GridLaplace, "to_json", halved)


def float_laplace(patch: Patch) -> None:
    def privatise(self, code, *, entropy):
        del entropy
        clipped = np.clip(code, self.box.low, self.box.high)
        return clipped + np.random.default_rng().laplace(scale=self.noise_scales, size=code.shape)

    patch.setattr(laplace.GridLaplace, "privatise", privatise)


def noise_before_clipping(patch: Patch) -> None:
    def privatise(self, code, *, entropy):
        low, step = self.box._ends
        position = np.rint((code - low) / step).astype(np.int64) + self.noise.draw(len(code), entropy=entropy)
        return self.box.from_grid(np.clip(position, 0, self.box.grid_steps))

    patch.setattr(laplace.GridLaplace, "privatise", privatise)


def range_from_the_data(patch: Patch) -> None:
    def scale(_, samples):
        low, high = samples.min(axis=(0, 1)), samples.max(axis=(0, 1))
        return (samples - low) / np.maximum(high - low, 1e-9)

    patch.setattr(Schema, "scale", scale)


def seed_fixed(patch: Patch) -> None:
    patch.setattr(engine, "require_system", lambda _: SeededEntropy(0))


def noise_reused(patch: Patch) -> None:
    draw = DiscreteLaplace.draw
    patch.setattr(
        DiscreteLaplace, "draw", lambda self, count, *, entropy: draw(self, 1, entropy=entropy).repeat(count, 0)
    )


def no_noise_on_one_coordinate(patch: Patch) -> None:
    draw = DiscreteLaplace.draw
    patch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, count, *, entropy: draw(self, count, entropy=entropy) * (np.arange(len(self.scales)) > 0),
    )


def decoder_fed_the_private_window(patch: Patch) -> None:
    def step(private, bundle, charge, system):
        code = bundle.encode(bundle.schema.scale(private.samples))
        charge()
        bundle.mechanism.privatise(code, entropy=system)
        return bundle.decode(code)

    _plant_release(patch, step)


def charged_after_release(patch: Patch) -> None:
    def step(private, bundle, charge, system):
        noisy = bundle.mechanism.privatise(bundle.encode(bundle.schema.scale(private.samples)), entropy=system)
        released = bundle.decode(noisy)
        charge()
        return released

    _plant_release(patch, step)


def tail_released_raw(patch: Patch) -> None:
    def step(private, bundle, charge, system):
        scaled = bundle.schema.scale(private.samples)
        charge()
        released = bundle.decode(bundle.mechanism.privatise(bundle.encode(scaled), entropy=system))
        full = private.frame.lengths == bundle.schema.window
        return np.where(full[:, None, None], released, bundle.schema.unscale(scaled))

    _plant_release(patch, step)


def labels_left_in(patch: Patch) -> None:
    found = Columns.of.__func__

    def all_kept(cls, table, schema, **options):
        return replace(found(cls, table, schema, **options), kept=tuple(table.names), dropped=())

    patch.setattr(Columns, "of", classmethod(all_kept))


def a_bundle_chooses_columns(patch: Patch) -> None:
    """Time and recording as the bundle's policy says: whoever wrote it could name any column."""
    patch.setattr(ColumnMap, "of_release", ColumnMap.of)


def row_permuted_in_the_sampler(patch: Patch) -> None:
    rows = ExactDraw._thresholds.func

    def permuted(self):
        first, *rest = rows(self)
        return [(np.roll(first[0], 1), first[1]), *rest]

    # A cached property learns its name when a class is made; here it is told.
    planted = cached_property(permuted)
    planted.__set_name__(ExactDraw, "_thresholds")
    patch.setattr(ExactDraw, "_thresholds", planted)


def row_permuted_in_the_bundle(patch: Patch) -> None:
    whole = DiscreteChannel.to_json

    def permuted(self):
        fields = whole(self)
        first, *rest = fields["weights"]
        return fields | {"weights": [" ".join(reversed(first.split(" "))), *rest]}

    patch.setattr(DiscreteChannel, "to_json", permuted)


def tampered_outputs(patch: Patch) -> None:
    """An output that only one code can give: a code book's 'rare' window."""
    draw = ExactDraw.__call__
    patch.setattr(ExactDraw, "__call__", lambda self, index, words: np.where(index == 0, 0, draw(self, index, words)))


def windows_joined(patch: Patch) -> None:
    """Each released window starts where the one before it ended: smooth, and it tells of two private windows."""

    def step(private, bundle, charge, system):
        charge()
        code = bundle.encode(bundle.schema.scale(private.samples))
        released = bundle.decode(bundle.mechanism.privatise(code, entropy=system)).copy()
        for window in range(1, len(released)):
            released[window] += released[window - 1, -1] - released[window, 0]
        return released

    _plant_release(patch, step)


def failing_windows_left_out(patch: Patch) -> None:
    """A window whose encoding fails is none that can be released."""
    of = Request.of.__func__

    def some(cls, private, bundle, ledger):
        kept = [place for place in range(len(private)) if _encodes(bundle, private.samples[[place]])]
        frame = Frame(private.frame.lengths[kept], private.frame.first_rows[kept])
        return of(cls, Windows(private.samples[kept], frame), bundle, ledger)

    patch.setattr(Request, "of", classmethod(some))


def _encodes(bundle: Pipeline, samples: np.ndarray) -> bool:
    with suppress(DeeprotectError):
        bundle.encode(bundle.schema.scale(samples))
        return True
    return False


def failing_encoder_fails_the_batch(patch: Patch) -> None:
    patch.setattr(engine, "codes_of", lambda bundle, scaled, counts: bundle.pool(bundle.encode(scaled), counts))


def undecoded_windows_left_out(patch: Patch) -> None:
    """A noisy code that cannot be decoded shows nothing."""

    def some(bundle, noisy_code):
        found = []
        for each in noisy_code:
            with suppress(DeeprotectError):
                found.append(bundle.decode(each[None]))
        return np.concatenate(found)

    patch.setattr(engine, "windows_of", some)


def _plant_release(patch: Patch, step: Callable[..., np.ndarray]) -> None:
    """An engine whose middle is `step`, wherever batches of windows go through it."""
    of, private = Request.of.__func__, {}

    def noted(cls, windows, bundle, ledger):
        request = of(cls, windows, bundle, ledger)
        private[id(request)] = windows
        return request

    def simulate(requests, *, entropy, codes=None):
        del codes
        (request,) = requests
        own = private.pop(id(request))
        windows = step(own, request.bundle, partial(_charge, request), entropy)
        return [Released(windows, np.zeros((len(own), 1)), np.zeros(len(own), dtype=bool))]

    patch.setattr(Request, "of", classmethod(noted))
    # `step` encodes for itself
    patch.setattr(engine, "encode", lambda requests: [np.zeros((len(each.counts), 1)) for each in requests])
    patch.setattr(engine, "simulate", simulate)


def _charge(request: Request) -> None:
    with request.ledger.open([request]) as books:
        (paid,) = books.charge()
    if isinstance(paid, BudgetError):
        raise paid


def redrawn_inside_an_episode(patch: Patch) -> None:
    """Every window of an episode gets a draw of its own from the episode's code."""
    privatise, codes = DiscreteChannel.privatise, {}

    def noted(self, code, *, entropy):
        codes[len(code)] = code
        return privatise(self, code, entropy=entropy)

    def redraw(self, noisy_code, counts, *, entropy):
        return privatise(self, np.repeat(codes[len(noisy_code)], counts, axis=0), entropy=entropy)

    patch.setattr(DiscreteChannel, "privatise", noted)
    patch.setattr(DiscreteChannel, "repeat", redraw)


def slots_drawn_apart(patch: Patch) -> None:
    """Every slot of a script gets a draw of its own at ε: together they tell as many times ε as there are slots."""
    codes = {}

    def noted(self, code, *, entropy):
        codes[len(code)] = code
        return code + 0.0 * self.placeholders(len(code), entropy=entropy)

    def apart(self, noisy_code, counts, *, entropy):
        scripts, size = self.scripts, (len(noisy_code), self.scripts.slots)
        labels = scripts.sequences(codes[len(noisy_code)][:, 0].astype(np.int64))
        words = entropy.words(labels.size).reshape(size)
        kept = words < np.uint64(keep_for(scripts.labels, self.event.epsilon))
        drawn = np.where(kept, labels, below(scripts.labels, labels.size, entropy).reshape(size))
        windows = np.repeat(drawn, scripts.windows, axis=1)
        return windows[np.arange(windows.shape[1]) < counts[:, None]].astype(np.float64)[:, None]

    patch.setattr(ScriptResponse, "privatise", noted)
    patch.setattr(ScriptResponse, "repeat", apart)


def script_kept_too_often(patch: Patch) -> None:
    """As if there were labels only, and not all that scripts can be."""
    privatise = ScriptResponse.privatise

    def often(self, code, *, entropy):
        more = replace(self)
        object.__setattr__(more, "keep", keep_for(self.scripts.labels, self.event.epsilon))
        return privatise(more, code, entropy=entropy)

    patch.setattr(ScriptResponse, "privatise", often)


def first_slot_without_noise(patch: Patch) -> None:
    """The first slot of every script shows what was read: at a large ε few runs show more than the claim."""
    privatise, repeat, codes = ScriptResponse.privatise, ScriptResponse.repeat, {}

    def noted(self, code, *, entropy):
        codes[len(code)] = code
        return privatise(self, code, entropy=entropy)

    def bared(self, noisy_code, counts, *, entropy):
        drawn, read = (repeat(self, each, counts, entropy=entropy) for each in (noisy_code, codes[len(noisy_code)]))
        place = np.concatenate([np.arange(count) for count in counts])
        return np.where(place[:, None] < self.scripts.windows, read, drawn)

    patch.setattr(ScriptResponse, "privatise", noted)
    patch.setattr(ScriptResponse, "repeat", bared)


def window_informs_two_draws(patch: Patch) -> None:
    """What an episode's own draw looked at is kept for the draw of the next one, too."""
    take = Episodes.take

    def and_for_the_next(self, ticket, samples, **place):
        take(self, ticket, samples, **place)
        if samples is not None and not any(samples is each for each in self._before):
            self._before.append(samples)

    patch.setattr(Episodes, "take", and_for_the_next)


def a_draw_from_whatever_came(patch: Patch) -> None:
    """An episode of which only the end came is drawn from that, which may have informed the next one already."""
    take = Episodes.take

    def first_is_own(self, ticket, samples, *, number, part=0):
        border, is_first = self._border, self._last is None
        self._border = self.bundle.hold.windows if is_first else border
        take(self, ticket, samples, number=number, part=part)
        self._border = border

    patch.setattr(Episodes, "take", first_is_own)


def sent_again_and_drawn_again(patch: Patch) -> None:
    """The key of a draw holds which run of the session it is from."""
    request, runs = Episodes._request, []

    def of_this_run(self, episode):
        if not any(self is each for each in runs):
            runs.append(self)
        place = next(place for place, each in enumerate(runs) if each is self)
        asked = request(self, episode)
        return replace(asked, runs=tuple(replace(run, recording=str(place)) for run in asked.runs))

    patch.setattr(Episodes, "_request", of_this_run)


def a_clock_set_back_is_guessed(patch: Patch) -> None:
    """Readings that come long after newer ones begin the stretch anew."""
    through = ByTime._through

    def anew(self, readings):
        if self._stretch and max(int(each.ticks[-1]) for each in readings) < self._stretch.newest - self._jump:
            self._stretch, self._next = None, 0
        return through(self, readings)

    patch.setattr(ByTime, "_through", anew)


def recorded_without_its_charge(patch: Patch) -> None:
    """Draws are kept under a charge that was made for others: each may be released, and none is paid for."""
    charge, first = StoredBooks._charge, []

    def first_only(self, turn, refused):
        if first:
            for page in self._pages.values():
                page.charge[:], page.paid[:] = first[0], True
            return
        charge(self, turn, refused)
        first.extend(number for page in self._pages.values() for number in page.charge)

    patch.setattr(StoredBooks, "_charge", first_only)


def forgotten_and_drawn_again(patch: Patch) -> None:
    """A charge without its draw is drawn for, as one of which a process died; that it was forgotten nobody looks up."""
    patch.setattr(StoredBooks, "_read_closed", lambda self: None)


def a_retry_draws_again(patch: Patch) -> None:
    """Draws of a worker's share go by the attempt, as those of a table in memory do, and not by what is in it."""
    patch.setattr(PartLedger, "of_table", StoredLedger.of_table)


def tau_rounded_down(patch: Patch) -> None:
    """To 30 binary digits, as shares are elsewhere."""
    whole = beyond.furthest_rows
    patch.setattr(beyond, "furthest_rows", lambda weights: Fraction(int(whole(weights) * UNIT), UNIT))


def tails_not_counted(patch: Patch) -> None:
    """What nothing is learnt from, because it is mostly padding, is left out of the counts as well."""
    patch.setattr(fit, "read_windows", lambda *args, tails=False, **facts: read_windows(*args, **facts))


def blind_to_the_sequence(patch: Patch) -> None:
    """The guesser is told the commonest useful label of all draws."""
    patch.setattr(
        blind.KnownLabels, "sequence", lambda self, pool, kinds: np.eye(kinds)[self.counts(pool, kinds).argmax(1)]
    )


def a_branch_before_the_erasure(patch: Patch) -> None:
    """The window itself is added to what is left of it."""
    erase = LayerBuilder.erase

    def branched(self, layer, projection):
        erase(self, layer, projection)
        beside = Residual((Scale(WINDOW_BITS), *self.layers))
        self.layers[:] = [Scale(-WINDOW_BITS), beside, Round(Clip(0, 2 << WINDOW_BITS))]

    patch.setattr(LayerBuilder, "erase", branched)


BUGS = (
    Bug("half the noise is drawn", half_the_noise_drawn, (checks.AUDIT_SAMPLES, checks.AUDIT_CLIPPED)),
    Bug("half the noise is stated", half_the_noise_stated, (checks.VERIFY_NOISE,)),
    Bug("float Laplace", float_laplace, (checks.GRID,)),
    Bug("noise before clipping", noise_before_clipping, (checks.AUDIT_CLIPPED,)),
    Bug("range taken from the data", range_from_the_data, (checks.OWN_CODE, checks.ISOLATION_SAMPLES)),
    Bug("seed fixed", seed_fixed, (checks.FRESH, checks.NO_SEED)),
    Bug("same noise for all windows", noise_reused, (checks.OWN_NOISE, checks.AUDIT_SAMPLES)),
    Bug("one coordinate without noise", no_noise_on_one_coordinate, (checks.AUDIT_SAMPLES,)),
    Bug("decoder fed the private window", decoder_fed_the_private_window, (checks.AUDIT_SAMPLES, checks.DECODER)),
    Bug("windows joined at their borders", windows_joined, (checks.OWN_RELEASE, checks.ISOLATION_SAMPLES)),
    Bug("channel row permuted while drawing", row_permuted_in_the_sampler, (checks.INTEGERS,)),
    Bug("channel row permuted in the bundle", row_permuted_in_the_bundle, (checks.VERIFY_CHANNEL,)),
    Bug("one code always answered truly", tampered_outputs, (checks.AUDIT_CHANNEL, checks.INTEGERS)),
    Bug("tail window released raw", tail_released_raw, (checks.NO_RAW,)),
    Bug("windows whose encoding fails left out", failing_windows_left_out, (checks.TOTAL,)),
    Bug("an encoder that fails fails the batch", failing_encoder_fails_the_batch, (checks.TOTAL,)),
    Bug("windows whose decoding fails left out", undecoded_windows_left_out, (checks.TOTAL,)),
    Bug("budget charged after release", charged_after_release, (checks.CHARGED,)),
    Bug("redrawn inside an episode", redrawn_inside_an_episode, (checks.AUDIT_HELD, checks.ONE_DRAW)),
    Bug("slots of a script drawn apart", slots_drawn_apart, (checks.AUDIT_SCRIPTS, checks.ONE_SCRIPT)),
    Bug("a script kept too often", script_kept_too_often, (checks.SCRIPT_INTEGERS,)),
    Bug("first slot of a script without noise", first_slot_without_noise, (checks.AUDIT_LONG_SCRIPTS,)),
    Bug("a window informs two draws", window_informs_two_draws, (checks.ONE_DRAW_OF_A_WINDOW,)),
    Bug("a draw from whatever came", a_draw_from_whatever_came, (checks.SENT_AGAIN,)),
    Bug("sent again and drawn again", sent_again_and_drawn_again, (checks.SENT_AGAIN,)),
    Bug("a clock set back is guessed", a_clock_set_back_is_guessed, (checks.FORWARD,)),
    Bug("recorded without its charge", recorded_without_its_charge, (checks.PAID_FOR,)),
    Bug("forgotten and drawn again", forgotten_and_drawn_again, (checks.FORGOTTEN,)),
    Bug("a retry draws again", a_retry_draws_again, (checks.ONE_ATTEMPT,)),
    Bug("tail not counted", tails_not_counted, (checks.TAILS,)),
    Bug("b without the whole sequence of useful labels", blind_to_the_sequence, (checks.BLIND,)),
    Bug("τ rounded down", tau_rounded_down, (checks.TAU,)),
    Bug("a branch before the erasure", a_branch_before_the_erasure, (checks.VERIFY_ERASED, checks.FIBRES)),
    Bug("labels left in the output", labels_left_in, (checks.COLUMNS,)),
    Bug("a bundle that chooses columns", a_bundle_chooses_columns, (checks.CHOSEN,)),
    *mixing.BUGS,
    *intervals.BUGS,
)
