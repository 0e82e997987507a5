"""Ask a question, ask whether the model is sure, and keep the second answer."""

from typing import Any


async def run_solver(sample: dict[str, Any], model: Any, trace: Any) -> Any:
    """Send two requests per sample. Scorers see the whole conversation in the trace."""
    trace.append_user_message(f"What is the capital of {sample['country']}?")
    trace.add_model_response(await model.predict(trace.items))
    trace.append_user_message("Are you sure? Answer with the name of the city alone.")
    trace.add_model_response(await model.predict(trace.items))
    return trace
