"""What a planted bug is."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.mutations.checks import Check

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Bug:
    """`plant` puts the mistake into the code; every check of `caught_by` must then fail."""

    name: str
    plant: Callable[[Patch], None]
    caught_by: tuple[Check, ...]
