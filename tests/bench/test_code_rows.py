"""Rows of code sizes that a new measurement replaces, and those that it keeps."""

from __future__ import annotations

from bench import code_rows


def row(function: str, variant: str = "", instance: int = 0) -> code_rows.Row:
    return {"opt": "size", "function": function, "variant": variant, "instance": instance, "shared": {}}


def test_rows_of_functions_and_variants_of_other_models_stay() -> None:
    made = [row("conv", "words=2 rest=0", 10), row("pool", "padded=1", 20)]
    known = [
        row("conv", "words=2 rest=0", 11),  # measured again
        row("conv", "words=3 rest=0", 12),
        row("pool", "", 21),  # the function has other variants today
        row("lstm", "", 30),
    ]
    assert code_rows.kept(made, known) == [*made, known[1], known[3]]


def test_samples_add_only_functions_that_the_table_does_not_have() -> None:
    known = [{"function": "", "instance": 0}, {"function": "f", "instance": 8}]
    more = [{"function": "", "instance": 1}, {"function": "f", "instance": 9}, {"function": "g", "instance": 7}]
    assert code_rows.with_new_functions(known, more) == [*known, more[2]]
