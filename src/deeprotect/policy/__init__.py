"""What an app may infer and what it may not: the policy file and the repository of inferences."""

from deeprotect.policy.policy import Policy

__all__ = ["Policy"]
