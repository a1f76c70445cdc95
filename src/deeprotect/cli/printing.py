"""Tables for people, printed with rich."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deeprotect.datasets.registry import Entry
from deeprotect.errors import quoted
from deeprotect.policy.repository import Inference, Repository

if TYPE_CHECKING:
    from deeprotect.benchmark.gateway_load import Held
    from deeprotect.benchmark.overhead import Overhead
    from deeprotect.benchmark.ratio import Ratio
    from deeprotect.evaluation.results import Row
    from deeprotect.reproduction.case_page import CaseLayout
    from deeprotect.reproduction.case_result import ExperimentResult
    from deeprotect.reproduction.feature_comparison import Comparison
    from deeprotect.reproduction.studies import StudyResult


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
    """Mechanisms × ε, a line each: how often apps and attackers are right; what they start from stands above."""
    from deeprotect.evaluation.methods import line_name

    rows = results["results"]
    console, useful, sensitive = Console(), rows[0]["useful"], rows[0]["sensitive"]
    for name, one in useful.items():
        line = f"useful: {quoted(name)}; app on raw windows {one['clean']:.3f}, chance {one['chance']:.3f}"
        console.print(line, markup=False)
    for name, one in sensitive.items():
        line = f"sensitive: {quoted(name)}; attacker on raw windows {one['raw']:.3f}, chance {one['chance']:.3f}"
        console.print(line, markup=False)
    table = Table("mechanism", "promise", "ε", box=None, pad_edge=False)
    for title in (
        *(f"app: {quoted(name)}" for name in useful),
        "limit",
        *(f"attacker: {quoted(name)}" for name in sensitive),
    ):
        table.add_column(Text(title), justify="right")
    for row in rows:
        limit = next(iter(row["useful"].values()))["limit"]
        apps = [_number(one["app"]) for one in row["useful"].values()]
        attackers = [_number(one["adaptive"]) for one in row["sensitive"].values()]
        epsilon = "–" if row["epsilon"] is None else f"{row['epsilon']:g}"
        name = line_name(row["mechanism"], "", row["minimiser"]).strip()
        table.add_row(name, row["guarantee"], epsilon, *apps, _number(limit), *attackers)
    console.print(table)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def study_lines(result: "StudyResult") -> Iterator[str]:
    """One line per promise: the app before and after with its interval, the best attacker and what is fair to it."""
    study = result.study
    if result.missing:
        yield f"{study.name}: {result.missing}"
        return
    yield from (f"{study.name}: left out: {line}" for line in result.left_out)
    yield f"{study.name}: {study.useful} useful, {study.sensitive or '–'} sensitive; {result.test} test windows"
    for row in result.rows:
        useful = row.useful[study.useful]
        interval = "[{:.3f}, {:.3f}]".format(*useful.app_ci)
        line = f"  {_promised(row)}  clean {useful.clean:.3f}  app {useful.app:.3f} {interval}"
        if useful.held is not None:
            line += f", over an episode {useful.held:.3f}, ε = {row.epsilon_per_hour:g} an hour"
        if study.sensitive:
            attack = row.sensitive[study.sensitive]
            floor = max(attack.chance, attack.from_useful)
            line += f"  attacker {attack.adaptive:.3f} (raw {attack.raw:.3f}, blind {floor:.3f})"
            if study.every:
                most = max(attack.pooled)
                line += f"; {most} draws {attack.pooled[most]:.3f} (blind {attack.pooled_blind[most]:.3f})"
        yield line


def _promised(row: "Row") -> str:
    """Its kind and ε, with what a named one is given and the LDP bound beside it."""
    given = f" given {' and '.join(row.given)}" if row.given else ""
    ceiling = "" if row.ldp_ceiling is None else f", ldp ε={row.ldp_ceiling:g}"
    return f"{row.guarantee:5} ε={row.epsilon:g}{given}{ceiling}"


def features_table(comparison: "Comparison") -> None:
    """Accuracy and informativeness per minimiser, then expected noise per mechanism, held against the code's spread."""
    console = Console()
    table = Table("minimiser", "features", f"{comparison.study.useful}: ridge", "informativeness", "highest", box=None)
    for row in comparison.features:
        numbers = map(_number, (row.accuracy, row.informativeness_mean, row.informativeness_max))
        table.add_row(row.minimiser, str(row.features), *numbers)
    console.print(table)
    table = Table("mechanism", "promise", "on", "noise ‖·‖₁", "spread ‖·‖₁", "noise / spread", box=None)
    for line in comparison.noise:
        share = f"{line.code_error / line.code_spread:.2f}"
        table.add_row(
            line.mechanism, line.guarantee, line.minimiser, _number(line.code_error), _number(line.code_spread), share
        )
    console.print(table)
    console.print(comparison.findings)


def case_table(layout: "CaseLayout", epsilon: float) -> None:
    """Each mechanism at one ε: how often the app and the best attacker are right; then the paper's numbers."""
    console, case = Console(), layout.result.case
    console.print(f"\nCase study {case.number}: {case.title}", style="bold", highlight=False)
    table = Table("part", "mechanism", "ε", box=None, pad_edge=False)
    for title in ("app", "raw", "chance", "attacker", "raw", "chance"):
        table.add_column(title, justify="right")
    for result in layout.result.experiments:
        _add_case_rows(table, result, epsilon)
    console.print(table)
    for name, line in layout.comparisons:
        console.print(f"{name} {line.what}. Paper: {line.paper}. Ours: {line.ours}.", highlight=False, markup=False)


def _add_case_rows(table: Table, result: "ExperimentResult", epsilon: float) -> None:
    experiment = result.experiment
    for name in dict.fromkeys(map(result.name, result.rows)):
        row = result.row(name, epsilon)
        if row is not None:
            app, attack = row.useful[experiment.useful], row.sensitive[experiment.sensitive]
            shares = (app.app, app.clean, app.chance, attack.adaptive, attack.raw, attack.chance)
            table.add_row(experiment.name, name, f"{row.epsilon:g}", *map(_number, shares))


_BETTER = {"throughput": "more", "time": "less", "memory": "less"}


def ratios_table(ratios: Sequence["Ratio"]) -> None:
    """One row per ratio, and which way is better."""
    table = Table("what", "against", "quantity", "ratio", "better")
    for each in ratios:
        table.add_row(each.what, each.peer, each.quantity, f"{each.ratio:.3g} ×", _BETTER[each.quantity])
    Console().print(table)


def overheads_table(overheads: Sequence["Overhead"]) -> None:
    """One row per figure, without and with the protector."""
    table = Table("where", "what", "without", "with", "added", "unit")
    for each in overheads:
        figures = [
            "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
            for value in (each.off, each.on, each.added)
        ]
        table.add_row(each.place, each.what, *figures, each.unit)
    Console().print(table)


def load_table(loads: Sequence["Held"]) -> None:
    """One row per load on a gateway."""
    table = Table("streams", "windows", "p50", "p99", "cores", "memory", "a stream", "held")
    for each in loads:
        delays = (f"{each.p50_ms:.0f} ms", f"{each.p99_ms:.0f} ms")
        cost = (f"{each.processor:.2f}", f"{each.memory_mb:.0f} MB", f"{each.per_stream_kb:.0f} kB")
        table.add_row(str(each.streams), f"{each.share:.1%}", *delays, *cost, "yes" if each.held else "no")
    Console().print(table)


def print_seconds(seconds: Mapping[str, float]) -> None:
    """On standard error, longest first: results are on standard output, and repeat."""
    parts = [f"{stage} {spent:.0f} s" for stage, spent in sorted(seconds.items(), key=lambda part: -part[1])]
    print(f"time, over all processes: {', '.join(parts)}", file=sys.stderr)
