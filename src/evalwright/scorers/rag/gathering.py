"""Find out what is wanted, with as few calls as it takes.

    claims of the target, claims of the response     together, where no column brings them
    labels, and each side's claims against one text  together, when the claims are there

One call checks all claims of a side against one text: the target, the response, or one chunk. A
chunk that came twice is asked about once.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, structs

from evalwright.errors import Stopped
from evalwright.scorers.rag.claims import Claim, Label
from evalwright.scorers.rag.evidence import NOTHING, OF, Evidence, Side, Verdict, Wanted
from evalwright.scorers.rag.formulas import Check
from evalwright.scorers.rag.judge import Judge

Found = TypeVar("Found")


class Material(Struct, frozen=True, kw_only=True):
    """What there is to look at; what nobody wants is empty."""

    query: str = ""
    target: str = ""
    response: str = ""
    chunks: Sequence[str] = ()
    claims: Mapping[Side, tuple[Claim, ...]] = {}
    """Those that the dataset brings."""
    labels: Mapping[Side, tuple[Label, ...]] = {}
    """The same."""
    claim_extraction_instructions: str | None = None
    claim_labeling_instructions: str | None = None


async def gather(
    judge: Judge, material: Material, wanted: Wanted, known: Evidence = NOTHING
) -> Evidence:
    """All that is wanted; the judge is asked what neither the dataset says nor is known."""
    asking = _Asking(judge, material, known)
    sides = wanted.sides
    claims = dict(zip(sides, await together(*map(asking.claims, sides)), strict=True))
    labelled = sides if wanted.labels else ()
    checks = sorted(wanted.checks)
    names = [*(f"{side}_labels" for side in labelled), *checks]
    asked: list[Coroutine[Any, Any, Any]] = [
        *(asking.labels(side, claims[side]) for side in labelled),
        *(asking.check(check, claims[OF[check]]) for check in checks),
    ]
    found: dict[str, Any] = {f"{side}_claims": claims[side] for side in sides}
    found |= zip(names, await together(*asked), strict=True)
    return structs.replace(known, **found)


async def together(*asked: Coroutine[Any, Any, Found]) -> list[Found]:
    """What each gives; the first that breaks takes the others with it.

    How many calls are under way at once is the business of the model's own limits.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in asked]
    except ExceptionGroup as broken:
        causes = broken.exceptions
        raise next((one for one in causes if isinstance(one, Stopped)), causes[0]) from None
    return [task.result() for task in tasks]


class _Asking:
    def __init__(self, judge: Judge, material: Material, known: Evidence) -> None:
        self._judge, self._material, self._known = judge, material, known

    async def claims(self, side: Side) -> tuple[Claim, ...]:
        material = self._material
        if side in material.claims:
            return material.claims[side]
        if (known := self._known.claims(side)) is not None:
            return known
        text = material.target if side == "target" else material.response
        return await self._judge.claims(
            text, query=material.query, instructions=material.claim_extraction_instructions
        )

    async def labels(self, side: Side, claims: Sequence[Claim]) -> tuple[Label, ...]:
        material = self._material
        if side in material.labels:
            return material.labels[side]
        if (known := self._known.labels(side)) is not None:
            return known
        return await self._judge.labels(
            claims, query=material.query, instructions=material.claim_labeling_instructions
        )

    async def check(self, check: Check, claims: Sequence[Claim]) -> Sequence[Any]:
        """Verdicts for `in_target` and `in_response`, rows of them for chunks."""
        if (known := self._known.verdicts(check)) is not None:
            return known
        if check == "in_target":
            return await self._judge.verdicts(claims, self._material.target)
        if check == "in_response":
            return await self._judge.verdicts(claims, self._material.response)
        chunks = self._material.chunks
        once = list(dict.fromkeys(chunks))
        columns = await together(*(self._judge.verdicts(claims, chunk) for chunk in once))
        by_chunk: dict[str, tuple[Verdict, ...]] = dict(zip(once, columns, strict=True))
        return tuple(
            tuple(by_chunk[chunk][place] for chunk in chunks) for place in range(len(claims))
        )
