"""Which minimiser and which mechanism a policy asks for, and how they are put together."""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import RidgeClassifier

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy
from deeprotect.privacy import laplace
from deeprotect.privacy.box import Box
from deeprotect.privacy.network import interval, lipschitz
from deeprotect.privacy.relaxed import basis
from deeprotect.privacy.subspace import subspace
from deeprotect.signals.schema import Floats
from deeprotect.training.autoencoder import Autoencoder
from deeprotect.training.bounds import layers_of, weights_of
from deeprotect.training.linear import DCT, DFT, PCA, Haar
from deeprotect.training.minimiser import Minimiser
from deeprotect.training.paper import PaperAutoencoder
from deeprotect.training.protection import Protection
from deeprotect.training.sparse import BlindCompressiveSensing
from deeprotect.training.windows import LabelledWindows

AUTO = {"ldp": "laplace", "named": "laplace", "rldp": "subspace"}  # an ε-LDP release keeps the named promise, too
TRIM = 0.01  # share of training features beyond each end of the clip box: less noise, a little clipping
Build = Callable[[LabelledWindows, Policy, Minimiser | None], Protection]


def mechanism(policy: Policy) -> str:
    """The policy's mechanism, `auto` settled."""
    chosen = policy.privacy.mechanism
    return AUTO[policy.privacy.guarantee] if chosen == "auto" else chosen


def fitted(windows: LabelledWindows, policy: Policy) -> Minimiser:
    """The policy's minimiser, learnt from the useful inferences only."""
    make = {
        "default": lambda: _autoencoder(policy),
        "paper": lambda: PaperAutoencoder(policy.training.features),
        "pca": lambda: PCA(policy.training.features),
        "bcs": lambda: BlindCompressiveSensing(policy.training.features),
        "dft": lambda: DFT(policy.training.features, channels=len(policy.stream.channels)),
        "dct": lambda: DCT(policy.training.features, channels=len(policy.stream.channels)),
        "haar": lambda: Haar(policy.training.features, channels=len(policy.stream.channels)),
    }[policy.training.minimiser]
    model: Minimiser = make()
    if "random_state" in model.get_params():
        model.set_params(random_state=policy.training.seed)
    return model.fit(windows.flat, windows.targets(policy.inferences.useful))


def _autoencoder(policy: Policy) -> Autoencoder:
    model = Autoencoder(policy.training.features, channels=len(policy.stream.channels), cost=policy.training.cost)
    if policy.training.max_epochs is not None:
        model.set_params(max_epochs=policy.training.max_epochs)
    return model


def baseline(windows: LabelledWindows, policy: Policy, _: Minimiser | None) -> Protection:
    """Noise on every sample, no minimiser."""
    noise = laplace.baseline(windows.flat.shape[1], policy.privacy.epsilon)
    return Protection(noise, None, windows.flat.shape[1], noise_on_features=False)


def certified(windows: LabelledWindows, policy: Policy, minimiser: Minimiser | None) -> Protection:
    """Noise on the features, as much as their certified sensitivity needs."""
    assert minimiser is not None
    box, linear = _box(windows, minimiser), weights_of(layers_of(minimiser.encoder()))
    noise = laplace.certified(box, policy.privacy.epsilon, linear=linear)
    return Protection(noise, minimiser, windows.flat.shape[1], noise_on_features=True)


def paper(windows: LabelledWindows, policy: Policy, minimiser: Minimiser | None) -> Protection:
    """The paper's λ on the features of the paper's autoencoder: mode 2 for rldp, otherwise mode 1."""
    assert minimiser is not None
    dim, epsilon, box = windows.flat.shape[1], policy.privacy.epsilon, _box(windows, minimiser)
    if policy.privacy.guarantee != "rldp":
        noise = laplace.paper_mode1(box, epsilon, dim_x=dim)
    else:
        layers = layers_of(minimiser.encoder())
        assert layers is not None
        noise = laplace.paper_mode2(
            box,
            epsilon,
            directions=sensitive_directions(windows, policy),
            lipschitz=lipschitz(layers),
            inferences=policy.inferences.sensitive,
        )
    return Protection(noise, minimiser, dim, noise_on_features=True)


def along_subspace(windows: LabelledWindows, policy: Policy, minimiser: Minimiser | None) -> Protection:
    """Noise on the window along the sensitive directions; the minimiser comes after it."""
    directions = sensitive_directions(windows, policy)
    noise = subspace(directions, policy.privacy.epsilon, inferences=policy.inferences.sensitive)
    return Protection(noise, minimiser, windows.flat.shape[1], noise_on_features=False)


PROTECTIONS: dict[str, Build] = {
    "baseline": baseline,
    "laplace": certified,
    "paper": paper,
    "subspace": along_subspace,
}


def sensitive_directions(windows: LabelledWindows, policy: Policy) -> Floats:
    """Basis of the span of the sensitive inferences' ridge classifiers, all classes of all of them (paper, mode 2)."""
    if not policy.inferences.sensitive:
        raise PolicyError('inferences.sensitive is empty; guarantee = "rldp" needs the inferences to hide')
    weights = []
    for name in policy.inferences.sensitive:
        known = windows.labelled(name)
        classifier = RidgeClassifier().fit(windows.flat[known], windows.labels[name][known].astype(str))
        weights.append(np.atleast_2d(classifier.coef_).T)
    return basis(np.hstack(weights))


def _box(windows: LabelledWindows, minimiser: Minimiser) -> Box:
    """Around the training features, inside what the network can reach at all."""
    box = Box.fit(minimiser.transform(windows.flat), trim=TRIM)
    layers = layers_of(minimiser.encoder())
    if layers is None:
        return box
    dim = windows.flat.shape[1]
    return box.within(*interval(layers, np.zeros(dim), np.ones(dim)))
