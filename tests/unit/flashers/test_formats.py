"""Images as Intel HEX, binary and UF2: what is read back is what the ELF file puts into flash."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import flashers
from aboard.errors import ToolError
from aboard.flashers import formats

Pieces = list[tuple[int, bytes]]


def elf(path: Path, pieces: Pieces) -> Path:
    """Writes a 32-bit ELF file with a loaded segment for each piece, its run-time address elsewhere."""
    head, entry = 52, 32
    offset = head + entry * len(pieces)
    headers, data = b"", b""
    for address, content in pieces:
        headers += struct.pack("<8I", 1, offset + len(data), 0x2000_0000, address, len(content), len(content) + 8, 4, 1)
        data += content
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0, head, 0, 0, head, entry, len(pieces), 40, 0, 0)
    path.write_bytes(header + headers + data)
    return path


def read_hex(path: Path) -> dict[int, int]:
    """Reads Intel HEX, each record with its checksum."""
    found: dict[int, int] = {}
    base, ended = 0, False
    for line in path.read_text().splitlines():
        assert line[0] == ":"
        assert not ended
        record = bytes.fromhex(line[1:])
        assert sum(record) & 0xFF == 0
        count, address, kind, data = record[0], int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        assert count == len(data)
        if kind == 4:
            base = int.from_bytes(data, "big") << 16
        elif kind == 0:
            assert address + count <= 0x10000
            found.update({base + address + i: byte for i, byte in enumerate(data)})
        ended = kind == 1
    assert ended
    return found


pieces = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda page: 0x0800_0000 + page * 0x2000 - 24), st.binary(min_size=1, max_size=200)
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda piece: piece[0],
)


@settings(max_examples=50, deadline=None)
@given(pieces)
def test_hex_holds_every_byte_at_its_place(tmp_path_factory: pytest.TempPathFactory, found: Pieces) -> None:
    folder = tmp_path_factory.mktemp("hex")
    written = read_hex(formats.write_hex(elf(folder / "a.elf", found), folder / "a.hex"))
    assert written == {address + i: byte for address, data in found for i, byte in enumerate(data)}


@settings(max_examples=50, deadline=None)
@given(pieces)
def test_uf2_holds_every_byte_at_its_place(tmp_path_factory: pytest.TempPathFactory, found: Pieces) -> None:
    folder = tmp_path_factory.mktemp("uf2")
    raw = formats.write_uf2(elf(folder / "a.elf", found), folder / "a.uf2", 0xE48BFF56).read_bytes()
    assert len(raw) % 512 == 0
    wanted = {address + i: byte for address, data in found for i, byte in enumerate(data)}
    addresses = []
    for number in range(len(raw) // 512):
        block = raw[number * 512 :][:512]
        head = struct.unpack("<8I", block[:32])
        assert (head[0], head[1], struct.unpack("<I", block[508:])[0]) == (0x0A324655, 0x9E5D5157, 0x0AB16F30)
        assert head[2:] == (0x2000, head[3], 256, number, len(raw) // 512, 0xE48BFF56)
        addresses.append(head[3])
        for i, byte in enumerate(block[32:288]):
            assert wanted.pop(head[3] + i, 0) == byte
        assert not any(block[288:508])
    assert wanted == {}
    assert addresses == sorted(set(addresses))
    assert all(address % 256 == 0 for address in addresses)


def test_a_record_does_not_cross_a_page_of_64_kilobytes(tmp_path: Path) -> None:
    path = formats.write_hex(elf(tmp_path / "a.elf", [(0x0800_FFF8, bytes(range(16)))]), tmp_path / "a.hex")
    assert path.read_text().splitlines() == [
        ":020000040800F2",
        ":08FFF8000001020304050607E5",
        ":020000040801F1",
        ":0800000008090A0B0C0D0E0F9C",
        ":00000001FF",
    ]


@settings(max_examples=50, deadline=None)
@given(pieces)
def test_bin_holds_every_byte_at_its_place(tmp_path_factory: pytest.TempPathFactory, found: Pieces) -> None:
    folder = tmp_path_factory.mktemp("bin")
    start = min(address for address, _ in found)
    data = formats.write_bin(elf(folder / "image.elf", found), folder / "image.bin").read_bytes()
    given_bytes = {address - start + i: byte for address, content in found for i, byte in enumerate(content)}
    assert [given_bytes.get(at, 0xFF) for at in range(max(given_bytes) + 1)] == list(data)


def test_esptool_takes_an_image_for_direct_boot_as_it_is(tmp_path: Path) -> None:
    tool = flashers.all_flashers()["esptool"]
    settings_of = tool.settings(chip="esp32c3", address=0)
    direct = elf(tmp_path / "direct.elf", [(0x4200_0000, bytes.fromhex("1d04dbae1d04dbae") + b"code")])
    assert tool.convert(direct, tmp_path, settings_of).read_bytes().endswith(b"code")
    other = elf(tmp_path / "other.elf", [(0x4200_0000, b"code")])
    with pytest.raises(ToolError, match=r"other\.bin: no image for the boot ROM, .*template zephyr"):
        tool.convert(other, tmp_path, settings_of)


def test_what_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"none\.elf: no image, got No such file.*Run `aboard build`"):
        formats.segments(tmp_path / "none.elf")
    (tmp_path / "text.elf").write_text("text")
    with pytest.raises(ToolError, match=r"text\.elf: not an ELF file.*Build it again"):
        formats.segments(tmp_path / "text.elf")
    with pytest.raises(ToolError, match=r"empty\.elf: holds nothing to flash, got no loaded segment"):
        formats.segments(elf(tmp_path / "empty.elf", []))
