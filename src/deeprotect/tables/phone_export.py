"""Recordings exported by phone apps: a folder or zip file with one CSV file per sensor, read as one table.

Sensor Logger writes `Accelerometer.csv`, `Gyroscope.csv`, …, each with `time` in nanoseconds, and `Annotation.csv` with
labels; phyphox writes one file per sensor with `Time (s)`, and a folder `meta`. Sensors have their own rates, so they
are joined on one clock, at the rate of the slowest motion sensor.
"""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import TableError, printable
from deeprotect.policy.known_sensors import RECORDING, TIME, recognise
from deeprotect.signals.clock import rate_of_step
from deeprotect.signals.resampling import grid, interpolate, monotone_segments
from deeprotect.signals.schema import Floats
from deeprotect.tables.csv_reader import CsvRequest, read_csv
from deeprotect.tables.fields import from_numpy, is_number, to_floats

ANNOTATION = "annotation"
LONGEST_GAP = 2.5  # samples, as in `prepare`: a longer gap begins a new recording
SLOW = 4.0  # a sensor slower than the fastest by this factor is left out
MOST_BYTES = 1 << 30  # all files together, uncompressed
_SENSORS = {  # Sensor Logger's files and units; phyphox has both in its column names
    "accelerometer": ("user_acceleration", "m/s²"),  # gravity is in another file
    "totalacceleration": ("acceleration", "m/s²"),
    "gravity": ("gravity", "m/s²"),
    "gyroscope": ("gyroscope", "rad/s"),
    "magnetometer": ("magnetometer", "µT"),
}
_NANO, _ELAPSED, _TEXT = 10**9, "seconds_elapsed", "text"
_SENSOR_LOGGER = {"metadata.csv", "annotation.csv", "accelerometer.csv", "totalacceleration.csv", "gyroscope.csv"}
_PHYPHOX = {"meta/device.csv", "meta/time.csv"}


@dataclass(frozen=True)
class SensorFile:
    """Readings of one file: times in seconds, values (row, channel) under the names of their columns."""

    file: str
    times: Floats
    values: Floats
    names: tuple[str, ...]

    @property
    def rate_hz(self) -> float:
        """The rate, from the median step."""
        steps = np.diff(self.times)
        steps = steps[steps > 0]
        return float(1 / np.median(steps)) if len(steps) else 0.0

    def at(self, clock: Floats, rate_hz: float) -> Floats:
        """Values at the times of the clock; NaN where the sensor has a gap. A faster sensor is averaged."""
        found = np.full((len(clock), self.values.shape[1]), np.nan)
        for rows in monotone_segments(self.times, LONGEST_GAP / min(self.rate_hz, rate_hz)):
            times, values = self.times[rows], self.values[rows]
            inside = (clock >= times[0]) & (clock <= times[-1])
            if not inside.any():
                continue
            if self.rate_hz < 1.5 * rate_hz:
                found[inside] = interpolate(times, values, clock[inside])
            else:
                found[inside] = _cell_means(times, values, clock[inside], 1 / rate_hz)
        return found


def _cell_means(times: Floats, values: Floats, clock: Floats, period: float) -> Floats:
    """Means of the piecewise linear signal over the cell around each time, which is the anti-aliasing filter."""
    area = np.cumsum(np.diff(times)[:, None] * (values[1:] + values[:-1]) / 2, axis=0)
    area = np.concatenate([np.zeros((1, values.shape[1])), area])
    low = np.maximum(clock - period / 2, times[0])
    high = np.minimum(clock + period / 2, times[-1])

    def up_to(at: Floats) -> Floats:
        before = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 1)
        middle = (values[before] + interpolate(times, values, at)) / 2
        return np.asarray(area[before] + (at - times[before])[:, None] * middle)

    width = np.maximum(high - low, np.finfo(float).tiny)[:, None]
    return np.asarray((up_to(high) - up_to(low)) / width)


def is_export(path: str | Path) -> bool:
    """Whether a folder holds the files of one recording, as opposed to several tables."""
    try:
        names = {each.relative_to(path).as_posix().lower() for each in Path(path).glob("*")}
        names |= {f"meta/{each.name}".lower() for each in (Path(path) / "meta").glob("*")}
    except (OSError, ValueError):
        return False
    return _is_phyphox(names) or (bool(names & _SENSOR_LOGGER) and any(map(_is_elapsed, _first_lines(Path(path)))))


def _is_phyphox(names: set[str]) -> bool:
    return bool(names & _PHYPHOX)


def _first_lines(folder: Path) -> Iterator[str]:
    for each in sorted(folder.glob("*.csv")):
        with each.open("rb") as file:
            yield file.readline(4096).decode("utf-8", errors="replace")


def _is_elapsed(header: str) -> bool:
    return _ELAPSED in header.strip().lower().split(",")


def folder_files(path: str) -> dict[str, bytes]:
    """Contents of an export's CSV files by name, from a folder."""
    files = [each for each in sorted(Path(path).iterdir()) if each.suffix.lower() == ".csv" and each.is_file()]
    _refuse_large(sum(each.stat().st_size for each in files), path)
    return {each.name: each.read_bytes() for each in files}


def zipped_files(stream: BinaryIO, where: str) -> dict[str, bytes]:
    """Contents of an export's CSV files by name, from a zip file, in which they may be in one folder."""
    try:
        archive = zipfile.ZipFile(stream)
        members = [each for each in archive.infolist() if not each.is_dir()]
        paths = {each: PurePosixPath(each.filename) for each in members}
        names = {path.as_posix().lower() for path in paths.values()}
        top = {path.parts[0] for path in paths.values()}
        if len(top) == 1 and all(len(path.parts) > 1 for path in paths.values()):
            paths = {each: path.relative_to(path.parts[0]) for each, path in paths.items()}
            names = {path.as_posix().lower() for path in paths.values()}
        if not (_is_phyphox(names) or names & _SENSOR_LOGGER):
            raise TableError(f"{where}: the zip file is not an export of Sensor Logger or phyphox; unpack it first")
        chosen = {
            path.name: each for each, path in paths.items() if len(path.parts) == 1 and path.suffix.lower() == ".csv"
        }
        _refuse_large(sum(each.file_size for each in chosen.values()), where)
        return {name: _bounded(archive, each, where) for name, each in sorted(chosen.items())}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        raise TableError(
            f"{where}: it cannot be read as a zip file; it may be truncated or in another format"
        ) from None


def _bounded(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> bytes:
    """Read a file up to its stated size, and refuse one that is larger."""
    with archive.open(member) as file:
        content = file.read(member.file_size + 1)
    if len(content) > member.file_size:
        raise TableError(f"{where}: a file in it is larger than the archive states; export the recording again")
    return content


def _refuse_large(size: int, where: str) -> None:
    if size > MOST_BYTES:
        raise TableError(f"{where}: the files hold more than {MOST_BYTES >> 20} MB; export shorter recordings")


def joined(files: dict[str, bytes], where: str) -> tuple[pa.Table, str | None]:
    """One table of all sensors on one clock, and a note on files that are left out."""
    sensors: list[SensorFile] = []
    left_out: list[str] = []
    labels: tuple[Floats, list[str | None]] | None = None
    base = _Base()
    for name, content in files.items():
        if name.lower() == f"{ANNOTATION}.csv":
            labels = _annotations(_table(content, f"{where}: {name}"), base)
        elif (sensor := _sensor(name, _table(content, f"{where}: {name}"), base)) is not None:
            sensors.append(sensor)
        elif name.lower() != "metadata.csv":
            left_out.append(PurePosixPath(name).stem)
    if not sensors:
        raise TableError(f"{where}: no file in it holds readings of a known sensor; it has: {_listed([*files])}")
    fastest = max(sensor.rate_hz for sensor in sensors)
    kept = [sensor for sensor in sensors if sensor.rate_hz * SLOW >= fastest]
    left_out += [PurePosixPath(each.file).stem for each in sensors if each not in kept]
    note = f"left out, too slow or of an unknown sensor: {_listed(left_out)}" if left_out else None
    return _on_one_clock(kept, labels, base, where), note


def _listed(names: list[str]) -> str:
    return printable(", ".join(sorted(names)), 300)


@dataclass
class _Base:
    """The first stamp in nanoseconds, subtracted from all: a date since 1970 is too long for a float."""

    nanoseconds: int | None = None

    def seconds(self, stamps: pa.ChunkedArray) -> Floats:
        whole = stamps.to_numpy().astype(np.int64)
        if self.nanoseconds is None and len(whole):
            self.nanoseconds = int(whole[0])
        return np.asarray((whole - (self.nanoseconds or 0)) / _NANO)


def _table(content: bytes, where: str) -> pa.Table:
    schema, scan = read_csv(io.BytesIO(content), CsvRequest(), where)
    batches = scan(None)
    return pa.Table.from_batches([*batches], schema=schema)


def _sensor(file: str, table: pa.Table, base: _Base) -> SensorFile | None:
    """The readings of a file, or None for an unknown sensor."""
    stem = PurePosixPath(file).stem
    if _ELAPSED in table.column_names and TIME in table.column_names:
        known = _SENSORS.get(stem.lower())
        if known is None or not len(table):
            return None
        columns = [name for name in ("x", "y", "z") if name in table.column_names]
        names = tuple(f"{known[0]}_{axis} ({known[1]})" for axis in columns)
        times = base.seconds(table.column(TIME))
    else:
        first, *others = table.column_names
        if not first.lower().startswith(TIME) or not is_number(table.schema.field(first).type):
            return None
        columns = [name for name in others if recognise(name) and is_number(table.schema.field(name).type)]
        names, times = tuple(columns), _floats(table, first)
    if not columns or len(table) < 2:
        return None
    values = np.stack([_floats(table, name) for name in columns], axis=1)
    whole = np.isfinite(times) & np.isfinite(values).all(axis=1)
    return SensorFile(file, times[whole], values[whole], names)


def _floats(table: pa.Table, name: str) -> Floats:
    return to_floats(table.column(name).combine_chunks())


def _annotations(table: pa.Table, base: _Base) -> tuple[Floats, list[str | None]] | None:
    if not {TIME, _TEXT} <= {*table.column_names} or not len(table):
        return None
    texts = [(text or "").strip() or None for text in table.column(_TEXT).cast(pa.string()).to_pylist()]
    return base.seconds(table.column(TIME)), texts


def _on_one_clock(
    sensors: list[SensorFile], labels: tuple[Floats, list[str | None]] | None, base: _Base, where: str
) -> pa.Table:
    slowest = min(sensor.rate_hz for sensor in sensors)
    found = rate_of_step(1 / slowest, 1)
    rate_hz = found[0] if found is not None else slowest
    start, stop = max(sensor.times.min() for sensor in sensors), min(sensor.times.max() for sensor in sensors)
    clock = grid(start, stop, rate_hz)
    values = np.concatenate([sensor.at(clock, rate_hz) for sensor in sensors], axis=1)
    whole = np.isfinite(values).all(axis=1)
    if not whole.any():
        raise TableError(f"{where}: its sensors have no stretch of time in common; export the recording again")
    names = [name for sensor in sensors for name in sensor.names]
    if len({*names}) < len(names):
        raise TableError(f"{where}: two of its files have columns of one name; leave one of them out")
    columns = {RECORDING: _pieces(whole), TIME: _stamps(clock[whole], base)}
    columns |= {name: from_numpy(values[whole, place]) for place, name in enumerate(names)}
    if labels is not None:
        columns[ANNOTATION] = _labelled(clock[whole], *labels)
    return pa.table(columns)


def _pieces(whole: NDArray[np.bool_]) -> pa.Array:
    """Number the stretches without gaps."""
    number = np.cumsum(np.diff(whole.astype(np.int8), prepend=0) == 1)[whole]
    return pa.array([str(each) for each in number.tolist()], pa.string())


def _stamps(seconds: Floats, base: _Base) -> pa.Array:
    if base.nanoseconds is None:
        return from_numpy(np.round(seconds, 9))
    stamps = base.nanoseconds + np.rint(seconds * _NANO).astype(np.int64)
    return from_numpy(stamps).cast(pa.timestamp("ns", "UTC"))


def _labelled(clock: Floats, times: Floats, texts: list[str | None]) -> pa.Array:
    """Label all rows from an annotation's time until the next one; an empty annotation ends the label."""
    order = np.argsort(times, kind="stable")
    latest = np.searchsorted(times[order], clock, side="right") - 1
    return pa.array([None if place < 0 else texts[order[place]] for place in latest.tolist()], pa.string())
