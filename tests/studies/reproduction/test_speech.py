"""Utterances, and the message if they are missing."""

from pathlib import Path

import pytest
from tests.studies.reproduction.conftest import made_up

from deeprotect.errors import DatasetError
from studies.reproduction import speech
from studies.reproduction.size import QUICK


def test_an_utterance_is_one_window():
    windows = made_up()
    assert speech.utterances(windows).recording.tolist() == sorted(set(windows.recording.tolist()))


def test_missing_data_say_how_to_get_them(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("deeprotect.datasets.fetching.default_cache", lambda: tmp_path / "cache")
    with pytest.raises(DatasetError, match="deeprotect datasets fetch fsdd"):
        speech.read(tmp_path, QUICK, 0)
