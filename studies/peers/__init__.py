"""Methods by others for private sensor data, compared with our mechanisms, including adaptive attackers."""

from importlib import import_module
from importlib.util import find_spec

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers.peer import Fit, Peer, PeerRelease

__all__ = ["PEERS", "Fit", "Peer", "PeerRelease"]


def _fit(module: str) -> Fit:
    """The module's own `fit`; imported when it is called, for some need torch or a package that may be missing."""

    def fit(windows: LabelledWindows, policy: Policy, epsilon: float | None) -> PeerRelease:
        release: PeerRelease = import_module(f"{__name__}.{module}").fit(windows, policy, epsilon)
        return release

    return fit


def _opendp_is_here() -> bool:
    return find_spec("opendp") is not None


PEERS = {
    peer.name: peer
    for peer in (
        Peer("downsampling", "none", _fit("downsampling")),
        Peer("leace", "none", _fit("leace")),
        Peer("adversarial", "none", _fit("adversarial")),
        Peer("conditional", "none", _fit("conditional")),
        Peer("label-only", "ldp", _fit("label_only")),
        Peer("opendp", "ldp", _fit("opendp"), _opendp_is_here, seeded=False),
    )
}
