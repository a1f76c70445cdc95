"""Enrolment: a bundle that reads one new person better, from seconds of labelled data of theirs.

No proof of LDP looks at the encoder, so the mechanism, and with it the certificate, stays as it is.
docs/claims.md#enrolment
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.manifest import ENROLLED
from deeprotect.errors import BundleError, TableError, quoted_all
from deeprotect.training.codebook.personal_head import personal
from deeprotect.training.labelled_windows import Indices, LabelledWindows, read_windows
from deeprotect.training.labels import MISSING


def enrol(
    bundle: Bundle, table: Any, *, mapped: Mapping[str, str] | None = None, columns: Sequence[str] | None = None
) -> Bundle:
    """An ordinary bundle with a head of the person in the table; what was measured on others is left out."""
    useful, manifest = bundle.policy.inferences.useful, bundle.manifest
    classes = {name: manifest.training.classes.get(name, []) for name in useful}
    _check_promise(bundle)
    _check_head(bundle, classes)
    asked = bundle.policy.vary(inferences={"sensitive": []}, training={"people": None})
    windows = read_windows(table, asked, mapped=mapped, columns=columns)
    codes = np.stack([_numbered(windows, *each) for each in classes.items()], axis=1)
    return Bundle.make(
        bundle.policy,
        bundle.mechanism,
        encoder=personal(bundle.encoder, windows.flat, codes),
        decoder=bundle.decoder,
        minimiser={**manifest.minimiser.unmeasured, ENROLLED: int((codes != MISSING).any(axis=1).sum())},
        training=manifest.training,
        results=[],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with={name: made for name, made in manifest.made_with.items() if name != "deeprotect"},
    )


def _check_promise(bundle: Bundle) -> None:
    """Counts behind a named promise are of the coder that was shipped with them."""
    if bundle.mechanism.event.guarantee != "ldp":
        raise BundleError(
            f"the bundle's promise is {bundle.mechanism.event.guarantee}, which was counted on another coder; enrol "
            'keeps ε-LDP only: train with guarantee = "ldp"'
        )


def _check_head(bundle: Bundle, classes: Mapping[str, Sequence[str]]) -> None:
    """The head must tell the useful classes apart, and nothing else."""
    last = bundle.encoder.layers[-1] if bundle.encoder.layers else None
    if not isinstance(last, Argmax) or last.classes != tuple(map(len, classes.values())):
        raise BundleError(
            f"the bundle's coder does not tell {quoted_all([*classes])} apart class by class, so it has no head to "
            'learn; enrol with a bundle of mechanism "channel"'
        )


def _numbered(windows: LabelledWindows, name: str, classes: Sequence[str]) -> Indices:
    """Each window's class by its number; a class that training never saw has no score to learn."""
    known = windows.labelled(name)
    labels = windows.labels[name][known].astype(str)
    strange = sorted({*labels.tolist()} - {*classes})
    if strange:
        raise TableError(f"'{strange[0]}' of '{name}' is no class of the bundle; it knows: {', '.join(classes)}")
    codes = np.full(len(windows), MISSING, dtype=np.int64)
    codes[known] = np.searchsorted(np.array(classes, dtype=str), labels)
    return codes
