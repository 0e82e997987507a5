"""Behaviours of a server that answers as LangSmith or Phoenix do.

    with ModelServer(langsmith(runs=[…])) as server:      # `api_url` is server.origin
    with ModelServer(phoenix(spans=[…])) as server:       # `base_url` is server.origin

They check the key, answer page by page and know one project (and one dataset), called `shop`.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from aiohttp import web
from tests.servers.model_server import Asked, Behaviour, reply

KEY = "lsv2-test-7f3e9c"
Object = dict[str, Any]


def langsmith(
    *, runs: Sequence[Object] = (), examples: Sequence[Object] = (), page: int = 100
) -> Behaviour:
    """Answer as LangSmith's API, version 1."""

    async def behave(asked: Asked) -> web.StreamResponse:
        parts = urlsplit(asked.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if asked.headers.get("x-api-key") != KEY:
            return _refuse(401, {"detail": "Invalid token"})
        match parts.path.removeprefix("/api/v1"):
            case "/sessions" | "/datasets":
                known = [{"id": "id-of-shop", "name": "shop"}]
                return reply([one for one in known if one["name"] == query["name"]])
            case "/runs/query":
                return reply(_query_runs(runs, asked.body, page))
            case "/examples" if query["dataset"] == "id-of-shop":
                start = int(query["offset"])
                return reply(list(examples)[start : start + int(query["limit"])])
        return _refuse(404, {"detail": "Not Found"})

    return behave


def _query_runs(runs: Sequence[Object], body: Mapping[str, Any], page: int) -> Object:
    assert body["session"] == ["id-of-shop"]
    assert body["is_root"] is True
    roots = [run for run in runs if run.get("parent_run_id") is None]
    chosen = [run for run in roots if run["start_time"] >= body.get("start_time", "")]
    start = int(body.get("cursor", "cursor-0").rpartition("-")[2])
    size = min(page, body["limit"])
    more = start + size < len(chosen)
    selected = [
        {name: run[name] for name in body["select"] if name in run}
        for run in chosen[start : start + size]
    ]
    return {"runs": selected, "cursors": {"next": f"cursor-{start + size}" if more else None}}


def phoenix(*, spans: Sequence[Object] = (), page: int = 1000, key: str = "") -> Behaviour:
    """Answer as Phoenix; with a key, it wants to see it."""

    async def behave(asked: Asked) -> web.StreamResponse:
        parts = urlsplit(asked.path)
        query = parse_qs(parts.query)
        if key and asked.headers.get("Authorization") != f"Bearer {key}":
            return _refuse(401, {"detail": "Unauthorized"})
        if unquote(parts.path) != "/v1/projects/shop/spans":
            return _refuse(404, {"detail": "Project with name not found"})
        start = int(query.get("cursor", ["0"])[0])
        size = min(page, int(query["limit"][0]))
        began = query.get("start_time", [""])[0]
        chosen = [span for span in spans if span["start_time"] >= began]
        more = start + size < len(chosen)
        following = str(start + size) if more else None
        return reply({"data": chosen[start : start + size], "next_cursor": following})

    return behave


def _refuse(status: int, body: Object) -> web.Response:
    return web.json_response(body, status=status)
