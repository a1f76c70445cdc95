"""Presses cut from typing sessions, on files made here in the published form."""

from pathlib import Path

import numpy as np
import pytest

from deeprotect.datasets import taps

NANO = 10**9


def _session(folder: Path, labels: dict[float, str], *, lasting_s: float) -> None:
    """Acceleration x is the time itself, so a sample says when it was taken."""
    lines = ["timestamp,nanoTime,type,x,y,z,w,label"]
    label = ""
    for step in range(int(lasting_s * 48)):
        time = step / 48
        for kind, value in (("ACC", time), ("GYRO", -time), ("MAG", 1.0)):
            label = next((digit for at, digit in reversed(labels.items()) if time >= at), "")
            lines.append(f"0,{round(time * NANO)},{kind},{value},0,0,0,{label}")
    (folder / "password_training_17.csv").write_text("\n".join(lines) + "\n")


def test_a_press_is_one_second_from_a_fifth_before_it(tmp_path: Path) -> None:
    _session(tmp_path, {0.5: "7", 2.0: "3"}, lasting_s=4.0)
    first, second = taps.read(tmp_path, rate_hz=50.0)
    np.testing.assert_allclose(first.samples[:, 0], 0.3 + np.arange(50) / 50, atol=1e-6)
    np.testing.assert_allclose(second.samples[:, 3], -1.8 - np.arange(50) / 50, atol=1e-6)
    assert [first.labels["digit"], second.labels["digit"]] == ["7", "3"]
    assert first.labels["file"] == "f17"
    assert [first.name, second.name] == ["17-00", "17-01"]


@pytest.mark.parametrize("pressed", [0.1, 3.5])
def test_a_press_without_its_whole_second_is_left_out(tmp_path: Path, pressed: float) -> None:
    _session(tmp_path, {pressed: "7"}, lasting_s=4.0)
    assert list(taps.read(tmp_path, rate_hz=50.0)) == []


def test_a_lower_rate_keeps_one_second_a_press(tmp_path: Path) -> None:
    _session(tmp_path, {0.5: "7"}, lasting_s=4.0)
    (press,) = taps.read(tmp_path, rate_hz=10.0)
    assert press.samples.shape == (10, 6)
