"""The strategy: which implementation computes a node on a target.

Of those that can, the one of highest priority, or the form of a layer that suits the model (`variants`).
Both go by instructions and bytes. With `-opt=speed` cycles have the last word, where they are known
(`estimate`): another one is taken that needs fewer by more than the estimates of both are wrong
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aboard.errors import ModelError
from aboard.ir import Graph, Node
from aboard.kernels.contract import Implementation
from aboard.kernels.registry import of
from aboard.kernels.select import variants as forms
from aboard.kernels.select.estimate import Estimate, estimate
from aboard.target import Target

#: By how much two estimates of cycles must differ, at least, to decide: as a share.
_LEAST_ERROR = 0.01


@dataclass(frozen=True)
class Weight:
    """What a candidate takes that was weighed against others.

    Attributes:
        instructions: Of an inference, estimated.
        weights_bytes: Of its packed constants.
        more_bytes: By how much the model would be larger with it than with the chosen one, shared code included.
    """

    instructions: int
    weights_bytes: int
    more_bytes: int


@dataclass(frozen=True)
class Candidate:
    """An implementation of a node's op.

    Attributes:
        implementation: The implementation.
        cost: Its own estimate, which decides between equal priorities; None for none.
        refused: Why it cannot compute the node on the target; "" where it can.
        weight: What it takes; None where priority decides.
        cycles: What it is estimated to take; None where that does not matter, or where its own were not measured.
    """

    implementation: Implementation
    cost: float | None
    refused: str
    weight: Weight | None = None
    cycles: int | None = None


@dataclass(frozen=True)
class Explanation:
    """All implementations of a node's op, and which one computes it.

    Attributes:
        node: The node.
        chosen: The one that computes it; None where none can.
        candidates: All, in the order in which they are preferred.
        by_cycles: True where cycles decided against what had been chosen without them.
    """

    node: Node
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    by_cycles: bool = False

    def why(self, candidate: Candidate) -> str:
        """Returns why a candidate was chosen, or why not."""
        if candidate.refused:
            return candidate.refused
        best = self.chosen
        if self.by_cycles and best is not None and candidate.cycles is not None:
            fewest = candidate is best
            return f"takes {'the fewest' if fewest else 'more'} cycles, about {candidate.cycles:,} (-opt=speed)"
        if best is not None and best.weight is not None and candidate.weight is not None:
            return _weighed(candidate.weight, best.weight) if candidate is not best else self._weighed_best(best.weight)
        others = [c for c in self.candidates if c is not self.chosen and not c.refused]
        if candidate is best:
            return "the first that can" if others else "the only one that can"
        if best is None or best.implementation.priority == candidate.implementation.priority:
            return "of the same priority, another costs less or comes first by name"
        return f"priority, got {candidate.implementation.priority}, less than {best.implementation.priority}"

    def _weighed_best(self, weight: Weight) -> str:
        count = sum(c.weight is not None for c in self.candidates)
        return f"best of {count}: {weight.instructions:,} instructions, {weight.weights_bytes:,} bytes of constants"


def _weighed(other: Weight, best: Weight) -> str:
    saved, more = best.instructions - other.instructions, other.more_bytes
    if saved > 0 and more > 0:
        return f"saves {saved:,} instructions for {more:,} bytes of flash: {saved / more:.1f} for each"
    if saved <= 0 and more >= 0:
        return f"takes {-saved:,} instructions and {more:,} bytes of flash more"
    if saved <= 0:
        return f"saves {-more:,} bytes of flash for {-saved:,} instructions: {-saved / -more:.1f} for each"
    return f"saves {saved:,} instructions and {-more:,} bytes of flash by itself, but not for the model"


@dataclass(frozen=True)
class Choice:
    """What was chosen for a node, and why the others were not.

    Attributes:
        implementation: The one that computes the node.
        refused: Name of each implementation of higher priority, with its reason.
    """

    implementation: Implementation
    refused: tuple[tuple[str, str], ...]


def explain(node: Node, target: Target) -> Explanation:
    """Returns every implementation of a node's op with what speaks against it; as if the node were a model."""
    return explain_each([node], target, None)[0]


def explain_all(graph: Graph, target: Target, room: int | None = None) -> list[Explanation]:
    """Returns the same for every node of a model, whose layers share code.

    Args:
        graph: The model.
        target: Where it will run.
        room: Bytes of flash that it may take; None for what `-opt` thinks them worth.
    """
    return explain_each(graph.nodes, target, room)


def explain_each(nodes: Sequence[Node], target: Target, room: int | None) -> list[Explanation]:
    """Returns the same for nodes of a model."""
    found = _weighed_out([_candidates(node, target) for node in nodes], target, room)
    return [_timed(each, target) for each in found] if target.opt == "speed" and room is None else found


def _candidates(node: Node, target: Target) -> Explanation:
    found = [Candidate(i, i.cost(node, target), _refused(i, node, target)) for i in of(node.op)]
    found.sort(key=_preference)
    return Explanation(node, next((c for c in found if not c.refused), None), tuple(found))


def _refused(implementation: Implementation, node: Node, target: Target) -> str:
    if not implementation.keys & target.keys:
        return f"needs one of {', '.join(sorted(implementation.keys))}"
    return implementation.refuses(node, target) or ""


def _preference(candidate: Candidate) -> tuple[int, float, str]:
    implementation = candidate.implementation
    cost = math.inf if candidate.cost is None else candidate.cost
    return -implementation.priority, cost, implementation.name


def _options(explained: Explanation) -> list[Candidate]:
    """Returns the candidates that are weighed against each other; the chosen one where priority decides."""
    best = explained.chosen
    if best is None:
        return []
    if not best.implementation.weighed:
        return [best]
    return [c for c in explained.candidates if c.implementation.weighed and not c.refused]


def _weighed_out(explained: Sequence[Explanation], target: Target, room: int | None) -> list[Explanation]:
    """Returns the explanations with the best of several candidates that are weighed."""
    options = [_options(each) for each in explained]
    if all(len(candidates) < 2 for candidates in options):
        return list(explained)
    computed = [index for index, candidates in enumerate(options) if candidates]
    known = [[forms.form(explained[i].node, c.implementation, target) for c in options[i]] for i in computed]
    choice = forms.Choice(known, target, room)
    found = list(explained)
    for number, index in enumerate(computed):
        if len(options[index]) > 1:
            found[index] = _chosen(explained[index], options[index], choice, number)
    return found


def _chosen(explained: Explanation, options: Sequence[Candidate], choice: forms.Choice, number: int) -> Explanation:
    weighed = {}
    for index, (candidate, form) in enumerate(zip(options, choice.options[number], strict=True)):
        weight = Weight(round(form.instructions), form.weights_bytes, choice.more(number, index))
        weighed[candidate.implementation] = replace(candidate, weight=weight)
    chosen = weighed[options[choice.chosen[number]].implementation]
    candidates = [weighed.get(c.implementation, c) for c in explained.candidates]
    return Explanation(explained.node, chosen, tuple(candidates))


def _timed(explained: Explanation, target: Target) -> Explanation:
    """Returns an explanation with cycles, and with another choice where these are clearly against it."""
    if sum(not candidate.refused for candidate in explained.candidates) < 2:
        return explained
    timed, errors = [], {}
    for candidate in explained.candidates:
        found = None if candidate.refused else _estimated(explained.node, candidate.implementation, target)
        if found is not None and found.cycles_fit is not None:
            errors[candidate.implementation] = found.cycles_fit
            timed.append(replace(candidate, cycles=found.cycles))
        else:
            timed.append(candidate)
    before = next(t for t, c in zip(timed, explained.candidates, strict=True) if c is explained.chosen)
    best = min((c for c in timed if c.cycles is not None), key=lambda c: c.cycles or 0, default=before)
    if before.cycles is None or best.cycles is None:
        return replace(explained, chosen=before, candidates=tuple(timed))
    # The errors of two fits are independent.
    wrong = max(_LEAST_ERROR, math.hypot(errors[before.implementation], errors[best.implementation]))
    clearly = best.cycles < before.cycles * (1 - wrong)
    return Explanation(explained.node, best if clearly else before, tuple(timed), by_cycles=clearly)


def _estimated(node: Node, implementation: Implementation, target: Target) -> Estimate:
    return estimate(node, implementation.name, target, call=forms.alone(node, implementation, target))


def choose(node: Node, target: Target) -> Choice:
    """Returns the implementation that computes a node, as if it were a model.

    Raises:
        ModelError: None does; the message gives every reason.
    """
    return _choice(explain(node, target), target)


def _choice(explained: Explanation, target: Target) -> Choice:
    node, refused = explained.node, [(c.implementation.name, c.refused) for c in explained.candidates if c.refused]
    if explained.chosen is not None:
        best = explained.chosen.implementation
        higher = {c.implementation.name for c in explained.candidates if c.implementation.priority >= best.priority}
        return Choice(best, tuple((name, reason) for name, reason in refused if name in higher))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused) or "there is none"
    operands = ", ".join(str(tensor.type) for tensor in node.operands)
    raise ModelError(
        f"{node.op} {node.name}: no implementation for {operands} -> {node.output.type} "
        f"on {target.cpu.name} ({reasons}). "
        "Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
    )


def choose_all(graph: Graph, target: Target, room: int | None = None) -> dict[Node, Choice]:
    """Returns the choice for every node. Arguments as for `explain_all`.

    Raises:
        ModelError: Some nodes have no implementation; all of them are named.
    """
    choices: dict[Node, Choice] = {}
    problems: list[str] = []
    for explained in explain_all(graph, target, room):
        try:
            choices[explained.node] = _choice(explained, target)
        except ModelError as error:
            problems.append(str(error))
    if problems:
        raise ModelError(f"{graph.source or graph.name}: " + "\n".join(problems))
    return choices
