"""Case study 1: who is it, or is it the owner, against what are they doing; and the other way round."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.errors import DatasetError
from deeprotect.evaluation.methods import MAIN_METHODS
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.case import Case, CaseExperiment, open_data, trained
from studies.reproduction.known_tables import ACCELEROMETER
from studies.reproduction.owners import OWNER, EachGroupSplit, against_the_rest, choose
from studies.reproduction.size import Size
from studies.reproduction.study import Study

RATE_HZ, WINDOW = 10.0, 10  # the paper's: three axes of ten samples are 30 values
LONG = "10 s"  # how long a draw is held
WHOLE = SplitSpec("pieces")
PERSON = "person"
EVERYBODY = (
    "1c held: everybody is the owner in turn, tested on their own windows and as many of others; one coder, which has "
    "learnt to tell people apart, and a threshold for each owner."
)


def read(directory: Path | None, size: Size, seed: int) -> list[CaseExperiment]:
    """On `hapt`; where it is not here on the wrist data, whose seven exercises stand for activity modes."""
    try:
        return experiments(open_data("hapt", directory, rate_hz=RATE_HZ), "mode", size, seed)
    except DatasetError as missing:
        instead = f"The wrist data stand in, exercises for activity modes: {missing}"
        return experiments(open_data("watch", directory, rate_hz=RATE_HZ), "exercise", size, seed, note=instead)


def experiments(data: Dataset, mode: str, size: Size, seed: int, *, note: str | None = None) -> list[CaseExperiment]:
    """1a who is it, 1b what are they doing, 1c is it the owner; then the same with draws that are held."""
    who, doing = (
        Study(data.name, data.name, WINDOW, useful, sensitive, people=PERSON, rate_hz=RATE_HZ, channels=ACCELEROMETER)
        for useful, sensitive in ((PERSON, mode), (mode, PERSON))
    )
    policies = [trained(study.policy(data), each, seed) for study, each in ((who, size), (doing, size.half))]
    windows, whole = (replace(who, split=split).windows(data, policies[0]) for split in (SplitSpec(), WHOLE))
    facts = [
        *([note] if note else []),
        f"{data.name}: {len(windows)} windows of 1 s of {len(set(windows.labels[PERSON]))} people.",
    ]
    return [
        *_each_window(windows, policies, mode, size=size, seed=seed, facts=facts),
        *_held(whole, policies, mode, size=size, facts=facts),
    ]


def _each_window(
    windows: LabelledWindows, policies: Sequence[Policy], mode: str, *, size: Size, seed: int, facts: Sequence[str]
) -> Iterator[CaseExperiment]:
    who, doing = policies
    split = SplitSpec(folds=size.folds, most=size.windows)
    yield CaseExperiment("1a", f"who is it (useful) against {mode}", windows, who, split, facts=facts, curves=1)
    yield CaseExperiment("1b", f"{mode} (useful) against who is it", windows, doing, split, facts=facts)
    yield CaseExperiment(
        "1c",
        f"authentication: is it the owner (useful) against {mode}",
        _owned(windows, size, seed),
        who.vary(inferences={"useful": [OWNER]}),
        EachGroupSplit(folds=size.folds),
        methods=MAIN_METHODS,
        facts=[*facts, _drawn(windows, size, seed)],
        curves=size.folds * size.owners,
    )


def _held(
    windows: LabelledWindows, policies: Sequence[Policy], mode: str, *, size: Size, facts: Sequence[str]
) -> Iterator[CaseExperiment]:
    """Entire recordings, including windows between two labels, so that the test includes changes inside episodes."""
    who, doing = policies
    whole = replace(WHOLE, most=size.windows)
    facts = [*facts, f"Held draws are tested on {len(windows)} windows of whole recordings."]
    yield CaseExperiment("1a held", f"who is it against {mode}", windows, who, whole, facts=facts, every=LONG)
    yield CaseExperiment("1b held", f"{mode} against who is it", windows, doing, whole, facts=facts, every=LONG)
    yield CaseExperiment(
        "1c held",
        f"is it the owner against {mode}",
        windows,
        who.vary(inferences={"useful": [OWNER]}),
        whole,
        facts=[*facts, EVERYBODY],
        every=LONG,
        person=PERSON,
    )


def _owned(windows: LabelledWindows, size: Size, seed: int) -> LabelledWindows:
    owners = choose(windows, person=PERSON, count=size.owners, seed=seed)
    return against_the_rest(windows, person=PERSON, owners=owners, seed=seed)


def _drawn(windows: LabelledWindows, size: Size, seed: int) -> str:
    owners = choose(windows, person=PERSON, count=size.owners, seed=seed)
    return (
        f"Owners, drawn with the seed: {', '.join(owners)}. Each has as many windows as the "
        f"{len(set(windows.labels[PERSON])) - 1} others together, whose windows are drawn in runs of neighbours; "
        "chance is one half."
    )


CASE = Case(
    number=1,
    title="Authentication against activity modes",
    purpose="A device should know its owner by the way they move; but not learn what they are doing.",
    datasets=("hapt", "watch"),
    read=read,
)
