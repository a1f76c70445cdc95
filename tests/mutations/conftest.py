"""The table of bugs and what caught them, at the end of a run."""

from collections import defaultdict


def pytest_terminal_summary(terminalreporter) -> None:
    caught = defaultdict(list)
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "caught" and report.when == "call":
                caught[value[0]].append(value[1])
    if not caught:
        return
    terminalreporter.section("planted bugs")
    width = max(map(len, caught))
    for bug, checks in caught.items():
        terminalreporter.write_line(f"{bug:<{width}}  →  {'; '.join(checks)}")
