"""A model server on loopback for measurements, with as little work per request as Python allows.

    python bench/model_server.py --latency 0.1 [--spread 0.5] [--log FILE]

Implements the necessary parts of HTTP/1.1 and the chat completions API; any other request is
answered with "not found". The answer depends only on the prompt, so runs can be compared. Prints
its port, serves until its stdin is closed, and then prints one JSON object with the requests served
and the tokens sent.

The log has one line for every request that arrives, `{"request": 7}`, and one for its reply,
`{"request": 7, "prompt": "…", "prompt_tokens": 3, "completion_tokens": 7}`. With a log, the token
count of a reply is the number of its request, so that no two replies are the same.
"""

import argparse
import asyncio
import json
import random
import sys
import zlib
from pathlib import Path
from typing import Any, TextIO

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Served:
    """Requests and replies, counted by the server itself."""

    arrived = 0
    requests = 0
    prompt_tokens = 0
    completion_tokens = 0

    def __init__(self, log: TextIO | None = None) -> None:
        self.log = log

    def note(self, **what: Any) -> None:
        """Write to the log immediately."""
        if self.log:
            self.log.write(json.dumps(what) + "\n")
            self.log.flush()


class Connection(asyncio.Protocol):
    """A keep-alive connection."""

    def __init__(self, served: Served, latency: float, spread: float) -> None:
        self.served, self.latency, self.spread = served, latency, spread
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the connection to which replies are written."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Read complete requests, and answer each after the latency."""
        self.buffer += data
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            lower = head.lower()
            at = lower.find(b"content-length:")
            length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            self.served.arrived += 1
            number = self.served.arrived
            self.served.note(request=number)
            wait = self.latency * (1 + self.spread * random.uniform(-1, 1))
            asyncio.get_running_loop().call_later(wait, self.answer, rest[:length], number)

    def answer(self, body: bytes, number: int) -> None:
        """Reply to one request, unless the client has disconnected."""
        if self.transport is None or self.transport.is_closing():
            return
        messages = json.loads(body).get("messages") if body else None
        if not messages:
            self.transport.write(NOT_FOUND)
            return
        prompt = messages[-1]["content"]
        text = f"{zlib.crc32(prompt.encode()) % 100}"
        asked, said = len(prompt.split()), number if self.served.log else 1 + len(text)
        reply = (
            f'{{"id":"x","object":"chat.completion","created":0,"model":"bench","choices":['
            f'{{"index":0,"message":{{"role":"assistant","content":"{text}"}},'
            f'"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{asked},'
            f'"completion_tokens":{said},"total_tokens":{asked + said}}}}}'
        ).encode()
        self.served.requests += 1
        self.served.prompt_tokens += asked
        self.served.completion_tokens += said
        self.served.note(request=number, prompt=prompt, prompt_tokens=asked, completion_tokens=said)
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(reply)).encode()
            + b"\r\n\r\n"
            + reply
        )


async def serve(latency: float, spread: float, log: TextIO | None) -> None:
    served = Served(log)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(served, latency, spread), "127.0.0.1", 0, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    print(
        json.dumps(
            {
                "requests": served.requests,
                "prompt_tokens": served.prompt_tokens,
                "completion_tokens": served.completion_tokens,
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--spread", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    log = arguments.log.open("w") if arguments.log else None
    asyncio.run(serve(arguments.latency, arguments.spread, log))
