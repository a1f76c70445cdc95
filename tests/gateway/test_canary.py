"""The search for raw values finds them in every form in which they might leave."""

import numpy as np
import pytest
from tests.gateway.canary import CANARY, canaries, leaking_files, leaks

SEVERAL = canaries(300)


@pytest.mark.parametrize(
    "content",
    [
        SEVERAL.tobytes(),
        SEVERAL.astype(">f8").tobytes(),
        SEVERAL.astype("<f4").tobytes(),
        ((SEVERAL + 4) / 8).tobytes(),
        repr(SEVERAL[7, 1].item()).encode(),
        f"{SEVERAL[7, 1]:.4f}".encode(),
        f"{SEVERAL[7, 1] * 9.80665:.5f}".encode(),
    ],
)
def test_raw_values_are_found(content):
    assert leaks(b"before" + content + b"after")


def test_every_single_value_is_found_as_text_and_as_bytes():
    assert all(leaks(repr(value).encode()) and leaks(np.float64(value).tobytes()) for value in SEVERAL.ravel().tolist())
    assert len(set(SEVERAL.ravel().tolist())) == 500


def test_released_values_are_not_taken_for_raw_ones():
    assert not leaks(np.array([-2.0, -0.5, 0.5, 2.0]).tobytes() + b"[-2.0, -0.5, 0.5, 2.0] 1.2 1.23")


def test_files_in_folders_are_searched(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "deep.log").write_text(f"value {CANARY}")
    assert leaking_files(tmp_path) == [str(tmp_path / "a" / "deep.log")]
