"""Measuring what a release still reveals: inference models, attackers, experiments, and the report."""

import atexit
import os
import secrets
import shutil
import tempfile
from pathlib import Path

if "MPLCONFIGDIR" not in os.environ:
    # When imported, matplotlib would create two folders in the user's home; use this one instead.
    os.environ["MPLCONFIGDIR"] = str(Path(tempfile.gettempdir()) / f"deeprotect-{secrets.token_hex(8)}")
    atexit.register(shutil.rmtree, os.environ["MPLCONFIGDIR"], ignore_errors=True)
