"""The gateway as a web service: devices send, apps receive, operators look."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.requests import Request

from deeprotect.gateway.console.routes import console_router
from deeprotect.gateway.feeds.feeding import feeding
from deeprotect.gateway.mediation import onlookers
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.intake import Intake
from deeprotect.gateway.mediation.outlet import fed
from deeprotect.gateway.mediation.peers import Header
from deeprotect.gateway.operation.logs import failure
from deeprotect.gateway.routes_in import router_in
from deeprotect.gateway.routes_operator import router_operator
from deeprotect.gateway.routes_out import router_out
from deeprotect.version import __version__


def create_service(gateway: Gateway) -> FastAPI:
    """Routes around one gateway; whatever fails inside is answered with one line and nothing of what failed."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        peers = gateway.peers.answering(take=answer_peer, feed=partial(fed, gateway))
        async with gateway.running(), peers, feeding(gateway, intake):
            yield

    async def answer_peer(header: Header, body: bytes) -> Header:
        match header["ask"]:
            case onlookers.STATUS:
                return onlookers.own_statuses(gateway)
            case onlookers.METRICS:
                return onlookers.own_metrics(gateway)
        return await intake.answer_peer(header, body)

    intake = Intake(gateway)
    service = FastAPI(title="DEEProtect gateway", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    service.include_router(router_in(gateway, intake))
    service.include_router(router_out(gateway))
    service.include_router(router_operator(gateway))
    service.include_router(console_router(gateway))

    @service.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        failure("request failed", error)
        return JSONResponse({"error": "the gateway failed; nothing was released"}, status_code=500)

    return service
