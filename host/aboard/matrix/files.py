"""Writes the reports of a table into its folder: `table.html` for people, `junit.xml` for CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import jinja2

from aboard import outputs
from aboard.base.version import VERSION
from aboard.errors import InputError
from aboard.matrix.table import FilledRow
from aboard.outputs import SEAL

PAGE, JUNIT = "table.html", "junit.xml"
_TEMPLATES = Path(__file__).with_name("templates")


def prepared(folder: Path, *, force: bool) -> Path:
    """Makes the folder of a table, and checks that the reports can be written. Call it before the rows are run.

    Raises:
        InputError: The folder cannot be made, or a file in it is not aboard's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made, got {error.strerror}. Name another folder with -o") from error
    for name in (PAGE, JUNIT):
        outputs.check_file(folder / name, force=force)
    return folder


def write(folder: Path, found: Sequence[FilledRow], *, force: bool) -> None:
    """Writes both reports.

    Raises:
        InputError: A file cannot be written, or is not aboard's.
    """
    pages = {folder / PAGE: html(found), folder / JUNIT: junit(found)}
    outputs.write_files({path: outputs.sealed(text.encode()) for path, text in pages.items()}, force=force)


def html(found: Sequence[FilledRow]) -> str:
    """Returns the table as one HTML file without scripts."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["change"] = _change
    states = [one.row.state for one in found]
    counts = {state: states.count(state) for state in ("exact", "different", "refused", "failed")}
    return environment.get_template("table.html.j2").render(rows=found, counts=counts, version=VERSION, seal=SEAL)


def _change(found: FilledRow, name: str) -> str:
    """Returns a count with its change against the last run, such as `1,234 (+5)`."""
    now = getattr(found.row, name)
    if now is None:
        return "-"
    text = f"{now:.6f}" if isinstance(now, float) else f"{now:,}"
    before = None if found.last is None else getattr(found.last, name)
    if before is None or isinstance(now, float):
        return text
    return f"{text} ({now - before:+,})" if now != before else f"{text} (=)"


def junit(found: Sequence[FilledRow]) -> str:
    """Returns the table in the format of JUnit: a suite for each board, a test case for each model and goal."""
    root = ElementTree.Element("testsuites", name="aboard farm verify")
    for board in dict.fromkeys(one.row.board for one in found):
        mine = [one.row for one in found if one.row.board == board]
        failed = [row for row in mine if row.state in ("different", "refused")]
        broken = [row for row in mine if row.state == "failed"]
        counts = {"tests": len(mine), "failures": len(failed), "errors": len(broken)}
        attributes = {"name": board, **{name: str(count) for name, count in counts.items()}}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for row in mine:
            time: dict[str, str] = {} if row.seconds is None else {"time": f"{row.seconds:.6f}"}
            named = {"classname": board, "name": f"{row.model} {row.opt}"}
            case = ElementTree.SubElement(suite, "testcase", {**named, **time})
            if row.state != "exact":
                kind = "error" if row.state == "failed" else "failure"
                ElementTree.SubElement(case, kind, message=_printable(row.message), type=row.state)
    root.append(ElementTree.Comment(f" {SEAL} "))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Returns text without the control characters that XML does not have."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
