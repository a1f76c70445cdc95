"""The gateway as a web service: routes, feeds, socket, TLS renewal, and a shutdown that loses nothing."""

import asyncio
import gc
import os
import resource
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.requests import Request

from deeprotect.errors import DeeprotectError, InputError, printable
from deeprotect.gateway.console.routes import add_console
from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.influx_write import router_write
from deeprotect.gateway.feeds.push import pushing
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.operation.log import LOGGING, event, failure
from deeprotect.gateway.registry_api import router_registry
from deeprotect.gateway.routes import router_in, router_operator, router_out
from deeprotect.version import __version__

STOP_SECONDS = 10
SWITCH_SECONDS = 0.0005  # between the receiving and the releasing thread
COLLECT_AFTER = (20_000, 20, 50)
"""Garbage collection thresholds: with a thousand streams in memory, Python's defaults take a tenth of all time."""
BACKLOG = 2048
HEAD_SECONDS = 45.0  # for the head of a request; longer than idle connections are kept


def broker_of(settings: Settings) -> Broker | None:
    """The configured broker; raises an error in one line if it is invalid."""
    if settings.mqtt is None:
        return None
    return Broker.at(settings.mqtt, password=settings.mqtt_password, ca=settings.mqtt_ca)


def _bridging(gateway: Gateway) -> AbstractAsyncContextManager[object]:
    broker = broker_of(gateway.settings)
    if broker is None:
        return nullcontext()
    from deeprotect.gateway.feeds.mqtt import bridged

    return bridged(gateway, broker)


def create_service(gateway: Gateway) -> FastAPI:
    """Routes around one gateway; an internal error is answered with one line that reveals nothing."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with gateway.running(), pushing(gateway), _bridging(gateway):
            yield

    service = FastAPI(title="DEEProtect gateway", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for router in (router_in, router_write, router_out, router_registry, router_operator):
        service.include_router(router(gateway))
    add_console(service, gateway)

    @service.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        failure("request failed", error)
        return JSONResponse({"error": "the gateway failed; nothing was released"}, status_code=500)

    return service


def serve(settings: Settings, *, say: Callable[[str], None]) -> None:
    """Serve until stopped; `say` prints lines for the person who started it."""
    broker_of(settings)  # report errors before listening
    _, most_files = resource.getrlimit(
        resource.RLIMIT_NOFILE
    )  # each connection needs one; the default of a thousand is too few
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    gateway = Gateway(settings)
    with _listening(settings) as listener:
        port = listener.getsockname()[1]
        scheme = "https" if settings.tls_certificate else "http"
        say(f"gateway at {scheme}://{settings.host}:{port}, ledger {gateway.database.where}")
        gateway.registry.serve(
            f"{socket.gethostname()}:{port}", gateway.bundles.names(), gateway.bundles.channels().names
        )
        if token := gateway.registry.first_admin():
            say(f"admin token, shown only once: {token}")
        event("started", bundles=", ".join(gateway.bundles.names()), host=settings.host, port=port)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        server = _Server(gateway)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(server.serve(sockets=[listener]))
        event("stopped")
        with suppress(DeeprotectError):
            gateway.keep_events()
            gateway.history.keep(closing=True)


class _Server(uvicorn.Server):
    """Shuts down in order: sessions end and their due windows are released, apps are notified, the rest is closed."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(_config(gateway))
        self._gateway, self._silence = gateway, Silence()
        self._certificate = Certificate(gateway.settings)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        if counter % 50 == 0:
            self._silence.close_long(self.server_state.connections)
            self._certificate.renew(self.config.ssl)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._gateway.mediator.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not raise signals again after a shutdown: it is not a failure."""
        asked = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in asked}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


class Certificate:
    """Reloaded for new connections when its files change; existing connections keep the old one."""

    def __init__(self, settings: Settings) -> None:
        self._files = [path for path in (settings.tls_certificate, settings.tls_key) if path is not None]
        self._taken = self._tried = self._written()

    def renew(self, used: ssl.SSLContext | None) -> None:
        """Load once both files match: they are not written at the same instant."""
        now = self._written()
        if used is None or now == self._taken:
            return
        try:
            certificate, key = self._files
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), used):
                context.load_cert_chain(certificate, key)
        except OSError:
            if now != self._tried:
                event("the TLS certificate was changed and cannot be used; the one before is kept")
        else:
            self._taken = now
            event("the TLS certificate was renewed")
        self._tried = now

    def _written(self) -> list[tuple[int, int]]:
        try:
            return [(found.st_mtime_ns, found.st_ino) for found in map(os.stat, self._files)]
        except OSError:
            return []


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
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        ws_max_size=settings.most_bytes,
        ws_max_queue=8,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=30,
        backlog=BACKLOG,
    )


class Silence:
    """Closes connections without a request or with an incomplete one, so that they cannot accumulate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[Any, float] = {}  # start of each silent connection

    def close_long(self, connections: Iterable[Any]) -> None:
        """Called regularly; connections are uvicorn's protocols, and WebSockets always count as active."""
        now = self._clock()
        silent = [each for each in connections if _asks_nothing(each)]
        self._since = {each: self._since.get(each, now) for each in silent}
        for each, since in self._since.items():
            if now - since > HEAD_SECONDS:
                each.transport.close()


def _asks_nothing(connection: Any) -> bool:
    return hasattr(connection, "cycle") and (connection.cycle is None or connection.cycle.response_complete)
