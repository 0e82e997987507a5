"""A small model that answers by rule: no network, and the same answers every day."""

import json
import re

CAPITALS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Peru": "Lima",
    "Australia": "Sydney",  # wrong, so that there is something to see in the report
    "Bolivia": "La Paz",  # the seat of its government, but not its capital by law
}


def run_inference(body: str, environment: dict[str, str]) -> str:
    """Answer a chat request, JSON in and JSON out."""
    messages = json.loads(body)["messages"]
    text = reply([str(message["content"]) for message in messages])
    return json.dumps(
        {
            "choices": [{"message": {"role": "assistant", "content": text}}],
            "usage": {
                "num_prompt_tokens": sum(len(str(one["content"]).split()) for one in messages),
                "num_completion_tokens": len(text.split()),
            },
        }
    )


def reply(said: list[str]) -> str:
    """What to say next."""
    asked = said[-1]
    for country, city in CAPITALS.items():
        if country in asked:
            return city
    if found := re.search(r"(-?\d+) \+ (-?\d+)", asked):
        return str(int(found[1]) + int(found[2]))
    if "next" in asked.lower() and (found := re.search(r"\d+", said[-2])):
        number = int(found[0]) + 1
        return f"{number} done" if number % 5 == 0 else str(number)
    if found := re.search(r"count from (\d+)", asked):
        return found[1]
    if "sure" in asked.lower():
        return "Canberra" if said[-2] == "Sydney" else said[-2]
    return "I do not know"
