"""`protect - -` between two programs: rows are released as their windows fill."""

import os
import subprocess
import sys


def test_rows_leave_before_the_input_ends(folder):
    command = [sys.executable, "-c", "from deeprotect.cli import main; main()", "protect", "protector", "-", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=os.environ, **pipes) as process:
        process.stdin.write(b"acc_x,acc_y\n" + b"0.5,0.25\n" * 4)
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(5)]  # waits for ever if they wait for more
        process.stdin.write(b"0.5,0.25\n" * 2)
        process.stdin.close()
        rest = process.stdout.read().splitlines()
        process.stderr.read()
    assert first[0] == b"acc_x,acc_y\n"
    assert len([line for line in first[1:] if line]) == 4
    assert len(rest) == 2
    assert process.returncode == 0
