"""`jsonl`: one JSON object a line, an outcome each. UTF-8, and no newline inside a line."""

from typing import BinaryIO

from evalwright.report.export.rows import Read, exported, to_json


def write(read: Read, out: BinaryIO) -> int:
    """Write every outcome; how many there were."""
    count = 0
    for outcome in read():
        out.write(to_json(exported(outcome)) + b"\n")
        count += 1
    return count
