"""Running the command as a user does, in a folder of its own."""

import io
import sys
from dataclasses import dataclass

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from tests.conftest import POLICY, walk

from deeprotect.cli import main


@pytest.fixture
def folder(tmp_path, bundle):
    """A policy, a table of a walk, and a bundle."""
    (tmp_path / "policy.toml").write_text(POLICY)
    pa_csv.write_csv(walk(200), tmp_path / "walk.csv")
    pa_parquet.write_table(walk(200), tmp_path / "walk.parquet")
    bundle.save(tmp_path / "protector")
    return tmp_path


@dataclass(frozen=True)
class Finished:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def deeprotect(folder, monkeypatch, capfdbinary):
    return in_process(main, folder, monkeypatch, capfdbinary)


def in_process(main, folder, monkeypatch, capfdbinary):
    """A command in this process, which spares a second of imports each time."""
    monkeypatch.chdir(folder)

    def run(*arguments, text=""):
        monkeypatch.setattr(sys, "argv", ["deeprotect", *arguments])
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
        )
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfdbinary.readouterr()
        return Finished(end.value.code, out.decode(), err.decode())

    return run
