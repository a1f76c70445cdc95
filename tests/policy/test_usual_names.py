"""Time, recording and person are recognised under the names that people give them, and nothing else is."""

import pytest

from deeprotect.policy.known_sensors import FoundColumns, is_telling, recognise, ticks_per_second

TIME = ["time", "Time", "TIMESTAMP", "Time (s)", "time [ms]", "Timestamp (UTC)", "timestamp_ns", "time_ms", "timeMs"]
TIME += ["t", "ts", "epoch", "unix_time", "datetime", "Date Time", "elapsed time (s)", "seconds_elapsed", "Zeitstempel"]
RECORDING = ["recording", "Recording ID", "rec", "trial", "Trial No.", "session_id", "SegmentID", "file_name", "bout"]
PERSON = ["person", "Subject ID", "subject", "user", "user_id", "Participant", "participantID", "speaker", "Patient ID"]
NEITHER = ["acc_x", "activity", "label", "temperature", "times", "side", "note", "gyro_z", "heart_rate", "x", "class"]


@pytest.mark.parametrize("name", TIME)
def test_a_time_is_found(name):
    assert FoundColumns.among([name, "acc_x"]) == FoundColumns((name,), (), ())
    assert recognise(name) is None


@pytest.mark.parametrize("name", RECORDING)
def test_a_recording_is_found(name):
    assert FoundColumns.among([name, "acc_x"]) == FoundColumns((), (name,), ())


@pytest.mark.parametrize("name", PERSON)
def test_a_person_is_found(name):
    assert FoundColumns.among([name, "acc_x"]) == FoundColumns((), (), (name,))


def test_nothing_else_is_found():
    assert FoundColumns.among(NEITHER) == FoundColumns((), (), ())


def test_a_sure_name_goes_before_a_likely_one_and_the_plain_one_before_all():
    assert FoundColumns.among(["date", "timestamp"]).time == ("timestamp",)
    assert FoundColumns.among(["timestamp", "time", "datetime"]).time == ("time",)
    assert FoundColumns.among(["timestamp", "datetime"]).time == ("timestamp", "datetime")


def test_what_is_known_to_be_something_else_is_not_found():
    assert FoundColumns.among(["trial", "session"], but=["session"]).recording == ("trial",)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *(("Time (s)", 1), ("t_ms", 1000), ("time [µs]", 10**6), ("microseconds", 10**6), ("timestampNs", 10**9)),
        *(("seconds", 1), ("millis", 1000), ("time", None), ("status", None), ("Timestamp", None), ("news", None)),
    ],
)
def test_the_unit_in_a_name_is_read(name, unit):
    assert ticks_per_second(name) == unit


def test_names_that_tell_who_somebody_is_are_known():
    assert all(map(is_telling, ["Name", "e-mail", "Phone Number", "IMEI", "Date of Birth", "mac_address"]))
    assert not any(map(is_telling, ["subject", "activity", "acc_x", "filename"]))
