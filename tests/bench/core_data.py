"""The files of measured figures that the cost model reads: one per core, in `host/aboard/kernels/select/data`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aboard.kernels.select.measured import FOLDER

Row = Mapping[str, Any]


def read(core: str) -> dict[str, Any]:
    """Returns the file of a core; without rows where there is none yet."""
    path = FOLDER / f"{core}.json"
    if path.is_file():
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
    return {"core": core, "errors": {}, "kernels": [], "code": []}


def rows(part: str, cores: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the rows of a part of the files, `kernels` or `code`, each with its core."""
    return [{"core": core, **row} for core in cores for row in read(core)[part]]


def write(core: str, **parts: Any) -> None:
    """Replaces parts of the file of a core: `errors`, `kernels`, `code`; rows lose their core, which the file has."""
    content = read(core) | {name: _without_core(part) for name, part in parts.items()}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{core}.json").write_text(text(content), encoding="utf-8")


def changes(before: Row, after: Row) -> list[str]:
    """Returns what errors were and are: a line for whole models, and one for each kernel that was fitted anew."""
    core, names = after["core"], ("instructions", "cycles")
    whole = [[content["errors"].get(name, {}).get("median") for content in (before, after)] for name in names]
    lines = [_line(f"{core}: whole models", names, whole)]
    old = {_kernel(row): row for row in before["kernels"]}
    for row in after["kernels"]:
        then = old.get(_kernel(row), {})
        if then != row:
            errors = [[each.get(key) for each in (then, row)] for key in ("error", "cycles_error")]
            layers = f"{then.get('layers', 0)} -> {row['layers']} layers"
            lines.append(_line(f"{core}: {' '.join(filter(None, _kernel(row)))}, {layers}", names, errors))
    return lines


def _kernel(row: Row) -> tuple[str, ...]:
    return row["op"], row["implementation"], row["function"]


def _line(subject: str, names: Sequence[str], errors: Sequence[Sequence[float | None]]) -> str:
    told = [" -> ".join("none" if each is None else f"{100 * each:.1f} %" for each in pair) for pair in errors]
    return f"{subject}, error of {', '.join(f'{name} {text}' for name, text in zip(names, told, strict=True))}"


def text(content: Row) -> str:
    """Returns the text of a file: a line for each row, so that changes read well."""
    lines = []
    for name, part in content.items():
        value = _listed(part) if isinstance(part, list) else json.dumps(part)
        lines.append(f" {json.dumps(name)}: {value}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _listed(part: Sequence[Row]) -> str:
    return "[\n" + ",\n".join("  " + json.dumps(row) for row in part) + "\n ]"


def _without_core(part: Any) -> Any:
    return [{k: v for k, v in row.items() if k != "core"} for row in part] if isinstance(part, list) else part
