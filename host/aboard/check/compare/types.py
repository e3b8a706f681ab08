"""What a comparison finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Cause(Enum):
    """What is likely wrong with a layer; the value is the word for it."""

    SCALE = "scale"
    ZERO_POINT = "zero point"
    PADDING = "padding"
    TRANSPOSITION = "transposition"
    ACTIVATION = "activation"
    OVERFLOW = "overflow"
    WEIGHTS = "weights"
    ATTRIBUTES = "attributes"
    OPERATOR = "operator"
    SHAPE = "shape"
    UNKNOWN = "unknown"


class State(Enum):
    """How two values differ; the value is the word for it.

    Attributes:
        EQUAL: They do not.
        ROUNDING: By what integers cannot hold: the spread within a step of the scales of results and weights.
        LIMITS: Some real numbers are beyond the range of the integers, as they are if samples are unlike those that
            the ranges come from.
        DEFECT: By more.
    """

    EQUAL = "equal"
    ROUNDING = "rounding"
    LIMITS = "limits"
    DEFECT = "defect"


@dataclass(frozen=True)
class Explanation:
    """The likely reason of a defect.

    Attributes:
        cause: The kind.
        detail: What was seen, as a sentence without its full stop.
        node: Name of the operator of A that it is about; None for the one that computes the result.
    """

    cause: Cause
    detail: str
    node: str | None = None


@dataclass(frozen=True)
class LayerDifference:
    """A result that both sides have.

    Attributes:
        a: Name of the tensor in A.
        b: Name of the tensor in B.
        op: The op in A that computes it.
        operator: Index of the operator in A's file; None for one that the file does not have.
        operator_b: Index of the operator in B's file.
        state: How B's layer differs from A's on the same operands.
        own_db: Signal-to-noise ratio of B's result against that of A's layer on the same operands, in dB; None for no
            difference at all.
        total_db: That of B's result against A's, with what all layers in front add; None likewise.
        steps: The largest difference on the same operands, in steps of B's integers; None for float32.
    """

    a: str
    b: str
    op: str
    operator: int | None
    operator_b: int | None
    state: State
    own_db: float | None
    total_db: float | None
    steps: float | None


@dataclass(frozen=True)
class Defect:
    """The first layer that is wrong.

    Attributes:
        layer: The layer.
        explanation: The likely cause.
        channels: Indices on the last axis that differ by more than rounding.
        of: Number of channels.
    """

    layer: LayerDifference
    explanation: Explanation
    channels: tuple[int, ...]
    of: int


@dataclass(frozen=True)
class OutputDifference:
    """An output of both models.

    Attributes:
        a: Name in A.
        b: Name in B.
        largest: Largest absolute difference of the real numbers.
        steps: The same in steps of B's integers; None for float32.
        snr_db: Signal-to-noise ratio of B's output against A's, in dB; None for no difference at all.
        agreement: Share of samples whose largest element is at the same place; None for outputs of one element.
    """

    a: str
    b: str
    largest: float
    steps: float | None
    snr_db: float | None
    agreement: float | None


@dataclass(frozen=True)
class Comparison:
    """Two sides on the same samples.

    Attributes:
        a: A's model, and what ran it.
        b: B's.
        samples: Number of samples.
        outputs: The outputs.
        layers: The results that both sides have, in B's order of execution.
        defect: The first layer that is wrong; None if only rounding differs.
        unpaired_a: Names of results of A that B does not have, or does not show.
        unpaired_b: Names of results of B that A does not have, or does not show.
    """

    a: str
    b: str
    samples: int
    outputs: tuple[OutputDifference, ...]
    layers: tuple[LayerDifference, ...]
    defect: Defect | None
    unpaired_a: tuple[str, ...]
    unpaired_b: tuple[str, ...]

    @property
    def state(self) -> State:
        """How the models differ."""
        if self.defect is not None:
            return State.DEFECT
        same = all(output.largest == 0 for output in self.outputs)
        if same and all(layer.state is State.EQUAL for layer in self.layers):
            return State.EQUAL
        return State.LIMITS if any(layer.state is State.LIMITS for layer in self.layers) else State.ROUNDING
