"""Starting a gateway: the socket, TLS, a first admin, and a stop that loses nothing."""

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from deeprotect.errors import InputError, printable
from deeprotect.gateway.feeds.feeding import broker_of
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.gateway_settings import Settings
from deeprotect.gateway.mediation.peers import ProcessPlace
from deeprotect.gateway.operation.logs import LOGGING, event
from deeprotect.gateway.processes import run_processes
from deeprotect.gateway.service import create_service
from deeprotect.gateway.silence import Silence

STOP_SECONDS = 10
SWITCH_SECONDS = 0.0005  # between the thread that receives and the one that releases
COLLECT_AFTER = (20_000, 20, 50)
"""Objects, and young collections: with a thousand streams in memory, Python's own numbers take a tenth of all time."""
BACKLOG = 2048


def serve(settings: Settings, *, say: Callable[[str], None]) -> None:
    """Until it is told to stop; `say` gets lines for the person who started it."""
    broker_of(settings)  # a mistake is told before anything is listened to
    _many_files()
    gateway = Gateway.of(settings)
    with _listening(settings) as listener:
        port = listener.getsockname()[1]
        scheme = "https" if settings.tls_certificate else "http"
        say(f"gateway at {scheme}://{settings.host}:{port}, ledger {gateway.database.where}")
        if not gateway.registry.has_admin():
            say(f"admin token, shown this once: {gateway.registry.new_admin()}")
        parent = os.getpid()  # asked before a fork: a child that is slow to begin may find it gone
        event("started", bundles=", ".join(gateway.bundles.names()), host=settings.host, port=port)

        def work(place: ProcessPlace) -> None:
            here = gateway if place.folder is None else Gateway.of(settings, place, bundles=gateway.bundles)
            sys.setswitchinterval(SWITCH_SECONDS)
            gc.freeze()
            gc.set_threshold(*COLLECT_AFTER)
            server = _Server(here, parent)
            with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
                runner.run(server.serve(sockets=[listener]))

        if settings.processes == 1:
            work(ProcessPlace())
        else:
            gateway.database.disconnect()
            run_processes(settings.processes, work)
        event("stopped")


def _many_files() -> None:
    """Every connection is one, so that the usual thousand would soon be reached."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Server(uvicorn.Server):
    """Stops in order: sessions end and what they made due leaves, then apps are told, then the rest is closed."""

    def __init__(self, gateway: Gateway, parent: int) -> None:
        super().__init__(_config(gateway))
        self._gateway, self._silence, self._parent = gateway, Silence(), parent

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if self._gateway.place.folder is not None and os.getppid() != self._parent:
            self.should_exit = True  # whoever started it and the others was killed
        if counter % 50 == 0:
            self._silence.close_long(self.server_state.connections)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._gateway.mediator.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Being told to stop is no failure: signals are not raised again afterwards."""
        asked = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in asked}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "not an address"
        where = f"{printable(settings.host)}:{settings.port}"
        raise InputError(f"cannot listen at {where}: {reason}; choose another --host or --port") from None
    listener.listen(BACKLOG)
    return listener


def _config(gateway: Gateway) -> uvicorn.Config:
    settings = gateway.settings
    return uvicorn.Config(
        create_service(gateway),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        log_config=LOGGING,
        access_log=False,
        server_header=False,
        ws_max_size=settings.most_bytes,
        ws_max_queue=8,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=30,
        backlog=BACKLOG,
    )
