"""Privacy: entropy, exact noise, mechanisms with certificates, relaxed neighbours, limits and accounting."""

from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.entropy import Entropy, SeededEntropy, SystemEntropy, require_system
from deeprotect.privacy.events import Event

__all__ = [
    "Entropy",
    "Event",
    "SeededEntropy",
    "Spending",
    "SystemEntropy",
    "best_accuracy",
    "require_system",
]
