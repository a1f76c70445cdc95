"""Case study 2: by which transport, against which digit was typed. Two sources, stacked, with labels of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.training.labelled_windows import Indices, LabelledWindows, read_windows
from studies.reproduction.case import Case, CaseExperiment, open_data, trained
from studies.reproduction.known_tables import ACCELEROMETER
from studies.reproduction.size import Size
from studies.reproduction.study import Study
from studies.reproduction.subsampling import spread

RATE_HZ, WINDOW = 50.0, 50  # at 10 Hz digits cannot be told even from raw windows
TRANSPORT, DIGIT, TRIP = "transport", "digit", "trip"
MODES = ("car", "train", "walking")
# Both sources state the accelerometer in the same unit; the public range is that of any phone. Trips stand for people:
# nearly all train rides are one person's, and taps has no people.
STUDY = Study("transport", "tmd", WINDOW, TRANSPORT, DIGIT, people=TRIP, rate_hz=RATE_HZ)


def read(directory: Path | None, size: Size, seed: int) -> list[CaseExperiment]:
    trips, taps = (open_data(name, directory, rate_hz=RATE_HZ) for name in ("tmd", "taps"))
    policy = trained(STUDY.policy(trips), size.half, seed)
    windows = some(read_windows(stack(trips.table, taps.table), policy, group=TRIP), count=size.transport, seed=seed)
    counts = {name: int(windows.labelled(name).sum()) for name in (TRANSPORT, DIGIT)}
    facts = [
        f"tmd: {counts[TRANSPORT]} windows of 1 s, as many of each mode, spread over trips; the phones logged about 10 "
        "rows a second, which are drawn out to 50.",
        f"taps: {counts[DIGIT]} presses, each a window of 1 s from 0.2 s before it at 50 Hz: that, and whole files on "
        "one side of a fold, is what makes an honest raw attack work. At 10 Hz it fails even on raw windows.",
        "No public set has both labels on the same rows: transport is measured on trips, digits on presses, both "
        "released by the same protector. The paper typed 26 letters, too; here are 10 digits.",
        "Nearly all train rides are one person's, and taps has no people: synthetic windows, which keep the distance "
        "that is typical between people, keep that between trips (or files of presses) here.",
    ]
    return [
        CaseExperiment(
            "2",
            "transport (useful) against typed digit",
            windows,
            policy,
            SplitSpec("group", folds=size.folds),
            facts=facts,
        )
    ]


def stack(trips: pa.Table, taps: pa.Table) -> pa.Table:
    """One table: transport only on rows of trips, digits only on rows of presses, and no recording in both."""
    kept = trips.filter(pc.is_in(trips["transport_mode"], pa.array(MODES)))
    pieces = [
        _piece("tmd", kept, {TRANSPORT: kept["transport_mode"], TRIP: kept["trip"]}),
        _piece("taps", taps, {DIGIT: taps["digit"], TRIP: taps["file"]}),
    ]
    return pa.concat_tables(pieces)


def _piece(source: str, table: pa.Table, labels: dict[str, Any]) -> pa.Table:
    """Names of recordings and trips carry their source, so that no two sources share one."""
    missing = pa.nulls(len(table), pa.string())
    return pa.table(
        {
            "recording": pc.binary_join_element_wise(source, table["recording"], "-"),
            **{name: table[name] for name in ACCELEROMETER},
            TRANSPORT: labels.get(TRANSPORT, missing),
            DIGIT: labels.get(DIGIT, missing),
            TRIP: pc.binary_join_element_wise(source, labels[TRIP], "-"),
        }
    )


def some(windows: LabelledWindows, *, count: int | None, seed: int) -> LabelledWindows:
    """All presses, and about `count` windows of trips, or all: as many of each mode, in runs spread over its trips."""
    labels = windows.labels[TRANSPORT]
    by_mode = [np.flatnonzero(labels == mode) for mode in MODES]
    fewest = min(map(len, by_mode))
    share = fewest if count is None else min(fewest, count // len(MODES))
    drawn: list[Indices] = [spread(windows, rows, windows.groups, count=share, seed=seed) for rows in by_mode]
    return windows[np.sort(np.concatenate([*drawn, np.flatnonzero(windows.labelled(DIGIT))]))]


CASE = Case(
    number=2,
    title="Transport against typed text",
    purpose="An app may count trips by car, by train and on foot; but not learn what was typed on the way.",
    datasets=("tmd", "taps"),
    read=read,
)
