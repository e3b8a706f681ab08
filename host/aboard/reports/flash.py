"""The flash of an image by use: constants of each layer, kernels, the code that calls them, and the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aboard.project import elf
from aboard.project.elf import ImageSizes, Section, Symbol

_MODEL = re.compile(r"\.(model|weights)(\.|$)")
#: Instances of kernels, and code that instances share.
_KERNEL = re.compile(r"k\d+_|aboard_")
#: Names that C reserves for the compiler.
_LIBRARY = re.compile(r"__")


@dataclass(frozen=True)
class FunctionSize:
    """A function in the model's part of an image.

    Attributes:
        name: Its name, without suffixes that the compiler added.
        bytes: Bytes of its code; code inlined into callers counts for the callers.
    """

    name: str
    bytes: int


@dataclass(frozen=True)
class FlashBreakdown:
    """The parts of an image's flash, in bytes.

    Attributes:
        sizes: Sizes of the whole image.
        sections: Sections of the image.
        constants: Constants of each layer, by its number.
        kernels: Functions of kernels, the largest first.
        code: Functions and tables that call kernels, the largest first.
        library: Functions of the compiler's library, the largest first.
        other: Bytes of the model's part that no symbol names: alignment, constants within code. None if the image has
            no sections for models.
    """

    sizes: ImageSizes
    sections: tuple[Section, ...]
    constants: Mapping[int, int]
    kernels: tuple[FunctionSize, ...]
    code: tuple[FunctionSize, ...]
    library: tuple[FunctionSize, ...]
    other: int | None

    @property
    def constants_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(self.constants.values())

    @property
    def kernels_bytes(self) -> int:
        """Bytes of all kernels."""
        return sum(function.bytes for function in self.kernels)

    @property
    def code_bytes(self) -> int:
        """Bytes of the code that calls kernels."""
        return sum(function.bytes for function in self.code)

    @property
    def library_bytes(self) -> int:
        """Bytes of the functions of the compiler's library that the model needs."""
        return sum(function.bytes for function in self.library)

    @property
    def rest_bytes(self) -> int:
        """Bytes of the image outside the model."""
        return self.sizes.image_flash_bytes - self.sizes.model_flash_bytes


def of(image: Path, sizes: ImageSizes, model: str) -> FlashBreakdown:
    """Returns the flash of an image with one model, by use.

    Args:
        image: The ELF file.
        sizes: Its sizes.
        model: C identifier of the model.

    Raises:
        ToolError: The image is missing or no ELF file.
    """
    sections = elf.sections(image)
    return split(sections, elf.symbols(image), sizes, model)


def split(sections: Iterable[Section], symbols: Iterable[Symbol], sizes: ImageSizes, model: str) -> FlashBreakdown:
    """Returns the flash by use from sections and symbols; arguments as for `of`."""
    listed = tuple(sections)
    mine = [symbol for symbol in symbols if _MODEL.match(symbol.section)]
    constant = re.compile(rf"{re.escape(model)}_(\d+)_")
    constants: dict[int, int] = {}
    kernels: dict[str, int] = {}
    code: dict[str, int] = {}
    library: dict[str, int] = {}
    for symbol in mine:
        layer = None if symbol.is_code else constant.match(symbol.name)
        if layer is not None:
            constants[int(layer[1])] = constants.get(int(layer[1]), 0) + symbol.bytes
            continue
        part = code
        if symbol.is_code:
            part = kernels if _KERNEL.match(symbol.name) else library if _LIBRARY.match(symbol.name) else code
        name = symbol.name.partition(".")[0]
        part[name] = part.get(name, 0) + symbol.bytes
    apart = any(_MODEL.match(section.name) for section in listed)
    named = sum(symbol.bytes for symbol in mine)
    other = sizes.model_flash_bytes - named if apart else None
    return FlashBreakdown(
        sizes=sizes,
        sections=listed,
        constants=dict(sorted(constants.items())),
        kernels=_functions(kernels),
        code=_functions(code),
        library=_functions(library),
        other=other,
    )


def _functions(found: Mapping[str, int]) -> tuple[FunctionSize, ...]:
    return tuple(FunctionSize(name, size) for name, size in sorted(found.items(), key=lambda f: (-f[1], f[0])))
