"""Case study 1: who is it, or is it the owner, against what are they doing; and the other way round."""

from pathlib import Path

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.errors import DatasetError
from deeprotect.evaluation.methods import MAIN_METHODS
from deeprotect.evaluation.study import Study
from deeprotect.reproduction.case import Case, CaseExperiment, open_data, trained
from deeprotect.reproduction.owners import OWNER, EachGroupSplit, against_the_rest, choose
from deeprotect.reproduction.size import Size
from deeprotect.reproduction.studies import ACCELEROMETER

RATE_HZ, WINDOW = 10.0, 10  # the paper's: three axes of ten samples are 30 values
PERSON = "person"
HELD = "10 s"  # who it is does not change from one second to the next


def read(directory: Path | None, size: Size, seed: int) -> list[CaseExperiment]:
    """On `hapt`; where it is not here on the wrist data, whose seven exercises stand for activity modes."""
    try:
        return experiments(open_data("hapt", directory, rate_hz=RATE_HZ), "mode", size, seed)
    except DatasetError as missing:
        instead = f"The wrist data stand in, exercises for activity modes: {missing}"
        return experiments(open_data("watch", directory, rate_hz=RATE_HZ), "exercise", size, seed, note=instead)


def experiments(data: Dataset, mode: str, size: Size, seed: int, *, note: str | None = None) -> list[CaseExperiment]:
    """1a who is it, 1b what are they doing, 1c is it the owner."""
    who, doing = (
        Study(data.name, data.name, WINDOW, useful, sensitive, people=PERSON, rate_hz=RATE_HZ, channels=ACCELEROMETER)
        for useful, sensitive in ((PERSON, mode), (mode, PERSON))
    )
    who_policy, doing_policy = (trained(study.policy(data), size, seed) for study in (who, doing))
    windows = who.windows(data, who_policy)
    owners = choose(windows, person=PERSON, count=size.owners, seed=seed)
    several = against_the_rest(windows, person=PERSON, owners=owners, seed=seed)
    people = len(set(windows.labels[PERSON]))
    facts = [*([note] if note else []), f"{data.name}: {len(windows)} windows of 1 s of {people} people."]
    drawn = (
        f"Owners, drawn with the seed: {', '.join(owners)}. Each has as many windows as the {people - 1} others "
        "together, whose windows are drawn in runs of neighbours; chance is one half."
    )
    split = SplitSpec(folds=size.folds, most=size.windows)
    authentication = who_policy.vary(inferences={"useful": [OWNER]})
    return [
        CaseExperiment(
            "1a", f"who is it (useful) against {mode}", windows, who_policy, split, facts=facts, curves=True, every=HELD
        ),
        CaseExperiment("1b", f"{mode} (useful) against who is it", windows, doing_policy, split, facts=facts),
        CaseExperiment(
            "1c",
            f"authentication: is it the owner (useful) against {mode}",
            several,
            authentication,
            EachGroupSplit(folds=size.folds),
            methods=MAIN_METHODS,
            facts=[*facts, drawn],
            curves=True,
            every=HELD,
        ),
    ]


CASE = Case(
    number=1,
    title="Authentication against activity modes",
    purpose="A device should know its owner by the way they move; nobody should learn what they are doing.",
    datasets=("hapt", "watch"),
    read=read,
)
