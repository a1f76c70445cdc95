"""Calls whose types mypy checks (`make check`): what goes in as one kind comes out as the same."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from deeprotect import LiveStream, Policy, Protector, Release


class Frame:
    """Stands for a table of any library."""


def typed(protector: Protector, frame: Frame, windows: NDArray[np.float32], path: Path) -> None:
    assert_type(protector.protect(frame).table, Frame)
    assert_type(protector.protect(frame, path), Release[None])
    assert_type(protector.protect(windows).table, NDArray[np.float32])
    assert_type(protector.protect(frame), Release[Frame])
    assert_type(protector.protect(path).table, Any)
    protector.protect(path, leger="spent.db")  # type: ignore[call-overload]
    assert_type(protector.stream(), LiveStream)
    assert_type(protector.stream(listen_to="before").push([0.0]), NDArray[np.float64])
    assert_type(protector.epsilon, float)
    assert_type(protector.policy, Policy)
    protector.stream(listen_to="behind")  # type: ignore[arg-type]
    protector.epsilon = 1.0  # type: ignore[misc]
