"""Estimates cycles from the instructions that were executed and the time of each on a core.

`core_times.toml` is the table, with its sources. The estimate knows how often each instruction was executed, how often
control left it for another place, and which instruction precedes it. It knows no wait states of flash, no caches and no
contention on buses. An instruction whose condition did not hold counts as if the condition had held.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from aboard.base import toml
from aboard.boards import cpu
from aboard.cycles.histogram import Histogram
from aboard.cycles.listing import Instruction
from aboard.errors import ToolError

_FILE = Path(__file__).with_name("core_times.toml")
_CONDITION = "(eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)?"
_KINDS = {"multiply": "multiply", "load": "memory", "store": "memory", "branch": "branch"}

#: Groups of kinds that a layer's instructions are divided into.
GROUPS = ("multiply", "memory", "branch", "other")


@dataclass(frozen=True)
class Rule:
    """What instructions of a form cost; `core_times.toml` says what the fields mean."""

    match: str = r"\S+"
    operands: str = ""
    kind: str = "alu"
    cycles: float = 1
    register: float = 0
    taken: float | None = None
    after: tuple[str, ...] = ()
    then: float = 0
    use: float = 0

    def fits_mnemonic(self, mnemonic: str) -> bool:
        """True for mnemonics of this form, with any condition and width."""
        return re.fullmatch(rf"({self.match}){_CONDITION}(\.[nw])?", mnemonic) is not None

    def fits_operands(self, operands: str) -> bool:
        """True for operands of this form."""
        return not self.operands or re.search(self.operands, operands) is not None

    def cost(self, instruction: Instruction) -> float:
        """Returns the cycles of an instruction that stands alone."""
        return self.cycles + self.register * instruction.listed


@dataclass(frozen=True)
class Timing:
    """What instructions cost on a core.

    Attributes:
        core: Name of the core.
        basis: `table` or `approximation`.
        source: What the times were taken from.
        taken: Further cycles where control goes elsewhere.
        together: Kinds of which two are started in one cycle.
        rules: The first that fits counts.
    """

    core: str
    basis: str
    source: str
    taken: float
    together: frozenset[frozenset[str]]
    rules: tuple[Rule, ...]
    # Rules by the mnemonics that were asked for: most mnemonics occur often.
    _known: dict[str, tuple[Rule, ...]] = field(default_factory=dict, repr=False, compare=False)

    def rule(self, instruction: Instruction) -> Rule:
        """Returns the rule for an instruction."""
        named = self._known.get(instruction.mnemonic)
        if named is None:
            named = tuple(rule for rule in self.rules if rule.fits_mnemonic(instruction.mnemonic))
            self._known[instruction.mnemonic] = named
        return next((rule for rule in named if rule.fits_operands(instruction.operands)), _OTHER)

    def cycles(self, histogram: Histogram, listing: Sequence[Instruction]) -> int:
        """Returns the cycles of what was executed.

        Args:
            histogram: What was executed.
            listing: The instructions of the image, in order of their addresses.
        """
        total = 0.0
        before: tuple[Instruction, Rule] | None = None
        is_second = False
        for instruction in listing:
            count = histogram.get(instruction.address)
            if count is None:
                before, is_second = None, False
                continue
            rule = self.rule(instruction)
            cost = rule.cost(instruction)
            total += count.executed * cost + count.left * (self.taken if rule.taken is None else rule.taken)
            if before is not None and before[0].next == instruction.address:
                previous = histogram[before[0].address]
                straight = max(0, min(count.executed, previous.executed - previous.left))
                changed = self._behind(*before, instruction, rule, is_second=is_second)
                is_second = straight > 0 and changed < 0 and bool(self.together)
                total += straight * changed
            else:
                is_second = False
            before = (instruction, rule)
        return round(total)

    def _behind(
        self, before: Instruction, its: Rule, instruction: Instruction, rule: Rule, *, is_second: bool
    ) -> float:
        """Returns by how many cycles an instruction costs more or less directly behind another."""
        needs = before.writes(its.kind) & instruction.registers
        if its.use and needs:
            return its.use
        if its.kind in rule.after and not before.writes(its.kind) & instruction.address_registers:
            return min(0.0, rule.then - rule.cost(instruction))
        pair = frozenset((its.kind, rule.kind))
        if pair in self.together and not is_second and not needs:
            return -min(1.0, rule.cost(instruction))
        return 0.0

    def mix(self, histogram: Histogram, listing: Sequence[Instruction]) -> dict[str, int]:
        """Returns how many instructions of each of `GROUPS` were executed."""
        found = dict.fromkeys(GROUPS, 0)
        for instruction in listing:
            if instruction.address in histogram:
                kind = self.rule(instruction).kind.removeprefix("vector_").removesuffix("_multiple")
                found[_KINDS.get(kind, "other")] += histogram[instruction.address].executed
        return found


_OTHER = Rule()


@cache
def timing(core: str) -> Timing:
    """Returns the times of a core.

    Args:
        core: Name of the core, such as `cortex-m4+nofp`. The table has `cortex-m4`, or the instruction set.

    Raises:
        TargetError: The core is unknown.
        ToolError: The table has no times for it.
    """
    content, found = toml.read(_FILE), cpu.find(core)
    table = content.get(found.known_base) or content.get(found.arch)
    if table is None:
        raise ToolError(
            f"core {core}: no cycles of instructions, expected {', '.join(content)}. Use the predicted cycles, or add "
            f"the core to {_FILE.name} with its source"
        )
    return Timing(
        core=core,
        basis=table["basis"],
        source=table["source"],
        taken=table["taken"],
        together=frozenset(frozenset(pair) for pair in table.get("together", ())),
        rules=tuple(_rules(content, table)),
    )


def _rules(content: Mapping[str, Any], table: Mapping[str, Any]) -> list[Rule]:
    own = [Rule(**{**rule, "after": tuple(rule.get("after", ()))}) for rule in table.get("rule", ())]
    return own + (_rules(content, content[table["like"]]) if "like" in table else [])
