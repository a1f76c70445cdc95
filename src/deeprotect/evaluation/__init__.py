"""Measuring what a release still tells: inference models, attackers, experiments, and the page that shows them."""

import atexit
import os
import secrets
import shutil
import tempfile
from pathlib import Path

if "MPLCONFIGDIR" not in os.environ:
    # matplotlib would make two folders in the user's home as soon as it is imported; it makes this one instead.
    os.environ["MPLCONFIGDIR"] = str(Path(tempfile.gettempdir()) / f"deeprotect-{secrets.token_hex(8)}")
    atexit.register(shutil.rmtree, os.environ["MPLCONFIGDIR"], ignore_errors=True)
