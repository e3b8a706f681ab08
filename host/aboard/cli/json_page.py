"""Makes docs/reference/json.md from the schemas: `python -m aboard.cli.json_page > docs/reference/json.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from aboard.cli.schema import RESULTS
from aboard.cli.schema_result import ErrorResult

_HEAD = """# JSON

Every command takes `--json` and then prints exactly one JSON object on stdout; logs go to stderr. A command that fails
before it has a result prints [an error](#error) and ends with the exit code named there. `aboard verify` prints its
result also where bytes differ, and exits with 1.

Every key is always there; one that does not apply is `null`. The tests check the output of every command against these
schemas. This page is made from `host/aboard/cli/schema*.py`: `make docs-json`."""


def markdown() -> str:
    """Returns docs/reference/json.md."""
    parts = [_HEAD]
    shown: set[str] = set()
    for command, result in RESULTS.items():
        parts.append(f"\n## aboard {command}\n")
        parts.extend(_tables(result, shown))
    parts.append("\n## Error\n")
    parts.extend(_tables(ErrorResult, shown))
    return "\n".join(parts).replace("\n\n\n", "\n\n")


def _tables(result: type[BaseModel], shown: set[str]) -> Iterator[str]:
    schema = result.model_json_schema()
    yield _table(schema)
    for name, definition in schema.get("$defs", {}).items():
        if name not in shown:
            shown.add(name)
            yield f"\n### {name}\n"
            yield f"{_one_line(definition.get('description', ''))}\n"
            yield _table(definition)


def _table(schema: Mapping[str, Any]) -> str:
    rows = ["| key | type | meaning |", "|---|---|---|"]
    for key, field in schema["properties"].items():
        rows.append(f"| `{key}` | {_type(field)} | {_one_line(field.get('description', ''))} |")
    return "\n".join(rows) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _type(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(choice) for choice in field["anyOf"])
    kind = field.get("type", "any")
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, Mapping) and values else "object"
    return str(kind)


if __name__ == "__main__":
    sys.stdout.write(markdown())
