import gzip
import io
import os
import socket
import struct
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from evalwright import lines
from evalwright.errors import Unreadable
from evalwright.lines import BadLine, read_batches, read_lines, read_whole, show_path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = lines._CHUNK
BOM = b"\xef\xbb\xbf"
READ_STDIN = (
    "import sys; from evalwright.lines import read_lines\n"
    "print([bytes(line) for line in read_lines('-')])\n"
)


def read(tmp_path: Path, data: bytes, *, limit: int | None = None) -> list[bytes]:
    path = tmp_path / "file.jsonl"
    path.write_bytes(data)
    return list(read_lines(str(path)) if limit is None else read_lines(str(path), limit=limit))


def told(items: list[bytes]) -> list[bytes | str]:
    """The lines, and for each that was not kept the reason."""
    return [line.why if isinstance(line, BadLine) else line for line in items]


def refusal(path: object) -> str:
    with pytest.raises(Unreadable) as caught:
        list(read_lines(str(path)))
    return caught.value.message


def skippable(payload: bytes) -> bytes:
    """A zstd frame that carries no data: how pzstd opens each of its frames."""
    return struct.pack("<II", 0x184D2A50, len(payload)) + payload


PACKINGS: list[object] = [
    pytest.param(bytes, id="plain"),
    pytest.param(gzip.compress, id="gzip"),
    pytest.param(zstd.compress, id="zstd"),
]


@pytest.mark.parametrize("pack", PACKINGS)
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="an empty file has no lines"),
        pytest.param(b"\n", [b""], id="one newline ends one line"),
        pytest.param(b"a", [b"a"], id="the last line needs no newline"),
        pytest.param(b"a\n", [b"a"], id="a final newline begins no line"),
        pytest.param(b"a\n\n\nb\n", [b"a", b"", b"", b"b"], id="blank lines count"),
        pytest.param(b"a\n \n", [b"a", b" "], id="a line of spaces is a line"),
        pytest.param(b"a\r\nb\r\n", [b"a\r", b"b\r"], id="CRLF: the carriage return stays"),
        pytest.param(b"a\rb\n", [b"a\rb"], id="a lone carriage return ends no line"),
        pytest.param(BOM + b"a\nb", [b"a", b"b"], id="a BOM is dropped at the start"),
        pytest.param(BOM, [], id="a file of a BOM is empty"),
        pytest.param(BOM + BOM + b"a", [BOM + b"a"], id="only one BOM is dropped"),
        pytest.param(b"a\n" + BOM + b"b", [b"a", BOM + b"b"], id="a BOM elsewhere stays"),
        pytest.param(b"a\x0bb\x0cc\x85\n", [b"a\x0bb\x0cc\x85"], id="only \\n ends a line"),
        pytest.param("a\u2028b\n".encode(), ["a\u2028b".encode()], id="U+2028 ends no line"),
        pytest.param(b"\xff\n\xfe", [b"\xff", b"\xfe"], id="bytes that are no UTF-8 pass"),
        pytest.param(b"\x1f", [b"\x1f"], id="half a magic number is text"),
    ],
)
def test_the_lines_of_a_file(
    tmp_path: Path, pack: Callable[[bytes], bytes], data: bytes, expected: list[bytes]
) -> None:
    assert read(tmp_path, pack(data)) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(b"a\nb") + gzip.compress(b"c\n"), id="gzip members"),
        pytest.param(gzip.compress(b"") + gzip.compress(b"a\nbc\n"), id="an empty member first"),
        pytest.param(gzip.compress(b"a\nbc\n") + b"\0" * 512, id="gzip padded with zeros"),
        pytest.param(zstd.compress(b"a\nb") + zstd.compress(b"c\n"), id="zstd frames"),
        pytest.param(zstd.compress(b"") + zstd.compress(b"a\nbc\n"), id="an empty frame first"),
        pytest.param(
            skippable(b"1234") + zstd.compress(b"a\nb") + skippable(b"") + zstd.compress(b"c\n"),
            id="zstd frames as pzstd writes them",
        ),
    ],
)
def test_parts_of_a_compressed_file_are_one_text(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == [b"a", b"bc"]


@pytest.mark.parametrize("pack", PACKINGS)
@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7])
def test_a_line_may_span_chunks(
    tmp_path: Path, pack: Callable[[bytes], bytes], length: int
) -> None:
    text = b"first\n" + b"x" * length + b"\nlast"

    assert read(tmp_path, pack(text)) == [b"first", b"x" * length, b"last"]


def test_the_line_count_is_an_editors_whatever_the_chunks_cut(tmp_path: Path) -> None:
    data = b"".join(b"%d\n" % number + b"\n" * (number % 3) for number in range(200_000))

    found = read(tmp_path, data)

    assert found == data.split(b"\n")[:-1]


def test_batches_are_the_same_lines(tmp_path: Path) -> None:
    data = b"".join(b"x" * (number % 700) + b"\n" for number in range(3000)) + b"end"
    path = tmp_path / "file.jsonl"
    path.write_bytes(data)

    batches = list(read_batches(str(path)))

    assert len(batches) > 2
    assert list(chain.from_iterable(batches)) == data.split(b"\n")


@pytest.mark.parametrize("pack", PACKINGS)
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"x" * 16, [b"x" * 16], id="at the limit"),
        pytest.param(b"x" * 16 + b"\n", [b"x" * 16], id="the newline is no part of the line"),
        pytest.param(b"x" * 17, ["too_long"], id="one above, and the last"),
        pytest.param(b"x" * 17 + b"\ny", ["too_long", b"y"], id="one above, and the first"),
        pytest.param(b"a\n" + b"x" * 17 + b"\nb", [b"a", "too_long", b"b"], id="in the middle"),
        pytest.param(
            b"a\n" + b"x" * 100_000 + b"\n\nb\n", [b"a", "too_long", b"", b"b"], id="far above"
        ),
        pytest.param(
            b"x" * 17 + b"\n" + b"y" * 17 + b"\nz", ["too_long", "too_long", b"z"], id="two of them"
        ),
        pytest.param(BOM + b"x" * 16, [b"x" * 16], id="a BOM is no part of the line"),
    ],
)
def test_a_line_above_the_limit_is_not_kept(
    tmp_path: Path, pack: Callable[[bytes], bytes], data: bytes, expected: list[bytes | str]
) -> None:
    assert told(read(tmp_path, pack(data), limit=16)) == expected


@pytest.mark.parametrize("limit", range(1, 12))
def test_the_limit_holds_wherever_a_chunk_ends(tmp_path: Path, limit: int) -> None:
    data = b"\nab\nabc\n\nx\nabcdefgh\n\n12345"
    expected = [line if len(line) <= limit else "too_long" for line in data.split(b"\n")]

    assert told(read(tmp_path, data, limit=limit)) == expected


def test_a_line_that_is_too_long_shows_how_it_began(tmp_path: Path) -> None:
    (line,) = read(tmp_path, b"begin" + b"x" * 3 * CHUNK, limit=CHUNK)

    assert isinstance(line, BadLine)
    assert line == b""
    assert line.head == b"begin" + b"x" * (len(line.head) - 5)
    assert 500 < len(line.head) <= 4096


def test_a_line_is_never_held_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress(b"x" * 64 * CHUNK))

    tracemalloc.start()
    found = list(read_lines(str(path), limit=2 * CHUNK))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert told(found) == ["too_long"]
    assert peak < 12 * CHUNK


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(bytes(range(256)) * 20, "binary", id="every byte"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe\xfd\xfc", "binary", id="a picture"),
        pytest.param('{"a": 1}\n'.encode("utf-16"), "utf-16", id="UTF-16 with its BOM"),
        pytest.param('{"a": 1}\n'.encode("utf-16-le"), "utf-16", id="UTF-16, little-endian"),
        pytest.param('{"a": 1}\n'.encode("utf-16-be"), "utf-16", id="UTF-16, big-endian"),
        pytest.param(
            b"\xfe\xff" + '{"a": 1}\n'.encode("utf-16-be"), "utf-16", id="big-endian with its BOM"
        ),
    ],
)
def test_a_file_that_is_no_text_is_one_bad_line(tmp_path: Path, data: bytes, why: str) -> None:
    assert told(read(tmp_path, data)) == [why]
    assert told(read(tmp_path, gzip.compress(data))) == [why]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"a": "\0"}\n', id="one NUL"),
        pytest.param(b"\0" * 5000, id="NULs alone"),
        pytest.param("é".encode() * 3000 + b"\0", id="a character cut by the chunk"),
        pytest.param("é".encode("latin-1") * 9 + b"\n{}", id="Latin-1 without a NUL"),
    ],
)
def test_a_stray_byte_costs_its_line_and_not_the_file(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == data.removesuffix(b"\n").split(b"\n")


@cache
def long_gzip() -> bytes:
    numbers = (number * 7919 % 10007 for number in range(200_000))
    return gzip.compress(b"".join(b"%d\n" % number for number in numbers), mtime=0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(long_gzip()[:-9], "ends early", id="gzip without its end"),
        pytest.param(long_gzip()[:5000], "ends early", id="half a gzip"),
        pytest.param(b"\x1f\x8b", "ends early", id="a gzip magic number and no more"),
        pytest.param(zstd.compress(b"abc" * 99)[:-3], "ends early", id="zstd without its end"),
        pytest.param(b"\x28\xb5\x2f\xfd", "ends early", id="a zstd magic number and no more"),
        pytest.param(gzip.compress(b"")[:10] + b"\xff" * 40, "damaged", id="gzip, deflate damage"),
        pytest.param(gzip.compress(b"abc")[:-8] + b"\0" * 8, "damaged", id="gzip, wrong checksum"),
        pytest.param(gzip.compress(b"abc") + b"garbage", "damaged", id="gzip, then garbage"),
        pytest.param(b"\x1f\x8b\xff" + b"\0" * 20, "damaged", id="gzip of an unknown method"),
        pytest.param(b"\x28\xb5\x2f\xfd" + b"\xff" * 40, "damaged", id="zstd damage"),
        pytest.param(zstd.compress(b"abc") + b"garbage", "damaged", id="zstd, then garbage"),
    ],
)
def test_damage_is_told_in_one_line(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "file.jsonl.gz"
    path.write_bytes(data)

    message = refusal(path)

    assert message.startswith(f"{path}: the compressed data ")
    assert why in message
    assert "\n" not in message


def test_what_stood_before_the_damage_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl.gz"
    path.write_bytes(long_gzip()[:-9])
    found: list[bytes] = []

    with pytest.raises(Unreadable):
        found.extend(read_lines(str(path)))  # a list keeps what came before the error

    assert found[:2] == [b"0", b"7919"]
    assert len(found) > 100_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("missing.jsonl", "{path}: no such file", id="missing"),
        pytest.param("folder", "{path}: a directory, not a file", id="a directory"),
        pytest.param("file/below", "{path}: Not a directory", id="below a file"),
        pytest.param("x" * 5000, "{path}: File name too long", id="a name that is too long"),
        pytest.param("loop", "{path}: Too many levels of symbolic links", id="a link to itself"),
        pytest.param("socket", "{path}: No such device or address", id="a socket"),
        pytest.param("a\0b", "{path!r}: embedded null byte", id="a NUL in the name"),
        pytest.param("two\nlines", "{path!r}: no such file", id="a name of two lines"),
        pytest.param("\udcff", "{path!r}: no such file", id="a name that is no UTF-8"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, name: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)  # the name of a socket may have a hundred characters
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        path = f"{tmp_path}/{name}"

        assert refusal(path) == expected.format(path=path)


def test_no_name_is_shown_as_such() -> None:
    assert refusal("") == "'': no such file"
    assert show_path("a b.jsonl") == "a b.jsonl"


def test_a_file_without_permission_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0)
    code = (
        "import os, sys\n"
        "from evalwright.errors import Unreadable\n"
        "from evalwright.lines import read_lines\n"
        "if os.getuid() == 0: os.setuid(65534)\n"  # root may read everything
        "try: print(list(read_lines(sys.argv[1])))\n"
        "except Unreadable as error: print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )

    assert done.stdout == f"{path}: permission denied\n"


def test_a_pipe_with_a_name_is_read_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    data = gzip.compress(b"a\n" + b"x" * 100 + b"\nend")

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for byte in data:  # never as many at a time as a magic number has
                pipe.write(bytes([byte]))

    writer = threading.Thread(target=write)
    writer.start()
    found = list(read_lines(str(path)))
    writer.join()

    assert found == [b"a", b"x" * 100, b"end"]


@pytest.mark.parametrize("pack", PACKINGS)
def test_a_dash_is_standard_input(pack: Callable[[bytes], bytes]) -> None:
    data = pack(BOM + b"a\r\n\nend")

    done = subprocess.run(
        [sys.executable, "-c", READ_STDIN], input=data, capture_output=True, check=True
    )

    assert done.stdout == b"[b'a\\r', b'', b'end']\n"


def test_standard_input_may_be_closed() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, READ_STDIN],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1].endswith("Unreadable: -: standard input is closed")


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"a\nb\n"))
    monkeypatch.setattr("sys.stdin", stdin)

    assert list(read_lines("-")) == [b"a", b"b"]
    assert list(read_lines("-")) == []
    assert not stdin.buffer.closed


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_file_is_closed_when_its_reader_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl.gz"
    path.write_bytes(long_gzip())
    before = open_files()

    reader = read_batches(str(path))
    next(reader)
    del reader

    assert open_files() == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"a\nb\n", b"a\nb\n", id="to its last newline"),
        pytest.param(b"a\r\n\r\nb", b"a\r\n\r\nb", id="line ends stay"),
        pytest.param(b"\xef\xbb\xbfa", b"a", id="a BOM is dropped"),
        pytest.param(gzip.compress(b"a\n"), b"a\n", id="gzip"),
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"x" * 600_000, b"x" * 600_000, id="several chunks"),
    ],
)
def test_a_whole_file_is_what_is_in_it(tmp_path: Path, content: bytes, expected: bytes) -> None:
    (tmp_path / "a").write_bytes(content)

    assert read_whole(str(tmp_path / "a")) == expected


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"x" * 101, "too_long", id="too long"),
        pytest.param(b"\x00\xff" * 50, "binary", id="binary"),
        pytest.param("hé".encode("utf-16"), "utf-16", id="UTF-16"),
    ],
)
def test_a_whole_file_that_is_not_worth_reading_says_why(
    tmp_path: Path, content: bytes, why: str
) -> None:
    (tmp_path / "a").write_bytes(content)

    found = read_whole(str(tmp_path / "a"), limit=100)

    assert isinstance(found, BadLine)
    assert found.why == why


def test_a_whole_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no such file"):
        read_whole(str(tmp_path / "none"))


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("unit", [b"\n", b"x", b'{"a": 1}\n'])
def test_a_bomb_is_stopped_before_it_is_expanded(
    tmp_path: Path, pack: Callable[[bytes], bytes], unit: bytes
) -> None:
    (tmp_path / "bomb").write_bytes(pack(unit * (40_000_000 // len(unit))))
    sizes: list[int] = []

    def measure() -> None:
        batches = read_batches(str(tmp_path / "bomb"))
        sizes.extend(sum(len(line) + 1 for line in batch) for batch in batches)

    with pytest.raises(Unreadable, match="expands to more than 250 times its size") as caught:
        measure()

    assert "decompress it first" in caught.value.hint
    assert sum(sizes) < lines.FREE_EXPANSION_BYTES + 2 * CHUNK


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_large_honest_file_is_no_bomb(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "FREE_EXPANSION_BYTES", 1000)
    rows = b"".join(b'{"id": %d, "question": "What is %d + 1?"}\n' % (n, n) for n in range(50_000))
    (tmp_path / "rows").write_bytes(pack(rows))

    assert sum(len(line) + 1 for line in read_lines(str(tmp_path / "rows"))) == len(rows)


def test_a_small_file_may_expand_as_far_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(zstd.compress(b"0\n" * 5_000_000))

    assert sum(1 for _ in read_lines(str(tmp_path / "zeros"))) == 5_000_000
