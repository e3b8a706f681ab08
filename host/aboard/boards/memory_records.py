"""The records of memory in SoC files: regions, and how a core reads code and constants from flash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from aboard.boards.records import Address, BoardRecord, Identifier, Positive

if TYPE_CHECKING:
    from typing_extensions import Self

#: Largest number of lines of a cache; the plugin of QEMU has room for them (`aboard/cycles/histogram.c`).
_MOST_LINES = 1024
#: Most bytes of code that a core executes in a cycle.
_BYTES_A_CYCLE = 4


class Fetch(BoardRecord):
    """How the flash interface of a SoC reads code and constants, with read-ahead of code, as the start-up code sets it.

    Attributes:
        line_bytes: Bytes of one read of the flash.
        code_cache_bytes: Bytes of the instruction cache; 0 without a cache.
        data_cache_bytes: Bytes of the data cache; 0 without a cache.
    """

    line_bytes: Annotated[int, Field(ge=4)]
    code_cache_bytes: Annotated[int, Field(ge=0)]
    data_cache_bytes: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        line = self.line_bytes
        if line.bit_count() != 1:
            raise ValueError(f"line_bytes is no power of two, got {line}, expected 4, 8, 16, ...")
        for name in ("code_cache_bytes", "data_cache_bytes"):
            size = getattr(self, name)
            if size % line or size > _MOST_LINES * line:
                raise ValueError(
                    f"{name} is no number of lines, got {size}, expected a multiple of line_bytes = {line} up to "
                    f"{_MOST_LINES * line}"
                )
        return self

    @property
    def key(self) -> str:
        """Name of the sizes in measurements: bytes of line, instruction cache and data cache."""
        return f"{self.line_bytes}/{self.code_cache_bytes}/{self.data_cache_bytes}"


class Lines(NamedTuple):
    """Lines of flash that neither cache held.

    Attributes:
        awaited: Lines of constants, and lines of code that a branch led to.
        ahead: Lines of code behind the line that was executed before, which are read ahead.
    """

    awaited: float
    ahead: float


@dataclass(frozen=True)
class FlashTiming:
    """How long a core waits for its flash.

    Attributes:
        wait_states: Cycles that a read takes beyond the first.
        fetch: Line and caches.
    """

    wait_states: int
    fetch: Fetch

    def cycles(self, lines: Lines) -> int:
        """Returns the cycles that the core waits for lines.

        A line that is read ahead is late by the cycles that its read takes beyond those of the line before it, whose
        instructions take at least one cycle for four bytes.
        """
        late = max(0, self.wait_states + 1 - self.fetch.line_bytes // _BYTES_A_CYCLE)
        return round(self.wait_states * lines.awaited + late * lines.ahead)

    def __str__(self) -> str:
        """In words: `5 wait states, 1,024 bytes of instruction cache`."""
        size = self.fetch.code_cache_bytes
        cache = f"{size:,} bytes of instruction cache" if size else "no instruction cache"
        return f"{self.wait_states} wait state{'s' * (self.wait_states != 1)}, {cache}"


class Memory(BoardRecord):
    """A memory region, as the cores see the region after reset.

    Attributes:
        name: Name in the linker script.
        kind: Kind of memory; `external` is off the chip.
        address: First address.
        size_bytes: Size.
        load: True for the region of vectors, code and constants; each core has exactly one. A file may list the cores
            that use the region for this purpose.
        data: True for the region of data, bss, arena and stack; each core has exactly one. A file may list cores as for
            `load`.
        cores: Names of the cores that reach the region; empty for all cores.
        data_address: First address of the region on the data bus, at which constants are read; None if both buses have
            the same addresses.
        fetch: How the region with `load = true` is read; None if it is read without wait states, or unknown.
    """

    name: Identifier
    kind: Literal["flash", "ram", "itcm", "dtcm", "external"]
    address: Address
    size_bytes: Positive
    load: bool | tuple[Identifier, ...] = False
    data: bool | tuple[Identifier, ...] = False
    cores: tuple[Identifier, ...] = ()
    data_address: Address | None = None
    fetch: Fetch | None = None

    @model_validator(mode="after")
    def _fetched(self) -> Self:
        if self.fetch is not None and not self.load:
            raise ValueError(f"fetch of a region without load = true, got {self.name}, expected the region of the code")
        return self

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.address + self.size_bytes

    def seen_by(self, core: str) -> Memory | None:
        """Returns the region with its roles for one core; None if that core does not reach the region."""
        if self.cores and core not in self.cores:
            return None
        roles = {"load": _applies(self.load, core), "data": _applies(self.data, core)}
        return self.model_copy(update=roles)


def _applies(role: bool | tuple[str, ...], core: str) -> bool:
    return role if isinstance(role, bool) else core in role
