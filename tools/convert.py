"""Convert published benchmarks to task records.

    python tools/convert.py humaneval HumanEval.jsonl > humaneval.records.jsonl
    python tools/convert.py mbpp sanitized-mbpp.json > mbpp.records.jsonl
    python tools/convert.py gsm8k test.jsonl > gsm8k.records.jsonl

The reference solution is stored in `metadata.solution`, where `scripted/oracle` looks for it.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def humaneval(path: Path) -> Iterator[Record]:
    """Yield one record per problem. Its only target is the problem's own `check`."""
    for row in _rows(path):
        yield {
            "task_id": row["task_id"],
            "category": "code_exec",
            "prompt": f"Complete this; reply with the whole program.\n\n{row['prompt']}".rstrip(),
            "targets": [f"{row['test'].strip()}\n\ncheck({row['entry_point']})"],
            "metric_name": "code_exec",
            "post_process": "extract_code_block",
            "metadata": {"timeout_s": 30, "solution": row["prompt"] + row["canonical_solution"]},
        }


def mbpp(path: Path) -> Iterator[Record]:
    """Yield one record per problem. Each assertion is a target, preceded by the imports."""
    for row in json.loads(path.read_text(encoding="utf-8")):
        imports = "".join(f"{line}\n" for line in row["test_imports"])
        yield {
            "task_id": f"mbpp/{row['task_id']}",
            "category": "code_exec",
            "prompt": f"{row['prompt']}\nYour code must pass: {row['test_list'][0]}".rstrip(),
            "targets": [imports + test for test in row["test_list"]],
            "metric_name": "code_exec",
            "post_process": "extract_code_block",
            "metadata": {"timeout_s": 30, "solution": row["code"]},
        }


def gsm8k(path: Path) -> Iterator[Record]:
    """Yield one record per problem. Its target is the number after `####`."""
    for number, row in enumerate(_rows(path), start=1):
        answer = row["answer"].rpartition("####")[2].strip()
        targets = dict.fromkeys([answer.replace(",", ""), answer])
        yield {
            "task_id": f"gsm8k/{number}",
            "category": "arithmetic",
            "prompt": f"{row['question'].rstrip()}\nReply with the number alone.",
            "targets": list(targets),
            "metric_name": "exact_match",
            "post_process": "extract_first_line",
        }


CONVERTERS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "gsm8k": gsm8k,
    "humaneval": humaneval,
    "mbpp": mbpp,
}


def _rows(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def main() -> int:
    """Print the records."""
    arguments = sys.argv[1:]
    if len(arguments) != 2 or arguments[0] not in CONVERTERS:  # noqa: PLR2004 - a name and a file
        print(f"usage: convert.py {'|'.join(CONVERTERS)} FILE", file=sys.stderr)
        return 2
    for record in CONVERTERS[arguments[0]](Path(arguments[1])):
        print(json.dumps(record, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
