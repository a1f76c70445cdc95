"""The paper's experiments with draws that are held: what a longer draw gives beside one for each window."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from deeprotect.evaluation.experiment import Plan, run
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.runner import LEARNING, Progress
from deeprotect.evaluation.settings import Setting
from deeprotect.reproduction.case import SHOWN_EPSILON, CaseExperiment

CHANNEL = Method("channel", "ldp")


def held_rows(experiment: CaseExperiment, plan: Plan, *, progress: Progress = lambda _: None) -> Sequence[Row]:
    """One draw for each window, then one for each episode, by the plan's apps and attackers; episodes stay whole."""
    settings = [Setting(CHANNEL, SHOWN_EPSILON), Setting(CHANNEL, SHOWN_EPSILON, every=experiment.every)]
    return run(experiment.windows, experiment.policy, replace(plan, settings=settings), progress=progress).rows


def weight(folds: int) -> float:
    """Seconds to expect, roughly: a coder for windows, and one for episodes."""
    return 2.0 * folds * LEARNING["code book"]


def sentences(each: Row, held: Row, *, useful: str, sensitive: str) -> Iterator[str]:
    """What was gained and what was paid, of one experiment."""
    before, after = each.useful[useful], held.useful[useful]
    seconds, often = held.seconds_per_draw or 0.0, each.seconds_per_draw or 0.0
    budget = f"a {_part(seconds / often)} of the budget"
    yield f"ε = {SHOWN_EPSILON:g} pays for {seconds:g} s instead of {often:g} s: {budget}."
    if after.app_ci[0] > before.app:
        yield "The app reads more, because the coder sees a whole episode before it decides."
    elif after.app_ci[1] < before.app:
        yield "The app reads less: what changes inside an episode is lost."
    else:
        yield "The app reads as much, within its interval."
    attack = held.sensitive[sensitive]
    floor = max(attack.chance, attack.from_useful)
    gains = "gains" if attack.adaptive_ci[0] > floor else "gains nothing that these windows could show"
    yield f"The best retrained attacker on {sensitive} {gains} over guessing."


def _part(times: float) -> str:
    return {2: "half", 5: "fifth", 10: "tenth", 20: "twentieth"}.get(round(times), f"part of 1 in {times:g}")
