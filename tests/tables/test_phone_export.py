"""Exports of phone apps: one file per sensor, joined on one clock."""

import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.errors import TableError
from deeprotect.tables.sources import open_source

START_NS = 1_700_000_000_000_000_000
SECONDS = 20.0


def wave(seconds: np.ndarray, axis: int) -> np.ndarray:
    """The signal of every made-up sensor: slow enough that linear interpolation is good to 0.01."""
    return np.sin(2 * np.pi * 0.5 * seconds + axis)


def sensor_logger(folder: Path, *, gap: tuple[float, float] | None = None, annotations: str = "") -> Path:
    """A folder as Sensor Logger writes it: axes in the order z, y, x, and a rate of its own for each sensor."""
    folder.mkdir(parents=True)
    for name, rate_hz, phase in (("Accelerometer", 50.0, 0.0), ("Gyroscope", 100.0, 0.003), ("Gravity", 50.0, 0.007)):
        seconds = np.arange(0, SECONDS, 1 / rate_hz) + phase
        if gap is not None and name == "Gyroscope":
            seconds = seconds[(seconds < gap[0]) | (seconds > gap[1])]
        rows = zip(seconds, *(wave(seconds, axis) for axis in (2, 1, 0)), strict=True)
        lines = [f"{START_NS + round(t * 1e9)},{t:.6f},{z:.9f},{y:.9f},{x:.9f}" for t, z, y, x in rows]
        (folder / f"{name}.csv").write_text("\n".join(["time,seconds_elapsed,z,y,x", *lines]) + "\n")
    (folder / "Barometer.csv").write_text(
        "time,seconds_elapsed,relativeAltitude,pressure\n"
        + "".join(f"{START_NS + second * 10**9},{second},0,1013\n" for second in range(20))
    )
    (folder / "Metadata.csv").write_text("version,device name,platform\n3,phone,ios\n")
    if annotations:
        (folder / "Annotation.csv").write_text(annotations)
    return folder


def read(path: object) -> pa.Table:
    with open_source(path) as source:
        return pa.Table.from_batches([*source.batches], schema=source.schema)


def zipped(folder: Path, out: Path, *, inside: str = "") -> Path:
    with zipfile.ZipFile(out, "w") as archive:
        for each in sorted(folder.rglob("*.csv")):
            archive.write(each, f"{inside}{each.relative_to(folder)}")
    return out


def test_sensors_are_joined_by_time_at_the_rate_of_the_slowest(tmp_path: Path) -> None:
    table = read(sensor_logger(tmp_path / "walk"))
    stamps = table["time"].cast(pa.int64()).to_numpy()
    assert np.allclose(np.diff(stamps), 20_000_000, atol=1)
    seconds = (stamps - START_NS) / 1e9
    for sensor, unit in (("user_acceleration", "m/s²"), ("gravity", "m/s²"), ("gyroscope", "rad/s")):
        for axis, name in enumerate("xyz"):
            found = table[f"{sensor}_{name} ({unit})"].to_numpy()
            assert np.abs(found - wave(seconds, axis)).max() < 0.01, (sensor, name)


def test_a_zip_file_is_read_like_its_folder(tmp_path: Path) -> None:
    folder = sensor_logger(tmp_path / "walk")
    table = read(folder)
    assert read(zipped(folder, tmp_path / "flat.zip")).equals(table)
    assert read(zipped(folder, tmp_path / "deep.zip", inside="walk/")).equals(table)


def test_an_annotation_labels_what_follows_until_the_next_one(tmp_path: Path) -> None:
    stamps = [START_NS + second * 10**9 for second in (5, 10, 15)]
    lines = ["time,seconds_elapsed,text,millisecond_press_duration"]
    lines += [f"{stamp},0,{text},90" for stamp, text in zip(stamps, ("walk", " sit ", ""), strict=True)]
    table = read(sensor_logger(tmp_path / "walk", annotations="\n".join(lines) + "\n"))
    seconds = (table["time"].cast(pa.int64()).to_numpy() - START_NS) / 1e9
    labels = np.array([text or "none" for text in table["annotation"].to_pylist()])
    expected = np.select([seconds < 5, seconds < 10, seconds < 15], ["none", "walk", "sit"], "none")
    assert (labels == expected).all()


def test_a_gap_in_one_sensor_begins_a_new_recording(tmp_path: Path) -> None:
    table = read(sensor_logger(tmp_path / "walk", gap=(8.0, 12.0)))
    seconds = (table["time"].cast(pa.int64()).to_numpy() - START_NS) / 1e9
    assert not ((seconds > 8.02) & (seconds < 11.98)).any()
    assert table["recording"].to_pylist() == ["1" if second < 9 else "2" for second in seconds]


def test_slow_sensors_are_left_out_and_named(tmp_path: Path) -> None:
    with open_source(sensor_logger(tmp_path / "walk")) as source:
        assert source.note is not None
        assert "Barometer" in source.note
        assert "Gyroscope" not in source.note


def test_a_folder_of_exports_is_one_table_of_several_recordings(tmp_path: Path) -> None:
    first = sensor_logger(tmp_path / "all" / "2026-01-01")
    sensor_logger(tmp_path / "all" / "2026-01-02", gap=(8.0, 12.0))
    zipped(first, tmp_path / "all" / "2026-01-03.zip")
    assert {*read(tmp_path / "all")["recording"].to_pylist()} == {"1/1", "2/1", "2/2", "3/1"}


@pytest.mark.parametrize("mark", [",", "."])
def test_phyphox_exports_are_read_with_either_decimal_mark(tmp_path: Path, mark: str) -> None:
    folder = tmp_path / "walk"
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "device.csv").write_text("property,value\nversion,1\n")
    seconds = np.arange(0, SECONDS, 0.01)
    for name, unit in (("Acceleration", "m/s^2"), ("Gyroscope", "rad/s")):
        header = ";".join(["Time (s)", *(f"{name} {axis} ({unit})" for axis in "xyz")])
        rows = zip(seconds, *(wave(seconds, axis) for axis in range(3)), strict=True)
        lines = [";".join(f"{value:.9E}".replace(".", mark) for value in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    table = read(zipped(folder, tmp_path / "walk.zip"))
    assert table.num_rows == len(seconds)
    assert np.allclose(table["time"].to_numpy(), seconds)
    assert np.allclose(table["Gyroscope y (rad/s)"].to_numpy(), wave(seconds, 1), atol=1e-6)
    assert read(folder).equals(table)


def test_several_tables_of_one_sensor_each_are_no_export(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"walk-{number}.csv").write_text("time,seconds_elapsed,x,y,z\n1,0,1,1,1\n2,1,1,1,1\n")
    assert {*read(tmp_path)["recording"].to_pylist()} == {"1", "2"}


def test_other_archives_are_refused_in_one_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    for name, why in (("other.zip", "not an export of Sensor Logger or phyphox"), ("broken.zip", "truncated")):
        with pytest.raises(TableError, match=why) as refused:
            read(tmp_path / name)
        assert "\n" not in str(refused.value)


def test_sensors_that_never_ran_together_are_refused(tmp_path: Path) -> None:
    folder = sensor_logger(tmp_path / "walk")
    later = (folder / "Gyroscope.csv").read_text().replace("17000000", "18000000")
    (folder / "Gyroscope.csv").write_text(later)
    with pytest.raises(TableError, match="no stretch of time in common"):
        read(folder)


def test_a_member_larger_than_it_states_is_refused(tmp_path: Path) -> None:
    folder = sensor_logger(tmp_path / "walk")
    path = zipped(folder, tmp_path / "walk.zip")
    content = path.read_bytes()
    size = (folder / "Gyroscope.csv").stat().st_size
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (size // 2).to_bytes(4, "little")))
    with pytest.raises(TableError, match=r"larger than the archive states|cannot be read as a zip file"):
        read(path)
