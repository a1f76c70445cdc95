"""Log-mel frames back to sound: phases are not in them, and are sought."""

import wave
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from deeprotect.datasets.fsdd import FLOOR_DB, FULL_SCALE, HOP, LENGTH, RATE_HZ, bands, hann, pieces
from deeprotect.signals.schema import Floats


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


def write_wav(target: Path | BinaryIO, samples: NDArray[np.int16]) -> None:
    with wave.open(str(target) if isinstance(target, Path) else target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())


def _spectrum(sound: Floats) -> NDArray[np.complex128]:
    return np.asarray(np.fft.rfft(pieces(sound) * hann(), axis=1))


def _overlap_add(spectrum: NDArray[np.complex128]) -> Floats:
    """The sound whose spectrum is nearest in the least-squares sense (Griffin and Lim 1984)."""
    pieces = np.fft.irfft(spectrum, LENGTH, axis=1) * hann()
    count = len(pieces)
    total, weight = np.zeros((2, (count - 1) * HOP + LENGTH))
    for index, piece in enumerate(pieces):
        total[index * HOP : index * HOP + LENGTH] += piece
        weight[index * HOP : index * HOP + LENGTH] += hann() ** 2
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
    return np.asarray(np.sqrt(power) * hann().sum() / 2)


def _first_phase(magnitude: Floats) -> Floats:
    """Each frequency bin turns at its own pace from frame to frame."""
    frames, bins = np.indices(magnitude.shape)
    return np.asarray(2 * np.pi * HOP / LENGTH * frames * bins)
