"""Files that accelerators add to a bundle: a source file for each region, prototypes, and runtime sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from aboard.base import fields, quoting
from aboard.base.manifest_records import SourceFlags
from aboard.emit.instances import argument_names, argument_type
from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.kernels.contract import ExternalCall
from aboard.schedule.lowering import Program
from aboard.target import Runtime, Target, columns, runtimes

#: Files without code that a bundle may contain.
_LICENCES = ("LICENSE", "NOTICE")


@dataclass(frozen=True)
class Added:
    """Files that accelerators add.

    Attributes:
        files: Text of each file by its path in the bundle.
        include_folders: Folders of the bundle with headers.
        definitions: Macros for the compiler.
        source_flags: Flags for files that another core executes, and for third-party files.
    """

    files: Mapping[str, str]
    include_folders: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    source_flags: tuple[SourceFlags, ...] = ()

    def joined(self, other: Added) -> Added:
        """Returns the union with the files of another accelerator."""
        flags: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for entry in (*self.source_flags, *other.source_flags):
            flags.setdefault((entry.gcc, entry.clang), []).extend(entry.sources)
        return Added(
            {**self.files, **other.files},
            tuple(dict.fromkeys((*self.include_folders, *other.include_folders))),
            tuple(dict.fromkeys((*self.definitions, *other.definitions))),
            tuple(
                SourceFlags(sources=tuple(sorted(set(paths))), gcc=gcc, clang=clang)
                for (gcc, clang), paths in flags.items()
            ),
        )


def calls(program: Program) -> list[ExternalCall]:
    """Returns the calls of accelerators' functions, in order."""
    return [step.call for step in program.steps if isinstance(step.call, ExternalCall)]


def header_name(graph: Graph) -> str:
    """Returns the name of the header with the prototypes."""
    return f"{graph.name}_devices.h"


def files(graph: Graph, program: Program) -> Added:
    """Returns the files that accelerators add to a bundle.

    Raises:
        TargetError: The runtime of an accelerator is wrong.
    """
    regions = calls(program)
    if not regions:
        return Added({})
    texts = {f"src/{header_name(graph)}": _prototypes(graph, regions)}
    for call in regions:
        device = quoting.c_comment(str(call.device))
        texts[f"src/{call.function}.c"] = (
            f"/* A region of the model {graph.name}, for the device {device}. Generated. */\n"
            f'#include "{header_name(graph)}"\n\n{call.source.rstrip()}\n'
        )
    added = Added(texts)
    _check_folders(regions)
    for call, runtime in _runtimes(regions):
        root = f"src/devices/{call.folder}"
        brought = placed(runtime, root, f"kind {call.device.kind.name}, column runtime")
        clash = next((path for path, text in brought.files.items() if added.files.get(path, text) != text), None)
        if clash is not None:
            raise TargetError(
                f"kind {call.device.kind.name}, column codegen: {clash.removeprefix(root)[1:]} of {call.function} "
                "differs from that of another region, expected one text. This is a bug of the device's package"
            )
        added = added.joined(brought)
    return added


def _check_folders(regions: list[ExternalCall]) -> None:
    """Checks that no two kinds claim the same folder of the bundle, as `my-npu` and `my_npu` would."""
    owners: dict[str, str] = {}
    for call in regions:
        owner = owners.setdefault(call.folder, call.device.kind.name)
        if owner != call.device.kind.name:
            raise TargetError(
                f"kinds {owner} and {call.device.kind.name}: both claim the folder src/devices/{call.folder}, expected "
                "names that differ in more than punctuation. Rename one of them"
            )


def linked(target: Target) -> Added:
    """Returns the files that the runtime of a target's host adds to a bundle (`-runtime` of a kind's own).

    Raises:
        TargetError: One of its files is wrong.
    """
    found = runtimes.find(target)
    if found is None or found.files is None:
        return Added({})
    return placed(found.files, "src/runtime", f"kind {target.host.kind.name}, column runtimes: {found.name}")


def placed(runtime: Runtime, root: str, where: str) -> Added:
    """Returns C files with their paths in a bundle.

    Args:
        runtime: The files.
        root: Folder of the bundle for them.
        where: Their origin, for error messages.

    Raises:
        TargetError: A file is not C or not below the folder, or a path, macro or flag is invalid.
    """
    files = {_inside(root, path, where): text for path, text in runtime.files.items()}
    folders = tuple(str(PurePosixPath(root) / folder) for folder in runtime.include_folders)
    flags = [flag for given in runtime.core_flags.values() for flag in given]
    try:
        for path in (*files, *folders):
            fields.relative_path(path)
        for flag in (*(f"-D{macro}" for macro in runtime.definitions), *flags):
            fields.flag(flag)
    except ValueError as error:
        raise TargetError(f"{where}: {error}. This is a bug of the device's package") from error
    return Added(files, folders, tuple(runtime.definitions), _flags(runtime, root))


def _flags(runtime: Runtime, root: str) -> tuple[SourceFlags, ...]:
    """Returns the flags of the C files that need some."""
    by_flags: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for path in sorted(path for path in runtime.files if path.endswith(".c")):
        quiet = ("-w",) if runtime.is_foreign else ()
        core = runtime.core_flags if path in runtime.core_files else {}
        flags = (*core.get("gcc", ()), *quiet), (*core.get("clang", ()), *quiet)
        if any(flags):
            by_flags.setdefault(flags, []).append(f"{root}/{path}")
    return tuple(SourceFlags(sources=tuple(paths), gcc=gcc, clang=clang) for (gcc, clang), paths in by_flags.items())


def _runtimes(regions: list[ExternalCall]) -> Iterator[tuple[ExternalCall, Runtime]]:
    """Yields the runtime that each accelerator shares between its regions, then the runtime of each single region."""
    for call in {call.folder: call for call in regions}.values():
        shared: Runtime | None = columns.call(call.device, "runtime")
        if shared is not None:
            yield call, shared
    yield from ((call, call.runtime) for call in regions if call.runtime is not None)


def _inside(root: str, path: str, where: str) -> str:
    """Returns the path in the bundle of a runtime's file."""
    pure = PurePosixPath(path)
    kept = pure.suffix in (".c", ".h") or pure.name in _LICENCES
    if pure.is_absolute() or ".." in pure.parts or not kept:
        raise TargetError(
            f"{where}: a file, got {path}, expected a .c or .h, or a LICENSE, below the device's folder. "
            "This is a bug of the device's package"
        )
    return f"{root}/{path}"


def _prototypes(graph: Graph, regions: list[ExternalCall]) -> str:
    guard = f"{graph.name.upper()}_DEVICES_H"
    prototypes = []
    for call in regions:
        names = argument_names(call)
        typed = [f"{argument_type(a)}{n}" for a, n in zip(call.arguments, names, strict=True)]
        prototypes.append(f"aboard_status_t {call.function}({', '.join(typed) or 'void'});\n")
    return "\n".join(
        [
            f"/* What devices compute of the model {graph.name}. Generated. */",
            f"#ifndef {guard}\n#define {guard}\n",
            "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
            '#include "aboard/config.h"\n#include "aboard/status.h"\n',
            *prototypes,
            "#endif\n",
        ]
    )
