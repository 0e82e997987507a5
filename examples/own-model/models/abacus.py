"""Adds without carrying: correct if no column reaches ten."""

import json
import re


def run_inference(body: str, environment: dict[str, str]) -> str:
    """Take a chat request and return a chat completion, both as JSON."""
    base = int(environment["BASE"])
    asked = json.loads(body)["messages"][-1]["content"]
    one, other = re.findall(r"\d+", asked)
    width = max(len(one), len(other))
    columns = zip(one.zfill(width), other.zfill(width), strict=True)
    text = "".join(str((int(a) + int(b)) % base) for a, b in columns)
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})
