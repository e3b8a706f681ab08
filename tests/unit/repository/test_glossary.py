"""The glossary is true: each term occurs in the file that it names, and no identifier has a word that was given up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import markdown

PAGE = "docs/reference/glossary.md"
_ROW = re.compile(
    r"^\| (?P<term>[^|`]+) \| (?P<meaning>[^|]+) \| `(?P<file>[^`]+)` \| (?P<source>[^|]*) ?\|$", re.MULTILINE
)
ROWS = [match.groupdict() for match in _ROW.finditer((markdown.CHECKOUT / PAGE).read_text(encoding="utf-8"))]
#: Words of earlier versions that no identifier has.
RETIRED = {
    "attached", "fed", "feeds", "fleeting", "fleetings", "gears", "quads", "roundings", "sparer", "spares", "sparing",
    "turn", "turning", "turns", "twins",
}  # fmt: skip


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_a_term_is_explained_and_lives_where_the_page_says(row: dict[str, str]) -> None:
    assert row["meaning"].endswith(".")
    assert ". " not in row["meaning"], "one sentence"
    text = plain((markdown.CHECKOUT / row["file"]).read_text(encoding="utf-8"))
    assert plain(row["term"]).strip() in text


def test_the_terms_are_in_order_and_each_is_explained_once() -> None:
    terms = [row["term"].lower() for row in ROWS]
    lines = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8").count("\n| ")
    assert len(terms) == lines - 1, "every row but the heading is read"
    assert len(set(terms)) == len(terms)


def identifiers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def words(identifier: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)}


def test_no_identifier_has_a_retired_word() -> None:
    found = set()
    for path in (markdown.CHECKOUT / "host" / "aboard").rglob("*.py"):
        names = {*identifiers(ast.parse(path.read_text(encoding="utf-8"))), path.stem}
        found |= {f"{path.name}: {name}" for name in names if words(name) & RETIRED}
    for path in Path(markdown.CHECKOUT / "firmware").rglob("*.[ch]"):
        names = set(re.findall(r"\baboard_\w+", path.read_text(encoding="utf-8")))
        found |= {f"{path.name}: {name}" for name in names if words(name) & RETIRED}
    assert found == set()
