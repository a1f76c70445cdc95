"""Spoken digits (free-spoken-digit-dataset): 6 speakers, 8 kHz sound as log-mel frames, 100 a second.

Frames need only numpy and a page of code; an audio library would need a compiler and a dozen packages.
"""

import re
import wave
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deeprotect.datasets.dataset import Recording
from deeprotect.errors import DatasetError
from deeprotect.signals import Channel
from deeprotect.signals.schema import Floats

RATE_HZ = 8000
HOP = 80  # samples from frame to frame: 100 frames a second
LENGTH = 256  # samples under the window, 32 ms
BANDS = 32
LOWEST_HZ = 60.0
FLOOR_DB = -100.0  # about the quantisation noise of 16-bit sound; also stands for digital silence
FULL_SCALE = 32768.0
NATIVE_HZ = RATE_HZ / HOP
# 16-bit sound: from the noise of its last bit to full scale.
CHANNELS = tuple(Channel(f"mel_{band:02d}", "dB", FLOOR_DB, 0.0, 0.01) for band in range(BANDS))
LABELS = ("digit", "speaker")


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per utterance."""
    for path in sorted(root.glob("*_*_*.wav")):
        found = re.fullmatch(r"(\d)_([^_]+)_(\d+)", path.stem)
        if found is None:
            raise DatasetError(f"{path.name}: expected DIGIT_SPEAKER_INDEX.wav; fetch 'fsdd' again")
        labels = {"digit": found[1], "speaker": found[2]}
        yield Recording(path.stem, log_mel(read_wav(path)), labels).slower(NATIVE_HZ, rate_hz)


def log_mel(samples: NDArray[np.int16]) -> Floats:
    """Frames (frame, band) in dB; 0 dB is a full-scale sine at the middle of a band."""
    frames = pieces(samples / FULL_SCALE)
    power = np.abs(np.fft.rfft(frames * hann(), axis=1)) ** 2 * (2 / hann().sum()) ** 2
    return np.asarray(10 * np.log10(np.maximum(power @ bands().T, 10 ** (FLOOR_DB / 10))))


@cache
def bands() -> Floats:
    """Triangular mel filters (band, frequency bin), each with its peak at 1."""
    top = _mel(RATE_HZ / 2)
    edges = _hz(np.linspace(_mel(LOWEST_HZ), top, BANDS + 2))[:, None]
    bins = np.arange(LENGTH // 2 + 1) * RATE_HZ / LENGTH
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)))


def read_wav(path: Path) -> NDArray[np.int16]:
    """Mono 16-bit sound at RATE_HZ."""
    try:
        with wave.open(str(path), "rb") as file:
            form = (file.getnchannels(), file.getsampwidth(), file.getframerate())
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise DatasetError(f"{path.name} is not a wav file; fetch the data set again") from error
    if form != (1, 2, RATE_HZ):
        raise DatasetError(f"{path.name} must be mono, 16 bit, {RATE_HZ} Hz; convert it first")
    return np.frombuffer(content, dtype="<i2").astype(np.int16)


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _hz(mel: Floats) -> Floats:
    return np.asarray(700 * (10 ** (mel / 2595) - 1))


@cache
def hann() -> Floats:
    return np.hanning(LENGTH + 1)[:-1]


def pieces(sound: Floats) -> Floats:
    """Overlapping pieces (frame, sample); frame k is centred in the k-th hop, zeros beyond the ends."""
    count = max(1, -(-len(sound) // HOP))
    before = (LENGTH - HOP) // 2
    padded = np.zeros((count - 1) * HOP + LENGTH)
    padded[before : before + len(sound)] = sound
    return np.lib.stride_tricks.sliding_window_view(padded, LENGTH)[::HOP]
