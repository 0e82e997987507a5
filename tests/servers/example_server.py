"""The server of `examples/`, in a thread, on a port of its own."""

import os
import threading
from collections.abc import Mapping
from typing import Self

from examples.server import KEY, Handler, create_server
from tests.e2e.commands import SECRET_NAMES

WIDTH = "118"
"""Of the tables in the READMEs."""


class ExampleServer:
    """Serves until the end of the block; `asked` counts the questions."""

    def __init__(self) -> None:
        self.asked = 0
        counted = self

        class Counting(Handler):
            def do_POST(self) -> None:  # noqa: N802 - the name of the base class
                counted.asked += 1
                super().do_POST()

        self._server = create_server(0, Counting)
        self._thread = threading.Thread(target=self._server.serve_forever, name="example server")

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def environment(self) -> Mapping[str, str]:
        """Of a command: no key and no store but the example's own."""
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith((*SECRET_NAMES, "_PROXY", "_proxy")) and name != "EVALWRIGHT_STORE"
        }
        return {
            **ours,
            "COLUMNS": WIDTH,
            "EXAMPLE_URL": self.origin,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.origin}/v1",
            "TRIAGE_KEY": KEY,
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
