"""Writing a reproduction: results, tables, figures, sounds, and last the page; each file whole or not at all."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from deeprotect.evaluation.report.csv_tables import tables
from deeprotect.evaluation.report.files import (
    FIGURES,
    TABLES,
    make_folders,
    versions,
    write_drawings,
    write_file,
    write_json,
)
from deeprotect.evaluation.results import SCHEMA
from deeprotect.reproduction.case_page import Story, render

AUDIO = "audio"


def make_folder(out: Path) -> None:
    """Before the work begins: a wrong path should not cost half an hour."""
    make_folders(out, FIGURES, TABLES, AUDIO)


def write(
    out: Path, stories: Sequence[Story], *, missing: Sequence[str], caps: Sequence[str], command: str, seed: int
) -> None:
    """The page comes last: where it stands, all it speaks of stands, too."""
    run = {"command": command, "seed": seed, "versions": versions()}
    for story in stories:
        write_drawings(out, story.drawings)
        for name, text in _tables(story).items():
            write_file(out / TABLES / name, text.encode())
        for sample in story.chapter.samples:
            for name, content in sample.files().items():
                write_file(out / AUDIO / name, content)
    outcomes = [outcome.to_json() for story in stories for outcome in story.chapter.outcomes]
    beside = [{"case": part, **asdict(line)} for story in stories for part, line in story.beside]
    body = {"schema": SCHEMA, "cases": outcomes, "paper": beside, "missing": missing, "caps": caps, "run": run}
    write_json(out / "results.json", body)
    write_file(out / "report.html", render(stories, missing=missing, caps=caps, run=run).encode())


def _tables(story: Story) -> dict[str, str]:
    """The tables of every report, for each part; and the paper's numbers beside ours."""
    found = {
        f"{outcome.part.name}-{name}": text
        for outcome in story.chapter.outcomes
        for name, text in tables(outcome.results).items()
        if text
    }
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["part", "what", "paper", "ours", "why"])
    writer.writerows([part, *asdict(line).values()] for part, line in story.beside)
    return {f"{story.chapter.case.number}-paper.csv": buffer.getvalue(), **found}
