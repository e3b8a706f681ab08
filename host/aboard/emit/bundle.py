"""The bundle: all files that a firmware project needs for a model, in one folder.

manifest.json              the facts for the device path
CMakeLists.txt             static library `model_<name>`
include/<name>.h           the model's API
include/aboard/*.h         headers that it includes
src/<name>.c               the model
src/<name>_weights.h       its constants
src/kernels/*/*.h          only the kernels that it uses
src/<name>_<kind>_*.c      regions of accelerators, with prototypes in src/<name>_devices.h
src/<name>_control.c       branches and loops, with prototypes in src/<name>_control.h
src/<name>_subgraph_*.c    graphs inside them, with constants in src/<name>_subgraph_*_weights.h
src/devices/<kind>/*       runtime sources of the accelerators
.aboard-files.json         the files that aboard wrote (`aboard.outputs`)
test/<name>_test.c         a program that tests a build, with test/sample.h; not a part of the model
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from aboard import outputs
from aboard.base import bundle_files, manifest, resources
from aboard.base.manifest import Manifest
from aboard.base.version import VERSION
from aboard.emit import accelerators, constants, control, header, intrinsics, records, rolling, sample, source
from aboard.emit.instances import Instances
from aboard.ir import Graph, Rounding
from aboard.kernels import registry
from aboard.kernels.contract import KernelCall
from aboard.memory.arenas import Layout
from aboard.schedule import cost
from aboard.schedule.control import inside
from aboard.schedule.lowering import Program, Step
from aboard.target import Target, runtimes

GENERATOR = f"aboard {VERSION}"
_PUBLIC_HEADERS = ("config.h", "hooks.h", "model.h", "quantize.h", "status.h", "view.h")
_OPT_FLAGS = {"size": ("-Os",), "balanced": ("-O2",), "speed": ("-O3", "-DABOARD_SPEED")}
# Kernels keep sums in registers; gcc 12 packs them into Helium vectors lane by lane, so that kws takes 1.5 times as
# long.
_CFLAGS = ("-fno-tree-slp-vectorize",)
_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def emit(
    graph: Graph, program: Program, layout: Layout, target: Target, macs: int, *, hooks: bool, code_in_ram: bool = False
) -> tuple[dict[str, str], Manifest]:
    """Returns the files of a bundle, without the manifest, and the manifest.

    Args:
        graph: The compiled graph.
        program: Its schedule.
        layout: Addresses of `program.live_ranges`.
        target: The target of the code.
        macs: Multiply-accumulates of the model before all passes.
        hooks: True if the code calls hooks and can run a single node.
        code_in_ram: True if the start-up code copies the kernels to RAM.
    """
    name = graph.name
    instances = Instances(program, target, standalone=hooks, code_in_ram=code_in_ram)
    flash = program.flash(target)
    files = {
        f"include/{name}.h": header.text(graph, program, layout, GENERATOR, target),
        f"src/{name}_weights.h": constants.weights_text(graph, instances, GENERATOR, target),
    }
    include = resources.firmware() / "include" / "aboard"
    files |= {f"include/aboard/{h}": (include / h).read_text(encoding="utf-8") for h in _PUBLIC_HEADERS}
    bodies = inside(program)
    steps = [step for each in (program, *(body.program for body in bodies)) for step in each.steps]
    # Steps that run alone have all rows in one call, for which a kernel may have another header.
    steps += program.standalone.values() if hooks else ()
    used = [step.call.header for step in steps if isinstance(step.call, KernelCall)]
    files |= kernel_headers([*used, *rolling.headers(program)])
    functions = intrinsics.lowered(target, _float_headers(steps))
    files[f"src/{name}.c"] = source.text(
        graph, program, layout, instances, GENERATOR, target, functions.text, hooks=hooks
    )
    added = accelerators.files(graph, program).joined(functions.added).joined(accelerators.linked(target))
    added = added.joined(control.files(program, GENERATOR, functions.text))
    files |= added.files
    weights = instances.constants_bytes + sum(Instances(each.program, target).constants_bytes for each in bodies)
    tests = sample.files(graph, program, layout, GENERATOR, target, macs, hooks=hooks)
    files["CMakeLists.txt"] = _cmake(name, added, has_test=bool(tests), hooks=hooks)
    record = Manifest(
        generator=GENERATOR,
        name=name,
        model_file=graph.source,
        model_hash=graph.model_hash,
        target=str(target),
        core=target.cpu.name,
        input_mode=target.input_mode,
        hooks=hooks,
        macs=macs,
        macs_run=sum(cost.macs(step.node, program.assignment) for step in program.steps),
        ram_bytes=layout.peak,
        ram_lower_bound_bytes=layout.bound,
        arenas=records.arenas(layout),
        weights_region=target.weights_region,
        weights_bytes=weights,
        copied_bytes=_copied(instances, flash, weights),
        flash_predicted_bytes=None if flash is None else max(flash, weights),
        cflags=(*_OPT_FLAGS[target.opt], *_CFLAGS, *(f"-D{macro}" for macro in added.definitions)),
        sources=(f"src/{name}.c", *sorted(path for path in added.files if path.endswith(".c"))),
        headers=tuple(sorted(path for path in files if path.endswith(".h"))),
        tests=tuple(sorted(tests)),
        source_flags=added.source_flags,
        include_folders=added.include_folders,
        template=runtimes.template_name(target),
        prediction=records.prediction(target),
        inputs=records.tensors(graph.inputs, "input", program, layout, _rounding(target)),
        outputs=records.tensors(graph.outputs, "output", program, layout),
        states=records.states(program, layout),
        state=records.state_block(program, layout),
        notes=tuple(graph.notes),
        nodes=records.nodes(program, instances, target),
        buffers=records.buffers(program, layout),
    )
    return files | tests, record


def _copied(instances: Instances, flash: int | None, weights: int) -> int:
    """Returns the bytes of constants and code that the start-up code copies to RAM; those of code are predicted."""
    code = max((flash or 0) - weights, 0) if instances.code_in_ram else 0
    return instances.ram_constants_bytes + code


def _float_headers(steps: Iterable[Step]) -> dict[str, str]:
    """Returns the kernel headers of floating-point steps, and the headers that these include."""
    floats = [step for step in steps if any(tensor.dtype.is_float for tensor in step.node.outputs)]
    return kernel_headers(step.call.header for step in floats if isinstance(step.call, KernelCall))


def kernel_headers(wanted: Iterable[str], folder: str = "src/kernels") -> dict[str, str]:
    """Returns kernel headers and the headers that these include, by path in the bundle.

    Args:
        wanted: Paths below `firmware/kernels/`, or below the headers of a package.
        folder: Folder of the bundle for them.

    Raises:
        PluginError: A kernel of a package names or includes a header that does not exist.
    """
    files: dict[str, str] = {}
    left = sorted(set(wanted))
    while left:
        path = left.pop(0)
        key = f"{folder}/{path}"
        if key in files:
            continue
        files[key] = registry.header(path).read_text(encoding="utf-8")
        for included in _INCLUDE.findall(files[key]):
            if not included.startswith("aboard/"):
                left.append(_resolve(PurePosixPath(path).parent / included))
    return dict(sorted(files.items()))


def _resolve(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _rounding(target: Target) -> Rounding:
    return Rounding(str(target.host.attrs["arithmetic"]))


def _cmake(name: str, added: accelerators.Added, *, has_test: bool, hooks: bool) -> str:
    here = "${CMAKE_CURRENT_LIST_DIR}"
    sources = "".join(f"\n            {here}/{path}" for path in sorted(added.files) if path.endswith(".c"))
    known = " Definitions it knows: see include/aboard/hooks.h." if hooks else ""
    text = f"""# The model `{name}` as a static library.{known}
add_library(model_{name} STATIC {here}/src/{name}.c{sources})
target_include_directories(model_{name} PUBLIC {here}/include)
"""
    if added.include_folders:
        folders = " ".join(f"{here}/{folder}" for folder in added.include_folders)
        text += f"target_include_directories(model_{name} PRIVATE {folders})\n"
    if added.definitions:
        text += f"target_compile_definitions(model_{name} PRIVATE {' '.join(added.definitions)})\n"
    for flags in added.source_flags:
        paths = "".join(f"\n  {here}/{path}" for path in flags.sources)
        chosen = (f"$<$<C_COMPILER_ID:{i}>:{';'.join(f)}>" for i, f in (("GNU", flags.gcc), ("Clang", flags.clang)))
        text += (
            f"# Another core executes these, or they are others' own.\nset_source_files_properties({paths}\n"
            f'  PROPERTIES COMPILE_OPTIONS "{";".join(chosen)}")\n'
        )
    if not has_test:
        return text
    return (
        text
        + f"""# A program that proves a build with its compiler and flags, and a test of CTest.
if(ABOARD_SAMPLE_TESTS)
  add_executable(test_{name} {here}/{sample.FOLDER}/{name}_test.c)
  target_link_libraries(test_{name} PRIVATE model_{name})
  add_test(NAME test_{name} COMMAND test_{name})
endif()
"""
    )


def save(files: Mapping[str, str], record: Manifest, folder: Path, *, force: bool = False) -> Path:
    """Writes the whole bundle, or nothing.

    Args:
        files: The files from `emit`.
        record: The manifest.
        folder: A new folder, or a bundle that is replaced.
        force: True to overwrite files in the way that aboard did not write.

    Returns:
        The folder as given.

    Raises:
        ProjectError: The folder holds something other than an unchanged bundle, or cannot be written.
    """

    def fill(fresh: Path) -> None:
        for path, text in files.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_text(text, encoding="utf-8")
        manifest.write(record, fresh)

    outputs.write_folder(folder, "bundle", manifest.subject(record), fill, force=force)
    return folder


def load(folder: Path) -> tuple[Manifest, dict[str, str]]:
    """Reads a bundle.

    Raises:
        ProjectError: The bundle or a file of it is missing.
    """
    record = manifest.read(folder)
    paths = ("CMakeLists.txt", *record.headers, *record.sources, *record.tests)
    return record, {path: bundle_files.read(folder, path) for path in paths}
