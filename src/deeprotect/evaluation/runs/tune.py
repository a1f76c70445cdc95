"""Tuning of a policy: the cheapest hour that is accurate enough, or the best accuracy for an hour's budget."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import joblib
import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.bundle.beyond import points
from deeprotect.errors import Argument, InputError, quoted_all
from deeprotect.evaluation.evaluator import FoldRelease, ReleasedRows, Setup
from deeprotect.evaluation.experiment import CHANGES, Plan, hold_settings, run, script_settings
from deeprotect.evaluation.methods import Method, Setting, check_seed
from deeprotect.evaluation.report import figures, layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.page import Group, Page
from deeprotect.evaluation.results import Results, Row, may_be_people
from deeprotect.evaluation.runner import FittedFold, Progress
from deeprotect.evaluation.workers import Jobs, dispatch, workers
from deeprotect.policy import Policy
from deeprotect.policy.draft import MOST_EPSILON
from deeprotect.policy.sections import duration
from deeprotect.tables.outputs import Output
from deeprotect.training.labelled_windows import Indices, LabelledWindows, read_windows

POLICY, COMMENT_WIDTH = "policy.toml", 110
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Values of ε to try for a draw of one label."""
OF_SCRIPTS = (0.6, 0.7, 0.8, 0.9, 1.0)
"""Multiples of the ε at which few draws of a script are wasted."""
LEAST_EPSILON = 0.1
WINDOWS = (Fraction(1), Fraction(1, 2), Fraction(2))
"""Lengths of windows to try, as multiples of the policy's."""
SHORTEST_WINDOW = 4
SEARCHED = 3000
"""Windows for the search, in whole recordings."""
FEWEST_RECORDINGS = 9
"""Share of the table's recordings for the test, and least number of recordings."""
HELD_OUT, FOLDS = 0.3, 3
ATTACKERS = ("ridge", "extra_trees")
CHOSEN, CONFIRMED = 0.75, 0.97
UNSET = {"every": None, "listen": None, "slots": None, "changes": None}


@dataclass(frozen=True)
class Goal:
    """The goal, one of two: the accuracy that an app needs, or the ε that an hour may cost."""

    accuracy: float | None = None
    epsilon_per_hour: float | None = None

    def __post_init__(self) -> None:
        if (self.accuracy is None) == (self.epsilon_per_hour is None):
            hour = Argument("epsilon_per_hour")
            raise InputError(
                "give ", Argument("accuracy"), ", what the app needs, or ", hour, ", what an hour may cost"
            )
        if self.accuracy is not None and not 0 < self.accuracy <= 1:
            raise InputError(
                Argument("accuracy", self.accuracy), " must be a share, above 0 and at most 1, such as 0.9"
            )
        if self.epsilon_per_hour is not None and not 0 < self.epsilon_per_hour < float("inf"):
            raise InputError(Argument("epsilon_per_hour", self.epsilon_per_hour), " must be positive")

    def epsilons(self, usual: Sequence[float], seconds: float) -> list[float]:
        """Values to try for draws of `seconds`: the usual ones, or those that fit an hour's budget and the largest that
        does."""
        if self.epsilon_per_hour is None:
            return list(usual)
        most = min(float(f"{self.epsilon_per_hour * seconds / 3600:.3g}"), MOST_EPSILON)
        return [each for each in (*usual, most) if LEAST_EPSILON <= each <= most]

    def choose(self, rows: Sequence[Row]) -> Row:
        """The cheapest row that is accurate enough, and the best of equally cheap ones; or the best that is cheap
        enough."""
        enough = [] if self.accuracy is None else [row for row in rows if self.is_reached(accuracy_of(row))]
        if not enough:
            return max(rows, key=lambda row: (accuracy_of(row), -_cost(row)))
        return min(enough, key=lambda row: (_cost(row), -accuracy_of(row)))

    def is_reached(self, accuracy: float) -> bool:
        return self.accuracy is None or accuracy >= self.accuracy

    def __str__(self) -> str:
        if self.accuracy is not None:
            return f"an accuracy of {self.accuracy:.0%}"
        return f"ε = {self.epsilon_per_hour:g} an hour"


@dataclass(frozen=True)
class Tuned:
    """The proposed policy, its row in the search and on test recordings, and everything that was tried.

    `asked` is the guarantee of the original policy.
    """

    policy: Policy
    asked: str
    goal: Goal
    chosen: Row
    confirmed: Row
    tried: Sequence[Row]
    recordings: int

    @property
    def holds(self) -> bool:
        """Whether the goal was reached, and test recordings agree."""
        ends = [each.app_ci[1] for each in self.confirmed.useful.values()]
        return self.goal.is_reached(accuracy_of(self.chosen)) and self.goal.is_reached(min(ends))

    @property
    def shortfall(self) -> str:
        """Why the goal is not reached, in a clause; empty if it is. The two sets of recordings may disagree."""
        found, tested = accuracy_of(self.chosen), accuracy_of(self.confirmed)
        if self.holds:
            return ""
        if self.goal.is_reached(found):
            return f"{self.goal} was reached in the search ({found:.3f}), but not on test recordings"
        if self.goal.is_reached(tested):
            return (
                f"{self.goal} was reached on test recordings ({tested:.3f}), but by no policy in the search "
                f"({found:.3f} at most), which decides: record more to find out which is right"
            )
        return f"none of the tried policies reaches {self.goal}; this one comes closest"

    def __str__(self) -> str:
        found = self.confirmed
        read = "; ".join(
            f"{name} {accuracy_of(self.chosen):.3f} in the search, {each.app:.3f} "
            f"[{each.app_ci[0]:.3f}, {each.app_ci[1]:.3f}] on {self.recordings} test recordings"
            for name, each in found.useful.items()
        )
        return "\nnote: ".join([f"{described(found)}, ε = {_cost(found):g} an hour: {read}", *self.notes])

    @property
    def notes(self) -> list[str]:
        """Side effects of the proposal that the user did not ask for."""
        return [*self._beyond, *self._other]

    @property
    def _beyond(self) -> list[str]:
        """What the proposal reveals beyond the useful label, according to the test recordings."""
        found = self.confirmed.beyond
        if found is None:
            return []
        end, useful = found.surely["1"], quoted_all([*self.confirmed.useful])
        surely = "" if end is None else f", and at most {points(end)} with 95 % confidence"
        return [
            f"beyond {useful} itself, one draw reveals anything else about {points(found.at_most['1'])} more often "
            f"than guessing{surely}; the coder misclassifies {100 * found.misread:.0f} % of draws"
        ]

    @property
    def _other(self) -> list[str]:
        if self.asked == self.policy.privacy.guarantee:
            return []
        return [
            f'the policy asked for guarantee = "{self.asked}"; tune compares guarantee = "ldp" only, which limits '
            "every inference at this ε, the sensitive ones included"
        ]


def tune(
    policy: Policy,
    table: Any,
    out: Path,
    *,
    goal: Goal,
    jobs: Jobs = 1,
    seed: int = 0,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    progress: Progress = lambda _: None,
) -> Tuned:
    """Tune a policy, and write policy.toml, report.html, results.json and the curve into `out`.

    The choice is made without the test recordings, which are used once, after the choice.
    """
    check_seed(seed)
    if isinstance(jobs, int) and jobs < 1:
        raise InputError(f"jobs = {jobs} must be 1 or more")
    Output.at(out).check_folder()
    plain = policy.vary(privacy={**UNSET, "guarantee": "ldp", "mechanism": "auto"}, training={"seed": seed})
    read = partial(read_windows, table, mapped=mapped, columns=columns)
    tested, searched = _recordings(read(plain), seed)
    tried = _search(plain, searched, goal=goal, read=read, jobs=jobs, seed=seed, progress=progress)
    chosen = goal.choose(tried)
    proposed = _proposed(plain, chosen).vary(training={"seed": policy.training.seed})
    windows = read(proposed)
    setup = Setup(attackers=ATTACKERS, pools=(), retrained=None, seed=seed)
    plan = Plan([Setting.of(proposed)], setup, SplitSpec("recording", tested=tuple(tested.tolist())), jobs)
    (confirmed,) = run(windows, proposed, plan, release_of=by_recording).rows
    progress(CONFIRMED)
    tuned = Tuned(proposed, policy.privacy.guarantee, goal, chosen, _of_window(confirmed, proposed), tried, len(tested))
    _write(out, tuned, windows, seed=seed)
    progress(1.0)
    return tuned


def accuracy_of(row: Row) -> float:
    """Accuracy on the worst recognised useful inference."""
    return min(each.app for each in row.useful.values())


def described(row: Row) -> str:
    """Describe a point of the curve in words."""
    held = duration(_seconds(row))
    draw = f"ε = {row.epsilon:g} for a draw of {held}"
    script = "" if row.slots is None else f", a script in slots of {row.slots}"
    return f"{row.mechanism}, {draw}{script}, windows of {row.window} samples"


def by_recording(fold: FittedFold, setting: Setting) -> FoldRelease:
    """Group errors by recording, whether or not draws are held: intervals are over recordings."""
    release = fold.release(setting)

    def draw(private: Any, counts: Any) -> ReleasedRows:
        released = release.draw(private, counts)
        return released if release.hold.windows > 1 else released._replace(draws=np.arange(len(private)))

    return replace(release, draw=draw)


def _recordings(windows: LabelledWindows, seed: int) -> tuple[Indices, Indices]:
    """The test recordings, which only the final test uses, and enough of the others for the search.

    Chosen by number, which does not depend on the window length, so that all candidates use the same recordings.
    """
    recordings = len(np.unique(windows.recording))
    if recordings < FEWEST_RECORDINGS:
        raise InputError(
            f"the table has {recordings} recordings; tune takes at least {FEWEST_RECORDINGS}, to choose on some and "
            "confirm on others; cut long ones into pieces, named in a column `recording`"
        )
    (fold,) = SplitSpec("recording", held_out=HELD_OUT).make_folds(windows, seed=seed)
    numbers, counts = np.unique(windows.recording[fold.train], return_counts=True)
    order = np.random.default_rng(seed).permutation(len(numbers))
    enough = max(2 * FOLDS, int(np.searchsorted(np.cumsum(counts[order]), SEARCHED)))
    return np.unique(windows.recording[fold.test]), numbers[order[:enough]]


def _search(
    policy: Policy, searched: Indices, *, goal: Goal, read: Any, jobs: Jobs, seed: int, progress: Progress
) -> list[Row]:
    """Rows of everything that was tried, shorter windows first."""
    rows: list[Row] = []
    lengths = sorted({window for each in WINDOWS if (window := round(policy.stream.window * each)) >= SHORTEST_WINDOW})
    # Attackers are not needed in the search.
    varied = (policy.vary(stream={"window": length}, inferences={"sensitive": []}) for length in lengths)
    with workers(jobs) as pool:
        calls = (
            joblib.delayed(_measured)(windows[np.isin(windows.recording, searched)], rules, goal, seed=seed)
            for rules, windows in ((rules, read(rules)) for rules in varied)
        )
        for number, found in enumerate(dispatch(pool, calls), start=1):
            rows += found
            progress(CHOSEN * number / len(lengths))
    if not rows:
        raise InputError(f"{goal} pays for no draw that recordings of this length hold; allow more, or record longer")
    return sorted(rows, key=lambda row: (row.window or 0, row.seconds_per_draw or 0, row.epsilon or 0))


def _measured(windows: LabelledWindows, policy: Policy, goal: Goal, *, seed: int) -> list[Row]:
    """Every point of the curve for windows of one length, cross-validated by recording."""
    settings = list(_candidates(windows, policy, goal))
    if not settings:
        return []
    setup, split = Setup(attackers=(), pools=(), retrained=None, seed=seed), SplitSpec("recording", folds=FOLDS)
    rows = run(windows, policy, Plan(settings, setup, split), release_of=by_recording).rows
    return [_of_window(row, policy) for row in rows]


def _of_window(row: Row, policy: Policy) -> Row:
    return replace(row, window=policy.stream.window, window_seconds=float(policy.stream.window_seconds))


def _candidates(windows: LabelledWindows, policy: Policy, goal: Goal) -> Iterator[Setting]:
    """Draws of one label, held for a window or longer; scripts; and noise on features, window by window."""
    held, limits = hold_settings(windows, policy), policy.privacy.budget.limits
    usual: list[tuple[Setting, Sequence[float]]]
    usual = [(each, EPSILONS) for each in (*held, replace(held[0], method=Method("laplace", "ldp")))]
    usual += [
        (each, [float(each.epsilon or 0) * share for share in OF_SCRIPTS]) for each in script_settings(windows, policy)
    ]
    for setting, epsilons in usual:
        seconds = setting.policy(policy).seconds_per_draw
        for epsilon in goal.epsilons(epsilons, seconds):
            hourly = limits.get("per_hour", float("inf"))
            if epsilon <= min([*limits.values(), epsilon]) and epsilon * 3600 / seconds <= hourly:
                yield replace(setting, epsilon=float(f"{epsilon:.3g}"))


def _proposed(policy: Policy, row: Row) -> Policy:
    """The policy in its simplest notation, without `every` for a draw per window."""
    privacy: dict[str, Any] = {"epsilon": row.epsilon, "mechanism": row.mechanism}
    varied = policy.vary(stream={"window": row.window}, privacy=privacy)
    if _seconds(row) == varied.stream.window_seconds:
        return varied
    held = {"every": duration(_seconds(row)), "slots": row.slots, "changes": None if row.slots is None else CHANGES}
    return varied.vary(privacy=held)


def _seconds(row: Row) -> Fraction:
    return Fraction(row.seconds_per_draw or 0.0).limit_denominator(1000)


def _cost(row: Row) -> float:
    return float(f"{row.epsilon_per_hour or 0.0:.4g}")


def _write(out: Path, tuned: Tuned, windows: LabelledWindows, *, seed: int) -> None:
    run_facts = {
        "command": "deeprotect tune",
        "goal": str(tuned.goal),
        "proposed": described(tuned.chosen),
        "fingerprint": windows.fingerprint,
        "split": "recording: each is on one side; the choice did not use the tested ones",
        "quick": False,
        "seed": seed,
        "versions": files.versions(),
    }
    results = Results([tuned.confirmed], holds=tuned.tried, run=run_facts)
    results = results.numbered(may_be_people(results, windows))
    files.write(out, results, _page(tuned))
    comments = [f"# {line}\n" for note in tuned.notes for line in wrap(note, COMMENT_WIDTH)]
    files.write_file(out / POLICY, "".join([*comments, tuned.policy.to_toml()]).encode())


def _page(tuned: Tuned) -> Page:
    names, verdict = list(tuned.confirmed.useful), tuned.shortfall and f" But {tuned.shortfall}."
    draw = partial(figures.tried, tuned.tried, tuned.confirmed)
    caption = "{}: accuracy of an app against ε per hour; the ring marks the proposal"
    asked: Any = {"accuracy": tuned.goal.accuracy, "cost": tuned.goal.epsilon_per_hour}
    return Page(
        title=f"{' and '.join(names)}: a policy for {tuned.goal}",
        lead=f"Asked for: {tuned.goal}.{verdict} Proposed: {described(tuned.confirmed)}.",
        best=tuned.confirmed,
        opening=layout.opening_of(tuned.confirmed, tuned.policy),
        epsilon=tuned.confirmed.epsilon or 0.0,
        groups=[Group("curve", [draw(name, caption=caption.format(name), **asked) for name in names])],
        reading=[
            *(f"{note[0].upper()}{note[1:]}." for note in tuned.notes),
            "The search learns from a part of the recordings; the proposed policy from all but the test recordings.",
            f"Its accuracy was measured once, on {tuned.recordings} test recordings, after the choice; the interval is "
            "95 %, over whole recordings.",
            "An hour's ε is the sum over its draws, and bounds what all of them tell together about anything.",
        ],
    )
