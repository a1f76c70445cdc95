"""Released speech as sound: what was said raw, through log-mel and back, and as each mechanism releases it."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.datasets.fsdd import read_wav
from deeprotect.evaluation.experiment import by_line, release_question
from deeprotect.evaluation.methods import grid
from deeprotect.evaluation.runner import Runner
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from studies.reproduction.case import SHOWN_EPSILON, CaseExperiment
from studies.reproduction.sound import to_wav, write_wav

DIGITS = ("3", "7")
RAW, THROUGH = "raw", "log-mel and back"
Sound = NDArray[np.int16]


@dataclass(frozen=True)
class SpeechSample:
    """One utterance to listen to: `sounds` by who released it, `name` for files."""

    digit: str
    speaker: str
    sounds: Mapping[str, Sound]

    @property
    def name(self) -> str:
        return f"{self.digit}-{self.speaker}"

    def files(self) -> dict[str, bytes]:
        """wav files by name."""
        return {self.file(way): _wav(sound) for way, sound in self.sounds.items()}

    def file(self, way: str) -> str:
        return f"{self.name}-{way.replace(' ', '-')}.wav"


def listen(experiment: CaseExperiment, runner: Runner, *, voices: int) -> list[SpeechSample]:
    """Some tested utterances of the first fold; what cannot be learnt from its other side is not heard."""
    test = runner.test(0)
    chosen = test[choose(test, voices=voices)]
    released = by_line(runner.measure(release_question(grid(experiment.methods, [SHOWN_EPSILON]), chosen.flat)))
    return [_sample(experiment, chosen, released, row=row) for row in range(len(chosen))]


def choose(test: LabelledWindows, *, voices: int) -> Indices:
    """The first tested utterance of each of some digits by each of some speakers."""
    speakers = sorted({str(name) for name in test.labels["speaker"]})[:voices]
    wanted = [(digit, speaker) for speaker in speakers for digit in DIGITS]
    both = list(zip(test.labels["digit"], test.labels["speaker"], strict=True))
    return np.array([both.index(each) for each in wanted if each in both], dtype=np.int64)


def _sample(
    experiment: CaseExperiment, chosen: LabelledWindows, released: Mapping[str, Floats], *, row: int
) -> SpeechSample:
    """All cut to the utterance's own length, as the pipe does: row counts are public."""
    frames = spoken(chosen.samples[row])
    ways = {THROUGH: chosen.flat[row], **{line: windows[row] for line, windows in released.items()}}
    schema = experiment.policy.schema()
    shape = (1, schema.window, len(schema.channels))
    sounds = {way: to_wav(schema.unscale(window.reshape(shape))[0, :frames]) for way, window in ways.items()}
    raw = {RAW: read_wav(experiment.files[chosen.recording[row]])} if experiment.files else {}
    return SpeechSample(str(chosen.labels["digit"][row]), str(chosen.labels["speaker"][row]), raw | sounds)


def spoken(window: Floats) -> int:
    """Frames before the padding, which repeats the last one."""
    differs = np.flatnonzero((window != window[-1]).any(axis=1))
    return int(differs[-1]) + 2 if len(differs) else len(window)


def _wav(sound: Sound) -> bytes:
    buffer = io.BytesIO()
    write_wav(buffer, sound)
    return buffer.getvalue()


def ways(samples: Sequence[SpeechSample]) -> list[str]:
    """Columns of a table of sounds."""
    return list(dict.fromkeys(way for sample in samples for way in sample.sounds))
