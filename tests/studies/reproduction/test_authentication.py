"""The first case study on its real data, where the archive is present."""

import numpy as np

from studies.reproduction import authentication
from studies.reproduction.size import QUICK


def test_thirty_people_and_three_modes_in_windows_of_thirty_values(archives):
    who, _, owner, *held = authentication.read(archives, QUICK, 0)
    assert who.windows.flat.shape[1] == 30
    assert len(set(who.windows.labels["person"])) == 30
    assert set(who.windows.labels["mode"]) == {"walk", "stairs", "still"}
    counts = np.unique(owner.windows.labels["owner"], return_counts=True)[1]
    assert counts[0] == counts[1]
    assert [each.name for each in held] == ["1a held", "1b held", "1c held"]
    assert len(held[0].windows) > len(who.windows)  # windows between two modes are part of an episode
    assert not held[0].windows.labelled("mode").all()
