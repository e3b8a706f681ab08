"""Writes docs/benchmarks.md from recorded figures; measures nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

Record = Mapping[str, Any]

#: Systems the figures stand beside: key in the anchors, name, and the key of their RAM.
SYSTEMS = (
    ("tflm_cmsis_nn", "TFLM with CMSIS-NN", "arena_used"),
    ("microtvm_cmsis_nn", "microTVM with CMSIS-NN", "ram_total"),
    ("microtvm_native_O3", "microTVM", "ram_total"),
)
_TFLM = SYSTEMS[0][0]

_INTRODUCTION = """# Benchmarks

Exact instructions of one inference, and what the model takes in flash and RAM, beside what other systems need for the
same models. This page and `benchmarks.json` are written by one command, never by hand:

```sh
make bench
```

`make bench-check` measures again, writes nothing, and fails where a figure is worse than recorded: RAM by a byte,
instructions by more than 1 %, flash by 2 %, stack by 10 %.

## How it is measured

- **Instructions**: QEMU with `-icount shift=0`, where an instruction takes one nanosecond of virtual time and
  SysTick (or the core's own timer) counts it: exact to one tick, and the same every time. They are not cycles:
  multiplications, loads and branches cost more than one cycle on a real core, and cores differ. The RPC is not
  timed.
- **RAM**: the arena: all tensors, scratch buffers, inputs and outputs. The bound is what no plan for the same order
  of operators can beat.
- **Flash**: the model alone (its code, the kernels it uses, its constants), and the image with RPC server, startup
  code and drivers.
- **Stack**: high-water mark during the inference.
- The input is `random:0`, the target's options are the defaults (`-opt=balanced`), the build is that of `aboard
  deploy`.
- The other systems were measured in the same way, with the same compiler and emulator: TFLM (August 2026) with
  CMSIS-NN (June 2026), microTVM 0.14 with its ahead-of-time executor, with CMSIS-NN 4.1 and without. Their flash is
  the whole image and the model; TFLM's RAM is the arena without the interpreter's static data (272 to 560 bytes).
"""


def render(recorded: Record) -> str:
    """Returns the page.

    Args:
        recorded: Content of docs/benchmarks.json.
    """
    results, anchors, boards = recorded["results"], recorded["anchors"], recorded["boards"]
    parts = [
        _INTRODUCTION,
        _tools(recorded),
        "## Instructions\n\n" + _instructions(results, boards),
        _ratios(results, anchors, boards),
        "## RAM\n\n" + _ram(results, anchors),
        "## Flash\n\n" + _flash(results, anchors),
        "## Stack\n\n" + _stack(results, anchors),
        *_layer_sections(results, anchors),
    ]
    return "\n".join(part for part in parts if part)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Returns a Markdown table; all columns but the first `left` are aligned to the right."""
    rule = [*["---"] * left, *["---:"] * (len(head) - left)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows]) + "\n"


def number(value: int | None) -> str:
    """Returns a number with thousands separated; a dash for none."""
    return "-" if value is None else f"{value:,}"


def ratio(ours: int | None, theirs: int | None) -> str:
    """Returns how much of theirs ours is, with two digits; a dash where one is missing."""
    return "-" if not ours or not theirs else f"{ours / theirs:.2f}"


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
        cells = [
            "does not fit" if "refused" in cores.get(c, {}) else number(_figure(results, model, c, "instructions"))
            for c in boards
        ]
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


def _flash(results: Record, anchors: Record) -> str:
    rows = []
    for model in results:
        flash, weights, image = (
            _figure(results, model, "m4", key) for key in ("flash_bytes", "weights_bytes", "image_flash_bytes")
        )
        code = None if flash is None or weights is None else flash - weights
        rest = None if image is None or weights is None else image - weights
        theirs = _anchor(anchors, _TFLM, model, "m4", "flash_total")
        without = _anchor(anchors, _TFLM, model, "m4", "flash_ex_model")
        rows.append([model, *(number(value) for value in (flash, weights, code, image, rest, theirs, without))])
    head = ["model", "model alone", "its constants", "its code", "image", "image without constants", "TFLM image"]
    text = "Bytes, on m4. TFLM is with CMSIS-NN; its last column leaves the model file out.\n\n"
    return text + table([*head, "TFLM without model"], rows)


def _stack(results: Record, anchors: Record) -> str:
    rows = []
    for model in results:
        theirs = _anchor(anchors, _TFLM, model, "m4", "stack_invoke")
        ours = [_figure(results, model, core, "stack_bytes") for core in ("m3", "m4", "m55")]
        rows.append([model, *(number(value) for value in ours), number(theirs)])
    return "Bytes.\n\n" + table(["model", "m3", "m4", "m55", "TFLM with CMSIS-NN, m4"], rows)


def _layer_sections(results: Record, anchors: Record) -> list[str]:
    parts: list[str] = []
    for model, cores in results.items():
        for core, record in cores.items():
            theirs = anchors.get("layers", {}).get(model, {}).get(core)
            if record.get("layers"):
                title = f"### {model} on {core}\n\n"
                parts.append(title + _layer_table(record["layers"], theirs or []))
    if not parts:
        return []
    text = """## Layer by layer

Instructions of each operator, beside those of TFLM with CMSIS-NN. An operator that stands for several of the model file
stands beside their sum; one that needs no code has 0.
"""
    return [text, *parts]


def _layer_table(layers: Sequence[Record], theirs: Sequence[Record]) -> str:
    taken: set[int] = set()
    rows: list[tuple[int, list[str]]] = []
    for layer in layers:
        sources = [source for source in layer["sources"] if source not in taken]
        taken.update(sources)
        anchor = sum(theirs[s]["insns"] for s in sources if s < len(theirs)) or None
        shape = theirs[sources[0]]["shape"] if sources and sources[0] < len(theirs) else ""
        cells = [layer["op"], shape, number(layer["macs"] or None), number(layer["instructions"]), number(anchor)]
        rows.append((sources[0] if sources else 0, [*cells, ratio(layer["instructions"], anchor)]))
    rows += [
        (index, [anchor["op"].lower(), anchor["shape"], "-", "0", number(anchor["insns"]), "-"])
        for index, anchor in enumerate(theirs)
        if index not in taken
    ]
    numbered = [[str(index), *cells] for index, cells in sorted(rows, key=itemgetter(0))]
    return table(["node", "operator", "shape", "MACs", "aboard", "TFLM", "ratio"], numbered, left=3)
