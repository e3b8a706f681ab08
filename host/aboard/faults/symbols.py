"""Functions and lines of an image, from its symbol table and its DWARF debug information."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from aboard.base.fault_record import CodePlace

if TYPE_CHECKING:
    from typing_extensions import Self

_SCOPES = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine")
_THUMB = 1


class Symbols:
    """The names of an image. Use it in a `with` statement."""

    def __init__(self, image: Path, root: Path) -> None:
        """Opens the image.

        Args:
            image: An ELF file.
            root: Folder of the project; file names are relative to it.

        Raises:
            OSError: The image cannot be read.
            ELFError: The image is no ELF file.
        """
        self._stream = image.open("rb")
        self._root = root
        try:
            self._elf = ELFFile(self._stream)
            self._is_arm = self._elf["e_machine"] == "EM_ARM"
            self._dwarf: Any = self._elf.get_dwarf_info() if self._elf.has_dwarf_info() else None
            self._names = {symbol.name: symbol for symbol in self._table()}
            functions = [symbol for symbol in self._table() if symbol["st_info"]["type"] == "STT_FUNC"]
            self._functions = sorted((self._plain(symbol["st_value"]), symbol) for symbol in _unlike(functions))
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def value(self, name: str) -> int | None:
        """Returns the address of a symbol; None if there is no such symbol."""
        symbol = self._names.get(name)
        return int(symbol["st_value"]) if symbol is not None else None

    def code(self, address: int, count: int) -> bytes:
        """Returns bytes of code; empty if the image has no code there."""
        for section in self._elf.iter_sections():
            start = section["sh_addr"]
            if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and start <= address < start + section["sh_size"]:
                return bytes(section.data()[address - start :][:count])
        return b""

    def find(self, address: int) -> tuple[CodePlace, ...]:
        """Returns the source places of an instruction, innermost inlined function first; empty if there is no code.

        Args:
            address: Link address; for Thumb code with or without bit 0.
        """
        address = self._plain(address)
        if not self.code(address, 1):
            return ()
        unit = self._unit(address)
        if unit is None:
            return (CodePlace(address, self._symbol(address)),)
        return self._places(unit, address)

    def _table(self) -> Iterator[Any]:
        table: Any = self._elf.get_section_by_name(".symtab")
        yield from table.iter_symbols() if table is not None else ()

    def _plain(self, address: int) -> int:
        return int(address) & ~_THUMB if self._is_arm else int(address)

    def _symbol(self, address: int) -> str | None:
        at = bisect_right([start for start, _ in self._functions], address) - 1
        if at < 0:
            return None
        start, symbol = self._functions[at]
        return str(symbol.name) if address < start + max(symbol["st_size"], 1) else None

    def _unit(self, address: int) -> Any:
        """Returns the compilation unit of an address; uses the address table (.debug_aranges) if there is one."""
        if self._dwarf is None:
            return None
        ranges = self._dwarf.get_aranges()
        offset = ranges.cu_offset_at_addr(address) if ranges is not None else None
        if offset is not None:
            return self._dwarf.get_CU_at(offset)
        units = (unit for unit in self._dwarf.iter_CUs() if self._covers(unit, unit.get_top_DIE(), address))
        return next(units, None)

    def _covers(self, unit: Any, die: Any, address: int) -> bool:
        low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
            return bool(low.value <= address < end)
        listed = die.attributes.get("DW_AT_ranges")
        lists = self._dwarf.range_lists()
        if listed is None or lists is None:
            return False
        top = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        base = top.value if top is not None else 0
        for entry in lists.get_range_list_at_offset(listed.value, cu=unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
                continue
            start = 0 if getattr(entry, "is_absolute", False) else base
            if start + entry.begin_offset <= address < start + entry.end_offset:
                return True
        return False

    def _places(self, unit: Any, address: int) -> tuple[CodePlace, ...]:
        """Returns the line of an address, then the lines of the calls that were inlined, innermost first."""
        scopes = list(self._scopes(unit, unit.get_top_DIE(), address))
        program = self._dwarf.line_program_for_CU(unit)
        file, line = self._line(unit, program, address)
        places: list[CodePlace] = []
        for scope in reversed(scopes):
            places.append(CodePlace(address, _name(scope) or self._symbol(address), file, line))
            called = scope.attributes.get("DW_AT_call_file"), scope.attributes.get("DW_AT_call_line")
            file = self._file(unit, program, called[0].value) if called[0] is not None else None
            line = called[1].value if called[1] is not None else None
        return tuple(places) or (CodePlace(address, self._symbol(address), file, line),)

    def _scopes(self, unit: Any, die: Any, address: int) -> Iterator[Any]:
        """Yields the function at an address and the functions inlined in it there, outermost first."""
        for child in die.iter_children():
            is_function = child.tag == "DW_TAG_subprogram"
            if (is_function or child.tag in _SCOPES) and self._covers(unit, child, address):
                if child.tag != "DW_TAG_lexical_block":
                    yield child
                yield from self._scopes(unit, child, address)
                return

    def _line(self, unit: Any, program: Any, address: int) -> tuple[str | None, int | None]:
        before = None
        for entry in program.get_entries() if program is not None else ():
            state = entry.state
            if state is None:
                continue
            if before is not None and before.address <= address < state.address:
                return self._file(unit, program, before.file), before.line
            before = None if state.end_sequence else state
        return None, None

    def _file(self, unit: Any, program: Any, number: int) -> str | None:
        if program is None:
            return None
        first = 0 if program["version"] >= 5 else 1
        entries = program["file_entry"]
        if not 0 <= number - first < len(entries):
            return None
        entry = entries[number - first]
        folders = program["include_directory"]
        folder = entry.dir_index - first
        parts = [folders[folder].decode()] if 0 <= folder < len(folders) else []
        top = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
        path = PurePosixPath(top.value.decode() if top is not None else "", *parts, entry.name.decode())
        # ccache makes `build/../firmware/main.c` of `firmware/main.c`, so that projects share what it keeps.
        return self._relative(PurePosixPath(posixpath.normpath(path)))

    def _relative(self, path: PurePosixPath) -> str:
        """Returns the path relative to the project, even if the project was moved after the build."""
        for first in range(len(path.parts)):
            inner = PurePosixPath(*path.parts[first:])
            if not inner.is_absolute() and (self._root / inner).is_file():
                return str(inner)
        return str(path)


def _unlike(symbols: list[Any]) -> list[Any]:
    """Returns one symbol for each address, so that sorting by address is unambiguous."""
    return list({symbol["st_value"]: symbol for symbol in symbols}.values())


def _name(die: Any) -> str | None:
    """Returns the name of a function, which DWARF may store in the entry of its declaration."""
    seen = 0
    while "DW_AT_name" not in die.attributes and seen < 4:
        link = next((name for name in ("DW_AT_abstract_origin", "DW_AT_specification") if name in die.attributes), None)
        if link is None:
            return None
        die = die.get_DIE_from_attribute(link)
        seen += 1
    name = die.attributes.get("DW_AT_name")
    return name.value.decode() if name is not None else None
