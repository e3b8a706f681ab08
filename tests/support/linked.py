"""Models as they are linked: built by the GNU compiler with a bundle's own flags, what is not called left out."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from aboard.boards import cpu as cpus
from aboard.compiler.pipeline import Module
from aboard.project import elf as images

#: Projects compile models with this switch unless they are told not to (`-O profile=off`).
PROFILED = "-DABOARD_HOOKS=1"

#: Section of what models need of the compiler's own library.
LIBRARY = ".library"
#: Section of a model's own code and constants.
MODEL = ".model"

_SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables", "-fno-common")
_SCRIPT = """SECTIONS {{
  {library} 0x1000 : {{ *libgcc.a:*(.text* .rodata* .srodata*) }}
  {own} : {{ KEEP(*(*.{name}_model)) *(.text* .rodata* .srodata* .data* .sdata* .aboard*) }}
  .bss : {{ *(.bss* .sbss*) }}
  /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab*) }}
}}
"""


def link(module: Module, folder: Path, switches: Sequence[str] = (PROFILED,)) -> Path:
    """Builds a model by itself, without a project: every core's code can be linked, whatever memory its boards have.

    Args:
        module: The model.
        folder: For what is built; it is made where it is missing.
        switches: Definitions that the model is compiled with.

    Returns:
        An ELF file that no core could run: the C library's functions, which are the image's own, are not there.

    Raises:
        subprocess.CalledProcessError: The compiler or the linker refuses it.
    """
    folder.mkdir(exist_ok=True)
    cpu, record = cpus.find(module.manifest.core), module.manifest
    hooked = module.with_hooks() if PROFILED in switches else module
    bundle = hooked.save(folder / record.name)
    gcc = (cpu.cross_compiler, *cpu.flags("gcc"))
    library = subprocess.run((*gcc, "-print-libgcc-file-name"), check=True, capture_output=True, text=True).stdout
    headers = ("--specs=picolibc.specs",) if cpu.is_riscv else ()
    objects = []
    for source in record.sources:
        objects.append(folder / f"{Path(source).stem}.o")
        given = (*record.cflags, *_SECTIONS, *switches, f"-I{bundle / 'include'}")
        subprocess.run((*gcc, *headers, *given, "-c", bundle / source, "-o", objects[-1]), check=True)
    script, linked = folder / "model.ld", folder / "model.elf"
    script.write_text(_SCRIPT.format(name=record.name, own=MODEL, library=LIBRARY), encoding="utf-8")
    rules = ("-nostdlib", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all", f"-Wl,-T,{script}")
    entry = (f"-Wl,-e,{record.name}_model", f"-Wl,-u,{record.name}_model")
    subprocess.run((*gcc, *rules, *entry, *objects, library.strip(), "-o", linked), check=True)
    return linked


def flash_bytes(elf: Path) -> int:
    """Returns the bytes that a linked model adds to an image, as `flash_bytes` of `aboard deploy` counts them."""
    return sum(section.bytes for section in images.sections(elf) if section.in_flash)
