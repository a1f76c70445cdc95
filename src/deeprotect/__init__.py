"""DEEProtect: name what an app may infer from your sensors, and release data that carries only that."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeprotect.policy import Policy
    from deeprotect.protector import Protector

__all__ = ["Policy", "Protector"]


def __getattr__(name: str) -> Any:
    """Imported when first used, so that `import deeprotect` costs nothing."""
    if name == "Policy":
        from deeprotect.policy import Policy

        return Policy
    if name == "Protector":
        from deeprotect.protector import Protector

        return Protector
    raise AttributeError(f"module 'deeprotect' has no attribute '{name}'")
