"""A small rule-based model that needs no network and always gives the same answers."""

import json
import re

CAPITALS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Peru": "Lima",
    "Australia": "Sydney",  # wrong, so that the report has something to show
    "Bolivia": "La Paz",  # the seat of government, but not the constitutional capital
}


def run_inference(body: str, environment: dict[str, str]) -> str:
    """Answer a chat request. Both the request and the answer are JSON."""
    messages = json.loads(body)["messages"]
    texts = [str(message["content"]) for message in messages]
    answer = reply(texts)
    return json.dumps(
        {
            "choices": [{"message": {"role": "assistant", "content": answer}}],
            "usage": {
                "num_prompt_tokens": sum(len(text.split()) for text in texts),
                "num_completion_tokens": len(answer.split()),
            },
        }
    )


def reply(texts: list[str]) -> str:
    """Answer the last message."""
    question = texts[-1]
    for country, city in CAPITALS.items():
        if country in question:
            return city
    if match := re.search(r"(-?\d+) \+ (-?\d+)", question):
        return str(int(match[1]) + int(match[2]))
    if "next" in question.lower() and (match := re.search(r"\d+", texts[-2])):
        number = int(match[0]) + 1
        return f"{number} done" if number % 5 == 0 else str(number)
    if match := re.search(r"count from (\d+)", question):
        return match[1]
    if "sure" in question.lower():
        return "Canberra" if texts[-2] == "Sydney" else texts[-2]
    return "I do not know"
