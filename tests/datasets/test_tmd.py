"""Irregular phone logs, on files made here in the published form."""

from pathlib import Path

import numpy as np

from deeprotect.datasets import tmd


def _log(folder: Path, name: str, times_ms: list[int]) -> None:
    rows = [f"{t},android.sensor.accelerometer,{t / 1000},-9.8E-1,1" for t in times_ms]
    noise = ["", "3,android.sensor.gyroscope,1,2,3", "r2,android.sensor.accelerometer,9,9,9", "7,sound,60.5"]
    (folder / f"sensorfile_{name}.csv").write_text("\n".join([*noise, *rows, ""]))


def test_rows_are_put_on_a_regular_grid_between_the_loggers_rows(tmp_path: Path) -> None:
    _log(tmp_path, "Ann_Car_1000", [0, 90, 310, 1000, 2500])
    (recording,) = tmd.read(tmp_path, rate_hz=20.0)
    np.testing.assert_allclose(recording.samples[:, 0], np.arange(51) / 20, atol=1e-12)
    np.testing.assert_allclose(recording.samples[:, 1:], [[-0.98, 1.0]] * 51)
    assert recording.labels == {"transport_mode": "car", "person": "Ann", "trip": "Ann_Car_1000"}


def test_long_pauses_and_restarted_clocks_start_a_new_recording(tmp_path: Path) -> None:
    session = list(range(0, 3001, 100))
    _log(tmp_path, "Ann_Bus_1000", [*session, *(t + 9000 for t in session), *session])
    recordings = list(tmd.read(tmp_path, rate_hz=20.0))
    assert [recording.name for recording in recordings] == [f"Ann_Bus_1000-{i}" for i in range(3)]
    assert [len(recording.samples) for recording in recordings] == [61] * 3


def test_a_small_step_back_drops_the_late_rows_only(tmp_path: Path) -> None:
    _log(tmp_path, "Ann_Train_1000", [0, 500, 1000, 700, 1500, 2000])
    (recording,) = tmd.read(tmp_path, rate_hz=20.0)
    np.testing.assert_allclose(recording.samples[:, 0], np.arange(41) / 20, atol=1e-12)


def test_pieces_too_short_for_a_window_are_left_out(tmp_path: Path) -> None:
    _log(tmp_path, "Ann_Still_1000", [0, 500, 1000])
    assert list(tmd.read(tmp_path, rate_hz=20.0)) == []


def test_a_trip_logged_twice_at_once_is_taken_once(tmp_path: Path) -> None:
    for name in ("Ann_Car_5000", "Ann_Car_5071", "Ben_Car_5071", "Ann_Car_9000"):
        _log(tmp_path, name, [0, 1000, 2000])
    names = [recording.name for recording in tmd.read(tmp_path, rate_hz=20.0)]
    assert names == ["Ann_Car_5000-0", "Ann_Car_9000-0", "Ben_Car_5071-0"]


def test_a_lower_rate_averages_the_loggers_grid(tmp_path: Path) -> None:
    _log(tmp_path, "Ann_Car_1000", [0, 1000, 2000])
    (fast,) = tmd.read(tmp_path, rate_hz=20.0)
    (slow,) = tmd.read(tmp_path, rate_hz=5.0)
    np.testing.assert_allclose(slow.samples[0], fast.samples[:4].mean(axis=0))
