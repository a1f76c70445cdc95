"""A real PostgreSQL server for tests; skipped, or failed where services are required, without one."""

import os
from importlib.util import find_spec

import pytest

from studies.benchmark import postgres
from studies.benchmark.postgres import WANTED, program

_SETTINGS = "-c fsync=off -c default_transaction_isolation=serializable"  # fast, and the default that is hardest on us


class Cluster(postgres.Cluster):
    def __init__(self):
        if find_spec("psycopg") is None or program("initdb") is None:
            (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(WANTED)
        super().__init__(settings=_SETTINGS)
