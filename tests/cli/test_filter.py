"""`protect --format` as a long-running child of another program: Telegraf's processors.execd, a shell."""

import json
import os
import signal
import subprocess
import sys

import pytest

T0, STEP = 1_700_000_000 * 10**9, 10**8
COMMAND = [sys.executable, "-c", "from deeprotect.cli import main; main()", "protect", "protector", "-", "-"]
LINES = ("--format", "line-protocol")
CANARY = "1.2345678"


def lines(first, count, x="0.5"):
    return "".join(
        f'imu,host=a acc_x={x},acc_y=0.25,note="n" {T0 + k * STEP}\n' for k in range(first, first + count)
    ).encode()


@pytest.fixture
def started(folder):
    children = []

    def start(*options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        children.append(subprocess.Popen([*COMMAND, *options], cwd=folder, env=os.environ, **pipes))
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()


def test_as_a_child_of_telegraf_it_answers_with_line_protocol_while_its_input_is_open(started):
    child = started(*LINES)
    for first in (0, 4):
        child.stdin.write(lines(first, 4, x=CANARY))
        child.stdin.flush()
        found = [child.stdout.readline().decode() for _ in range(4)]  # waits for ever if they wait for more
        assert [int(each.split(" ")[2]) for each in found] == [T0 + k * STEP for k in range(first, first + 4)]
        assert all(each.startswith("deeprotect acc_x=") for each in found)
        assert CANARY not in "".join(found)
    out, errors = child.communicate(lines(8, 2))
    assert len(out.splitlines()) == 2  # the rest leaves at the end of the input
    assert child.returncode == 0
    assert b"released 10 readings" in errors


def test_a_term_signal_ends_it_without_what_still_waits(started):
    child = started(*LINES)
    child.stdin.write(lines(0, 6))
    child.stdin.flush()
    assert len([child.stdout.readline() for _ in range(4)]) == 4
    child.send_signal(signal.SIGTERM)
    out, errors = child.communicate()
    assert (out, child.returncode) == (b"", 128 + signal.SIGTERM)
    assert len(errors.splitlines()) == 1


def test_a_reader_that_is_gone_ends_it(started):
    child = started(*LINES)
    child.stdout.close()
    child.stdin.write(lines(0, 40))
    child.stdin.flush()
    errors = child.stderr.read()
    child.wait()
    assert child.returncode == 128 + 13
    assert b"Traceback" not in errors


def test_what_cannot_be_read_is_told_on_standard_error_and_the_exit_code_says_so(started):
    child = started("--format", "json")
    sent = lines(0, 4) + f"walk {CANARY}\n".encode() + f'{{"acc_x": "{CANARY}"}}\n'.encode() + lines(4, 4)
    out, errors = child.communicate(sent)
    assert [json.loads(each)["time"] for each in out.splitlines()] == [T0 + k * STEP for k in range(8)]
    assert child.returncode == 1
    assert CANARY.encode() not in out + errors
    assert b"2 lines or readings refused" in errors


def test_wrong_options_end_it_before_anything_is_read(started):
    for options, what in (
        (("--field", "acc_x"), b"--field acc_x: write NAME=COLUMN"),
        (("--stream", "watch"), b"add --ledger"),
        (("--key", "nothing.pem"), b"nothing.pem"),
    ):
        child = started(*LINES, *options)
        out, errors = child.communicate(lines(0, 8))
        assert (out, child.returncode) == (b"", 2)
        assert what in errors


@pytest.mark.long
def test_a_ledger_remembers_what_a_pipe_has_cost(started, folder, deeprotect):
    for _ in range(2):
        child = started(*LINES, "--ledger", "ledger.sqlite", "--stream", "watch", "--app", "fitness")
        out, _ = child.communicate(lines(0, 8))
        assert len(out.splitlines()) == 8
    told = deeprotect("budget", "ledger.sqlite", "--json").stdout
    assert "watch" in told
    assert '"draws": 4' in told or "4" in told


def test_a_field_that_is_no_channel_of_the_bundle_is_refused(started):
    child = started(*LINES, "--field", "zz=imu.ax")
    out, errors = child.communicate(lines(0, 4))
    assert (child.returncode, out) == (2, b"")
    assert b"--field zz: there is no such channel; there are: acc_x, acc_y" in errors


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("protect protector walk.csv out.csv --format json", "--format json is for a pipe"),
        ("protect protector - - --format json --keep-names", "--keep-names is not for --format"),
        ("protect protector - - --time ms", "give --format, too"),
        ("filter protector --form json", "`filter` is now `deeprotect protect BUNDLE - - --format line-protocol`"),
        ("gateway register admin --database x", "`register admin` is now `deeprotect gateway token admin`"),
        ("gateway token person", "give a name with person"),
        ("gateway token admin anna", "give a name with person"),
    ],
)
def test_what_does_not_go_together_or_has_another_name_now_is_one_line(deeprotect, line, says):
    done = deeprotect(*line.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr
