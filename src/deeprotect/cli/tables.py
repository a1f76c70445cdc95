"""Tables for people, printed with rich."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from deeprotect.datasets.registry import Entry
from deeprotect.policy.repository import Inference, Repository


def inferences_table(inferences: Sequence[Inference], repository: Repository) -> None:
    """One row per inference: its name, what it tells, and the sensors that reveal it."""
    table = Table("name", "what it tells", "sensors that reveal it", "works")
    for name, each in repository.inferences.items():
        if each in inferences:
            sensors = ", ".join(sensor.replace("_", " ") for sensor in each.revealing_sensors)
            table.add_row(name, f"{each.title}: {each.attribute}", sensors, str(len(each.cited)))
    Console().print(table)


def inference_card(inference: Inference, repository: Repository) -> None:
    """One inference with the works behind each sensor."""
    console = Console()
    console.print(f"{inference.title}: {inference.attribute}", style="bold", highlight=False)
    for sensor, cell in inference.sensors.items():
        meant = f" (meant: {cell.corrected_sensor})" if cell.corrected_sensor else ""
        console.print(f"  {sensor.replace('_', ' ')}{meant}", highlight=False)
        for key in cell.references:
            console.print(f"    {_citation(key, repository)}", highlight=False, markup=False)


def _citation(key: str, repository: Repository) -> str:
    work = repository.references[key]
    parts = [str(part) for part in (work.author, work.year, work.title or work.topic) if part]
    return f"{', '.join(parts)} [{key}]"


def datasets_table(entries: Sequence[Entry]) -> None:
    """Name, content, labels, licence."""
    table = Table("name", "what it is", "labels", "publisher", "licence")
    for entry in entries:
        table.add_row(entry.name, entry.title, ", ".join(entry.labels), entry.publisher, entry.licence)
    Console().print(table)


def results_table(results: dict[str, Any]) -> None:
    """Mechanisms × ε: the useful inference before and after, the attacker before and after."""
    table = Table("mechanism", "promise", "ε", "inference", "before", "after", "retrained", "limit", "chance")
    for row in results["results"]:
        head = (row["mechanism"], row["guarantee"], f"{row['epsilon']:g}")
        for name, useful in row["useful"].items():
            shown = (useful["clean"], useful["app"], useful["retrained"], useful["limit"], useful["chance"])
            table.add_row(*head, f"{name} (useful)", *map(_number, shown))
        for name, sensitive in row["sensitive"].items():
            keys = ("raw", "static", "adaptive", "limit", "chance")
            table.add_row("", "", "", f"{name} (attack)", *(_number(sensitive[key]) for key in keys))
    Console().print(table)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
