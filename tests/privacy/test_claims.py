"""The page of claims cites tests and sections that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLAIMS = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


def test_every_cited_test_exists():
    path, cited = "", 0
    for match in re.finditer(r"`(tests/[\w/]+\.py)?::(test_\w+)`", CLAIMS):
        path = match[1] or path
        assert f"def {match[2]}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{match[2]}"
        cited += 1
    assert cited > 40


def test_every_section_has_a_test():
    for section in re.split(r"^## ", CLAIMS, flags=re.MULTILINE)[1:]:
        assert "::test_" in section, section.splitlines()[0]


def test_every_reference_to_a_claim_leads_to_one():
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", CLAIMS, re.MULTILINE)}
    sources = [CLAIMS, *(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("privacy/*.py"))]
    cited = {anchor for text in sources for anchor in re.findall(r"(?:claims\.md|\]\()#([\w-]+)", text)}
    assert cited
    assert cited <= anchors
