"""For operators: is it alive, is it ready, how much does it do."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.mediation import onlookers
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.openapi import said
from deeprotect.gateway.registration.tokens import bearer_token
from deeprotect.gateway.wire.hosts import is_local

_METRICS: dict[int | str, dict[str, Any]] = {404: said("for this machine and the admin alone")}


def router_operator(gateway: Gateway) -> APIRouter:
    """`/healthz`, `/readyz`, and `/metrics` for this machine and the admin."""
    router = APIRouter(tags=["operators"])

    @router.get("/healthz")
    def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", responses={503: {"description": "the ledger cannot be reached"}})
    def ready() -> Response:
        """Whether a draw could be paid for now."""
        try:
            gateway.registry.has_admin()
        except DeeprotectError as error:
            return JSONResponse({"status": "not ready", "reason": str(error)}, status_code=503)
        return JSONResponse({"status": "ready"})

    @router.get("/metrics", responses=_METRICS, response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Of all processes of this gateway together."""
        token = bearer_token(request.headers.get("authorization", ""))
        if not is_local(request) and (token is None or not await asyncio.to_thread(gateway.registry.is_admin, token)):
            return PlainTextResponse("not found", status_code=404)
        return PlainTextResponse(await onlookers.metrics(gateway), media_type="text/plain; version=0.0.4")

    return router
