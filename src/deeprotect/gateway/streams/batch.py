"""Windows of many sessions through the pipe at once: encode, charge, privatise, decode; one transaction for all."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deeprotect.bundle.network import one_thread
from deeprotect.errors import BudgetError, LedgerError, LedgerUnavailableError
from deeprotect.gateway.operation.logs import event_seldom
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.clock_episode import ClockEpisode, Heard
from deeprotect.gateway.streams.flow import Flow, Leaving, settle
from deeprotect.gateway.streams.live_session import LiveSession
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger.database import Database
from deeprotect.release.pipe import Pipeline
from deeprotect.release.together import DrawRequest, draw_together
from deeprotect.signals.schema import Floats

UNREACHABLE = "nothing is released now: the ledger that pays for it cannot be used; the operator's log says why"


@dataclass(frozen=True, eq=False)
class Job:
    """Windows of one session for one app; when it is over, its flow ends with them."""

    session: LiveSession
    app: App
    flow: Flow
    windows: Sequence[TrackWindow]
    over: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one job comes to: windows for its app, and why there are none, where there is a reason."""

    job: Job
    released: tuple[ReleasedWindow, ...]
    refusal: str | None


def release_jobs(jobs: Sequence[Job], *, database: Database, entropy: SystemEntropy) -> list[Outcome]:
    """Each job's outcome, in order. Whatever goes wrong for one app leaves the others alone; nothing raw leaves."""
    with one_thread():
        _take(jobs)
        refusals = _draw(jobs, database=database, entropy=entropy)
        leaving = [list(job.flow.leaving(entropy)) for job in jobs]
        released = _decoded(jobs, leaving)
    for job in jobs:
        job.flow.expire()
    return [Outcome(job, tuple(released[place]), refusals.get(place)) for place, job in enumerate(jobs)]


def _take(jobs: Sequence[Job]) -> None:
    """Every window to its flow; those that a draw listens to through the encoder: one call for all that share it."""
    heard: defaultdict[int, list[Heard]] = defaultdict(list)
    pipelines: dict[int, Pipeline] = {}
    for job in jobs:
        pipelines[id(job.flow.pipeline)] = job.flow.pipeline
        heard[id(job.flow.pipeline)].extend(_heard(job))
    for number, windows in heard.items():
        _encode(pipelines[number], windows)


def _heard(job: Job) -> Iterator[Heard]:
    for each in job.windows:
        if job.over and each.window.samples is None:  # its end was never sent: the draw is made from what came before
            job.flow.end()
        window = job.flow.take(each)
        if window is not None:
            yield window
    if job.over:
        job.flow.end()


def _encode(pipeline: Pipeline, windows: Sequence[Heard]) -> None:
    if windows:
        evidence = pipeline.encode(pipeline.schema.scale(np.stack([each.samples for each in windows])))
        for place, each in enumerate(windows):
            each.evidence = evidence[place : place + 1]


def _draw(jobs: Sequence[Job], *, database: Database, entropy: SystemEntropy) -> dict[int, str]:
    """Make all draws that are due; why not, by the place of the job."""
    asked = list(_asked(jobs))
    try:
        answers = draw_together([request for *_, request in asked], database=database, entropy=entropy)
    except (LedgerError, LedgerUnavailableError) as failure:  # nothing was drawn, or it is kept: it is asked again
        event_seldom("ledger unavailable", reason=str(failure))
        return {place: UNREACHABLE for place, *_ in asked}
    for (_, episode, _), answer in zip(asked, answers, strict=True):
        settle(episode, answer)
    return {
        place: f"budget spent: {answer}"
        for (place, *_), answer in zip(asked, answers, strict=True)
        if isinstance(answer, BudgetError)
    }


def _asked(jobs: Sequence[Job]) -> Iterator[tuple[int, ClockEpisode, DrawRequest]]:
    """Draws that are due, with the place of their job; codes in one call for all that share an encoder."""
    first = {id(job.flow): place for place, job in reversed(list(enumerate(jobs)))}  # a flow may have two jobs
    alike: defaultdict[int, list[tuple[int, ClockEpisode]]] = defaultdict(list)
    for place in first.values():
        flow = jobs[place].flow
        alike[id(flow.pipeline)].extend((place, episode) for episode in flow.drawing())
    for some in alike.values():
        codes = jobs[some[0][0]].flow.codes([episode for _, episode in some]) if some else ()
        for (place, episode), code in zip(some, codes, strict=True):
            yield place, episode, jobs[place].flow.request(episode, code[None])


def _decoded(jobs: Sequence[Job], leaving: Sequence[Sequence[Leaving]]) -> list[list[ReleasedWindow]]:
    """Released windows of each job; one call for all that share a decoder."""
    alike: defaultdict[int, list[tuple[int, Leaving]]] = defaultdict(list)
    for place, some in enumerate(leaving):
        alike[id(jobs[place].flow.pipeline)].extend((place, each) for each in some)
    released: list[list[ReleasedWindow]] = [[] for _ in jobs]
    for some_places in alike.values():
        if not some_places:
            continue
        pipeline = jobs[some_places[0][0]].flow.pipeline
        samples = pipeline.decode(np.concatenate([each.noisy_code for _, each in some_places]))
        for (place, each), values in zip(some_places, samples, strict=True):
            released[place].append(_window(jobs[place], each, values))
    return released


def _window(job: Job, leaving: Leaving, values: Floats) -> ReleasedWindow:
    schema, window = job.flow.pipeline.schema, leaving.window
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
