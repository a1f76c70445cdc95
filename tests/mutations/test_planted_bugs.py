"""Sound code passes every check; each planted bug fails those that are there for it, and a table says which."""

import pytest
from tests.mutations.bugs import BUGS, Bug
from tests.mutations.checks import Check

CHECKS = sorted({check for bug in BUGS for check in bug.caught_by}, key=lambda check: check.name)
CATCHES = [(bug, check) for bug in BUGS for check in bug.caught_by]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_sound_code_passes(check: Check) -> None:
    assert check.holds(check.made())


@pytest.mark.parametrize(("bug", "check"), CATCHES, ids=lambda part: part.name)
def test_a_planted_bug_is_caught(bug: Bug, check: Check, record_property) -> None:
    assert not _holds_with(bug, check)
    record_property("caught", (bug.name, check.name))


def test_there_are_at_least_twelve_bugs_and_each_has_a_check() -> None:
    assert len({bug.name for bug in BUGS}) >= 12
    assert all(bug.caught_by for bug in BUGS)


def _holds_with(bug: Bug, check: Check) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        made = check.made()
        if not check.shipped:
            return check.holds(made)
    return check.holds(made)
