"""Writes docs/reference/benchmarks.md from recorded figures; measures nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench import layer_page, sequence_page
from bench.layer_page import each
from bench.markdown import number, ratio, table

Record = Mapping[str, Any]

#: Systems the figures stand beside: key in the anchors, name, and the key of their RAM.
SYSTEMS = (
    ("tflm_cmsis_nn", "TFLM with CMSIS-NN", "arena_used"),
    ("microtvm_cmsis_nn", "microTVM with CMSIS-NN", "ram_total"),
    ("microtvm_native_O3", "microTVM", "ram_total"),
)
#: The first of them, whose figures stand in most tables.
TFLM = SYSTEMS[0][0]

#: Key in the anchors of the best cycles for each multiply-accumulate that were published for Cortex-M4.
RECORDS = "records_m4_cycles_per_mac"

#: What `aboard compile` may take.
_COMPILE_SECONDS = 10

_TITLE = """# Benchmarks

One inference on a Cortex-M4, and what it needs, beside TensorFlow Lite Micro with CMSIS-NN; in parentheses aboard's
share of theirs. [Other cores](#instructions) and [other systems](#ram) follow, and [how it is
measured](#how-it-is-measured).

"""

_INTRODUCTION = """This page and `benchmarks.json` are written by one command, never by hand:

```sh
make bench
```

`make bench-check` measures `kws`, `vww`, `ic`, `ad`, `sww` and the [models with state](#models-with-state) again,
writes nothing, and fails where a figure is worse than recorded: instructions, RAM or flash by more than 1 %, stack by
10 %; or where a model with state no longer meets a goal. CI does so for m4 and m55 (`make
bench-check BOARDS="m4 m55"`). Where those models are not there, it says so and checks the package's own. What another
compiler makes than the one recorded here may be 10 % worse in instructions and flash.

## How it is measured

- **Instructions**: QEMU with `-icount shift=0`, which executes an instruction in a nanosecond of virtual time. A plugin
  of QEMU (`host/aboard/cycles/histogram.c`, built with this machine's compiler) counts every instruction of the image
  between the two readings of the counter that times a run, of the whole model and of each node: exact, and the same
  every time. A test holds it to what SysTick counts, within a tick. Where no plugin can be built, SysTick (or the
  core's own timer) tells them: exact to one tick, 25 to 63 instructions. The RPC is not timed.
- **Cycles** are estimated: every executed instruction times what it costs on the core, by a table
  (`host/aboard/cycles/core_times.toml`) with the sources below; LDM a cycle for each register and one more, loads
  behind loads in one cycle, taken branches with the refill of the pipeline (how often each was taken is counted), long
  products and divisions. The table knows memory without wait states, so the estimate has none: of flash, caches or a
  bus. Instructions whose condition does not hold count as if it did, unaligned loads as aligned ones. Where Arm
  publishes no times, the table is an approximation and says so.
- **Layers**: instructions and cycles of a node are those of its own steps, in the schedule that runs.
- **RAM**: the arena: all tensors, scratch buffers, inputs and outputs. The bound is what no plan for the same order
  of operators can beat.
- **Flash**: the model alone (its code, the kernels it uses, its constants), and the image with RPC server, startup
  code and drivers.
- **Stack**: high-water mark during the inference.
- **Verified**: each image runs 3 random inputs, one of all smallest and one of all largest values; every byte of its
  outputs is compared with the reference interpreter's.
- **Compilation**: seconds of one processor and most memory of `aboard compile` for m4, without building.
- The input is `random:0`, the target's options are the defaults (`-opt=balanced`), the build is that of `aboard
  deploy`.
- The other systems were measured in the same way, with the same compiler and emulator: TFLM (August 2026) with
  CMSIS-NN (June 2026), microTVM 0.14 with its ahead-of-time executor, with CMSIS-NN 4.1 and without. Their flash is
  the whole image and the model; TFLM's RAM is the arena without the interpreter's static data (272 to 560 bytes).
  Their cycles are estimated by the same table.
"""


def render(recorded: Record) -> str:
    """Returns the page.

    Args:
        recorded: Content of docs/benchmarks.json.
    """
    results, anchors, boards = recorded["results"], recorded["anchors"], recorded["boards"]
    parts = [
        _TITLE + _summary(results, anchors),
        _INTRODUCTION,
        _tools(recorded),
        "## Instructions\n\n" + _instructions(results, boards),
        _ratios(results, anchors, boards),
        _verified(results),
        "## Estimated cycles\n\n" + _cycles(results, recorded.get("timing", {})),
        _records(results, recorded.get("options", {}), anchors.get(RECORDS, {})),
        _options(results, recorded.get("options", {})),
        _formats(results, recorded.get("formats", {})),
        "## RAM\n\n" + _ram(results, anchors),
        _ram_by_core(results, boards),
        "## Flash\n\n" + _flash(results, anchors),
        "## Stack\n\n" + _stack(results, anchors),
        _compilation(recorded.get("compilation", {})),
        sequence_page.section(recorded["sequences"], sequence_page.peers()) if recorded.get("sequences") else "",
        *layer_page.sections(results, anchors, recorded.get("timing", {})),
        _prototypes(recorded.get("prototypes", ())),
    ]
    return "\n".join(part for part in parts if part)


def _summary(results: Record, anchors: Record) -> str:
    """Returns the figures on m4 of every model, with the shares of those of TFLM."""
    figures = (
        ("cycles", "cycles"),
        ("instructions", "insns"),
        ("ram_bytes", "arena_used"),
        ("image_flash_bytes", "flash_total"),
    )
    rows = []
    for model in results:
        cells = []
        for key, theirs in figures:
            ours, other = _figure(results, model, "m4", key), _anchor(anchors, TFLM, model, "m4", theirs)
            cells += [number(ours), f"{number(other)} ({ratio(ours, other)})" if other else "-"]
        rows.append([model, *cells])
    names = ("cycles, estimated", "instructions", "RAM, bytes", "flash of the image, bytes")
    return table(["model", *(cell for name in names for cell in (name, "TFLM"))], rows)


def _figure(results: Record, model: str, core: str, key: str) -> int | None:
    value = results.get(model, {}).get(core, {}).get(key)
    return None if value is None else int(value)


def _anchor(anchors: Record, system: str, model: str, core: str, key: str) -> int | None:
    value = anchors.get(system, {}).get(model, {}).get(core, {}).get(key)
    return None if value is None else int(value)


def _tools(recorded: Record) -> str:
    lines = [f"- {tool}: {version}" for tool, version in sorted(recorded["tools"].items())]
    boards = [f"- {core}: `{board}`" for core, board in recorded["boards"].items()]
    return (
        "Tools:\n\n" + "\n".join(lines) + "\n\nCores and the boards that stand for them:\n\n" + "\n".join(boards) + "\n"
    )


def _instructions(results: Record, boards: Record) -> str:
    rows = []
    for model, cores in results.items():
        cells = [_unless_refused(cores.get(core, {}), "instructions") for core in boards]
        rows.append([model, number(_macs(cores)), *cells])
    return table(["model", "MACs", *boards], rows)


def _macs(cores: Record) -> int | None:
    return next((int(record["macs"]) for record in cores.values() if "macs" in record), None)


def _ratios(results: Record, anchors: Record, boards: Record) -> str:
    parts = []
    for system, name, _ in SYSTEMS:
        cores = [core for core in boards if any(_anchor(anchors, system, m, core, "insns") for m in results)]
        rows = []
        for model in results:
            pairs = [
                (_figure(results, model, core, "instructions"), _anchor(anchors, system, model, core, "insns"))
                for core in cores
            ]
            if any(theirs for _, theirs in pairs):
                rows.append([model, *(f"{ratio(ours, theirs)} of {number(theirs)}" for ours, theirs in pairs)])
        if rows:
            text = f"Relative to {name} (below 1 is fewer instructions):\n\n"
            parts.append(text + table(["model", *cores], [[c.replace("- of -", "-") for c in row] for row in rows]))
    return "\n".join(parts)


def _verified(results: Record) -> str:
    rows = [
        (model, core, record["verified"])
        for model, cores in results.items()
        for core, record in cores.items()
        if "verified" in record
    ]
    if not rows:
        return ""
    wrong = [
        f"{model} on {core}: {found['differing_bytes']:,} differing bytes"
        for model, core, found in rows
        if found["differing_bytes"]
    ]
    references = ", ".join(sorted({found["reference"] for _, _, found in rows}))
    samples = sum(found["samples"] for _, _, found in rows)
    text = f"Verified against {references}: {len(rows)} rows, {samples} inferences, "
    return text + ("no byte differs.\n" if not wrong else "where these differ:\n\n- " + "\n- ".join(wrong) + "\n")


def _cycles(results: Record, timing: Record) -> str:
    cores = [core for core in timing if any("cycles" in results[m].get(core, {}) for m in results)]
    rows, shares = [], []
    for model, records in results.items():
        found = [_figure(results, model, core, "cycles") for core in cores]
        rows.append([model, *(number(value) for value in found)])
        shares.append([model, *(each(value, _macs(records)) for value in found)])
    sources = [
        [core, f"{found['mac_instruction']}: {1 / found['instructions_per_mac']:g}", found["basis"], found["source"]]
        for core, found in timing.items()
    ]
    return "\n".join(
        [
            table(["model", *cores], rows),
            "For each multiply-accumulate of the model file, those that were removed included:\n",
            table(["model", *cores], shares),
            "Where cycles come from, and the products that the best instruction adds up, for the core's bound:\n",
            table(["core", "best instruction", "basis", "source"], sources, left=4),
        ]
    )


def _records(results: Record, options: Record, records: Record) -> str:
    """Returns cycles for each multiply-accumulate on m4 beside the best published ones."""
    systems = [name for name in records if any(model in records[name] for model in results)]
    rows = []
    for model, cores in results.items():
        macs = _macs(cores)
        fastest = options.get(model, {}).get("m4", {}).get("speed", {}).get("cycles")
        ours = [_figure(results, model, "m4", "cycles"), fastest]
        if macs is None or ours[0] is None or not any(model in records[name] for name in systems):
            continue
        best = min(value for value in ours if value is not None) / macs
        theirs = [records[name].get(model) for name in systems]
        cells = ["-" if value is None else f"{value:.2f} ({best / value:.2f})" for value in theirs]
        rows.append([model, *(each(value, macs) for value in ours), *cells])
    if not rows:
        return ""
    text = """\
Cycles for each multiply-accumulate on Cortex-M4, beside the best that others published, measured on silicon; in
parentheses the share of theirs that the better of ours is. Ours are estimates without wait states, theirs have those
of their boards' flash: a ratio below 1 is no proof that a board would be faster.

"""
    return text + table(["model", "aboard", "aboard, `-opt=speed`", *systems], rows)


def _options(results: Record, options: Record) -> str:
    cores = dict.fromkeys(core for found in options.values() for core in found)
    return "\n".join(_options_on(core, results, options) for core in cores)


def _options_on(core: str, results: Record, options: Record) -> str:
    rows = []
    for model, found in ((model, by_core[core]) for model, by_core in options.items() if core in by_core):
        balanced = results.get(model, {}).get(core, {})
        for opt, record in {"size": found["size"], "balanced": balanced, "speed": found["speed"]}.items():
            figures = (record.get(key) for key in ("instructions", "cycles", "ram_bytes", "flash_bytes", "stack_bytes"))
            change = _change(record.get("instructions"), balanced.get("instructions"))
            rows.append([model, f"`{opt}`", *(number(value) for value in figures), change])
    text = f"What `-opt` changes, on {core}; the last column is the change of instructions:\n\n"
    head = ["model", "`-opt`", "instructions", "cycles", "RAM", "flash", "stack", "change"]
    return text + table(head, rows, left=2)


def _change(instructions: int | None, balanced: int | None) -> str:
    return "-" if not instructions or not balanced else f"{100 * (instructions / balanced - 1):+.1f} %"


def _formats(results: Record, formats: Record) -> str:
    rows = []
    for model, onnx in formats.items():
        for name, record in (("TFLite", results.get(model, {}).get("m4", {})), ("ONNX", onnx)):
            figures = (record.get(key) for key in ("instructions", "ram_bytes", "flash_bytes"))
            rows.append([model, name, *(number(value) for value in figures)])
    if not rows:
        return ""
    text = """The same network as a TFLite file and as an ONNX file with QuantizeLinear and DequantizeLinear, on m4.
Weights and scales are equal, and so are the bytes of all results:

"""
    return text + table(["model", "file", "instructions", "RAM", "flash"], rows, left=2)


def _compilation(found: Record) -> str:
    rows = []
    for model, record in found.items():
        seconds = math.ceil(record["seconds"])
        rows.append([model, "yes" if record["seconds"] < _COMPILE_SECONDS else "no", str(seconds), _megabytes(record)])
    if not rows:
        return ""
    text = "## Compilation\n\nOf `aboard compile` for m4; seconds are rounded up, memory to 10 MB.\n\n"
    return text + table(["model", "under 10 s", "seconds", "most memory"], rows, left=2)


def _megabytes(record: Record) -> str:
    return f"{math.ceil(record['peak_bytes'] / 10_000_000) * 10} MB"


def _prototypes(rows: Sequence[Record]) -> str:
    if not rows:
        return ""
    text = """## Kernels by themselves

Prototypes of kernels, each on one layer by itself, with the same count and the same table of cycles. They preceded the
kernels of this package, which compute the same layers above in the schedule of a model.

"""
    cells = [
        [
            row["name"],
            row["core"],
            *(number(row[key]) for key in ("macs", "instructions", "cycles")),
            each(row["instructions"], row["macs"]),
            each(row["cycles"], row["macs"]),
        ]
        for row in rows
    ]
    head = ["kernel", "core", "MACs", "instructions", "cycles", "instructions per MAC", "cycles per MAC"]
    return text + table(head, cells, left=2)


def _ram(results: Record, anchors: Record) -> str:
    names = [name for _, name, _ in SYSTEMS]
    rows = []
    for model in results:
        ours = _figure(results, model, "m4", "ram_bytes")
        theirs = [_anchor(anchors, system, model, "m4", key) for system, _, key in SYSTEMS]
        cells = [f"{number(value)} ({ratio(ours, value)})" if value else "-" for value in theirs]
        rows.append([model, number(ours), number(_figure(results, model, "m4", "ram_lower_bound_bytes")), *cells])
    text = "Bytes, on m4. In parentheses: the share of theirs that aboard needs.\n\n"
    return text + table(["model", "aboard", "bound", *names], rows)


def _ram_by_core(results: Record, boards: Record) -> str:
    rows = [
        [model, *(_unless_refused(records.get(core, {}), "ram_bytes") for core in boards)]
        for model, records in results.items()
    ]
    text = (
        "Bytes of aboard by core, with the default options. Kernels of Helium lay out maps and scratch for speed.\n\n"
    )
    return text + table(["model", *boards], rows)


def _unless_refused(record: Record, figure: str) -> str:
    return "does not fit" if "refused" in record else number(record.get(figure))


def _flash(results: Record, anchors: Record) -> str:
    rows = []
    for model in results:
        flash, weights, image = (
            _figure(results, model, "m4", key) for key in ("flash_bytes", "weights_bytes", "image_flash_bytes")
        )
        code = None if flash is None or weights is None else flash - weights
        rest = None if image is None or weights is None else image - weights
        theirs = _anchor(anchors, TFLM, model, "m4", "flash_total")
        without = _anchor(anchors, TFLM, model, "m4", "flash_ex_model")
        rows.append([model, *(number(value) for value in (flash, weights, code, image, rest, theirs, without))])
    head = ["model", "model alone", "its constants", "its code", "image", "image without constants", "TFLM image"]
    text = "Bytes, on m4. TFLM is with CMSIS-NN; its last column leaves the model file out.\n\n"
    return text + table([*head, "TFLM without model"], rows)


def _stack(results: Record, anchors: Record) -> str:
    rows = []
    for model in results:
        theirs = _anchor(anchors, TFLM, model, "m4", "stack_invoke")
        ours = [_figure(results, model, core, "stack_bytes") for core in ("m3", "m4", "m55")]
        rows.append([model, *(number(value) for value in ours), number(theirs)])
    return "Bytes.\n\n" + table(["model", "m3", "m4", "m55", "TFLM with CMSIS-NN, m4"], rows)
