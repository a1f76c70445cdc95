"""Studies on real tables: the code book's channel on each, at the ε the documentation states, with attackers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import DatasetError, PolicyError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, measure_rows
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.results import Results, Row
from deeprotect.evaluation.settings import Setting
from deeprotect.evaluation.study import Study
from deeprotect.reproduction.all_owners import measure_owners
from deeprotect.reproduction.recognition import Recognised, recognise

NAMED = Method("channel", "named")
SETTINGS = (
    Setting(Method("channel", "ldp"), 5.0),
    Setting(NAMED, 2.0),
    Setting(NAMED, 1.0),
    *(Setting(NAMED, epsilon, given="useful", ldp_ceiling=5.0) for epsilon in (3.0, 2.0)),
)
ATTACKERS = ("ridge", "svm", "naive_bayes", "random_forest", "extra_trees")


ACCELEROMETER = ("acc_x", "acc_y", "acc_z")
POSTURES = ("walking", "upstairs", "downstairs", "sitting", "standing", "lying")
_WINDOW_BY_WINDOW = (
    Study("watch-exercise", "watch", 10, "exercise", "person", people="person", rate_hz=10),
    Study("watch-person", "watch", 10, "person", "exercise", people="person", rate_hz=10),
    Study("hapt-mode", "hapt", 20, "mode", "person", people="person", rate_hz=10),
    Study(
        "hapt-person",
        "hapt",
        10,
        "person",
        "activity",
        people="person",
        rate_hz=10,
        channels=ACCELEROMETER,
        hidden=POSTURES,
    ),
    # The same with the six transitions between postures: 54 to 134 training windows each, against 30 codes.
    Study("hapt-person-12", "hapt", 10, "person", "activity", people="person", rate_hz=10, channels=ACCELEROMETER),
    Study("fsdd-digit", "fsdd", 64, "digit", "speaker", people="speaker"),
    Study(
        "tmd-mode", "tmd", 20, "transport_mode", None, people="person", rate_hz=10, classes=("car", "train", "walking")
    ),
)


_TRIPS = Study(
    "tmd-mode-trips",
    "tmd",
    50,
    "transport_mode",
    None,
    people="trip",
    rate_hz=10,
    classes=("car", "train", "walking"),
    orientation="unknown",
    split=SplitSpec("group", folds=3),
)
"""Windows of 5 s, chosen on trips to learn from; no trip is on both sides."""
_BY_NAME = {study.name: study for study in _WINDOW_BY_WINDOW}


def _held(name: str, every: str, split: SplitSpec | None = None, *, called: str = "held") -> Study:
    """A study again, with draws that are held."""
    return replace(_BY_NAME[name], name=f"{name}-{called}", every=every, split=split or SplitSpec())


def _strangers(name: str, every: str, *, orientation: str, enrol: int = 0) -> Study:
    """The same on people whom nobody has met; they may wear the device otherwise, and show each class for a while."""
    called = f"{name}-strangers" + ("-free" if orientation == "free" else "") + (f"-enrolled-{enrol}" if enrol else "")
    split = SplitSpec("strangers", folds=3, enrol=enrol)
    return replace(_BY_NAME[name], name=called, every=every, split=split, orientation=orientation)


# A recording of `watch` shows one exercise, so that its end shows all that changes in it. In `hapt` somebody's two
# recordings are of two placements of the phone: the person is not to be known from one to the other.
STUDIES = (
    *_WINDOW_BY_WINDOW,
    _held("watch-exercise", "10 s"),
    _held("watch-person", "5 s"),
    _held("hapt-person", "10 s", SplitSpec("pieces")),
    _held("hapt-person", "10 s", called="held-ends"),  # of runs of labels: nothing changes inside an episode
    _held("hapt-mode", "20 s", SplitSpec("recording")),
    Study(
        "hapt-owner-held",
        "hapt",
        10,
        "person",
        "mode",
        people="person",
        rate_hz=10,
        channels=ACCELEROMETER,
        every="10 s",
        split=SplitSpec("pieces"),
        owners=True,
    ),
    _TRIPS,
    *(_strangers("hapt-mode", "20 s", orientation=each) for each in ("kept", "free")),
    *(_strangers("watch-exercise", "10 s", orientation=each) for each in ("kept", "free")),
    *(_strangers("watch-exercise", "10 s", orientation="free", enrol=each) for each in (5, 10)),
)


@dataclass(frozen=True)
class StudyResult:
    """What a study measured: one row for each promise it can make."""

    study: Study
    rows: Sequence[Row] = field(default_factory=tuple)
    train: int = 0
    test: int = 0
    left_out: Sequence[str] = ()
    recognised: Recognised | None = None  # whose enrolled bundles were known for theirs
    missing: str | None = None  # how to get the data, where it is not on this machine

    def to_json(self) -> dict[str, Any]:
        body = {"study": self.study.name, "train_windows": self.train, "test_windows": self.test}
        if self.missing:
            return body | {"missing": self.missing}
        known = {"recognised": asdict(self.recognised)} if self.recognised else {}
        return body | Results(rows=self.rows, left_out=self.left_out, run=known).to_json()


def select_studies(names: Sequence[str]) -> list[Study]:
    known = {study.name: study for study in STUDIES}
    for name in names:
        if name not in known:
            raise PolicyError(f"no study '{name}'; known: {', '.join(known)}")
    return [study for study in STUDIES if not names or study.name in names]


def run_study(study: Study, *, directory: Path | None = None, seed: int = 0, app: str = "random_forest") -> StudyResult:
    """What the channel keeps and hides on one table, with an app of that model; data that is not here is reported."""
    try:
        data = study.load(directory)
    except DatasetError as error:
        return StudyResult(study, missing=str(error))
    policy = study.policy(data)
    settings = [each for each in SETTINGS if each.method.guarantee == "ldp" or study.sensitive]
    if study.every:
        settings = [*([settings[0]] if study.owners else []), replace(settings[0], every=study.every)]
    if study.split.enrol:
        settings = [*settings, *(replace(each, enrolled=True) for each in settings)]
    plan = Plan(settings, Setup(app=app, attackers=ATTACKERS, seed=seed), study.split)
    windows = study.windows(data, policy)
    if study.owners:
        found, known = measure_owners(windows, policy, plan, person=study.useful), None
    else:
        with plan.prepared(windows, policy) as runner:
            found = measure_rows(runner, plan)
            known = recognise(runner, settings[-1]) if study.split.enrol else None
    return StudyResult(study, found.rows, train=found.train, test=found.test, left_out=found.left_out, recognised=known)
