"""Export targets: browsers, apps on devices, and ONNX for everything else.

An export is a folder, written atomically. Its scripts were built from device/ and browser/.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting.protector_file import PROTECTOR, ProtectorFile
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.tables.atomic import whole_folder

FILES = Path(__file__).parent / "files"
EXTENSION, EMBEDDED, DEVICE = "extension", "embedded", "device"
SCRIPT, DIGEST = "deeprotect.js", "protector.sha256"
ENCODER, OUTPUTS, MANIFEST = "encoder.onnx", "outputs.onnx", "manifest.json"
ONNX_FORMAT, ONNX_VERSION = "deeprotect-onnx", 1
ELSEWHERE = ("encoder", "decoder", "tensors")
"""Keys of the manifest that the two graphs replace."""
STEPS = (
    "encoder.onnx: the windows of one draw in units (window, time, channel) to a code; it must never leave the device",
    "store the charge promise.charge durably, or release nothing",
    "draw one 64-bit word from the operating system's generator: the output is the first column j of row weights[code] "
    "whose running sum exceeds the word",
    "draw one of mechanism.variants uniformly, afresh for each window of the draw",
    "outputs.onnx: output * variants + variant to the window to release, in units",
)


def export_browser(bundle: Bundle, out: Path) -> None:
    """Write an extension to load, and a script for sites that embed it."""
    protector = ProtectorFile.of(bundle)
    with _folder(out, ours=(EXTENSION, EMBEDDED)) as folder:
        _copy_built(EXTENSION, folder / EXTENSION)
        _copy_built(EMBEDDED, folder / EMBEDDED)
        (folder / EXTENSION / "bundle").mkdir()
        (folder / EXTENSION / "bundle" / PROTECTOR).write_text(protector.text, encoding="ascii")
        script = folder / EMBEDDED / SCRIPT
        script.write_text(_embedded(script.read_text(encoding="utf-8"), protector.text), encoding="utf-8")


def export_device(bundle: Bundle, out: Path) -> str:
    """Write a protector, and the runtime as one script for embedded engines; return the digest to pin."""
    protector = ProtectorFile.of(bundle)
    with _folder(out, ours=(PROTECTOR, SCRIPT, DIGEST)) as folder:
        _copy_built(DEVICE, folder)
        (folder / PROTECTOR).write_text(protector.text, encoding="ascii")
        (folder / DIGEST).write_text(f"{protector.digest}  {PROTECTOR}\n", encoding="ascii")  # format of sha256sum -c
    return protector.digest


def export_onnx(bundle: Bundle, out: Path) -> None:
    """Write the encoder, the public windows, and a manifest that explains how to draw."""
    body: dict[str, Any] = json.loads(ProtectorFile.of(bundle).text)  # refuses mechanisms that devices cannot draw from
    if not isinstance(bundle.mechanism, DiscreteChannel):
        raise BundleError(f"mechanism {bundle.mechanism.name} has no public windows; train with mechanism = 'channel'")
    graphs = _graphs(bundle)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in graphs.items()}
    kept = {name: value for name, value in body.items() if name not in ELSEWHERE}
    manifest = kept | {"format": ONNX_FORMAT, "version": ONNX_VERSION, "files": hashes, "release": STEPS}
    with _folder(out, ours=(ENCODER, OUTPUTS, MANIFEST)) as folder:
        for name, content in graphs.items():
            (folder / name).write_bytes(content)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="ascii")


def _folder(out: Path, *, ours: Iterable[str]) -> AbstractContextManager[Path]:
    """Replace a folder only if it contains nothing but `ours`, the files of an earlier export."""
    if out.exists() and not (out.is_dir() and {each.name for each in out.iterdir()} <= set(ours)):
        raise InputError(f"{out}: exists and is not an export; choose another name or remove it")
    return whole_folder(out)


def _copy_built(name: str, folder: Path) -> None:
    shutil.copytree(FILES / name, folder, dirs_exist_ok=True)


def _embedded(script: str, protector: str) -> str:
    """The script including the bundle, in a scope of its own."""
    literal = protector.strip().replace("</", "<\\/")  # a page may contain the script inline
    return f"(() => {{\nconst deeprotectBundle = {literal};\n{script}}})();\n"


def _graphs(bundle: Bundle) -> dict[str, bytes]:
    try:
        from deeprotect.exporting.onnx_graph import encoder_model, outputs_model
    except ModuleNotFoundError as error:
        raise InputError("export --target onnx needs onnx: pip install 'deeprotect[onnx]'") from error
    return {ENCODER: encoder_model(bundle), OUTPUTS: outputs_model(bundle)}
