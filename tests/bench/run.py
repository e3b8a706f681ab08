"""Measures, and writes docs/benchmarks.json and docs/benchmarks.md; or compares with what is recorded.

python tests/bench/run.py                      all models on all boards
python tests/bench/run.py --models kws ad      these only; the rest stays as recorded
python tests/bench/run.py --check              measures, writes nothing, fails where a figure is worse than recorded
python tests/bench/run.py --page               only writes the page again from what is recorded

Models lie in ABOARD_MODELS or ../shared/models (the package's own is always there), other systems' figures in
ABOARD_ANCHORS or ../shared/bench/anchors.json; without the latter those recorded last time are used.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from bench import measure, page  # noqa: E402  likewise
from support import models  # noqa: E402  likewise

RECORD = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"

#: Figures that `--check` holds to what is recorded, with the growth that is let pass: of size and stack a change of
#: compiler may cost a little, instructions and RAM are exact.
GUARDED = {"instructions": 1.01, "ram_bytes": 1.0, "flash_bytes": 1.02, "stack_bytes": 1.1}


def worse(record: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Returns what is worse in a record than it was, one line a figure."""
    if "refused" in record and "refused" not in before:
        return [f"refused: {record['refused']}"]
    lines = []
    for figure, allowed in GUARDED.items():
        now, then = record.get(figure), before.get(figure)
        if now is not None and then is not None and now > then * allowed:
            lines.append(f"{figure} {now:,}, recorded {then:,}")
    return lines


def recorded() -> dict[str, Any]:
    """Returns what is recorded; empty before the first time."""
    if not RECORD.is_file():
        return {"results": {}, "anchors": {}, "tools": {}}
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def tools(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Returns the versions of what was measured with."""
    compilers = {r["toolchain"] for cores in results.values() for r in cores.values() if "toolchain" in r}
    return {
        "aboard": aboard.__version__,
        "QEMU": measure.qemu_version(),
        "compilers": ", ".join(sorted(compilers)),
        "host": platform.machine(),
    }


def shown(anchors: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the part of the anchors that the page shows."""
    return {key: anchors[key] for key in (*(system for system, _, _ in page.SYSTEMS), "layers") if key in anchors}


def compact(content: Any, indent: str = "") -> str:
    """Returns JSON with a line for each record that holds only plain values, so that changes read well."""
    values = content.values() if isinstance(content, dict) else content if isinstance(content, list) else []
    if not any(isinstance(value, dict | list) for value in values):
        return json.dumps(content)
    inner = indent + " "
    if isinstance(content, dict):
        lines = [f"{inner}{json.dumps(key)}: {compact(value, inner)}" for key, value in content.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + json.dumps(value) for value in content) + f"\n{indent}]"


def write(results: dict[str, dict[str, Any]], before: Mapping[str, Any], measured_with: Mapping[str, str]) -> None:
    """Writes record and page."""
    order = [name for name in measure.MODELS if name in results]
    content = {
        "tools": measured_with,
        "boards": measure.BOARDS,
        "results": {name: {c: results[name][c] for c in measure.BOARDS if c in results[name]} for name in order},
        "anchors": shown(measure.anchors() or before["anchors"]),
    }
    RECORD.write_text(compact(content) + "\n", encoding="utf-8")
    PAGE.write_text(page.render(content), encoding="utf-8")


def measured(names: Sequence[str], cores: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns records of all pairs, and says on stderr how far it is."""
    results: dict[str, dict[str, Any]] = {}
    for name in names:
        for core in cores:
            record = measure.measure(name, core)
            results.setdefault(name, {})[core] = record
            said = (
                record.get("refused")
                or f"{record['instructions']:,} instructions, {record['ram_bytes']:,} bytes of RAM"
            )
            print(f"{name} on {core}: {said}", file=sys.stderr, flush=True)
    return results


def check(results: Mapping[str, Mapping[str, Any]], before: Mapping[str, Any]) -> int:
    """Prints what is worse than recorded; returns the exit code."""
    problems = [
        f"{name} on {core}: {line}"
        for name, cores in results.items()
        for core, record in cores.items()
        for line in worse(record, before["results"].get(name, {}).get(core, {}))
    ]
    print("\n".join(problems) if problems else "No figure is worse than recorded.")
    return 1 if problems else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes, or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    available = models.available(measure.MODELS)
    parser.add_argument("--models", nargs="+", choices=available, default=available)
    parser.add_argument("--cores", nargs="+", choices=list(measure.BOARDS), default=list(measure.BOARDS))
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, write nothing")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page again")
    options = parser.parse_args(arguments)
    before = recorded()
    if options.page:
        write(before["results"], before, before["tools"])
        return 0
    results = measured(options.models, options.cores)
    if options.check:
        return check(results, before)
    merged = {name: {**before["results"].get(name, {}), **results.get(name, {})} for name in measure.MODELS}
    kept = {name: cores for name, cores in merged.items() if cores}
    write(kept, before, tools(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
