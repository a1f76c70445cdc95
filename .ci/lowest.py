"""Print the lowest version of every requirement as a constraint, for pip: `python .ci/lowest.py > lowest.txt`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOOR = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(?:>=|==)([0-9.]+)")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(need for name, needs in extras.items() if name not in ("docs", "dev") for need in needs)]
    floors = {found[1].lower(): found[2] for need in needed if (found := FLOOR.match(need))}
    print("\n".join(f"{name}=={version}" for name, version in sorted(floors.items())))


if __name__ == "__main__":
    main()
