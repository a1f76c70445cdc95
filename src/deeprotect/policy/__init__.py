"""What an app may infer and what it may not: the policy file and the repository of inferences."""

from deeprotect.policy.policy import Policy
from deeprotect.policy.repository import Repository

__all__ = ["Policy", "Repository"]
