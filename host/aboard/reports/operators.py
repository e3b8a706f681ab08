"""The operators of model files: element types, kernels, rules. Everything is read from the registries.

`aboard ops` and docs/reference/operators.md show it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aboard import ops
from aboard.boards import cpu
from aboard.errors import InputError, TargetError, did_you_mean
from aboard.importers import tflite_operators, tflite_shapes, tflite_state, tflite_tensors
from aboard.ir import DType
from aboard.kernels import registry as kernels
from aboard.target import Target

#: Key of the kernels that every core runs.
PORTABLE = "portable"

#: Keys that name kernels for some cores, the slowest first.
FASTER = ("arm_thumb1", "arm_mla", "riscv_v", "arm_dsp", "arm_mve")

#: Types that a tensor can have at run time.
_EVERY = tuple(dtype.value for dtype in DType if dtype is not DType.FLOAT16)

_RULES = Path(ops.__file__).with_name("refusals.json")


@dataclass(frozen=True)
class Operator:
    """An operator of TFLite files.

    Attributes:
        name: Its name in the schema; custom operators begin with `CUSTOM `.
        types: Element types in words, each beginning with that of operand 0; empty for operators without tensors.
        ops: The ops that compute it; empty if it computes nothing on the device.
        becomes: What it becomes where no op of its own computes it; empty for others.
        kernels: Names of the kernels, by the key that a target needs.
        rules: What is refused otherwise: `<what>: <what it must be>`.
        in_tflite_micro: True if TensorFlow Lite Micro has it too.
    """

    name: str
    types: tuple[str, ...]
    ops: tuple[str, ...]
    becomes: str
    kernels: Mapping[str, tuple[str, ...]]
    rules: tuple[str, ...]
    in_tflite_micro: bool

    @property
    def title(self) -> str:
        """Its name as tables show it."""
        return self.name.removeprefix("CUSTOM ")

    @property
    def faster(self) -> tuple[str, ...]:
        """Keys with kernels of their own beside the portable ones."""
        return tuple(key for key in FASTER if key in self.kernels)

    @property
    def short_types(self) -> str:
        """Types of operands as kernels' names have them: `s8 s16 f32`; `all` for every type."""
        words = {word.rstrip(",") for text in self.types for word in text.partition(" to ")[0].split()}
        found = [dtype.value for dtype in DType if dtype.value in words]
        return "all" if words >= set(_EVERY) else " ".join(map(short, found))


def short(dtype: str) -> str:
    """Returns the short name of an element type: `s8` for int8, `f32` for float32."""
    for word, letter in (("uint", "u"), ("int", "s"), ("float", "f")):
        if dtype.startswith(word):
            return letter + dtype.removeprefix(word)
    return dtype


def operators(names: Sequence[str] = (), target: Target | None = None) -> list[Operator]:
    """Returns the operators that are read, sorted by name.

    Args:
        names: Only these, in this order; in any case, `CUSTOM ` may be left out. Empty for all.
        target: Kernels that this target cannot run are left out; None for the kernels of all targets.

    Raises:
        InputError: No operator has the name, or it is not read; the message has the reason.
    """
    known = tflite_operators.read() + tflite_operators.folded()
    wanted = [_found(name, known) for name in names] or sorted(known, key=lambda name: name.removeprefix("CUSTOM "))
    return [_operator(name, target) for name in wanted]


def of_core(name: str) -> Target:
    """Returns the target for a core; `m4` is short for `cortex-m4`.

    Raises:
        TargetError: The core is not known.
    """
    known = cpu.names()
    base = name.lower().partition("+")[0]
    full = f"cortex-{name}" if f"cortex-{base}" in known else name
    if full.lower().partition("+")[0] not in known:
        raise TargetError(f"core {name}: unknown. {did_you_mean(name, known)}")
    return Target(f"c -mcpu={full}")


def cores(key: str) -> list[str]:
    """Returns the cores, as their names have no modifiers, that run the kernels of a key."""
    return [name for name in cpu.names() if key in Target(f"c -mcpu={name}").keys]


def _found(name: str, known: Iterable[str]) -> str:
    missing = tflite_operators.missing()
    by_name = {each.removeprefix("CUSTOM ").lower(): each for each in (*known, *missing)}
    found = by_name.get(name.lower().removeprefix("custom "))
    if found is None:
        upper = {each.removeprefix("CUSTOM ") for each in by_name.values()}
        raise InputError(f"operator {name}: unknown. {did_you_mean(name.upper(), upper)}")
    if found in missing:
        raise InputError(
            f"operator {found}: not supported ({missing[found]}). Choose others: `aboard ops` lists those that are"
        )
    return found


def _operator(name: str, target: Target | None) -> Operator:
    used = ops.of_tflite(name)
    found = dict[str, list[str]]()
    for kernel in (kernel for op in used for kernel in kernels.of(op.name)):
        for key in sorted(kernel.keys):
            if target is None or key in target.keys:
                found.setdefault(key, []).append(kernel.name)
    order = (PORTABLE, *FASTER)
    return Operator(
        name=name,
        types=_types(name),
        ops=tuple(op.name for op in used),
        becomes=_becomes(name, bool(used)),
        kernels={
            key: tuple(dict.fromkeys(found[key]))
            for key in sorted(found, key=lambda k: order.index(k) if k in order else 9)
        },
        rules=_rules().get(name, ()),
        in_tflite_micro=name in tflite_operators.TFLITE_MICRO,
    )


def _types(name: str) -> tuple[str, ...]:
    packed = ("int8 with int4 weights",) if name in tflite_tensors.PACKED_KINDS else ()
    return (*ops.tflite_types(name), *packed)


def _becomes(name: str, has_ops: bool) -> str:
    if name in tflite_state.KINDS:
        return "the state of the model, or its initial value"
    if name in tflite_shapes.ALWAYS:
        return "a constant, because shapes are static"
    if name in tflite_operators.folded():
        return "a constant: all operands must be constants"
    return "" if has_ops else "reshapes, slices, joins and transposes, which only move data"


@cache
def _rules() -> Mapping[str, tuple[str, ...]]:
    read: dict[str, list[str]] = json.loads(_RULES.read_text(encoding="utf-8"))
    return {name: tuple(rules) for name, rules in read.items()}
