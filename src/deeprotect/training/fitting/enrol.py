"""Enrolment: a bundle that reads one new person better, from seconds of labelled data of theirs.

No proof of LDP looks at the encoder, so the mechanism, and with it the certificate, stays as it is.
docs/claims.md#enrolment
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, TableError, quoted_all
from deeprotect.training.codebook.personal_head import personal
from deeprotect.training.labelled_windows import Indices, LabelledWindows, read_windows
from deeprotect.training.labels import MISSING


def enrol(bundle: Bundle, table: Any, *, mapped: Sequence[str] = (), columns: Sequence[str] | None = None) -> Bundle:
    """An ordinary bundle with a head of the person in the table; what was measured on others is left out."""
    _check_promise(bundle)
    policy, manifest = bundle.policy, bundle.manifest
    useful = policy.vary(
        inferences={"useful": list(policy.inferences.useful), "sensitive": []}, training={"people": None}
    )
    windows = read_windows(table, useful, mapped=mapped, columns=columns)
    classes = [manifest.training.classes[name] for name in policy.inferences.useful]
    codes = np.stack(
        [_numbered(windows, *pair) for pair in zip(policy.inferences.useful, classes, strict=True)], axis=1
    )
    _check_classes(bundle, classes)
    encoder = personal(bundle.encoder, windows.flat, codes)
    described = manifest.minimiser.model_dump(exclude_defaults=True)
    described.pop("expected_accuracy", None)
    described.pop("expected_cost", None)
    return Bundle.make(
        policy,
        bundle.mechanism,
        encoder=encoder,
        decoder=bundle.decoder,
        minimiser={**described, "enrolled_windows": int((codes != MISSING).any(axis=1).sum())},
        training=manifest.training,
        results=[],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with={name: made for name, made in manifest.made_with.items() if name != "deeprotect"},
    )


def _check_promise(bundle: Bundle) -> None:
    """Counts behind a named promise are of the coder that was shipped with them."""
    if bundle.mechanism.event.guarantee != "ldp":
        raise BundleError(
            f"its promise is {bundle.mechanism.event.guarantee}, which was counted on another coder; enrol only keeps "
            'ε-LDP: train with guarantee = "ldp"'
        )


def _check_classes(bundle: Bundle, classes: Sequence[Sequence[str]]) -> None:
    """The head must tell the useful classes apart, and nothing else."""
    counts = getattr(bundle.encoder.layers[-1], "classes", None) if bundle.encoder.layers else None
    if counts != tuple(map(len, classes)):
        raise BundleError(
            f"its coder does not tell {quoted_all(bundle.policy.inferences.useful)} apart class by class, so no head "
            "can be learnt for one person; train again with recordings of this person"
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
