"""Measure the minimum cost of calling a server, with an aiohttp loop that stores nothing.

    python bench/bare_loop.py http://127.0.0.1:8000/v1 tasks.jsonl CONNECTIONS

Prints the seconds that the requests took, without start-up. `throughput.py` and `peers.py` compare
complete harnesses with this loop.
"""

import asyncio
import json
import sys
from pathlib import Path
from time import perf_counter

import aiohttp


async def ask_all(url: str, prompts: list[str], connections: int) -> float:
    todo = iter(prompts)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def work() -> None:
            for prompt in todo:
                body = {"model": "bench", "messages": [{"role": "user", "content": prompt}]}
                async with session.post(f"{url}/chat/completions", json=body) as reply:
                    json.loads(await reply.read())["choices"][0]["message"]["content"]

        started = perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return perf_counter() - started


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text().splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines]
    print(asyncio.run(ask_all(sys.argv[1], prompts, int(sys.argv[3]))))
