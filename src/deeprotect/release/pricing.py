"""What one draw of a bundle costs."""

from deeprotect.bundle import Bundle
from deeprotect.release.ledger import Price
from deeprotect.release.ledger.limits import Limits


def price_of(bundle: Bundle) -> Price:
    """Of one draw, within the policy's limits."""
    return Price.of(bundle.mechanism, bundle=bundle.digest, limits=Limits.of(bundle.policy.privacy.budget))
