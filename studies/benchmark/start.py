"""Starting up, against a Python that does nothing; processor time, for the clock counts other programs, too."""

import resource
import subprocess
import sys

from studies.benchmark.ratio import REPEATS, Ratio, Work, compare

COMMANDS = {
    "import deeprotect": ("-c", "import deeprotect"),
    "deeprotect --help": ("-c", "from deeprotect.cli import main; main()", "--help"),
}


def start(*, repeats: int = REPEATS) -> list[Ratio]:
    nothing = _python("-c", "pass")
    return [
        Ratio(what, "python -c pass", "time", compare(nothing, _python(*command), repeats=repeats, clock=of_children))
        for what, command in COMMANDS.items()
    ]


def of_children() -> float:
    """Processor seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _python(*arguments: str) -> Work:
    def work() -> int:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return 1

    return work
