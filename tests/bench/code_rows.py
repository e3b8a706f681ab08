"""Rows of code sizes: which of those that are known stay beside those that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def with_new_functions(known: Sequence[Row], more: Sequence[Row]) -> list[Row]:
    """Returns rows, and of further rows those of functions that the first do not have."""
    functions = {row["function"] for row in known}
    return [*known, *(row for row in more if row["function"] not in functions)]


def kept(made: Sequence[Row], known: Sequence[Row]) -> list[Row]:
    """Returns rows that were made, and known rows of functions and variants that other models have.

    A known variant stays if variants of its function are still told apart by the same words.
    """

    def words(row: Row) -> tuple[str, str, frozenset[str]]:
        return row["opt"], row["function"], frozenset(word.split("=")[0] for word in row["variant"].split())

    functions = {(row["opt"], row["function"]) for row in made}
    exact, alike = {(*words(row)[:2], row["variant"]) for row in made}, {words(row) for row in made}
    others = [
        row
        for row in known
        if (*words(row)[:2], row["variant"]) not in exact and (words(row)[:2] not in functions or words(row) in alike)
    ]
    return [*made, *others]
