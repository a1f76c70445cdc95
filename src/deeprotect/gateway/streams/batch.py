"""Windows of many sessions through the engine at once, in one transaction for all."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.bundle.network import one_thread
from deeprotect.errors import BudgetError, LedgerError, LedgerUnavailableError
from deeprotect.gateway.operation.logs import event_seldom
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.live_session import LiveSession
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import release
from deeprotect.release.episodes import Episodes, Leaving

UNREACHABLE = "nothing is released now: the ledger that pays for it cannot be used; the operator's log says why"


@dataclass(frozen=True, eq=False)
class Job:
    """Windows of one session for one app; when it is over, its flow ends with them."""

    session: LiveSession
    app: App
    flow: Episodes
    windows: Sequence[TrackWindow]
    over: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one job comes to: windows for its app, and why there are none, where there is a reason."""

    job: Job
    released: tuple[ReleasedWindow, ...]
    refusal: str | None


def release_jobs(jobs: Sequence[Job], *, entropy: SystemEntropy) -> list[Outcome]:
    """Each job's outcome, in order. Whatever goes wrong for one app leaves the others alone; nothing raw leaves."""
    for job in jobs:
        _take(job)
    with one_thread():
        refusals = _draw(jobs, entropy=entropy)
    leaving = [list(job.flow.leaving(entropy)) for job in jobs]
    for job in jobs:
        job.flow.expire()
    return [
        Outcome(job, tuple(_window(job, each) for each in some if each.ticket.stamps), refusals.get(place))
        for place, (job, some) in enumerate(zip(jobs, leaving, strict=True))
    ]


def _take(job: Job) -> None:
    for each in job.windows:
        if job.over and each.window.samples is None:  # its end was never sent: the draw is made from what came before
            job.flow.end()
        job.flow.take(each.window, each.window.samples, part=each.part, number=each.window.number)
    if job.over:
        job.flow.end()


def _draw(jobs: Sequence[Job], *, entropy: SystemEntropy) -> dict[int, str]:
    """Make all draws that are due, in one transaction; why not, by the place of the job."""
    first = {id(job.flow): place for place, job in reversed(list(enumerate(jobs)))}  # a flow may have two jobs
    asked = [(place, *due) for place in first.values() for due in jobs[place].flow.due()]
    try:
        answers = release([request for *_, request in asked], entropy=entropy)
    except (LedgerError, LedgerUnavailableError) as failure:  # nothing was drawn, or it is kept: it is asked again
        event_seldom("ledger unavailable", reason=str(failure))
        return {place: UNREACHABLE for place, *_ in asked}
    for (_, episode, _), answer in zip(asked, answers, strict=True):
        Episodes.settle(episode, answer)
    refused = zip(asked, answers, strict=True)
    return {place: f"budget spent: {answer}" for (place, *_), answer in refused if isinstance(answer, BudgetError)}


def _window(job: Job, leaving: Leaving) -> ReleasedWindow:
    schema, window, values = job.flow.bundle.schema, leaving.ticket, leaving.window
    return ReleasedWindow(
        stream=job.session.stream,
        session=job.session.released_as,
        number=job.session.next_number(job.app.name),
        channels=schema.names,
        times_ns=window.times_ns,
        values=values,
        readings=tuple(window.with_values(values)),
        placeholder=leaving.placeholder,
    )
