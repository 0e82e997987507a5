"""The pictures of the docs show what the commands print today."""

import re

from rich.text import Text
from tools.pictures import COLUMNS, PICTURES, SCENES, shown_text, texts

from evalwright.report.tables import display_width


def test_each_picture_shows_what_its_command_prints() -> None:
    printed = {scene.picture: Text.from_ansi(text).plain for scene, text in texts()}

    drawn = {name: shown_text(PICTURES / f"{name}.svg") for name in printed}

    assert drawn == printed, "run `make pictures`"


def test_no_line_of_a_picture_is_wider_than_the_terminal() -> None:
    lines = [
        line
        for scene in SCENES
        if scene.picture
        for line in shown_text(PICTURES / f"{scene.picture}.svg").split("\n")
    ]

    assert max(map(display_width, lines)) <= COLUMNS


def test_a_picture_makes_no_request_and_there_is_one_for_each_scene() -> None:
    files = sorted(PICTURES.iterdir())

    assert [path.stem for path in files] == sorted(filter(None, (s.picture for s in SCENES)))
    for path in files:
        svg = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"url\(|href|https?://|<script|@import", svg.partition("</desc>")[2])
