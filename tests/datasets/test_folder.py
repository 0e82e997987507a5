from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.components import Authored
from evalwright.datasets.folder import Folder
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable


def folder(path: str | Path, **more: Any) -> Rows:
    source = Folder.model_validate({"type": "folder", "directory_path": str(path), **more})
    return source.rows(Surroundings(cache_dir=Path("unused")))


def put(tmp_path: Path, **files: str | bytes) -> Path:
    """Files by their names, with `__` for a slash and `_` for a dot."""
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path


def names(rows: Rows) -> list[str]:
    return [row["file_name"] for row in rows.rows()]


def test_a_file_is_a_row(tmp_path: Path) -> None:
    put(tmp_path, a_md="Tea.\n")

    assert list(folder(tmp_path).rows()) == [
        {"sample_id": sha256(b"Tea.\n").hexdigest(), "file_name": "a.md", "content": "Tea.\n"}
    ]


def test_front_matter_adds_columns_and_leaves_the_content(tmp_path: Path) -> None:
    put(tmp_path, a_md="---\ntitle: Tea\nyear: 1903\ncontent: no\nsample_id: x\n---\nHot.\n")

    (row,) = folder(tmp_path).rows()

    assert (row["title"], row["year"], row["content"]) == ("Tea", 1903, "Hot.\n")
    assert row["sample_id"] == sha256((tmp_path / "a.md").read_bytes()).hexdigest()


def test_files_of_all_directories_come_sorted_by_their_paths(tmp_path: Path) -> None:
    put(tmp_path, b_md="1", a__z_md="2", a__b__c_md="3", B_md="4", a_md="5")

    assert names(folder(tmp_path)) == ["B.md", "a.md", "a/b/c.md", "a/z.md", "b.md"]


def test_pdfs_and_hidden_files_are_skipped(tmp_path: Path) -> None:
    put(tmp_path, a_md="1", b_pdf=b"%PDF\xff", c_PDF=b"%PDF\xff", _DS="2", _git__config="3")

    assert names(folder(tmp_path)) == ["a.md"]


@pytest.mark.parametrize("extension", ["md", ".md", "*.md", ".MD"])
def test_only_files_with_the_extension(tmp_path: Path, extension: str) -> None:
    put(tmp_path, a_md="1", b_txt="2", c_MD="3", d__e_md="4", amd="5", image_png=b"\xff")

    assert names(folder(tmp_path, extension=extension)) == ["a.md", "c.MD", "d/e.md"]


@pytest.mark.parametrize(
    ("extension", "said"),
    [
        pytest.param("", "got an empty string", id="empty"),
        pytest.param(".", "got an empty string", id="a dot"),
        pytest.param("pdf", "PDFs are skipped", id="PDF"),
    ],
)
def test_an_extension_that_nothing_has_is_refused(extension: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        folder("x", extension=extension)


def test_a_directory_that_holds_itself_is_entered_once(tmp_path: Path) -> None:
    put(tmp_path, a__b_md="1")
    (tmp_path / "a" / "again").symlink_to(tmp_path)

    assert names(folder(tmp_path)) == ["a/b.md"]


def test_links_are_followed(tmp_path: Path) -> None:
    put(tmp_path, elsewhere__b_md="1", elsewhere__c_txt="2", here__a_md="3")
    (tmp_path / "here" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "d.txt").symlink_to(tmp_path / "elsewhere" / "c.txt")

    assert names(folder(tmp_path / "here", extension="md")) == ["a.md", "linked/b.md"]
    assert names(folder(tmp_path / "here", extension="txt")) == ["d.txt", "linked/c.txt"]


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to(tmp_path / "gone")

    with pytest.raises(Unreadable, match=r"a\.md: no such file"):
        list(folder(tmp_path).rows())


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    put(tmp_path, a_md=b"\xef\xbb\xbf---\na: 1\n---\nx")

    (row,) = folder(tmp_path).rows()

    assert (row["a"], row["content"]) == (1, "x")


def test_what_is_no_text_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    put(tmp_path, a_md="ok", b_png=b"\x89PNG")

    with pytest.raises(BadDataset, match=r"b\.png: byte 0x89 is not UTF-8") as caught:
        list(folder(tmp_path).rows())

    assert "`extension`" in caught.value.hint


def test_front_matter_that_is_no_yaml_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    put(tmp_path, a_md="---\na: [1\n---\nx")

    with pytest.raises(BadDataset, match=r"a\.md: front matter: line 2: "):
        list(folder(tmp_path).rows())


def test_two_files_with_the_same_content_have_the_same_id_and_are_named(tmp_path: Path) -> None:
    put(tmp_path, a_md="same", b__c_md="same")

    with pytest.raises(BadDataset, match=r"two rows have the `sample_id` .*a\.md and b/c\.md"):
        folder(tmp_path).check()


def test_a_directory_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    put(tmp_path, a_md="x")

    for path in (tmp_path / "gone", tmp_path / "a.md"):
        with pytest.raises(Unreadable, match="no such directory"):
            list(folder(path).rows())


def test_an_empty_directory_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="no rows"):
        folder(tmp_path).check()


def test_the_digest_is_of_paths_and_contents(tmp_path: Path) -> None:
    put(tmp_path, one__a_md="x", same__a_md="x", content__a_md="y", path__b_md="x")

    one, same, content, path = (
        folder(tmp_path / name).digest for name in ("one", "same", "content", "path")
    )

    assert one == same
    assert len({one, content, path}) == 3


def test_the_path_is_relative_to_the_document(tmp_path: Path) -> None:
    put(tmp_path, texts__a_md="x")
    written = Authored("texts", file=str(tmp_path / "dataset.yaml"), line=1)

    source = Folder.model_validate({"type": "folder", "directory_path": written})

    assert names(source.rows(Surroundings(cache_dir=tmp_path))) == ["a.md"]
