"""The bar: a share, and a time that runs down."""

import io

import pytest
from rich.console import Console

from deeprotect.cli.printing import bar


def test_a_terminal_sees_title_share_and_time():
    shown = io.StringIO()
    with bar("training", Console(file=shown, force_terminal=True, width=100)) as progress:
        progress(0.5)
    assert "training" in shown.getvalue()
    assert "50%" in shown.getvalue()
    assert "left" in shown.getvalue()
    assert "so far" in shown.getvalue()


def test_a_pipe_sees_nothing():
    shown = io.StringIO()
    with bar("training", Console(file=shown, force_terminal=False)) as progress:
        progress(0.5)
    assert shown.getvalue() == ""


@pytest.mark.parametrize("flag", [[], ["--quick"]])
def test_train_says_where_it_was_quick(folder, deeprotect, flag):
    done = deeprotect("train", "policy.toml", "--data", "walk.csv", "--out", "new", *flag)
    assert done.returncode == 0, done.stderr
    assert ("Quick training" in done.stderr) == bool(flag)
    assert ("Quick training, at most 6 epochs" in deeprotect("describe", "new").stdout) == bool(flag)
