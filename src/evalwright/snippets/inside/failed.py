"""Why a call has no value, in the words that the user reads.

    tasks/x.yaml:14 in compute_scores: KeyError: 'foo'

The place is the author's innermost line: neither a library's nor ours.
"""

import os
from types import TracebackType
from typing import Any

_MAX_MESSAGE = 4000
_LIBRARY = os.path.dirname(os.__file__)  # noqa: PTH120 - frames have paths as text
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - the same


class Failed(Exception):
    """A call without a value. `kind` is an exception's name, or `result`, `timeout`, `crashed`."""

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.hint = hint
        self.ask: int | None = None
        """Which question to the model failed, where that is what the author's function raised."""

    def again(self) -> "Failed":
        """The same, to be raised once more: an exception keeps the way of every raise."""
        failed = Failed(self.kind, str(self), self.hint)
        failed.ask = self.ask
        return failed

    def to_json(self) -> dict[str, Any]:
        """For the engine."""
        return {"kind": self.kind, "message": str(self), "hint": self.hint, "ask": self.ask}


class NoAnswer(Exception):
    """What `model.predict` raises when the model gave no usable answer."""

    def __init__(self, kind: str, message: str, ask: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.ask = ask


def described(error: BaseException, place: str, *, loading: bool = False) -> Failed:
    """What an author's code raised. `place` is for an error that has no line of the author's."""
    name, message = "Exception", ""
    try:
        name = str(type(error).__name__)
        message = str(error)
    except BaseException as unprintable:  # noqa: BLE001 - the author wrote its __str__
        message = "it cannot be printed"
        del unprintable
    places = _places(error.__traceback__)
    if isinstance(error, SyntaxError) and loading:
        message = str(error.msg)
        places.append(f"{error.filename}:{error.lineno or 0}")
    if isinstance(error, NoAnswer):
        name = error.kind
    name = clean(name)
    place = places[-1] if places else place
    text = f"{place}: {name}: {message}" if message else f"{place}: {name}"
    hint = f"called from {places[-2]}" if len(places) > 1 else ""
    failed = Failed(name, clean(text), clean(hint))
    failed.ask = error.ask if isinstance(error, NoAnswer) else None
    return failed


def clean(text: str) -> str:
    """One line that can be stored and printed."""
    text = text[:_MAX_MESSAGE].encode("utf-8", "replace").decode()
    return " ".join(text.split("\n")) if "\n" in text else text


def _places(traceback: TracebackType | None) -> list[str]:
    """The author's own lines, outermost first."""
    places: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        foreign = file.startswith((_LIBRARY, _OURS, "<frozen ")) or "-packages" in file
        if not foreign:
            where = "" if code.co_name == "<module>" else f" in {code.co_name}"
            places.append(f"{file}:{traceback.tb_lineno}{where}")
        traceback = traceback.tb_next
    return places[-2:]
