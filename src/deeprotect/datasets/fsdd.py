"""Spoken digits (free-spoken-digit-dataset): 6 speakers, 8 kHz sound as log-mel frames, 100 a second."""

import re
from collections.abc import Iterator
from pathlib import Path

from deeprotect.datasets.audio import BANDS, FLOOR_DB, HOP, RATE_HZ, log_mel, read_wav
from deeprotect.datasets.dataset import Recording
from deeprotect.errors import DatasetError
from deeprotect.signals import Channel

NATIVE_HZ = RATE_HZ / HOP
# 16-bit sound: from the noise of its last bit to full scale.
CHANNELS = tuple(Channel(f"mel_{band:02d}", "dB", FLOOR_DB, 0.0, 0.01) for band in range(BANDS))
LABELS = ("digit", "speaker")


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per utterance; audio.to_wav turns its frames (at the native rate) back into sound."""
    for path in sorted(root.glob("*_*_*.wav")):
        found = re.fullmatch(r"(\d)_([^_]+)_(\d+)", path.stem)
        if found is None:
            raise DatasetError(f"{path.name}: expected DIGIT_SPEAKER_INDEX.wav; fetch 'fsdd' again")
        labels = {"digit": found[1], "speaker": found[2]}
        yield Recording(path.stem, log_mel(read_wav(path)), labels).slower(NATIVE_HZ, rate_hz)
