"""Speech as log-mel frames, and frames back to sound.

Written on numpy alone: the three steps (short-time spectrum, mel bands, phase recovery) are a page of code, while
an audio library would bring a compiler and a dozen packages into every install.
"""

import wave
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import DatasetError
from deeprotect.signals.schema import Floats

RATE_HZ = 8000
HOP = 80  # samples from frame to frame: 100 frames a second
LENGTH = 256  # samples under the window, 32 ms
BANDS = 32
LOWEST_HZ = 60.0
FLOOR_DB = -100.0  # about the quantisation noise of 16-bit sound; digital silence is put here
FULL_SCALE = 32768.0


def log_mel(samples: NDArray[np.int16]) -> Floats:
    """Frames (frame, band) in dB; 0 dB is a full-scale sine at the middle of a band."""
    frames = _frames(samples / FULL_SCALE)
    power = np.abs(np.fft.rfft(frames * _window(), axis=1)) ** 2 * (2 / _window().sum()) ** 2
    return np.asarray(10 * np.log10(np.maximum(power @ bands().T, 10 ** (FLOOR_DB / 10))))


def to_wav(frames_db: Floats, *, iterations: int = 60) -> NDArray[np.int16]:
    """Sound whose log-mel frames are close to these; HOP samples a frame.

    Fast Griffin-Lim (Perraudin, Balazs, Søndergaard 2013): phases are not in the frames, so they are sought.
    """
    magnitude = _magnitude(frames_db)
    phase = np.exp(1j * _first_phase(magnitude))
    previous = np.zeros_like(phase)
    for _ in range(iterations):
        consistent = _spectrum(_overlap_add(magnitude * phase))
        ahead = consistent + 0.9 * (consistent - previous)
        previous = consistent
        phase = ahead / np.maximum(np.abs(ahead), 1e-12)
    sound = _overlap_add(magnitude * phase)
    return np.clip(np.rint(sound * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


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


def write_wav(target: Path | BinaryIO, samples: NDArray[np.int16]) -> None:
    with wave.open(str(target) if isinstance(target, Path) else target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _hz(mel: Floats) -> Floats:
    return np.asarray(700 * (10 ** (mel / 2595) - 1))


@cache
def _window() -> Floats:
    return np.hanning(LENGTH + 1)[:-1]


def _frames(sound: Floats) -> Floats:
    """Overlapping pieces (frame, sample); frame k is centred in the k-th hop, zeros beyond the ends."""
    count = max(1, -(-len(sound) // HOP))
    before = (LENGTH - HOP) // 2
    padded = np.zeros((count - 1) * HOP + LENGTH)
    padded[before : before + len(sound)] = sound
    return np.lib.stride_tricks.sliding_window_view(padded, LENGTH)[::HOP]


def _spectrum(sound: Floats) -> NDArray[np.complex128]:
    return np.asarray(np.fft.rfft(_frames(sound) * _window(), axis=1))


def _overlap_add(spectrum: NDArray[np.complex128]) -> Floats:
    """The sound whose spectrum is nearest in the least-squares sense (Griffin and Lim 1984)."""
    pieces = np.fft.irfft(spectrum, LENGTH, axis=1) * _window()
    count = len(pieces)
    total, weight = np.zeros((2, (count - 1) * HOP + LENGTH))
    for index, piece in enumerate(pieces):
        total[index * HOP : index * HOP + LENGTH] += piece
        weight[index * HOP : index * HOP + LENGTH] += _window() ** 2
    before = (LENGTH - HOP) // 2
    inside = slice(before, before + count * HOP)
    return np.asarray(total[inside] / np.maximum(weight[inside], 1e-3))


def _magnitude(frames_db: Floats) -> Floats:
    """A magnitude spectrum with these band powers: multiplicative updates (Lee and Seung 2001) keep it positive."""
    filters = bands()
    wanted = 10 ** (np.maximum(frames_db, FLOOR_DB) / 10)
    power = wanted @ filters + 1e-14
    reach = np.maximum(filters.sum(axis=0), 1e-9)
    for _ in range(50):
        power *= (wanted / np.maximum(power @ filters.T, 1e-16)) @ filters / reach
    return np.asarray(np.sqrt(power) * _window().sum() / 2)


def _first_phase(magnitude: Floats) -> Floats:
    """Each frequency bin turns at its own pace from frame to frame."""
    frames, bins = np.indices(magnitude.shape)
    return np.asarray(2 * np.pi * HOP / LENGTH * frames * bins)
