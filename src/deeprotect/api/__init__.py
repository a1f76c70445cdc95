"""The Python API: a protector, and the verbs of the command line as functions."""

from deeprotect.api.evaluating import evaluate, tune
from deeprotect.api.functions import audit, budget, check, inferences, init, prepare, verify, windows
from deeprotect.api.protector import Protector, Release

__all__ = [
    "Protector",
    "Release",
    "audit",
    "budget",
    "check",
    "evaluate",
    "inferences",
    "init",
    "prepare",
    "tune",
    "verify",
    "windows",
]
