"""Released speech as sound."""

import io
import wave

import numpy as np
import pytest
from tests.studies.reproduction.conftest import CHEAP, SMALL

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.fsdd import RATE_HZ, read_wav
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction import listening
from studies.reproduction.case import CaseExperiment
from studies.reproduction.sound import write_wav

SPEAKERS = ("ann", "bob", "cat", "dan", "eve", "fay")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory) -> CaseExperiment:
    """Speakers who hum three digits: a band each for the digit, and a level each for the speaker."""
    rng = np.random.default_rng(0)
    digits, speakers = np.tile(["1", "3", "7"], 40), np.repeat(SPEAKERS, 20)
    samples = 0.2 + rng.normal(0, 0.02, (120, 8, 32))
    for row, (digit, speaker) in enumerate(zip(digits, speakers, strict=True)):
        samples[row, :, 3 * int(digit)] += 0.35 + 0.03 * SPEAKERS.index(speaker)
    samples[0, 5:] = samples[0, 4]
    labels = {"digit": digits.astype(object), "speaker": speakers.astype(object)}
    people = np.repeat(np.arange(len(SPEAKERS)), 20)
    windows = LabelledWindows(samples, labels, np.arange(120), 960, "made up", people, np.arange(120))
    bands = {f"mel_{band:02d}": {"unit": "dB", "range": [-100.0, 0.0]} for band in range(32)}
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 100.0, "window": 8, "channels": bands},
            "inferences": {"useful": ["digit"], "sensitive": ["speaker"]},
            "privacy": {"epsilon": 5.0},
            "training": {"max_epochs": 2},
        }
    )
    file = tmp_path_factory.mktemp("voices") / "hum.wav"
    write_wav(file, (3000 * np.sin(np.arange(640) / 3)).astype(np.int16))
    return CaseExperiment("3x", "digit against speaker", windows, policy, SplitSpec(folds=2), CHEAP, files=[file] * 120)


@pytest.fixture(scope="module")
def samples(spoken: CaseExperiment) -> list[listening.SpeechSample]:
    plan = spoken.plan(SMALL, jobs=1, seed=0)
    with plan.prepared(spoken.windows, spoken.policy) as runner:
        return listening.listen(spoken, runner, voices=2)


def test_several_speakers_say_several_digits(samples):
    assert {(each.digit, each.speaker) for each in samples} == {(d, s) for d in "37" for s in ("ann", "bob")}
    ways = listening.ways(samples)
    assert ways[:2] == [listening.RAW, listening.THROUGH]
    assert {"baseline", "channel rldp", "channel ldp"} <= set(ways)


def test_released_sounds_are_valid_wav_files(samples, tmp_path):
    for name, content in samples[0].files().items():
        with wave.open(io.BytesIO(content)) as file:
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE_HZ)
            assert file.getnframes() > 0
        (tmp_path / name).write_bytes(content)
        assert np.array_equal(read_wav(tmp_path / name), samples[0].sounds[_way(samples[0], name)])


def _way(sample: listening.SpeechSample, name: str) -> str:
    return next(way for way in sample.sounds if sample.file(way) == name)


def test_padding_is_not_heard(spoken):
    assert listening.spoken(spoken.windows.samples[0]) == 5
    assert listening.spoken(spoken.windows.samples[1]) == 8
