"""What a policy wants and what its mechanisms are called, in plain words."""

from deeprotect.evaluation.peers import PEERS
from deeprotect.policy import Policy

NAMES = {
    "baseline": "noise on every sample",
    "paper": "the paper's noise on its features",
    "laplace": "certified noise on few features",
    "subspace": "noise along sensitive directions only",
    "channel": "a random channel between few codes",
    "features": "few features and back, without noise",
    **{peer.name: peer.what for peer in PEERS.values()},
}


def aim(policy: Policy) -> str:
    """What a policy wants, for the head of a page."""
    useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
    hidden = f"the {' or the '.join(sensitive)}" if sensitive else "anything else"
    return (
        f"An app should learn the {' and the '.join(useful)} from the sensors, and nobody should learn {hidden}. "
        "Below, each mechanism releases the same windows; an app reads them, and attackers try."
    )
