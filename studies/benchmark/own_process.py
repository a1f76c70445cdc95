"""A program in a process of its own: its time after start-up, by the processor and by the clock, and its memory."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# The kernel counts a parent's memory in a new child's ru_maxrss; VmHWM is the child's own, where there is one.
_MEASURE = """
import json, pathlib, re, resource, sys, time
source, sink = map(pathlib.Path, sys.argv[1:])
{program}
start, began = time.process_time(), time.perf_counter()
work()
seconds, clock_seconds = time.process_time() - start, time.perf_counter() - began
status = pathlib.Path("/proc/self/status")
own = re.search(r"VmHWM:\\s*(\\d+)", status.read_text()) if status.exists() else None
unit = 1 if sys.platform == "darwin" else 1024
peak = int(own[1]) * 1024 if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(json.dumps({{"seconds": seconds, "clock_seconds": clock_seconds, "peak_bytes": peak}}))
"""


def program(module: str) -> list[str]:
    """The `main` of a module beside this one; a new process finds it wherever it is started."""
    place = Path(__file__).parents[2]
    work = f"import sys; sys.path.append({str(place)!r}); from studies.benchmark import {module}; {module}.main()"
    return [sys.executable, "-c", work]


@dataclass(frozen=True)
class TimedRun:
    """One pass over a table: the processor's seconds after start-up, the clock's, and the largest resident memory."""

    seconds: float
    clock_seconds: float
    peak_bytes: int


def run(program: str, source: Path) -> TimedRun:
    """A program that defines `work`, from `source` to `sink`; no memory is left over from before."""
    sink = source.with_name(f"written{source.suffix}")
    command = [sys.executable, "-c", _MEASURE.format(program=program), str(source), str(sink)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return TimedRun(**json.loads(done.stdout))
