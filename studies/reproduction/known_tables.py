"""Studies on real tables: the code book's channel on each, at the ε the documentation states, with attackers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.registry import entry
from deeprotect.errors import DatasetError, PolicyError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, measure_rows
from deeprotect.evaluation.methods import Method, Setting
from deeprotect.evaluation.results import Results, Row
from studies.reproduction.all_owners import measure_owners
from studies.reproduction.diaries import DiaryStudy
from studies.reproduction.recognition import Recognised, recognise, release
from studies.reproduction.study import Study

LDP = Method("channel", "ldp")
SETTINGS = tuple(Setting(LDP, epsilon) for epsilon in (5.0, 2.0))
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
    # Including the six transitions between postures: 54 to 134 training windows each, against 30 codes.
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


def _every(every: str) -> tuple[Setting, ...]:
    return (Setting(LDP, 5.0, every=every),)


def _held(name: str, every: str, split: SplitSpec | None = None, *, called: str = "held") -> Study:
    """A study again, with draws that are held."""
    return replace(_BY_NAME[name], name=f"{name}-{called}", draws=_every(every), split=split or SplitSpec())


def _strangers(name: str, every: str, *, orientation: str, enrol: int = 0) -> Study:
    """The study on new people; they may wear the device in another way, and perform each class for a while."""
    called = f"{name}-strangers" + ("-free" if orientation == "free" else "") + (f"-enrolled-{enrol}" if enrol else "")
    split = SplitSpec("strangers", folds=3, enrol=enrol)
    return replace(_BY_NAME[name], name=called, draws=_every(every), split=split, orientation=orientation)


# The last of these, and those of diaries, were chosen on training windows, by what cross-fitted coders read of them.
_SCRIPTS = (
    Setting(LDP, 9.0, every="1 min", slots="10 s", changes=1),
    Setting(LDP, 11.0, every="2 min", slots="10 s", changes=2),
    Setting(LDP, 11.5, every="4 min", slots="20 s", changes=2),
)
_HELD = tuple(Setting(LDP, epsilon, every=every) for epsilon, every in ((5.0, "20 s"), (6.0, "20 s"), (6.0, "40 s")))
_ACTIVITIES = ("ABD", "ER", "FEL", "IR", "ROW", "TRAP")


def _diary(stay: str, draws: tuple[Setting, ...]) -> DiaryStudy:
    """Six exercises of `watch` in the place of activities, each for minutes."""
    name = f"watch-diary-{stay.removesuffix(' min')}"
    study = DiaryStudy(name, "watch", 10, "exercise", "person", people="person", rate_hz=10, classes=_ACTIVITIES)
    return replace(study, stay=stay, draws=draws)


_DIARIES = (
    _diary(
        "20 min",
        (
            *(Setting(LDP, 7.0, every=every) for every in ("3 min", "2 min", "1 min", "30 s")),
            Setting(LDP, 11.0, every="10 min", slots="30 s", changes=1),
            Setting(LDP, 21.0, every="30 min", slots="1 min", changes=3),
            Setting(LDP, 29.5, every="1 h", slots="30 s", changes=4),
            Setting(LDP, 34.5, every="2 h", slots="2 min", changes=6),
        ),
    ),
    _diary(
        "10 min",
        (
            *(Setting(LDP, 7.0, every=every) for every in ("90 s", "1 min", "45 s", "30 s")),
            Setting(LDP, 10.0, every="5 min", slots="30 s", changes=1),
            Setting(LDP, 21.5, every="20 min", slots="30 s", changes=3),
            Setting(LDP, 33.0, every="40 min", slots="30 s", changes=5),
            Setting(LDP, 35.0, every="1 h", slots="1 min", changes=6),
        ),
    ),
)


_MOVING = ("downstairs", "upstairs", "walking", "jogging")


def _motionsense(form: str, sensitive: str, classes: tuple[str, ...] = ()) -> Study:
    """The field's split and windows: user acceleration and rotation, as six axes or as two magnitudes."""
    sensors = ("user_acc", "gyro")
    return Study(
        f"motionsense-{len(classes) or 6}-{form}-{sensitive}",
        "motionsense",
        128,
        "activity",
        sensitive,
        people="person",
        channels=tuple(f"{sensor}_{axis}" for sensor in sensors for axis in "xyz") if form == "axes" else sensors,
        magnitudes=sensors if form == "magnitudes" else (),
        classes=classes,
        draws=(Setting(LDP, 5.0), *_every("10.24 s")),
        split=SplitSpec("recording"),
        tested=entry("motionsense").splits["field"],
    )


_MOTIONSENSE = tuple(
    _motionsense(form, sensitive, classes)
    for classes in (_MOVING, ())
    for form in ("magnitudes", "axes")
    for sensitive in ("gender", "person")
)


# A recording of `watch` shows one exercise, so that its end shows all that changes in it. In `hapt` somebody's two
# recordings are of two placements of the phone: the person is not to be known from one to the other.
STUDIES = (
    *_WINDOW_BY_WINDOW,
    _held("watch-exercise", "10 s"),
    _held("watch-person", "5 s"),
    _held("hapt-person", "10 s", SplitSpec("pieces")),
    _held("hapt-person", "10 s", called="held-ends"),  # of runs of labels: nothing changes inside an episode
    _held("hapt-mode", "20 s", SplitSpec("recording")),
    replace(_BY_NAME["hapt-mode"], name="hapt-mode-script", draws=(*_HELD, *_SCRIPTS), split=SplitSpec("recording")),
    *_DIARIES,
    Study(
        "hapt-owner-held",
        "hapt",
        10,
        "person",
        "mode",
        people="person",
        rate_hz=10,
        channels=ACCELEROMETER,
        draws=(Setting(LDP, 5.0), *_every("10 s")),
        split=SplitSpec("pieces"),
        owners=True,
    ),
    _TRIPS,
    *(_strangers("hapt-mode", "20 s", orientation=each) for each in ("kept", "free")),
    *(_strangers("watch-exercise", "10 s", orientation=each) for each in ("kept", "free")),
    *(_strangers("watch-exercise", "10 s", orientation="free", enrol=each) for each in (5, 10)),
    *_MOTIONSENSE,
)


@dataclass(frozen=True)
class StudyResult:
    """Results of a study: one row for each possible promise."""

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


def run_study(study: Study, *, directory: Path | None = None, seed: int = 0, app: str = "extra_trees") -> StudyResult:
    """Measure the channel on one table, with the given app; report missing data."""
    try:
        data = study.load(directory)
    except DatasetError as error:
        return StudyResult(study, missing=str(error))
    policy = study.policy(data)
    settings = list(study.draws or SETTINGS)
    if study.split.enrol:
        settings = [*settings, *(replace(each, enrolled=True) for each in settings)]
    plan = Plan(settings, Setup(app=app, attackers=ATTACKERS, seed=seed), study.split_of(data))
    windows = study.windows(data, policy)
    if study.owners:
        found, known = measure_owners(windows, policy, plan, person=study.useful), None
    else:
        with plan.prepared(windows, policy) as runner:
            found = measure_rows(runner, plan, release_of=release)
            known = recognise(runner, settings[-1]) if study.split.enrol else None
    return StudyResult(study, found.rows, train=found.train, test=found.test, left_out=found.left_out, recognised=known)
