"""The made-up stream that evaluation is tested on."""

from tests.evaluation.conftest import policy, table, windows

__all__ = ["policy", "table", "windows"]
