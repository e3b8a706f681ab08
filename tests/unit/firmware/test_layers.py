"""Includes of the firmware go one way: no circle between its files, and none that goes up in the table of layers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aboard.base import resources
from support.rpc_device import INCLUDES, RPC_SOURCES

FIRMWARE = resources.firmware()

#: Folders, lowest first: a file includes from its own folder and from the lines above.
FOLDERS = (
    ("include/aboard",),
    ("kernels", "rpc", "mlperf", "cores", "ports", "sample", "devices"),
    ("frontend", "emulation"),
)

#: The files of the RPC server, lowest first: each includes only from the lines above, beside `include/aboard`.
RPC = (
    "messages",
    "crc32",
    "frame",
    "state",
    "reply",
    "receive",
    "models",
    "regions",
    "run",
    "requests",
    "states",
    "rows",
    "server",
)

#: Headers that templates write into a project, and no part of the firmware.
GENERATED = {"aboard_board.h"}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
Graph = Mapping[str, set[str]]


def unit(path: Path, root: Path) -> str:
    """Returns the name of a header and its source: they are one thing."""
    return path.relative_to(root).with_suffix("").as_posix()


def candidates(name: str, source: Path, root: Path) -> list[Path]:
    """Returns the files that an include may mean: which port's header it is depends on the board."""
    for folder in (source.parent, root / "include", root, root / "devices" / source.parent.name):
        if (folder / name).is_file():
            return [(folder / name).resolve()]
    top = root / source.relative_to(root).parts[0]
    return [path for path in top.rglob(Path(name).name) if path.as_posix().endswith(f"/{name}")]


def includes(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yields a file and a file that it includes, for each #include line.

    Raises:
        AssertionError: A line names no file.
    """
    for source in sorted(root.rglob("*.[ch]")):
        for name in _INCLUDE.findall(source.read_text(encoding="utf-8")):
            found = candidates(name, source, root)
            assert found or name in GENERATED, f"{source.relative_to(root)} includes {name}, which is nowhere"
            yield from ((source, path) for path in found)


def graph(root: Path) -> dict[str, set[str]]:
    """Returns the units that each unit includes."""
    edges: dict[str, set[str]] = {unit(path, root): set() for path in root.rglob("*.[ch]")}
    for source, target in includes(root):
        edges[unit(source, root)].add(unit(target, root))
    return {name: found - {name} for name, found in edges.items()}


def circle(edges: Graph) -> list[str]:
    """Returns the units that are left when all whose includes are settled are taken away: those in or above circles."""
    left = {name: set(found) for name, found in edges.items()}
    while settled := {name for name, found in left.items() if not found}:
        left = {name: found - settled for name, found in left.items() if name not in settled}
    return sorted(left)


def upward(edges: Graph) -> list[str]:
    """Returns the includes that go up in the tables."""
    folder_rank = {folder: rank for rank, layer in enumerate(FOLDERS) for folder in layer}
    rpc_rank = {f"rpc/{name}": rank for rank, name in enumerate(RPC)}

    def folder(name: str) -> str:
        return next(folder for folder in folder_rank if name.startswith(folder + "/"))

    found = []
    for name, used in edges.items():
        for other in used:
            own, its = folder(name), folder(other)
            goes_up = folder_rank[its] > folder_rank[own] or (own != its and folder_rank[its] == folder_rank[own])
            if goes_up or (own == its == "rpc" and rpc_rank[other] >= rpc_rank[name]):
                found.append(f"{name} includes {other}")
    return sorted(found)


def test_the_firmware_includes_without_circles() -> None:
    assert circle(graph(FIRMWARE)) == []


def test_no_include_goes_up() -> None:
    assert upward(graph(FIRMWARE)) == []


def test_the_table_names_the_files_of_the_server() -> None:
    assert sorted(RPC) == sorted({path.stem for path in (FIRMWARE / "rpc").iterdir()})


def test_the_manual_of_the_server_shows_the_table() -> None:
    lines = (FIRMWARE / "rpc" / "server.h").read_text(encoding="utf-8").splitlines()
    assert " <- ".join(RPC) in " ".join(line.removeprefix(" *").strip() for line in lines)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for name, text in {
        "rpc/reply.h": "",
        "rpc/reply.c": '#include "reply.h"\n',
        "rpc/run.h": '#include "reply.h"\n',
        "rpc/run.c": '#include "run.h"\n',
        "ports/port.c": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_circle_through_a_source_is_found(small: Path) -> None:
    assert circle(graph(small)) == []
    (small / "rpc/reply.c").write_text('#include "reply.h"\n#include "run.h"\n')
    assert circle(graph(small)) == ["rpc/reply", "rpc/run"]
    assert upward(graph(small)) == ["rpc/reply includes rpc/run"]


def test_an_include_of_a_folder_beside_is_found(small: Path) -> None:
    (small / "ports/port.c").write_text('#include "rpc/run.h"\n')
    assert upward(graph(small)) == ["ports/port includes rpc/run"]


def test_an_include_of_nothing_is_found(small: Path) -> None:
    (small / "rpc/run.c").write_text('#include "walk.h"\n')
    with pytest.raises(AssertionError, match=r"rpc/run\.c includes walk\.h, which is nowhere"):
        graph(small)


def symbols(path: Path, *kinds: str) -> set[str]:
    done = subprocess.run(["nm", "--format=posix", str(path)], capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {name for name, kind, *_ in rows if kind in kinds and name.startswith("aboard_")}


def test_no_file_of_the_server_calls_one_above_it(tmp_path: Path) -> None:
    defined: set[str] = set()
    calls = {}
    for source in sorted(RPC_SOURCES, key=lambda path: RPC.index(path.stem)):
        output = tmp_path / f"{source.stem}.o"
        subprocess.run(["gcc", "-std=c99", *INCLUDES, "-c", str(source), "-o", str(output)], check=True)
        port = {name for name in symbols(output, "U") if name.startswith("aboard_port_")}
        calls[source.stem] = symbols(output, "U") - port - defined
        defined |= symbols(output, "T", "R", "D")
    assert {name: found for name, found in calls.items() if found} == {}
    assert "aboard_receive" in defined
