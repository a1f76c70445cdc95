"""A quick training: few epochs, for a first look at whether table and policy fit."""

from deeprotect.policy.policy import Policy

QUICK_EPOCHS = 6


def quick(policy: Policy) -> Policy:
    """The same policy with networks that learn for a few epochs only; what is promised does not change."""
    return policy.vary(training={"max_epochs": min(policy.training.max_epochs or QUICK_EPOCHS, QUICK_EPOCHS)})


def is_quick(policy: Policy) -> bool:
    return policy.training.max_epochs is not None and policy.training.max_epochs <= QUICK_EPOCHS
