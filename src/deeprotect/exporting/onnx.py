"""A bundle for everything else: the encoder and the public windows in ONNX, and a manifest that says how to draw."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting.built_files import export_folder
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel

ENCODER, OUTPUTS, MANIFEST = "encoder.onnx", "outputs.onnx", "manifest.json"
FORMAT, VERSION = "deeprotect-onnx", 1
ELSEWHERE = ("encoder", "decoder", "tensors")
"""What is in the two graphs instead."""
STEPS = (
    "encoder.onnx: the windows of one draw in units (window, time, channel) to a code; nothing of it may leave",
    "charge promise.charge where it outlives a crash, or release nothing",
    "draw one 64-bit word from the operating system's generator: the output is the first column j of row weights[code] "
    "whose running sum exceeds the word",
    "draw one of mechanism.variants uniformly, afresh for each window of the draw",
    "outputs.onnx: output * variants + variant to the window that leaves, in units",
)


@dataclass(frozen=True)
class Exported:
    """Where the parts were written."""

    encoder: Path
    outputs: Path
    manifest: Path


def export_onnx(bundle: Bundle, out: Path) -> Exported:
    """Write them into a folder, whole or not at all; one that an earlier export wrote is replaced."""
    body: dict[str, Any] = json.loads(ProtectorFile.of(bundle).text)  # refuses what no device draws
    if not isinstance(bundle.mechanism, DiscreteChannel):
        raise BundleError(f"mechanism {bundle.mechanism.name} has no public windows; train with mechanism = 'channel'")
    graphs = _graphs(bundle)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in graphs.items()}
    kept = {name: value for name, value in body.items() if name not in ELSEWHERE}
    manifest = kept | {"format": FORMAT, "version": VERSION, "files": hashes, "release": STEPS}
    with export_folder(out, ours=(ENCODER, OUTPUTS, MANIFEST)) as folder:
        for name, content in graphs.items():
            (folder / name).write_bytes(content)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="ascii")
    return Exported(out / ENCODER, out / OUTPUTS, out / MANIFEST)


def _graphs(bundle: Bundle) -> dict[str, bytes]:
    try:
        from deeprotect.exporting.onnx_models import encoder_model, outputs_model
    except ModuleNotFoundError as error:
        raise InputError("export --target onnx needs onnx: pip install 'deeprotect[onnx]'") from error
    return {ENCODER: encoder_model(bundle), OUTPUTS: outputs_model(bundle)}
