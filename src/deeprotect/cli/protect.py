"""Verbs that make and use a protector: train, enrol, protect."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from deeprotect.cli.budget import remembered
from deeprotect.cli.bundles import BundlePath, Key
from deeprotect.cli.filtering import Field, Format, LineTime, Measurement, release_lines
from deeprotect.cli.printing import bar, json_text
from deeprotect.cli.tables import READ, WRITTEN, Columns, Force, Map, named, pairs
from deeprotect.errors import ClippedWarning, InputError, printable

if TYPE_CHECKING:
    from deeprotect.bundle import Bundle
    from deeprotect.release.tables import ReleaseSummary

Data = Annotated[list[str], Option(metavar="TABLE", help=f"Labelled recordings, {READ}; repeatable.")]
Sign = Annotated[Path | None, Option(metavar="KEY", help="Sign the bundle with this Ed25519 private key, a PEM file.")]


def train(
    policy: Annotated[Path, Argument(metavar="POLICY", help="A policy file (see init).")],
    data: Data,
    out: Annotated[Path, Option(metavar="BUNDLE", help="The bundle to write: a folder, or a name ending in .zip.")],
    sign: Sign = None,
    mapped: Map = None,
    columns: Columns = None,
    quick: Annotated[
        bool, Option("--quick", help="Train a few epochs only, for a first look; the card says so.")
    ] = False,
    force: Force = False,
) -> None:
    """Learn a protector from labelled recordings.

    Example: deeprotect train policy.toml --data walk.csv --out protector
    """
    from deeprotect.api import Protector
    from deeprotect.bundle.card import bullet, measured
    from deeprotect.policy import Policy
    from deeprotect.tables.sources import paths_of

    _refuse_bundle(out, [*paths_of(data), policy], force=force)
    rules = Policy.load(policy)
    _refuse_key(sign)
    with bar("training") as progress:
        protector = Protector.train(rules, data, quick=quick, progress=progress, **named(mapped, columns))
    protector.save(out, sign=sign, force=force)
    bundle = protector.bundle
    typer.echo(f"{out}: {bundle.mechanism.event}, mechanism {bundle.mechanism.name}", err=True)
    for line in measured(bundle):
        typer.echo(bullet(line), err=True)


def enrol(
    bundle: BundlePath,
    table: Annotated[str, Argument(metavar="TABLE", help=f"Seconds of one person, labelled; {READ}.")],
    out: Annotated[Path, Argument(metavar="OUT", help="The bundle to write: a folder, or a name ending in .zip.")],
    key: Key = None,
    sign: Sign = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Adapt a protector to a new person, from a few seconds of each class; the ε-LDP guarantee stays the same.

    The new bundle reveals something about that person, so keep it with them. A bundle whose promise is not LDP is
    refused.

    Example: deeprotect enrol protector me.csv my-protector
    """
    from deeprotect.api import Protector
    from deeprotect.tables.sources import paths_of

    _refuse_bundle(out, [*paths_of([table]), bundle], force=force)
    _refuse_key(sign)
    found = Protector.load(bundle, key=key)
    with bar("enrolling"):
        enrolled = found.enrol(table, **named(mapped, columns))
    enrolled.save(out, sign=sign, force=force)
    made = enrolled.bundle
    windows = made.manifest.feature_extractor.enrolled_windows
    typer.echo(f"{out}: {made.mechanism.event}, as before; head learnt from {windows} windows", err=True)


def _refuse_bundle(out: Path, inputs: Sequence[str | Path], *, force: bool) -> None:
    """Said before the long work, not after."""
    from deeprotect.bundle.store import refuse_place
    from deeprotect.tables.outputs import Output

    Output.at(out).check_no_input(inputs)
    refuse_place(out)
    if not force:
        Output.at(out).check_absent()


def _refuse_key(sign: Path | None) -> None:
    """The same of a key that cannot sign."""
    from deeprotect.bundle import signing

    if sign:
        signing.private_key(sign)


class InputFirst(TyperCommand):
    """Where one name is given, it is an input, and the output is missing: a parser fills the last name first."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        given, _, _ = self.make_parser(context).parse_args(args=[*arguments])
        if given.get("output") and not given.get("sources"):
            raise typer.TyperException("Missing argument 'OUTPUT'.")
        return super().parse_args(context, arguments)


def protect(
    bundle: BundlePath,
    sources: Annotated[
        list[str],
        Argument(metavar="INPUT", help=f"{READ}; or - for standard input. Several are allowed."),
    ],
    output: Annotated[
        str,
        Argument(metavar="OUTPUT", help=f"{WRITTEN}, or - for standard output; or a folder."),
    ],
    key: Key = None,
    keep_names: Annotated[
        bool,
        Option("--keep-names", help="Keep the names of recordings, files and folders; do not number them."),
    ] = False,
    relative_time: Annotated[
        bool, Option("--relative-time", help="Count time from the start of each recording.")
    ] = False,
    labels: Annotated[
        bool, Option("--labels", help="For research on your own table: release the policy's labels as they are, too.")
    ] = False,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
    workers: Annotated[
        int | None, Option(metavar="N", min=1, help="Encoding threads; default: all cores but one.")
    ] = None,
    ledger: Annotated[
        str | None, Option(metavar="LEDGER", help="Record charges in this file, or at postgresql+psycopg://… .")
    ] = None,
    stream: Annotated[str | None, Option(metavar="NAME", help="The name of this stream in the ledger.")] = None,
    person: Annotated[
        str | None,
        Option(metavar="NAME", help="Who the data is about; default: the table's person column, or the stream."),
    ] = None,
    app: Annotated[str | None, Option(metavar="NAME", help="The app that gets the release.")] = None,
    allow_without_ldp: Annotated[
        bool,
        Option("--allow-without-ldp", help="Release despite limits if draws have no LDP bound; no limit counts them."),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check the input and print the total cost; draw, charge and write nothing.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print the summary as JSON, on standard error.")] = False,
    form: Format = None,
    field: Field = None,
    time: LineTime = None,
    measurement: Measurement = None,
    engine: Annotated[
        Literal["here", "spark"], Option(help="Run on this machine or on Spark (folders of Parquet, or table:NAME).")
    ] = "here",
    master: Annotated[
        str | None, Option(metavar="URL", help="With --engine spark: spark://HOST:PORT or local[2].")
    ] = None,
) -> None:
    """Release tables of any size: the same form, new content. With --key, only with a bundle that is signed.

    Several inputs become one table in an output file, or one file each in a folder; files that an earlier run finished
    are kept. With --ledger and --stream, charges are recorded, the policy's budget is enforced, and releasing the same
    file again returns the same release at no cost.

    Only time and recording leave unchanged: the columns of these names, or those that --map names.

    With --format, readings are released one by one in a pipe, for Telegraf, Redpanda Connect, Vector, Fluent Bit and
    shell scripts. Readings of one stream must arrive in order of time. They leave when their draw is made, without tags
    and other fields.

    Example: deeprotect protect protector walk.csv released.csv --relative-time

    Example: deeprotect protect protector - - --format line-protocol --ledger spent.db --stream watch

    Example: deeprotect protect --engine spark --master spark://host:7077 protector walks released
    """
    from deeprotect.api import Protector
    from deeprotect.tables.outputs import Output

    protector = Protector.load(bundle, key=key)
    alone: dict[str, Any] = {"columns": columns, "force": force, "workers": workers, "json": as_json}
    alone |= {"dry_run": dry_run, "labels": labels}
    of_lines: dict[str, Any] = {"field": field, "time": time, "measurement": measurement}
    if form is not None:
        if (sources, output, engine) != (["-"], "-", "here"):
            raise InputError(f"--format {form} is for a pipe: deeprotect protect {bundle} - - --format {form}")
        _refuse_with("--format", **alone, map=mapped, keep_names=keep_names, relative_time=relative_time)
        who: Any = {"ledger": ledger, "stream": stream, "person": person, "app": app}
        live = protector.stream(**who, allow_without_ldp=allow_without_ldp)
        release_lines(protector, live, form, **of_lines)
        return
    if any(of_lines.values()):
        raise InputError("--field, --time and --measurement are for lines in a pipe; give --format, too")
    if engine == "spark":
        _refuse_with("--engine spark", **alone, allow_without_ldp=allow_without_ldp)
        names = {"ledger": ledger, "stream": stream, "person": person, "app": app or ""}
        passing = {"map": pairs(mapped), "keep_names": keep_names, "relative_time": relative_time}
        _on_spark(protector.bundle, sources, output, master=master, **names, **passing)
        return
    if master is not None:
        raise InputError("--master is Spark's; add --engine spark")
    with bar("protecting") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippedWarning)  # said below, in its place
        summary = protector.protect(
            sources,
            output,
            **named(mapped, columns),
            keep_names=keep_names,
            relative_time=relative_time,
            labels=labels,
            ledger=ledger,
            stream=stream,
            person=person,
            app=app,
            allow_without_ldp=allow_without_ldp,
            workers=workers,
            force=force,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        typer.echo(json_text(summary.to_json(), indent=None), err=True)
        return
    by_file = Output(output).is_folder
    if summary.labels:
        shown = printable(", ".join(summary.labels), 1000)
        typer.echo(f"warning: labels are released unchanged, for research on your own table: {shown}", err=True)
    if dry_run:
        for line in (*_beside(summary, by_file=by_file), *_planned(summary, by_file=by_file, ledger=ledger)):
            typer.echo(line, err=True)
        return
    for line in (
        *_beside(summary, by_file=by_file),
        *_released(summary, protector.bundle, by_file=by_file, keep_names=keep_names),
        *remembered(summary.draws, ledger, [f"{stream}/{name}" for name in summary.people] or [stream]),
    ):
        typer.echo(line, err=True)


def _refuse_with(option: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')} is not for {option}; leave it out")


def _on_spark(bundle: "Bundle", sources: list[str], output: str, *, master: str | None, **options: Any) -> None:
    from deeprotect.engines import spark
    from deeprotect.engines.ledger_place import LedgerPlace
    from deeprotect.engines.spark_session import session

    if len(sources) > 1:
        raise InputError("--engine spark reads one input: a folder of Parquet, or table:NAME")
    address, stream, person, app = (options.pop(name) for name in ("ledger", "stream", "person", "app"))
    place = LedgerPlace.of(address, stream, person=person, app=app)
    spark.refuse_at_once(sources[0], output, bundle, **options)
    with session(master) as opened:
        job = spark.protect_folder(opened, sources[0], output, bundle, place=place, **options)
    rows = sum(part.rows for part in job.parts.values())
    typer.echo(f"released {rows} rows of {len(job.parts)} recordings; {job.spending}", err=True)


def _beside(summary: "ReleaseSummary", *, by_file: bool) -> Iterator[str]:
    """What leaves beside the samples, and what does not."""
    if summary.dropped:
        yield f"left out, not channels: {printable(', '.join(summary.dropped), 1000)}"
    unchanged = printable(", ".join(summary.unchanged), 1000)
    order = ", file by file" if by_file else ""
    numbered = f"; recordings are numbered 1, 2, … in the order of the table{order}" if summary.renumbered else ""
    yield f"copied unchanged: {unchanged}{numbered}" if unchanged else f"no column is copied unchanged{numbered}"


def _planned(summary: "ReleaseSummary", *, by_file: bool, ledger: str | None) -> Iterator[str]:
    """What a run would cost."""
    files = f" of {summary.files} files, {summary.kept} files are finished" if by_file else ""
    known = "; draws that the ledger holds already cost nothing more" if ledger is not None else ""
    if summary.warning:
        yield f"warning: {summary.warning}"
    yield from _short(summary)
    yield f"dry run: would release {summary.rows} rows of {summary.recordings} recordings{files}; {summary.cost}{known}"


def _short(summary: "ReleaseSummary") -> Iterator[str]:
    if summary.short:
        are = "1 recording is" if summary.short == 1 else f"{summary.short} recordings are"
        yield f"{are} shorter than a window; each costs a whole draw all the same"


def _released(summary: "ReleaseSummary", bundle: "Bundle", *, by_file: bool, keep_names: bool) -> Iterator[str]:
    from deeprotect.bundle.card import constant

    files = f" of {summary.files} files, {summary.kept} files were finished before" if by_file else ""
    if by_file:
        kept, numbered = "leave under their names", "are numbered 1, 2, … in the order of their names"
        yield f"files and folders {kept if keep_names else numbered}"
    if summary.people:
        yield f"charged to {len(summary.people)} people, each on their own account"
    if summary.warning:
        yield f"warning: {summary.warning}"
    yield from _short(summary)
    if summary.rows:
        yield f"released {summary.rows} rows{files}; {summary.cost}"
        if bundle.hold.windows > 1:
            yield "every recording begins an episode of its own, which costs as much however short it is"
    else:
        yield f"released 0 rows{files}, which costs nothing; the bundle promises {bundle.mechanism.event}"
    if only := constant(bundle):
        yield f"warning: {only}"
    certificate = bundle.certificate
    if certificate.get("codes_without_noise"):
        yield f"noise: {certificate['noise']}"
