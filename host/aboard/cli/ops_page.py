"""Makes docs/reference/operators.md: `python -m aboard.cli.ops_page > docs/reference/operators.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from aboard.importers import tflite_operators
from aboard.reports import operators
from aboard.reports.operators import Operator

_HEAD = """# Operators

These operators of TFLite files are supported. `aboard ops` prints the table, `aboard ops NAME` what is below for one
operator, and `--core` the kernels of one core. This page is made from the registries: `make docs-ops`.

Element types are those of the operands: `s8` is int8, `u8` uint8, `f32` float32, and so on. Every operator runs on
every core; the third column names the instruction sets for which it has faster kernels."""

_RULES = """## Rules

An operator that breaks a rule is refused, with a message that names the operator and what to do. `...` stands for a
value of the model. [Your own model](../how-to/bring_your_own_model.md#what-a-refusal-means) explains the most
frequent refusals. Where TensorFlow Lite Micro refuses the same, the rule says so."""


def markdown() -> str:
    """Returns docs/reference/operators.md."""
    found = operators.operators()
    lines = [_HEAD, "", *_cores(), "", "| operator | element types | faster kernels |", "|---|---|---|"]
    lines += [f"| {_link(each)} | {each.short_types or '-'} | {' '.join(each.faster)} |" for each in found]
    lines += ["", "## Not supported", "", *_missing(), "", _RULES]
    for operator in found:
        lines += ["", *_section(operator)]
    return "\n".join(lines) + "\n"


def _cores() -> Iterator[str]:
    yield "| kernels | cores |"
    yield "|---|---|"
    for key in operators.FASTER:
        yield f"| `{key}` | {', '.join(operators.cores(key))} |"


def _missing() -> Iterator[str]:
    count, missing = len(tflite_operators.TFLITE_MICRO), tflite_operators.missing()
    yield f"{count - len(missing)} of the {count} operators of TensorFlow Lite Micro are supported."
    if missing:
        yield ""
        yield "| operator | reason |"
        yield "|---|---|"
        yield from (f"| {name.removeprefix('CUSTOM ')} | {reason} |" for name, reason in missing.items())


def _link(operator: Operator) -> str:
    return f"[{operator.title}](#{operator.title.lower()})"


def _section(operator: Operator) -> Iterator[str]:
    yield f"### {operator.title}"
    yield ""
    if operator.types:
        yield f"- Element types: {'; '.join(operator.types)}"
    if operator.ops:
        yield f"- Ops: {', '.join(f'`{name}`' for name in operator.ops)}"
    else:
        yield f"- Becomes {operator.becomes}"
    for key, names in operator.kernels.items():
        yield f"- Kernels `{key}`: {', '.join(names)}"
    if operator.rules:
        yield "- Refused unless:"
        yield from (f"    - {rule.replace('*', chr(92) + '*')}" for rule in operator.rules)


if __name__ == "__main__":
    sys.stdout.write(markdown())
