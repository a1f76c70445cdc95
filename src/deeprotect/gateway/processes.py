"""Several processes on one socket: started together, stopped together."""

import os
import signal
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from deeprotect.gateway.mediation.peers import ProcessPlace
from deeprotect.gateway.operation.logs import event


def run_processes(count: int, work: Callable[[ProcessPlace], None]) -> None:
    """`work` in so many processes, each told its place; when one ends, for whatever reason, all do."""
    with tempfile.TemporaryDirectory(prefix="deeprotect-") as folder:
        Path(folder).chmod(stat.S_IRWXU)
        children = {_forked(work, ProcessPlace(index, count, Path(folder))) for index in range(count)}
        asked = _stopping(children)
        failed = False
        while children:
            child, status = os.wait()
            children.discard(child)
            if not asked and children:
                failed = True
                event("a process ended; the others are stopped", code=os.waitstatus_to_exitcode(status))
                _tell(children)
                asked.append(signal.SIGTERM)
        if failed:
            raise SystemExit(1)


def _forked(work: Callable[[ProcessPlace], None], place: ProcessPlace) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(place)
        code = 0
    finally:
        os._exit(code)


def _stopping(children: set[int]) -> list[int]:
    """Signals that asked for a stop; each is handed on to all children."""
    asked: list[int] = []

    def stop(number: int, _: object) -> None:
        asked.append(number)
        _tell(children)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    return asked


def _tell(children: set[int]) -> None:
    for child in set(children):
        os.kill(child, signal.SIGTERM)
