"""Add without carrying. The result is correct if no column reaches ten."""

import json
import re


def run_inference(body: str, environment: dict[str, str]) -> str:
    """Take a chat request and return a chat completion, both as JSON."""
    base = int(environment["BASE"])
    question = json.loads(body)["messages"][-1]["content"]
    first, second = re.findall(r"\d+", question)
    width = max(len(first), len(second))
    columns = zip(first.zfill(width), second.zfill(width), strict=True)
    text = "".join(str((int(a) + int(b)) % base) for a, b in columns)
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})
