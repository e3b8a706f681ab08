"""The strategy: which kernel computes a node on a target.

The cost model (`cost_model`) prices every kernel that accepts the node, in cycles of the target's core, flash and RAM,
and the least cost of the model decides (`variants`); `-opt` sets the prices of flash and RAM. A kernel that was
not measured and has no formula has no price: it is assumed to be faster than all kernels that are less specific
(`specific`).
"""

from __future__ import annotations

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
from aboard.kernels.select.cost_model import KernelCost, cost, may_be_priced
from aboard.kernels.select.price import inference
from aboard.kernels.select.specific import generality
from aboard.kernels.select.variants import Variant, VariantChoice
from aboard.target import Target


@dataclass(frozen=True)
class KernelCandidate:
    """An implementation of a node's op.

    Attributes:
        implementation: The implementation.
        refused: Reason why it cannot compute the node on the target; "" if it can.
        cost: Its cost; None if it was not compared with others.
        more_bytes: Difference in bytes of the model with it instead of the chosen one, including shared code; None if
            flash was not compared.
    """

    implementation: Implementation
    refused: str
    cost: KernelCost | None = None
    more_bytes: int | None = None

    @property
    def order(self) -> tuple[int, bool, str]:
        """Its place in the order of candidates: the more specific first, then by name."""
        return (*generality(self.implementation), self.implementation.name)


@dataclass(frozen=True)
class Explanation:
    """All implementations of a node's op, and the chosen one.

    Attributes:
        node: The node.
        chosen: The implementation that computes the node; None if no implementation can.
        candidates: All implementations, the more specific ones first.
    """

    node: Node
    chosen: KernelCandidate | None
    candidates: tuple[KernelCandidate, ...]

    def why(self, candidate: KernelCandidate) -> str:
        """Returns why a candidate was chosen or not."""
        if candidate.refused:
            return candidate.refused
        best = self.chosen
        if best is not None and best.more_bytes is not None and candidate.more_bytes is not None:
            return self._best_of(candidate) if candidate is best else _compared(candidate, best)
        able = [c for c in self.candidates if not c.refused]
        if candidate is best:
            return "the only one that can" if len(able) == 1 else "the most specific one that can"
        if candidate.cost is None or best is None or best.cost is None:
            first = able[0] if best is None or best.more_bytes is not None else best
            return f"less specific than {first.implementation.name}, and one of the two is not measured"
        return "costs as much, comes later by name"

    def _best_of(self, best: KernelCandidate) -> str:
        count = sum(c.more_bytes is not None for c in self.candidates)
        time, size = ("0", 0) if best.cost is None else (f"{_time(best):,} {best.cost.unit}", best.cost.weights_bytes)
        return f"best of {count}: {time}, {size:,} bytes of constants"


def _time(candidate: KernelCandidate) -> int:
    return 0 if candidate.cost is None else round(candidate.cost.time)


def _compared(other: KernelCandidate, best: KernelCandidate) -> str:
    saved, more = _time(best) - _time(other), other.more_bytes or 0
    unit = "cycles" if other.cost is None else other.cost.unit
    if saved > 0 and more > 0:
        return f"saves {saved:,} {unit} for {more:,} bytes of flash: {saved / more:.1f} for each"
    if saved <= 0 and more >= 0:
        return f"takes {-saved:,} {unit} and {more:,} bytes of flash more"
    if saved <= 0:
        return f"saves {-more:,} bytes of flash for {-saved:,} {unit}: {-saved / -more:.1f} for each"
    return f"saves {saved:,} {unit} and {-more:,} bytes of flash by itself, but not for the model"


@dataclass(frozen=True)
class KernelChoice:
    """The kernel that was chosen for a node, and the reasons against others.

    Attributes:
        implementation: The implementation that computes the node.
        refused: Name of each implementation that is at least as specific and refuses the node, with the reason.
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
        candidates: The implementations of nodes, with their refusals.
        costs: Costs of nodes with kernels.
    """

    candidates: Memo[tuple[KernelCandidate, ...]] = field(default_factory=lambda: Memo(1 << 14))
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
    time = inference(nodes, target)
    explained = []
    for index, (node, key) in enumerate(zip(nodes, keys, strict=True)):
        progress.report("choice of kernels", index, len(nodes))
        candidates = known.candidates.get(key, partial(_candidates, node, target, time))
        explained.append(Explanation(node, next((c for c in candidates if not c.refused), None), candidates))
    return _by_cost(explained, keys, target, budget, known)


def _candidates(node: Node, target: Target, time: float) -> tuple[KernelCandidate, ...]:
    found = [KernelCandidate(i.within(time), refusal(i, node, target)) for i in of(node.op)]
    return tuple(sorted(found, key=lambda c: c.order))


def _key(implementation: Implementation, node_key: Fingerprint | None) -> Hashable | None:
    return None if node_key is None else (implementation.name, node_key)


def refusal(implementation: Implementation, node: Node, target: Target) -> str:
    """Returns why an implementation cannot compute a node on a target; "" if it can."""
    if not implementation.keys & target.keys:
        return f"needs one of {', '.join(sorted(implementation.keys))}"
    if node.attrs.rounding is Rounding.EXACT and not implementation.exact:
        return "rounds as TensorFlow Lite does, is not for -arithmetic=exact"
    return implementation.refuses(node, target) or ""


def _comparable(explained: Explanation, price: Callable[[Implementation], KernelCost]) -> list[KernelCandidate]:
    """Returns the candidates between which costs decide, each with its cost; none if there is no choice.

    Those that are as specific as the most specific one that accepts the node; and if they are priced, all others that
    are priced. A kernel without a price is assumed to be faster than all that are less specific.
    """
    able = [c for c in explained.candidates if not c.refused]
    first = [c for c in able if c.order[:-1] == able[0].order[:-1]]
    others = [c for c in able[len(first) :] if may_be_priced(explained.node, c.implementation)]
    if not all(may_be_priced(explained.node, c.implementation) for c in first):
        others = []
    if len(first) + len(others) < 2:
        return []
    found = [replace(c, cost=price(c.implementation)) for c in first]
    if all(c.cost is not None and c.cost.prediction.is_priced for c in found):
        priced = (replace(c, cost=price(c.implementation)) for c in others)
        found += [c for c in priced if c.cost is not None and c.cost.prediction.is_priced]
    return found


def _by_cost(
    explained: Sequence[Explanation],
    keys: Sequence[Fingerprint | None],
    target: Target,
    budget: int | None,
    known: KnownNodes,
) -> list[Explanation]:
    """Returns the explanations with the best of the comparable candidates."""

    def price(index: int, implementation: Implementation) -> KernelCost:
        node = explained[index].node
        return known.costs.get(_key(implementation, keys[index]), lambda: cost(node, implementation, target))

    options = [_comparable(each, partial(price, index)) for index, each in enumerate(explained)]
    if all(len(candidates) < 2 for candidates in options):
        return list(explained)
    for index, each in enumerate(explained):
        if len(options[index]) < 2 and each.chosen is not None:
            options[index] = [replace(each.chosen, cost=price(index, each.chosen.implementation))]
    computed = [index for index, candidates in enumerate(options) if candidates]
    variants = [[Variant(c.implementation, c.cost) for c in options[index] if c.cost] for index in computed]
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
        candidate.implementation: replace(candidate, more_bytes=choice.more(number, index))
        for index, candidate in enumerate(options)
    }
    chosen = compared[options[choice.chosen[number]].implementation]
    candidates = [compared.get(c.implementation, c) for c in explained.candidates]
    return Explanation(explained.node, chosen, tuple(candidates))


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
        able = {c.implementation.name for c in explained.candidates if c.order[:-1] <= best.order[:-1]}
        return KernelChoice(best.implementation, tuple((name, reason) for name, reason in refused if name in able))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused) or "there is none"
    operands = ", ".join(str(tensor.type) for tensor in node.operands)
    raise ModelError(
        f"{node.op} {node.name}: no implementation for {operands} -> {node.output.type} "
        f"on {target.cpu.name} ({reasons}). "
        "Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
    )


def choose_all(
    graph: Graph, target: Target, budget: int | None = None, known: KnownNodes | None = None
) -> dict[Node, KernelChoice]:
    """Returns the choice for every node. Arguments as for `explain_each`.

    Raises:
        ModelError: Some nodes have no implementation; the message names all.
    """
    choices: dict[Node, KernelChoice] = {}
    problems: list[str] = []
    for explained in explain_each(graph.nodes, target, budget, known):
        try:
            choices[explained.node] = _choice(explained, target)
        except ModelError as error:
            problems.append(str(error))
    if problems:
        raise ModelError(f"{graph.source or graph.name}: " + "\n".join(problems))
    return choices
