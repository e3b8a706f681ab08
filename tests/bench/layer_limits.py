"""Limits that every layer is held to: its cost beside portable C, and beside a layer of whole blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.layer_counts import LAYERS, Counted, counted
from support.single_layers import SingleLayer

#: What a chosen kernel may cost, as a factor of portable C.
OF_PORTABLE = 1.05

#: What a multiply-accumulate may cost, as a factor of the nearest layer whose channels are multiples of four.
OF_FOURS = 2.0

#: What a layer may cost in all, as a factor of that layer, if it is the larger one. One channel for four has a fourth
#: of the products, but as many results, whose requantisation decides.
OF_LARGER = 1.3


@dataclass(frozen=True)
class Compared:
    """A layer with the chosen kernel, in portable C, and beside the nearest layer whose channels are multiples of four.

    Attributes:
        chosen: With the kernel of `-opt=balanced`.
        plain: In portable C.
        fastest: With the kernel of `-opt=speed`.
        fours: The nearest layer of whole blocks, likewise: with `-opt=balanced` both depend on what a byte of flash
            must save, so on the other layers of their images.
    """

    chosen: Counted
    plain: Counted
    fastest: Counted
    fours: Counted

    @property
    def of_portable(self) -> float:
        """Time of the chosen kernel, as a factor of portable C; 1 if portable C is chosen.

        Portable C has variants, of which `-opt=balanced` takes one by its flash beside the other layers of an image.
        """
        return 1.0 if self.chosen.kernel == self.plain.kernel else self.chosen.time / self.plain.time

    @property
    def of_fours(self) -> float:
        """Time of a multiply-accumulate, as a factor of the nearest layer of whole blocks."""
        return self.fastest.per_mac / self.fours.per_mac

    @property
    def is_cliff(self) -> bool:
        """True if the layer costs too much beside the nearest layer of whole blocks."""
        larger = self.fours.layer.macs > self.fastest.layer.macs
        padded = larger and self.fastest.time <= OF_LARGER * self.fours.time
        return self.of_fours > OF_FOURS and not padded

    @property
    def is_above(self) -> bool:
        """True if the layer is above any limit."""
        return self.of_portable > OF_PORTABLE or self.is_cliff

    @property
    def text(self) -> str:
        """The layer with its figures, in words."""
        ours, unit = self.chosen, "cycles" if self.chosen.in_cycles else "instructions"
        return (
            f"{ours.layer.name} (zero points {ours.layer.input_zero_point}, {ours.layer.output_zero_point}): "
            f"{ours.kernel} {ours.time:,} {unit}, {self.plain.kernel} {self.plain.time:,}, "
            f"-opt=speed {self.fastest.kernel} {self.fastest.time:,}, "
            f"{self.of_fours:.2f} times {self.fours.layer.name} for each product"
        )


def compared(layers: Sequence[SingleLayer], core: str) -> list[Compared]:
    """Returns layers on a core with what they are compared with.

    Many are counted in one image. A layer that is above a limit there is counted in an image of its own, where it takes
    no slower kernel because others use its code.

    Args:
        layers: The layers.
        core: Key of `measure.BOARDS`.
    """
    found = _compared(layers, core, LAYERS)
    return [_compared([each.chosen.layer], core, 1)[0] if each.is_above else each for each in found]


def _compared(layers: Sequence[SingleLayer], core: str, at_once: int) -> list[Compared]:
    def in_images(of: Sequence[SingleLayer], *, plain: bool = False, opt: str = "balanced") -> list[Counted]:
        return counted(of, core, plain=plain, opt=opt, at_once=at_once)

    chosen, plain, fastest = in_images(layers), in_images(layers, plain=True), in_images(layers, opt="speed")
    others = [layer.of_fours() for layer in layers]
    unlike = [other for layer, other in zip(layers, others, strict=True) if other != layer]
    counted_fours = iter(in_images(unlike, opt="speed"))
    fours = [same if same.layer == other else next(counted_fours) for same, other in zip(fastest, others, strict=True)]
    return [Compared(*each) for each in zip(chosen, plain, fastest, fours, strict=True)]
