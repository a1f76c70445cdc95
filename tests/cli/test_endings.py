"""Every ending is clean: one line, the right exit code, nothing left behind, no process that lives on."""

import errno
import io
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.conftest import walk

from deeprotect.api import Protector
from deeprotect.cli import run as endings

SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


@pytest.fixture(autouse=True)
def _signals_as_in_a_terminal():
    """Restore default signals: the process that started the tests may ignore them, like `nohup`."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start(program, *, folder):
    """Run in a new session, so that a signal can be sent to the whole group as a terminal does."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def run(verb, *, folder, stdout):
    command = [sys.executable, "-c", "from deeprotect.cli import main; main()", *verb.split()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True)


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_in_the_middle_of_a_release_is_one_line_and_leaves_no_part(folder, deeprotect, name, monkeypatch):
    before = files_in(folder)

    def stopped_half_way(self, *arguments, **options):
        progress = options.pop("progress")

        def stop(share):
            assert any(".part" in each for each in files_in(folder))  # something could be left
            signal.raise_signal(getattr(signal, name))

        progress(0.5)
        return original(self, *arguments, **options, progress=stop)

    original = Protector.protect
    monkeypatch.setattr(Protector, "protect", stopped_half_way)
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (SIGNALS[name], "", 1)
    assert done.stderr.startswith("deeprotect: stopped by ")
    assert files_in(folder) == before


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings.signals_as_errors():
            signal.raise_signal(signal.SIGHUP)
            with pytest.raises(endings.StoppedError):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)  # a second one does not disturb the unwinding
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


WORKERS = """
    import os, signal, sys, time
    import joblib
    from deeprotect.cli.run import signals_as_errors, StoppedError
    from deeprotect.evaluation.workers import dispatch, workers

    def say_and_wait(number):
        os.write(1, b"%d\\n" % os.getpid())  # in one piece: two workers that print at once mix their digits
        time.sleep(600)

    if __name__ == "__main__":
        try:
            with signals_as_errors(), workers(2) as parallel:
                for _ in dispatch(parallel, (joblib.delayed(say_and_wait)(number) for number in range(2))):
                    pass
        except StoppedError as stop:
            print(stop, file=sys.stderr)
            sys.exit(stop.exit_code)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux, to wait for processes of others")
@pytest.mark.parametrize("name", [*SIGNALS, "SIGKILL"])
def test_no_worker_lives_on(tmp_path, name):
    (tmp_path / "main.py").write_text(textwrap.dedent(WORKERS))
    with start("import runpy; runpy.run_path('main.py', run_name='__main__')", folder=tmp_path) as process:
        workers = [os.pidfd_open(int(process.stdout.readline())) for _ in range(2)]
        if name in ("SIGINT", "SIGHUP"):
            os.killpg(process.pid, getattr(signal, name))  # as a terminal does
        else:
            process.send_signal(getattr(signal, name))
        for worker in workers:
            select.select([worker], [], [])  # until it has ended
            os.close(worker)
        _, said = process.communicate()
    if name != "SIGKILL":
        assert (process.returncode, said.count("\n")) == (SIGNALS[name], 1), said


def test_a_full_disk_is_said_as_such_with_its_own_code(folder, deeprotect, monkeypatch):
    before = files_in(folder)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("deeprotect.tables.outputs._Csv.write", full)
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert (done.returncode, done.stderr.count("\n")) == (74, 1)
    assert done.stderr.startswith("deeprotect: out.csv: no space is left")
    assert files_in(folder) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("verb", ["describe protector", "protect protector walk.csv -", "inferences --json", "--help"])
def test_a_full_device_on_standard_output(folder, verb):
    with Path("/dev/full").open("w") as full:
        done = run(verb, folder=folder, stdout=full)
    assert (done.returncode, done.stderr.count("\n")) == (74, 1), done.stderr
    assert "the output: no space is left" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("verb", ["describe protector", "protect protector walk.csv -", "inferences --json", "--help"])
def test_a_reader_who_leaves_is_not_blamed_on_the_input(folder, verb):
    read, write = os.pipe()
    os.close(read)
    done = run(verb, folder=folder, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr.count("\n")) == (141, 1), done.stderr
    assert "standard output was closed" in done.stderr


def test_a_fault_of_ours_says_where_and_never_what_stood_in_a_cell(folder, deeprotect, monkeypatch):
    def fault(*_, **__):
        raise ValueError("could not convert 'Sekrit'")

    monkeypatch.setattr("deeprotect.release.tables.read_rows", fault)
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert (done.returncode, done.stderr.count("\n")) == (70, 1)
    assert "internal error (ValueError at tables.py:" in done.stderr
    assert "Sekrit" not in done.stderr


def test_without_standard_input_there_is_one_line(folder, deeprotect, monkeypatch):
    original = io.TextIOWrapper
    monkeypatch.setattr(io, "TextIOWrapper", lambda *_, **__: None)  # as in a process without one
    done = deeprotect("protect", "protector", "-", "out.csv")
    monkeypatch.setattr(io, "TextIOWrapper", original)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard input is closed" in done.stderr


def test_a_table_of_column_names_alone_says_the_promise_of_the_bundle(folder, deeprotect, channel_bundle):
    channel_bundle.save(folder / "channel")
    (folder / "none.csv").write_text("acc_x,acc_y,recording\n")
    done = deeprotect("protect", "channel", "none.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    assert f"released 0 rows, which costs nothing; the bundle promises {channel_bundle.mechanism.event}" in done.stderr
    done = deeprotect("protect", "channel", "none.csv", "other.csv", "--json")
    assert json.loads(done.stderr)["cost"]["guarantee"] == "ldp"


def test_a_walk_is_released(folder, deeprotect):
    """Or else the cases above might end for another reason."""
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert done.returncode == 0
    assert len((folder / "out.csv").read_text().splitlines()) == walk(200).num_rows + 1
