"""Ask three questions about each sample and return the most common answer."""

import asyncio
from collections import Counter
from typing import Any

WAYS = (
    "How many legs does a {} have? Answer with a number.",
    "Count the legs of a {}. Answer with a number.",
    "Legs of a {}, as a number:",
)


async def run_solver(sample: dict[str, Any], model: Any, trace: Any) -> Any:
    """Send all requests at once. Scorers see the messages in the trace."""
    questions = [way.format(sample["animal"]) for way in WAYS]
    responses = await asyncio.gather(*(model.predict(question) for question in questions))
    for question, response in zip(questions, responses, strict=True):
        trace.append_user_message(question)
        trace.add_model_response(response)
    ((winner, _),) = Counter(response.text for response in responses).most_common(1)
    trace.append_assistant_message(winner)
    return trace
