"""What devices add to a bundle: a source file for each region, prototypes, and the devices' runtime sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from aboard.emit.instances import argument_names, argument_type
from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.kernels.contract import ExternalCall
from aboard.schedule.lowering import Program
from aboard.target import Runtime, columns


@dataclass(frozen=True)
class Added:
    """What devices add.

    Attributes:
        files: Text of each file by its path in the bundle.
        include_folders: Folders of the bundle in which headers are looked for.
        definitions: Macros for the compiler.
    """

    files: Mapping[str, str]
    include_folders: tuple[str, ...]
    definitions: tuple[str, ...]


def calls(program: Program) -> list[ExternalCall]:
    """Returns the calls of devices' functions, in order."""
    return [step.call for step in program.steps if isinstance(step.call, ExternalCall)]


def header_name(graph: Graph) -> str:
    """Returns the name of the header with the prototypes."""
    return f"{graph.name}_devices.h"


def files(graph: Graph, program: Program) -> Added:
    """Returns what devices add to a bundle.

    Raises:
        TargetError: A device's runtime is wrong.
    """
    regions = calls(program)
    if not regions:
        return Added({}, (), ())
    texts = {f"src/{header_name(graph)}": _prototypes(graph, regions)}
    for call in regions:
        texts[f"src/{call.function}.c"] = (
            f"/* A region of the model {graph.name}, for the device {call.device}. Generated. */\n"
            f'#include "{header_name(graph)}"\n\n{call.source.rstrip()}\n'
        )
    folders: list[str] = []
    definitions: list[str] = []
    for call in {call.folder: call for call in regions}.values():
        runtime: Runtime | None = columns.call(call.device, "runtime")
        if runtime is None:
            continue
        root = f"src/devices/{call.folder}"
        texts |= {_inside(root, path, call): text for path, text in runtime.files.items()}
        folders += [str(PurePosixPath(root) / folder) for folder in runtime.include_folders]
        definitions += runtime.definitions
    return Added(texts, tuple(dict.fromkeys(folders)), tuple(dict.fromkeys(definitions)))


def _inside(root: str, path: str, call: ExternalCall) -> str:
    """Returns the path in the bundle of a runtime's file."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or pure.suffix not in (".c", ".h"):
        raise TargetError(
            f"kind {call.device.kind.name}, column runtime: a file, got {path}, expected a .c or .h below the device's "
            "folder. This is a bug of the device's package"
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
