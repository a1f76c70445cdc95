"""Spoken digits, on sound made here under published names."""

from pathlib import Path

import numpy as np
import pytest

from deeprotect.datasets import fsdd
from deeprotect.errors import DatasetError
from studies.reproduction.sound import write_wav


def test_digit_and_speaker_come_from_the_file_name(tmp_path: Path) -> None:
    write_wav(tmp_path / "7_theo_12.wav", np.ones(810, dtype=np.int16))
    (utterance,) = fsdd.read(tmp_path, rate_hz=100.0)
    assert utterance.name == "7_theo_12"
    assert utterance.labels == {"digit": "7", "speaker": "theo"}
    assert utterance.samples.shape == (11, len(fsdd.CHANNELS))


def test_a_name_of_another_form_is_refused(tmp_path: Path) -> None:
    write_wav(tmp_path / "seven_theo_12.wav", np.ones(80, dtype=np.int16))
    with pytest.raises(DatasetError, match=r"DIGIT_SPEAKER_INDEX\.wav"):
        list(fsdd.read(tmp_path, rate_hz=100.0))
