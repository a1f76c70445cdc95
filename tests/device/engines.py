"""JavaScript engines for tests; a missing one skips with a reason, or fails where nothing may be skipped."""

from tests.node_packages import ROOT, lack

from studies.benchmark.engines import ENGINES as PROGRAMS

DEVICE = ROOT / "device"


class Engine:
    """Runs a script and returns what it printed."""

    def __init__(self, program):
        self.program = program

    def built(self, name):
        return self.program.built(name)

    def run(self, script):
        if not self.program.is_there:
            lack(f"{self.program.name} is missing: {self.program.missing}")
        return self.program.run(script).said


ENGINES = {name: Engine(program) for name, program in PROGRAMS.items()}
