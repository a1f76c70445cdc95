"""Case study 3: what was said, against who said it; the release can be listened to."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.fetching import locate
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.case import Case, CaseExperiment, open_data, trained, where
from studies.reproduction.size import Size
from studies.reproduction.study import Study

STUDY = Study("fsdd", "fsdd", 64, "digit", "speaker", people="speaker")


def read(directory: Path | None, size: Size, seed: int) -> list[CaseExperiment]:
    data = open_data("fsdd", directory)
    policy = trained(STUDY.policy(data), size.half, seed)
    windows = utterances(STUDY.windows(data, policy))
    facts = [
        f"fsdd: {len(windows)} utterances of {len(set(windows.labels['speaker']))} speakers, 10 digits. A window is an "
        "utterance: 64 frames of 32 log-mel bands (0.64 s); longer ones end there, shorter ones stay at their end.",
        "The paper had 36 words (letters, too) and 20 speakers; here chance is 1/10 for the digit and 1/6 for the "
        "speaker, and every tested speaker is known from training.",
    ]
    split = SplitSpec(folds=size.folds, most=size.utterances)
    root = locate("fsdd", where("fsdd", directory))
    files = [root / f"{name}.wav" for name in pc.unique(data.table["recording"]).to_pylist()]
    return [
        CaseExperiment("3", "spoken digit (useful) against speaker", windows, policy, split, facts=facts, files=files)
    ]


def utterances(windows: LabelledWindows) -> LabelledWindows:
    """The first window of each recording."""
    return windows[np.unique(windows.recording, return_index=True)[1]]


CASE = Case(
    number=3,
    title="Speech to text against speaker identity",
    purpose="An app may learn which digit was said, but not who said it.",
    datasets=("fsdd",),
    read=read,
)
