"""Chooses among the forms that a model's layers can have: int16 or int8 weights, unrolled or short code.

A form is an implementation of a node with what it takes: instructions, estimated, and pieces of flash. A piece (an
array of constants, an instance of a kernel, a function that instances share) counts once for a model, however many of
its nodes need it. The choice is that with the least instructions + price * bytes, where the price is what a byte of
flash must save, in instructions of an inference:

- `-opt=balanced`: 30;
- `-opt=speed`: nothing; of forms that take the same, the smaller;
- `-opt=size`: 1,000, so that hardly anything is worth a byte;
- with `-flash-max`: the lowest price whose choice keeps to it, from nothing on (`-opt=size`: from 1,000 on); what is
  left then goes to what saves the most for each of its bytes.

The least is looked for from the best form of each node by itself, by changing one node, or all that have or could have
an implementation, as long as that gains. So a function that many layers share is taken or left for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from aboard.ir import Node
from aboard.kernels.contract import Call, Implementation, InputArg, KernelCall, View
from aboard.kernels.select import code_size
from aboard.kernels.select.estimate import estimate
from aboard.target import Target

#: Instructions that a byte of flash must save, by `-opt`. 30 for `balanced`: a kilobyte then saves 31,000, about a
#: hundredth of an inference of the benchmarks' models, which take 38 to 280 kilobytes.
WORTH = {"speed": 0.0, "balanced": 30.0, "size": 1000.0}

#: A price above which nothing is worth a byte.
_NARROWEST = 1e9

#: A price so low that it only decides between forms that take the same instructions.
_FREE = 1e-6

#: Halvings of the interval in which the price that keeps to `-flash-max` lies.
_STEPS = 24


@dataclass(frozen=True)
class Form:
    """What computing a node in some way takes.

    Attributes:
        implementation: How.
        instructions: Of one inference, estimated.
        pieces: Bytes of each piece of flash by its key.
        weights_bytes: Those of packed constants.
    """

    implementation: Implementation
    instructions: float
    pieces: Mapping[str, int]
    weights_bytes: int


def alone(node: Node, implementation: Implementation, target: Target) -> Call:
    """Returns the call of a node whose operands and results are stored whole."""
    inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
    outputs = tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs)
    return implementation.lower(node, inputs, outputs, target)


def form(node: Node, implementation: Implementation, target: Target) -> Form:
    """Returns what an implementation of a node takes, computed by itself."""
    call = alone(node, implementation, target)
    counted = implementation.instructions(node)
    if counted is None:
        counted = estimate(node, implementation.name, target, call=call).instructions
    size = sum(constant.values.nbytes for constant in call.constants)
    return Form(implementation, counted, constants(node, call) | code(call, target), size)


def constants(node: Node, call: Call) -> dict[str, int]:
    """Returns the bytes of the arrays that a call reads, by what is in them: equal ones are there once."""
    given = (node.input(a.index).data for a in call.arguments if isinstance(a, InputArg))
    arrays = [*(c.values for c in call.constants), *(data for data in given if data is not None)]
    return {f"{a.dtype.str} {hashlib.sha256(a.tobytes()).hexdigest()}": a.nbytes for a in arrays}


def code(call: Call, target: Target) -> dict[str, int]:
    """Returns the bytes of the code that a call needs, by what it is for, as measured of other models.

    With `-opt=size` it may be less: an instance can serve several sets of parameters (`code_size.shares`).
    """
    if not isinstance(call, KernelCall):
        return {}
    measured = code_size.code(call, target)
    return {**measured.shared, f"{call.function_key} {call.params!r}": measured.instance}


def flash(calls: Iterable[tuple[Node, Call]], cascaded: int, target: Target) -> int:
    """Returns the flash of a model, predicted: constants exactly, code as measured of other models.

    Args:
        calls: Nodes and calls of its steps.
        cascaded: How many of them take turns with others.
        target: Where they will run.
    """
    every: dict[str, int] = {}
    functions: dict[str, dict[str, KernelCall]] = {}
    steps = 0
    for node, call in calls:
        every |= constants(node, call)
        if isinstance(call, KernelCall):
            functions.setdefault(call.function_key, {})[repr(call.params)] = call
        steps += 1
    for name, found in functions.items():
        different = list(found.values())
        if not code_size.shares(different, target):
            every |= {key: size for call in different for key, size in code(call, target).items()}
            continue
        together = code_size.code(different[0], target, shared=True)
        parameters = sum(code_size.parameters_bytes(call.params) for call in different)
        every |= {**together.shared, name: together.instance + parameters}
    return sum(every.values()) + code_size.frame(target, steps, cascaded)


class Choice:
    """The forms of all nodes of a model, one of them chosen for each.

    Attributes:
        options: The forms of each node.
        chosen: Which of them, by index.
        target: Where the model will run.
    """

    def __init__(self, options: Sequence[Sequence[Form]], target: Target, room: int | None = None) -> None:
        """Chooses.

        Args:
            options: For each node at least one form.
            target: Where the model will run.
            room: Bytes of flash that the model may take; None for what `-opt` thinks them worth.
        """
        self.options = options
        self.target = target
        self._fixed: dict[str, int] = {}
        for forms in options:
            if len(forms) == 1:
                self._fixed |= forms[0].pieces
        self._base = sum(self._fixed.values()) + code_size.frame(target, len(options), 0)
        worth = WORTH[target.opt]
        if room is None:
            self.chosen = self._settled(worth)
        else:
            self.chosen = self._within(room, worth if target.opt == "size" else 0.0)

    def bytes(self, chosen: Sequence[int] | None = None) -> int:
        """Returns the flash of the model, predicted for steps that are computed one after another."""
        every: dict[str, int] = {}
        for forms, index in zip(self.options, self.chosen if chosen is None else chosen, strict=True):
            if len(forms) > 1:
                every |= forms[index].pieces
        return sum(size for key, size in every.items() if key not in self._fixed) + self._base

    def more(self, node: int, index: int) -> int:
        """Returns by how much the model would be larger with another form of a node."""
        return self.bytes([*self.chosen[:node], index, *self.chosen[node + 1 :]]) - self.bytes()

    def _instructions(self, chosen: Sequence[int]) -> float:
        return sum(forms[index].instructions for forms, index in zip(self.options, chosen, strict=True))

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        kinds = {
            (f.implementation.op, f.implementation.name) for forms in self.options if len(forms) > 1 for f in forms
        }
        return sorted(kinds)

    def _settled(self, price: float) -> list[int]:
        """Returns the choice with the least instructions + price * bytes that is found."""
        price = max(price, _FREE)

        def alone(form: Form) -> float:
            return form.instructions + price * sum(form.pieces.values())

        def cost(chosen: Sequence[int]) -> float:
            return self._instructions(chosen) + price * self.bytes(chosen)

        best = [min(range(len(forms)), key=lambda i, f=forms: alone(f[i])) for forms in self.options]  # type: ignore[misc]
        least = cost(best)
        while True:
            found = min(self._neighbours(best), key=cost, default=best)
            if cost(found) >= least:
                return best
            best, least = found, cost(found)

    def _neighbours(self, chosen: Sequence[int]) -> list[list[int]]:
        """Returns choices with another form of one node, or with or without an implementation wherever that can be."""
        found: list[list[int]] = []
        for node, forms in enumerate(self.options):
            found += [[*chosen[:node], i, *chosen[node + 1 :]] for i in range(len(forms)) if i != chosen[node]]
        for name in self._names:
            found += [self._with(chosen, name), self._without(chosen, name)]
        return found

    def _with(self, chosen: Sequence[int], name: tuple[str, str]) -> list[int]:
        changed = list(chosen)
        for node, forms in enumerate(self.options):
            changed[node] = next((i for i, form in enumerate(forms) if _name(form) == name), changed[node])
        return changed

    def _without(self, chosen: Sequence[int], name: tuple[str, str]) -> list[int]:
        changed = list(chosen)
        for node, forms in enumerate(self.options):
            others = [i for i, form in enumerate(forms) if _name(form) != name]
            if others and _name(forms[changed[node]]) == name:
                changed[node] = min(others, key=lambda i, f=forms: (sum(f[i].pieces.values()), i))  # type: ignore[misc]
        return changed

    def _within(self, room: int, worth: float) -> list[int]:
        """Returns the choice of the lowest price that keeps to `room`; the narrowest where none does."""
        best = self._settled(worth)
        if self.bytes(best) <= room:
            return best
        best = self._settled(_NARROWEST)
        if self.bytes(best) > room:
            return best
        low, high = max(worth, _FREE), _NARROWEST
        for _ in range(_STEPS):
            price = (low * high) ** 0.5
            found = self._settled(price)
            if self.bytes(found) <= room:
                best, high = found, price
            else:
                low = price
        return self._filled(best, room)

    def _filled(self, chosen: list[int], room: int) -> list[int]:
        """Returns the choice with what still fits and saves the most for each of its bytes, one after another."""
        while True:
            size, count = self.bytes(chosen), self._instructions(chosen)
            better = []
            for other in self._neighbours(chosen):
                saved, more = count - self._instructions(other), self.bytes(other) - size
                if saved > 0 and size + more <= room:
                    better.append((saved / max(more, 1), other))
            if not better:
                return chosen
            chosen = max(better)[1]


def _name(form: Form) -> tuple[str, str]:
    return form.implementation.op, form.implementation.name
