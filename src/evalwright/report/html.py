"""A report as HTML: a page in one file, and the part of it that notebooks show.

The page has no script and loads nothing, which its content security policy enforces. Whatever a
model or an author wrote is escaped. Cells take the direction of their text.
"""

from collections.abc import Iterator
from html import escape

from evalwright.report.display_names import show_display_names
from evalwright.report.report import Report
from evalwright.report.tables import Table
from evalwright.report.to_tables import describe_run, remarks, tables
from evalwright.text.visible import visible

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
section { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8884; }
thead th { border-bottom: 2px solid #8888; }
pre { overflow-x: auto; }
"""
_ALIGN_LEFT, _ALIGN_RIGHT = ' style="text-align: left"', ' style="text-align: right"'


def to_html(report: Report, *, keys: bool = False) -> str:
    """Return a page with title, summary, remarks and every table."""
    title = _escape(", ".join(report.tasks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1 dir="auto">{title}</h1>\n{to_html_fragment(report, keys=keys)}</body>\n</html>\n'
    )


def to_html_fragment(report: Report, *, keys: bool = False) -> str:
    """Return the content of the page without its title: what a notebook shows."""
    report = report if keys else show_display_names(report)
    parts = [f"<p>{_escape(describe_run(report))}</p>\n"]
    if notes := remarks(report):
        items = "".join(f'<li dir="auto">{_escape(note)}</li>\n' for note in notes)
        parts.append(f"<ul>\n{items}</ul>\n")
    parts += [_render_table(table) for table in tables(report)]
    return "".join(parts)


def _render_table(table: Table) -> str:
    note = f'<p dir="auto">{_escape(table.note)}</p>\n' if table.note else ""
    head = "".join(_cells(table, table.columns, "th"))
    body = "".join(f"<tr>{''.join(_cells(table, row, 'td'))}</tr>\n" for row in table.rows)
    below = f"<pre>{_escape(chr(10).join(table.below))}</pre>\n" if table.below else ""
    return (
        f"<section>\n<h2>{_escape(table.title)}</h2>\n{note}"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{below}"
        "</section>\n"
    )


def _cells(table: Table, row: tuple[str, ...], tag: str) -> Iterator[str]:
    for index, cell in enumerate(row):
        align = _ALIGN_RIGHT if index in table.numeric else _ALIGN_LEFT
        yield f'<{tag} dir="auto"{align}>{_escape(cell)}</{tag}>'


def _escape(text: str) -> str:
    return escape(visible(text))
