"""Names of recordings that look alike, or were chosen to: each still pays for its own draws."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.release.ledger.stored import key_of
from deeprotect.signals.windowing import RecordingName, Windower
from deeprotect.tables.columns import names_of

PAIRS = {
    "composed and not": pa.array(["é", "e\u0301"]),
    "a blank behind": pa.array(["1", "1 "]),
    "a NUL behind": pa.array(["a", "a\0"]),
    "a NUL in bytes": pa.array([b"a", b"a\0"]),
    "bytes of one length": pa.array([b"a\0", b"a\1"], pa.binary(2)),
    "neighbouring floats": pa.array(np.array([1.0, np.nextafter(1, 2)])),
    "neighbouring halves of floats": pa.array(np.array([1, 1 + 2**-23], np.float32)),
    "a nanosecond apart": pa.array([1, 2], pa.timestamp("ns")),
    "decimals": pa.array([Decimal("1.0"), Decimal("1.1")]),
    "days": pa.array([0, 86_400_000], pa.date64()),
    "true and false": pa.array([True, False]),
    "parts that join alike": pa.array(["ab", "a"]),
}


def keys(names, *parts):
    """Of one window for each name."""
    cutter = Windower(2, 1)
    windows = [cutter.push(np.zeros((4, 1)), np.repeat(names_of(names), 2)), cutter.finish()]
    return [key_of(*parts, run.recording) for batch in windows for run in batch.frame.runs]


@pytest.mark.parametrize("names", PAIRS.values(), ids=PAIRS)
def test_two_recordings_never_share_a_key(names):
    found = keys(names, "source")
    assert len(found) == len(set(found)) == 2


def test_neither_do_those_of_two_sources_whose_names_join_alike():
    assert not {*keys(pa.array(["bc", "c"]), "a")} & {*keys(pa.array(["c", "bc"]), "ab")}


def test_a_recording_of_a_person_has_the_key_that_earlier_versions_gave_it():
    """Draws that a ledger holds are found again after an upgrade."""
    assert str(RecordingName("ann", "walk")) == "ann\nwalk"
    assert str(RecordingName("ann", None)) == "ann"
