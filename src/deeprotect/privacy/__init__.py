"""Privacy: entropy, exact noise, mechanisms with certificates, relaxed neighbours, limits and accounting."""

from deeprotect.privacy.accounting import Spending, totals
from deeprotect.privacy.entropy import Entropy, SeededEntropy, SystemEntropy, require_system
from deeprotect.privacy.events import Event
from deeprotect.privacy.limits import best_accuracy

__all__ = [
    "Entropy",
    "Event",
    "SeededEntropy",
    "Spending",
    "SystemEntropy",
    "best_accuracy",
    "require_system",
    "totals",
]
