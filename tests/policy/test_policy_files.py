"""Policies in files and manifests that are not what they should be."""

from pathlib import Path

import pytest
from tests.policy.test_policy import TEXT

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy


def test_a_file_that_is_absent_or_not_text_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"absent.toml: no such policy"):
        Policy.load(tmp_path / "absent.toml")
    with pytest.raises(PolicyError, match="cannot be read as a policy"):
        Policy.load(tmp_path)
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="not UTF-8"):
        Policy.load(tmp_path / "noise.toml")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(TEXT, encoding="utf-8-sig")
    assert Policy.load(tmp_path / "policy.toml") == Policy.from_toml(TEXT)


def test_a_manifest_whose_channels_are_not_a_list_is_refused() -> None:
    manifest = Policy.from_toml(TEXT).to_json()
    manifest["stream"]["channels"] = {"acc_x": {}}
    with pytest.raises(PolicyError, match="list of named channels"):
        Policy.from_json(manifest)
