"""Protecting a recording without training anything."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.tables.test_phone_export import sensor_logger

from deeprotect.bundle import ready

SECONDS = 12.0
PHYPHOX = {"Linear Acceleration": "m/s^2", "Gyroscope": "rad/s"}


def phone(rate_hz: float, units: dict[str, str]) -> pa.Table:
    """A phone that swings: one column for each axis of each sensor, with its unit in brackets."""
    time = np.arange(0, SECONDS, 1 / rate_hz)
    axes = {f"{sensor} {axis} ({unit})": np.sin(time) * 0.5 for sensor, unit in units.items() for axis in "xyz"}
    return pa.table({"Time (s)": time, **axes})


def typed(line: str) -> list[str]:
    """The words after `deeprotect` that a refusal says to type."""
    return shlex.split(line.partition("type: deeprotect ")[2].partition(" and then ")[0])


def test_they_are_listed_with_what_they_promise_and_how_well_they_do(deeprotect):
    listed = deeprotect("protectors").stdout
    for name in ready.entries():
        assert f"{name}: an app may infer activity; ε = 5 ldp" in listed
    assert listed.count("kept aside from training: the coder misreads") == len(ready.entries())


def test_scripts_get_the_list_as_json(deeprotect):
    listed = {each["name"]: each for each in json.loads(deeprotect("protectors", "--json").stdout)}
    assert listed["activity"]["licence"] == "MIT"
    assert listed["activity"]["channels"]["gyroscope_x"] == "rad/s"


def test_an_export_of_sensor_logger_is_protected_as_it_is(deeprotect, folder):
    sensor_logger(folder / "export")
    done = deeprotect("protect", "activity", "export", "released.csv")
    assert done.returncode == 0, done.stderr
    released = pa_csv.read_csv(folder / "released.csv")
    assert released.num_rows > 900
    assert "user_acceleration_x (m/s²)" in released.column_names


def test_another_table_is_protected_after_the_command_that_the_refusal_says(deeprotect, folder):
    pa_csv.write_csv(phone(100, {"Linear Acceleration": "g", "Gyroscope": "deg/s"}), folder / "phone.csv")
    refused = deeprotect("protect", "activity", "phone.csv", "released.csv")
    assert refused.returncode == 2
    assert not (folder / "released.csv").exists()
    prepared = deeprotect(*typed(refused.stderr))
    assert prepared.returncode == 0, prepared.stderr
    turned = pa_csv.read_csv(folder / "prepared.csv")["gyroscope_x"].to_numpy()
    assert np.abs(turned).max() < 0.5 * np.pi / 180 + 1e-9  # radians
    done = deeprotect("protect", "activity", "prepared.csv", "released.csv")
    assert done.returncode == 0, done.stderr
    assert pa_csv.read_csv(folder / "released.csv").num_rows == SECONDS * 50


@pytest.mark.parametrize(
    ("units", "rate_hz", "said"),
    [
        ({"Acceleration": "m/s^2", "Gyroscope": "rad/s"}, 50, "there is no column user_acceleration_x"),
        (PHYPHOX, 25, "recorded at about 25 Hz, and samples are never invented"),
        (PHYPHOX | {"Acceleration": "m/s^2"}, 25, "recorded at about 25 Hz"),  # with gravity in it: not taken for it
        (PHYPHOX | {"Gyroscope": "m"}, 50, "is in m, not rad/s"),
        (PHYPHOX | {"User Acceleration": "m/s^2"}, 50, "confirm with --map user_acceleration_x="),
    ],
)
def test_what_no_command_mends_is_refused_in_one_line(deeprotect, folder, units, rate_hz, said):
    pa_csv.write_csv(phone(rate_hz, units), folder / "phone.csv")
    refused = deeprotect("protect", "activity", "phone.csv", "released.csv")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert said in refused.stderr


@pytest.mark.filterwarnings("default")
def test_a_bundle_of_that_name_is_taken_and_named(deeprotect, folder, bundle):
    bundle.save(folder / "activity")
    done = deeprotect("protect", "activity", "walk.csv", "released.csv")
    assert done.returncode == 0, done.stderr
    assert "deeprotect: warning: 'activity' is read from this folder" in done.stderr
