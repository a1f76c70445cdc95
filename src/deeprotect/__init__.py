"""DEEProtect: name what an app may infer from your sensors, and release data that carries only that."""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeprotect.api import (
        Protector,
        Release,
        audit,
        budget,
        check,
        evaluate,
        inferences,
        init,
        prepare,
        tune,
        verify,
        windows,
    )
    from deeprotect.bundle import Bundle
    from deeprotect.errors import DeeprotectError
    from deeprotect.policy import Policy
    from deeprotect.release.live import LiveStream
    from deeprotect.version import __version__

__all__ = [
    "Bundle",
    "DeeprotectError",
    "LiveStream",
    "Policy",
    "Protector",
    "Release",
    "__version__",
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
_HOMES = {
    "Bundle": "deeprotect.bundle",
    "DeeprotectError": "deeprotect.errors",
    "LiveStream": "deeprotect.release.live",
    "Policy": "deeprotect.policy",
    "__version__": "deeprotect.version",
}


_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


def _choose_kernels(processor: str = "/proc/cpuinfo") -> None:
    """Select OpenBLAS kernels: it knows processors by number, and uses slower kernels for newer ones.

    The choice must be made before numpy is imported. Released numbers do not depend on it, because sums in networks are
    exact. docs/performance.md
    """
    if "numpy" in sys.modules or "OPENBLAS_CORETYPE" in os.environ:
        return
    try:
        with open(processor, encoding="utf-8") as lines:  # noqa: PTH123  # pathlib is imported by what needs it
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:  # not Linux
        return
    if _AVX512.issubset(flags.split()):
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"


_choose_kernels()


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import deeprotect` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'deeprotect' has no attribute '{name}'")
    return getattr(import_module(_HOMES.get(name, "deeprotect.api")), name)


def __dir__() -> list[str]:
    """Names for completion, including those not imported yet."""
    return sorted({*globals(), *__all__})
