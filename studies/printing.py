"""Results of studies, as tables and lines for people."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from deeprotect.cli.printing import number
from deeprotect.evaluation.results import Row, Useful
from studies.benchmark.gateway_load import Held
from studies.benchmark.overhead import Overhead
from studies.benchmark.ratio import Ratio
from studies.reproduction.cadence import UNIT, CadenceResult
from studies.reproduction.case_page import CaseLayout
from studies.reproduction.case_result import ExperimentResult
from studies.reproduction.feature_comparison import Comparison
from studies.reproduction.known_tables import StudyResult
from studies.reproduction.membership.trial import MembershipFinding


def cadence_lines(result: CadenceResult) -> Iterator[str]:
    """Mean absolute errors of the app and of the pedometer."""
    app, pedometer = result.app, result.pedometer
    said = {"raw windows": app.mae_clean, "the coder before any noise": app.mae_coder, "released windows": app.mae}
    said |= {"guessing the median": app.mae_median, "at best, by ε": app.mae_limit}
    yield f"{result.windows} test windows of {result.seconds_per_draw:g} s; mean absolute error in {UNIT}"
    yield "  app: " + ", ".join(f"{words} {value:.1f}" for words, value in said.items() if value is not None)
    yield (
        f"  pedometer (sensormotion) on {pedometer.recordings} whole recordings: raw {pedometer.raw:.1f}, released "
        f"{pedometer.released:.1f}, guessing the median {pedometer.median:.1f}"
    )


def study_lines(result: StudyResult) -> Iterator[str]:
    """One line per promise: the app before and after with its interval, the best attacker and what is fair to it."""
    study = result.study
    if result.missing:
        yield f"{study.name}: {result.missing}"
        return
    yield from (f"{study.name}: left out: {line}" for line in result.left_out)
    told = "owner" if study.owners else study.useful
    yield f"{study.name}: {told} useful, {study.sensitive or '–'} sensitive; {result.test} test windows"
    for row in result.rows:
        useful = row.useful[told]
        interval = "[{:.3f}, {:.3f}]".format(*useful.app_ci)
        line = f"  {_promised(row)}  clean {useful.clean:.3f}  app {useful.app:.3f} {interval}"
        if (study.owners or study.split.kind in ("strangers", "group")) and useful.people_ci is not None:
            line += f", {_over_people(useful, 'trips' if study.people == 'trip' else 'people')}"
        if useful.held is not None:
            line += f", over a draw {useful.held:.3f}, ε = {row.epsilon_per_hour:g} an hour"
        if study.sensitive:
            attack = row.sensitive[study.sensitive]
            floor = max(attack.chance, attack.from_useful)
            line += f"  attacker {attack.adaptive:.3f} (raw {attack.raw:.3f}, blind {floor:.3f})"
            if study.draws:
                most = max(attack.pooled)
                line += f"; {most} draws {attack.pooled[most]:.3f} (blind {attack.pooled_blind[most]:.3f})"
        yield line
    if known := result.recognised:
        yield f"  enrolled bundles: {known.right} of {known.bundles} given to their person (guessing {known.guessed:g})"


def _over_people(useful: Useful, who: str) -> str:
    """Mean, interval and range over people or other groups, and the number with more than half of the windows right."""
    low, high = useful.people_ci or (0.0, 1.0)
    each = useful.by_person
    mean = f"over {len(each)} {who} {sum(each) / len(each):.3f} [{low:.3f}, {high:.3f}]"
    return f"{mean}, {min(each):.3f} to {max(each):.3f}, more than half right for {sum(one > 0.5 for one in each)}"


def _promised(row: Row) -> str:
    """Its kind and ε, and for how long."""
    held = "" if row.seconds_per_draw is None else f" every {row.seconds_per_draw:g} s"
    held += "" if row.slots is None else f", a script in slots of {row.slots}"
    enrolled = ", enrolled" if row.enrolled else ""
    return f"{row.guarantee:5} ε={row.epsilon:g}{held}{enrolled}"


def features_table(comparison: Comparison) -> None:
    """Accuracy and informativeness of each feature extractor, then each mechanism's noise beside the code's spread."""
    console = Console()
    table = Table(
        "feature_extractor", "features", f"{comparison.study.useful}: ridge", "informativeness", "highest", box=None
    )
    for row in comparison.features:
        numbers = map(number, (row.accuracy, row.informativeness_mean, row.informativeness_max))
        table.add_row(row.feature_extractor, str(row.features), *numbers)
    console.print(table)
    table = Table("mechanism", "promise", "on", "noise ‖·‖₁", "spread ‖·‖₁", "noise / spread", box=None)
    for line in comparison.noise:
        share = f"{line.code_error / line.code_spread:.2f}"
        table.add_row(
            line.mechanism,
            line.guarantee,
            line.feature_extractor,
            number(line.code_error),
            number(line.code_spread),
            share,
        )
    console.print(table)
    table = Table("ρ", "weight of KL", "activity", "spread", f"{comparison.study.useful}: ridge", box=None)
    for each in comparison.sparsity:
        table.add_row(*map(number, (each.rho, each.weight, each.activity, each.spread, each.accuracy)))
    console.print(table)
    console.print(comparison.findings)


def case_table(layout: CaseLayout, epsilon: float) -> None:
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


def _add_case_rows(table: Table, result: ExperimentResult, epsilon: float) -> None:
    experiment = result.experiment
    for name in dict.fromkeys(map(result.name, result.rows)):
        row = result.row(name, epsilon)
        if row is not None:
            app, attack = row.useful[experiment.useful], row.sensitive[experiment.sensitive]
            shares = (app.app, app.clean, app.chance, attack.adaptive, attack.raw, attack.chance)
            table.add_row(experiment.name, name, f"{row.epsilon:g}", *map(number, shares))


_BETTER = {"throughput": "more", "time": "less", "memory": "less"}


def ratios_table(ratios: Sequence[Ratio]) -> None:
    """One row per ratio, and which way is better."""
    table = Table("what", "against", "quantity", "ratio", "better")
    for each in ratios:
        table.add_row(each.what, each.peer, each.quantity, f"{each.ratio:.3g} ×", _BETTER[each.quantity])
    Console().print(table)


def overheads_table(overheads: Sequence[Overhead]) -> None:
    """One row per figure, without and with the protector."""
    table = Table("where", "what", "without", "with", "added", "unit")
    for each in overheads:
        figures = [
            "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
            for value in (each.off, each.on, each.added)
        ]
        table.add_row(each.place, each.what, *figures, each.unit)
    Console().print(table)


def load_table(loads: Sequence[Held]) -> None:
    """One row per load on a gateway."""
    table = Table("streams", "windows", "p50", "p99", "cores", "memory", "a stream", "held", "ready", "delay by health")
    for each in loads:
        delays = (f"{each.p50_ms:.0f} ms", f"{each.p99_ms:.0f} ms")
        cost = (f"{each.processor:.2f}", f"{each.memory_mb:.0f} MB", f"{each.per_stream_kb:.0f} kB")
        table.add_row(
            str(each.streams),
            f"{each.share:.1%}",
            *delays,
            *cost,
            "yes" if each.held else "no",
            f"{each.ready:.0%}",
            f"{each.delay_ms:.0f} ms",
        )
    Console().print(table)


def membership_lines(found: MembershipFinding) -> Iterator[str]:
    """All attacks of one setting, the strongest first."""
    chance = "the strongest by chance: AUC {:.2f} on average, {:.2f} at most in 95 %".format(*found.chance)
    yield f"{found.setting} windows; {chance}"
    for each in found.successes:
        yield (
            f"{each.attack:45} AUC {each.auc:.3f} ({each.auc_interval[0]:.3f}-{each.auc_interval[1]:.3f})  balanced "
            f"{each.balanced_accuracy:.3f} ({each.balanced_interval[0]:.3f}-{each.balanced_interval[1]:.3f})  "
            f"true positives at 5 % false ones {each.true_positives:.3f}"
        )
