"""Measures, and writes docs/benchmarks.json and docs/reference/benchmarks.md; or compares with what is recorded.

python tests/bench/run.py                      all models on all boards
python tests/bench/run.py --models kws ad      these only; the rest stays as recorded
python tests/bench/run.py --boards m4 m55      likewise, by core or by name: `arm/mps2_an386`
python tests/bench/run.py --check              measures, writes nothing, fails where a figure is worse than recorded
python tests/bench/run.py --page               only writes the page again from what is recorded

Models lie in ABOARD_MODELS or ../shared/models (the package's own is always there), other systems' figures in
ABOARD_ANCHORS or ../shared/bench/anchors.json; without the latter those recorded last time are used. `--check` takes
the models of `measure.CHECKED` that are there, and the package's own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from bench import measure, page, sequence_page  # noqa: E402  likewise
from support import models  # noqa: E402  likewise

RECORD = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
PROTOTYPES = ROOT / "tests" / "bench" / "prototypes.json"

#: Rows that are measured at the same time: each is a compiler, then an emulator, of one thread.
AT_ONCE = 2

#: Figures that `--check` holds to what is recorded, with the growth that is let pass. The stack moves with every change
#: of a compiler's mind, in steps of a few words.
GUARDED = {"instructions": 1.01, "ram_bytes": 1.01, "flash_bytes": 1.01, "stack_bytes": 1.1}

#: The same for what another compiler makes than the one that was recorded; RAM does not depend on it.
OTHER_COMPILER = {**GUARDED, "instructions": 1.1, "flash_bytes": 1.1, "stack_bytes": 1.5}

#: How much more an ONNX file may need than the TFLite file of the same network, of each figure.
FORMATS = 1.02

#: Instructions of the longest tick of a counter, by which two counts of the same may differ.
TICK = 63


def worse(record: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Returns what is worse in a record than it was, one line a figure."""
    if "refused" in record and "refused" not in before:
        return [f"refused: {record['refused']}"]
    lines = []
    for figure, allowed in (GUARDED if _same_compiler(record, before) else OTHER_COMPILER).items():
        now, then = record.get(figure), before.get(figure)
        slack = TICK if figure == "instructions" else 0
        if now is not None and then is not None and now > then * allowed + slack:
            lines.append(f"{figure} {now:,}, recorded {then:,}: {100 * (now / then - 1):+.1f} %")
    return lines


def of_formats(as_onnx: Mapping[str, Any], as_tflite: Mapping[str, Any]) -> list[str]:
    """Returns what differs too much between records of two files of one network, one line a figure."""
    lines = []
    for figure in measure.BY_FORMAT:
        ours, theirs = as_onnx[figure], as_tflite[figure]
        slack = TICK if figure == "instructions" else 0
        if max(ours, theirs) > min(ours, theirs) * FORMATS + slack:
            lines.append(f"{figure} {ours:,} as ONNX, {theirs:,} as TFLite: {100 * (ours / theirs - 1):+.1f} %")
    return lines


def _same_compiler(record: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return bool(record.get("toolchain") == before.get("toolchain"))


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
    """Returns the part of the anchors that the page shows, with TFLM's figures of `peers.json`."""
    keys = (*(system for system, _, _ in page.SYSTEMS), "layers", page.RECORDS)
    found = {key: anchors[key] for key in keys if key in anchors}
    tflm = {model: dict(cores) for model, cores in found.get(page.TFLM, {}).items()}
    for model, cores in sequence_page.peers()["by_core"].items():
        for core, figures in cores.items():
            known = tflm.setdefault(model, {})
            known[core] = {**known.get(core, {}), **figures}
    return {**found, page.TFLM: tflm}


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


def _by_options(names: Sequence[str], cores: Sequence[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """Returns for each model what is recorded of `-opt` by core, measured anew on some cores."""
    measured_on = [core for core in measure.BY_OPTION if core in cores]
    recorded_of = before.get("options", {})
    return {n: recorded_of.get(n, {}) | {core: measure.by_options(n, core) for core in measured_on} for n in names}


def write(found: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Writes record and page.

    Args:
        found: What was measured: `results`, `tools`, `options`, `compilation`.
        before: What was recorded.
    """
    results = found["results"]
    content = {
        "tools": found["tools"],
        "boards": measure.BOARDS,
        "timing": measure.timing(),
        "results": {
            name: {c: results[name][c] for c in measure.BOARDS if c in results[name]}
            for name in measure.MODELS
            if name in results
        },
        "options": {name: found["options"][name] for name in measure.CHECKED if name in found.get("options", {})},
        "formats": {name: found["formats"][name] for name in measure.AS_ONNX if name in found.get("formats", {})},
        "compilation": {
            name: found["compilation"][name] for name in measure.CHECKED if name in found.get("compilation", {})
        },
        "prototypes": json.loads(PROTOTYPES.read_text(encoding="utf-8")) if PROTOTYPES.is_file() else [],
        "anchors": shown(measure.anchors() or before["anchors"]),
        "sequences": before.get("sequences", {}),
    }
    RECORD.write_text(compact(content) + "\n", encoding="utf-8")
    PAGE.write_text(page.render(content), encoding="utf-8")


def measured(
    names: Sequence[str], cores: Sequence[str], measure_one: Callable[[str, str], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Returns records of all pairs, a few at a time, and says on stderr how far it is."""

    def one(pair: tuple[str, str]) -> dict[str, Any]:
        record = measure_one(*pair)
        said = record.get("refused") or f"{record['instructions']:,} instructions, {record['ram_bytes']:,} bytes of RAM"
        print(f"{pair[0]} on {pair[1]}: {said}", file=sys.stderr, flush=True)
        return record

    pairs = [(name, core) for name in names for core in cores]
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, os.cpu_count() or 1)) as pool:
        records = list(pool.map(one, pairs))
    results: dict[str, dict[str, Any]] = {}
    for (name, core), record in zip(pairs, records, strict=True):
        results.setdefault(name, {})[core] = record
    return results


def check(results: Mapping[str, Mapping[str, Any]], before: Mapping[str, Any]) -> int:
    """Prints what is worse than recorded; returns the exit code."""
    rows = [
        (name, core, record, before["results"].get(name, {}).get(core, {}))
        for name, cores in results.items()
        for core, record in cores.items()
    ]
    other = {r["toolchain"] for _, _, r, then in rows if then and "toolchain" in r and not _same_compiler(r, then)}
    for compiler in sorted(other):
        print(f"{compiler} is not the compiler that was recorded: instructions and flash may differ by 10 % from its.")
    problems = [f"{name} on {core}: {line}" for name, core, record, then in rows for line in worse(record, then)]
    problems += [f"{name} on {core}: is not recorded. Say `make bench`" for name, core, _, then in rows if not then]
    print("\n".join(problems) if problems else f"{len(rows)} rows: no figure is worse than recorded.")
    return 1 if problems else 0


def check_formats(results: Mapping[str, Mapping[str, Any]], measure_one: Callable[[str], dict[str, Any]]) -> int:
    """Prints where an ONNX file needs more or less than the TFLite file of the same network; returns the exit code."""
    names = [name for name in measure.AS_ONNX if "instructions" in results.get(name, {}).get("m4", {})]
    found = [f"{name}: {line}" for name in names for line in of_formats(measure_one(name), results[name]["m4"])]
    print("\n".join(found) if found else f"{len(names)} ONNX files: as their TFLite files.")
    return 1 if found else 0


def checked_models() -> list[str]:
    """Returns the models to check: the package's own, and the others where they are there; else that is said."""
    found = models.available(measure.CHECKED)
    if not found:
        wanted = ", ".join(measure.CHECKED)
        print(
            f"The models {wanted} are not here: only {models.SHIPPED} is checked. "
            "To check them set ABOARD_MODELS to their folder"
        )
    return [*found, models.SHIPPED]


def _core(text: str) -> str:
    """Returns the core that a word of the command line means, by its name or its board's."""
    named = {board: core for core, board in measure.BOARDS.items()}
    if text not in measure.BOARDS and text not in named:
        raise argparse.ArgumentTypeError(f"got {text}, expected one of {', '.join([*measure.BOARDS, *named])}")
    return named.get(text, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes, or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    available = measure.available()
    parser.add_argument("--models", nargs="+", choices=available)
    parser.add_argument("--boards", nargs="+", type=_core, default=list(measure.BOARDS), metavar="BOARD")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, write nothing")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page again")
    options = parser.parse_args(arguments)
    before = recorded()
    if options.page:
        write(before, before)
        return 0
    if options.check:
        results = measured(options.models or checked_models(), options.boards, measure.quickly)
        return max(check(results, before), check_formats(results, measure.as_onnx))
    names = options.models or available
    results = measured(names, options.boards, measure.measure)
    merged = {name: {**before["results"].get(name, {}), **results.get(name, {})} for name in measure.MODELS}
    kept = {name: cores for name, cores in merged.items() if cores}
    described = [name for name in names if name in measure.CHECKED]
    found = {
        "results": kept,
        "tools": tools(kept),
        "options": {**before.get("options", {}), **_by_options(described, options.boards, before)},
        "formats": {**before.get("formats", {}), **{n: measure.as_onnx(n) for n in names if n in measure.AS_ONNX}},
        "compilation": {**before.get("compilation", {}), **{name: measure.compilation(name) for name in described}},
    }
    write(found, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
