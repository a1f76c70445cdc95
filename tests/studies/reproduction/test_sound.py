"""Sound to frames and back."""

import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.datasets import conftest as data

from deeprotect.datasets import fsdd
from deeprotect.errors import DatasetError
from studies.reproduction.sound import to_wav, write_wav

archives, root_of = data.archives, data.root_of


def _tone(hertz: float, *, amplitude: float, samples: int) -> np.ndarray:
    return np.rint(amplitude * 32767 * np.sin(2 * np.pi * hertz * np.arange(samples) / 8000)).astype(np.int16)


def test_a_tone_lights_the_band_it_lies_in_near_its_level() -> None:
    frames = fsdd.log_mel(_tone(1000, amplitude=0.1, samples=8000))
    expected = fsdd.bands()[:, round(1000 / 8000 * 256)].argmax()
    assert (frames[5:-5].argmax(axis=1) == expected).all()
    assert np.abs(frames[5:-5].max(axis=1) + 20).max() < 2.5


def test_silence_lies_on_the_floor() -> None:
    assert (fsdd.log_mel(np.zeros(800, dtype=np.int16)) == fsdd.FLOOR_DB).all()


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 2000))
def test_there_is_one_frame_per_hop_and_one_hop_per_frame(count: int) -> None:
    frames = fsdd.log_mel(np.ones(count, dtype=np.int16))
    assert frames.shape == (-(-count // fsdd.HOP), fsdd.BANDS)
    assert to_wav(frames, iterations=1).shape == (len(frames) * fsdd.HOP,)


def test_loudness_survives_the_way_there_and_back() -> None:
    frames = fsdd.log_mel(_tone(440, amplitude=0.3, samples=4000))
    again = fsdd.log_mel(to_wav(frames))
    assert abs(again[5:-5].max() - frames[5:-5].max()) < 1.0


@pytest.mark.long
@pytest.mark.parametrize("name", ["0_george_0", "3_jackson_10", "6_lucas_20", "9_theo_49"])
def test_resynthesised_speech_has_the_frames_it_was_made_from(name: str, root_of: Callable[[str], Path]) -> None:
    frames = fsdd.log_mel(fsdd.read_wav(root_of("fsdd") / f"{name}.wav"))
    again = fsdd.log_mel(to_wav(frames))
    heard = frames > frames.max() - 50
    assert np.sqrt(np.mean((frames - again)[heard] ** 2)) < 1.5  # dB; about 0.5 on the whole set


def test_a_wav_file_round_trips(tmp_path: Path) -> None:
    samples = np.array([0, -32768, 32767, 5], dtype=np.int16)
    write_wav(tmp_path / "a.wav", samples)
    assert fsdd.read_wav(tmp_path / "a.wav").tolist() == samples.tolist()


def test_other_sound_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"RIFFxxxx")
    with pytest.raises(DatasetError, match="not a wav file"):
        fsdd.read_wav(tmp_path / "a.wav")
    with wave.open(str(tmp_path / "b.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
    with pytest.raises(DatasetError, match="mono, 16 bit, 8000 Hz"):
        fsdd.read_wav(tmp_path / "b.wav")
