"""The strategy: which kernel computes a node on a target.

The cost model (`cost_model`) compares the kernels of the highest priority that accept the node, and the model's flash
decides between them (`variants`). With `-opt=speed`, cycles decide last, if they were measured on the target's core: a
kernel of any priority is taken if it needs fewer cycles by more than the errors of both predictions together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from aboard.base import progress
from aboard.errors import ModelError
from aboard.ir import Graph, Node, Rounding
from aboard.ir.fingerprint import Fingerprint, Memo, fingerprint
from aboard.kernels.contract import Implementation
from aboard.kernels.registry import of
from aboard.kernels.select.cost_model import KernelCost, cost, priority
from aboard.kernels.select.variants import Variant, VariantChoice
from aboard.target import Target

#: Smallest relative difference of two predictions of cycles that decides.
_LEAST_ERROR = 0.01


@dataclass(frozen=True)
class KernelCandidate:
    """An implementation of a node's op.

    Attributes:
        implementation: The implementation.
        priority: Its priority (`cost_model.priority`).
        refused: Reason why it cannot compute the node on the target; "" if it can.
        cost: Its cost; None if it was not compared with others.
        more_bytes: Difference in bytes of the model with it instead of the chosen one, including shared code; None if
            flash was not compared.
        cycles: Its predicted cycles; None if they do not matter, or were not measured on the target's core.
    """

    implementation: Implementation
    priority: int
    refused: str
    cost: KernelCost | None = None
    more_bytes: int | None = None
    cycles: int | None = None


@dataclass(frozen=True)
class Explanation:
    """All implementations of a node's op, and the chosen one.

    Attributes:
        node: The node.
        chosen: The implementation that computes the node; None if no implementation can.
        candidates: All implementations, the preferred ones first.
        by_cycles: True if cycles changed the choice.
    """

    node: Node
    chosen: KernelCandidate | None
    candidates: tuple[KernelCandidate, ...]
    by_cycles: bool = False

    def why(self, candidate: KernelCandidate) -> str:
        """Returns why a candidate was chosen or not."""
        if candidate.refused:
            return candidate.refused
        best = self.chosen
        if self.by_cycles and best is not None and candidate.cycles is not None:
            fewest = candidate is best
            return f"takes {'the fewest' if fewest else 'more'} cycles, about {candidate.cycles:,} (-opt=speed)"
        if best is not None and best.more_bytes is not None and candidate.more_bytes is not None:
            return self._best_of(candidate) if candidate is best else _compared(candidate, best)
        others = [c for c in self.candidates if c is not self.chosen and not c.refused]
        if candidate is best:
            return "the first that can" if others else "the only one that can"
        highest = max(c.priority for c in self.candidates if not c.refused)
        if best is None or candidate.priority == highest:
            return "of the same priority, another costs less or comes first by name"
        return f"priority, got {candidate.priority}, less than {highest}"

    def _best_of(self, best: KernelCandidate) -> str:
        count = sum(c.more_bytes is not None for c in self.candidates)
        instructions, size = _instructions(best), 0 if best.cost is None else best.cost.weights_bytes
        return f"best of {count}: {instructions:,} instructions, {size:,} bytes of constants"


def _instructions(candidate: KernelCandidate) -> int:
    return 0 if candidate.cost is None else round(candidate.cost.instructions)


def _compared(other: KernelCandidate, best: KernelCandidate) -> str:
    saved, more = _instructions(best) - _instructions(other), other.more_bytes or 0
    if saved > 0 and more > 0:
        return f"saves {saved:,} instructions for {more:,} bytes of flash: {saved / more:.1f} for each"
    if saved <= 0 and more >= 0:
        return f"takes {-saved:,} instructions and {more:,} bytes of flash more"
    if saved <= 0:
        return f"saves {-more:,} bytes of flash for {-saved:,} instructions: {-saved / -more:.1f} for each"
    return f"saves {saved:,} instructions and {-more:,} bytes of flash by itself, but not for the model"


@dataclass(frozen=True)
class KernelChoice:
    """The kernel that was chosen for a node, and the reasons against others.

    Attributes:
        implementation: The implementation that computes the node.
        refused: Name of each implementation of at least its priority that refuses the node, with the reason.
    """

    implementation: Implementation
    refused: tuple[tuple[str, str], ...]


#: Replaces the strategy's choice, which is its argument; None lets the strategy choose. Set by `forced`.
Rule = Callable[[Explanation], "Implementation | None"]
_rule: Rule | None = None


@contextmanager
def forced(rule: Rule) -> Iterator[None]:
    """Forces the choice of kernels in all threads within the context.

    Args:
        rule: Returns the implementation that computes an explanation's node, or None for the strategy's choice.
    """
    global _rule
    before, _rule = _rule, rule
    try:
        yield
    finally:
        _rule = before


def is_forced() -> bool:
    """True within the context of `forced`."""
    return _rule is not None


def explain(node: Node, target: Target) -> Explanation:
    """Returns every implementation of a node's op with the reason for or against it, for a model of this node alone."""
    return explain_each([node], target, None)[0]


def explain_all(graph: Graph, target: Target, budget: int | None = None) -> list[Explanation]:
    """Returns `explain` for every node of a model, whose layers share code.

    Args:
        graph: The model.
        target: The target of the code.
        budget: Largest number of bytes of flash; None for the price of `-opt`.
    """
    return explain_each(graph.nodes, target, budget)


@dataclass(frozen=True)
class KnownNodes:
    """What was found for nodes of one target: a node equal to one of them costs the same.

    Attributes:
        refused: Reasons of kernels against nodes.
        costs: Costs of nodes with kernels.
    """

    refused: Memo[str] = field(default_factory=lambda: Memo(1 << 14))
    costs: Memo[KernelCost] = field(default_factory=lambda: Memo(1 << 14))


def explain_each(
    nodes: Sequence[Node], target: Target, budget: int | None, known: KnownNodes | None = None
) -> list[Explanation]:
    """Returns `explain_all` for nodes of a model.

    Args:
        nodes: The nodes.
        target: The target of the code.
        budget: As for `explain_all`.
        known: What was found for nodes with this target before, and takes what is found now.
    """
    known = known or KnownNodes()
    keys = [fingerprint(node) for node in nodes]
    explained = []
    for index, (node, key) in enumerate(zip(nodes, keys, strict=True)):
        progress.report("choice of kernels", index, len(nodes))
        explained.append(_candidates(node, key, target, known))
    found = _by_flash(explained, keys, target, budget, known)
    return [_by_cycles(each, target) for each in found] if target.opt == "speed" and budget is None else found


def _candidates(node: Node, node_key: Fingerprint | None, target: Target, known: KnownNodes) -> Explanation:
    found = [
        KernelCandidate(i, priority(i), known.refused.get(_key(i, node_key), partial(refusal, i, node, target)))
        for i in of(node.op)
    ]
    found.sort(key=lambda c: (-c.priority, c.implementation.name))
    return Explanation(node, next((c for c in found if not c.refused), None), tuple(found))


def _key(implementation: Implementation, node_key: Fingerprint | None) -> Hashable | None:
    return None if node_key is None else (implementation.name, node_key)


def refusal(implementation: Implementation, node: Node, target: Target) -> str:
    """Returns why an implementation cannot compute a node on a target; "" if it can."""
    if not implementation.keys & target.keys:
        return f"needs one of {', '.join(sorted(implementation.keys))}"
    if node.attrs.rounding is Rounding.EXACT and not implementation.exact:
        return "rounds as TensorFlow Lite does, is not for -arithmetic=exact"
    return implementation.refuses(node, target) or ""


def _comparable(explained: Explanation) -> list[KernelCandidate]:
    """Returns the candidates that can compute the node: those of the highest priority, and their rivals."""
    best = explained.chosen
    if best is None:
        return []
    able = [c for c in explained.candidates if not c.refused]
    first = [c for c in able if c.priority == best.priority]
    rivals = frozenset[str]().union(*(c.implementation.rivals(explained.node) for c in first))
    return [c for c in able if c in first or c.implementation.name in rivals]


def _by_flash(
    explained: Sequence[Explanation],
    keys: Sequence[Fingerprint | None],
    target: Target,
    budget: int | None,
    known: KnownNodes,
) -> list[Explanation]:
    """Returns the explanations with the best of the comparable candidates."""

    def variant(index: int, implementation: Implementation) -> Variant:
        node = explained[index].node
        key = _key(implementation, keys[index])
        return Variant(implementation, known.costs.get(key, lambda: cost(node, implementation, target)))

    options = [_comparable(each) for each in explained]
    if all(len(candidates) < 2 for candidates in options):
        return list(explained)
    computed = [index for index, candidates in enumerate(options) if candidates]
    variants = [[variant(index, c.implementation) for c in options[index]] for index in computed]
    choice = VariantChoice(variants, target, budget)
    found = list(explained)
    for number, index in enumerate(computed):
        if len(options[index]) > 1:
            found[index] = _chosen(explained[index], options[index], choice, number)
    return found


def _chosen(
    explained: Explanation, options: Sequence[KernelCandidate], choice: VariantChoice, number: int
) -> Explanation:
    compared = {
        candidate.implementation: replace(candidate, cost=variant.cost, more_bytes=choice.more(number, index))
        for index, (candidate, variant) in enumerate(zip(options, choice.options[number], strict=True))
    }
    chosen = compared[options[choice.chosen[number]].implementation]
    candidates = [compared.get(c.implementation, c) for c in explained.candidates]
    return Explanation(explained.node, chosen, tuple(candidates))


def _by_cycles(explained: Explanation, target: Target) -> Explanation:
    """Returns an explanation with cycles, and with another choice if cycles clearly differ."""
    if sum(not candidate.refused for candidate in explained.candidates) < 2:
        return explained
    timed = tuple(_timed(explained.node, candidate, target) for candidate in explained.candidates)
    before = next(t for t, c in zip(timed, explained.candidates, strict=True) if c is explained.chosen)
    best = min((c for c in timed if c.cycles is not None), key=lambda c: c.cycles or 0, default=before)
    if before.cycles is None or best.cycles is None:
        return replace(explained, chosen=before, candidates=timed)
    # The errors of two fits are independent.
    wrong = max(_LEAST_ERROR, math.hypot(_cycles_fit(before), _cycles_fit(best)))
    clearly = best.cycles < before.cycles * (1 - wrong)
    return Explanation(explained.node, best if clearly else before, timed, by_cycles=clearly)


def _timed(node: Node, candidate: KernelCandidate, target: Target) -> KernelCandidate:
    """Returns a candidate with its cycles, if they were measured on the target's core."""
    if candidate.refused:
        return candidate
    found = candidate.cost or cost(node, candidate.implementation, target)
    if found.prediction.cycles_fit is None:
        return candidate
    return replace(candidate, cost=found, cycles=found.prediction.cycles)


def _cycles_fit(candidate: KernelCandidate) -> float:
    return 0.0 if candidate.cost is None else candidate.cost.prediction.cycles_fit or 0.0


def choose(node: Node, target: Target) -> KernelChoice:
    """Returns the kernel that computes a node, for a model of this node alone.

    Raises:
        ModelError: No kernel accepts the node; the message lists every reason.
    """
    return _choice(explain(node, target), target)


def _choice(explained: Explanation, target: Target) -> KernelChoice:
    node, refused = explained.node, [(c.implementation.name, c.refused) for c in explained.candidates if c.refused]
    wanted = None if _rule is None else _rule(explained)
    if wanted is not None:
        return KernelChoice(wanted, ())
    if explained.chosen is not None:
        best = explained.chosen
        higher = {c.implementation.name for c in explained.candidates if c.priority >= best.priority}
        return KernelChoice(best.implementation, tuple((name, reason) for name, reason in refused if name in higher))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused) or "there is none"
    operands = ", ".join(str(tensor.type) for tensor in node.operands)
    raise ModelError(
        f"{node.op} {node.name}: no implementation for {operands} -> {node.output.type} "
        f"on {target.cpu.name} ({reasons}). "
        "Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
    )


def choose_all(graph: Graph, target: Target, budget: int | None = None) -> dict[Node, KernelChoice]:
    """Returns the choice for every node. Arguments as for `explain_all`.

    Raises:
        ModelError: Some nodes have no implementation; the message names all.
    """
    choices: dict[Node, KernelChoice] = {}
    problems: list[str] = []
    for explained in explain_all(graph, target, budget):
        try:
            choices[explained.node] = _choice(explained, target)
        except ModelError as error:
            problems.append(str(error))
    if problems:
        raise ModelError(f"{graph.source or graph.name}: " + "\n".join(problems))
    return choices
