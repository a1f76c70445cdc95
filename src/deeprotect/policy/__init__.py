"""The policy file, which states what an app may and may not infer, and the repository of inferences."""

from deeprotect.policy.policy import Policy
from deeprotect.policy.repository import Repository

__all__ = ["Policy", "Repository"]
