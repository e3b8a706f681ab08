"""The JSON of the commands that create, build and run projects."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from aboard.cli.schema_result import Result
from aboard.cli.schema_verdict import EstimatedTimeInfo
from aboard.device.timing import Basis


class ModelInfo(Result):
    """A model of a project."""

    name: str
    model_hash: str = Field(description="SHA-256 of the model file, hex.")
    target: str
    ram_bytes: int = Field(description="Size of the model's arena.")
    weights_bytes: int = Field(description="Size of the model's constants in the C code.")


class CreateResult(Result):
    """`aboard create`."""

    path: str = Field(description="Folder of the project.")
    board: str
    template: str
    options: dict[str, Any] = Field(description="Values of all options of the template.")
    models: list[ModelInfo]
    build_id: str = Field(description="Build id that the image reports over RPC.")


class NewResult(Result):
    """`aboard new`."""

    path: str = Field(description="Folder of the application.")
    board: str
    model: str = Field(description="Name of the model file in the folder.")
    front_end: str | None = Field(description="Parameters of the front end in words; null without one.")
    files: list[str] = Field(description="The user's files, relative to the folder; `firmware` is not listed.")


class ToolchainInfo(Result):
    """A C toolchain."""

    name: str
    version: str
    path: str


class ImageRegion(Result):
    """Use of a memory region by an image."""

    name: str = Field(description="Name in the linker script.")
    used_bytes: int
    size_bytes: int


class ImageModule(Result):
    """Size of a part of an image."""

    name: str = Field(description="`model NAME`, `application`, `aboard`, `zephyr FOLDER`, a module, or `other`.")
    ram_bytes: int
    flash_bytes: int


class BuildReport(Result):
    """`aboard build`."""

    path: str = Field(description="Folder of the project.")
    image: str = Field(description="Path of the ELF file.")
    toolchain: ToolchainInfo
    ram_bytes: int = Field(description="RAM of the models alone: the arena that they share.")
    flash_bytes: int = Field(description="Flash of the models alone: their code, their kernels and their constants.")
    image_ram_bytes: int = Field(description="RAM of the whole image without the stack: data and bss.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Flash of the whole image: text, rodata and data.")
    stack_reserved_bytes: int = Field(description="Stack that the linker script sets aside.")
    regions: list[ImageRegion] = Field(
        description="Memory regions as the linker reports them; empty if it reports none."
    )
    modules: list[ImageModule] = Field(
        description="Parts of the image in Zephyr's ram_report and rom_report, largest first; empty without Zephyr."
    )


class ProfileRow(Result):
    """Time of one operator."""

    node: int = Field(description="Index of the operator in the manifest.")
    name: str
    op: str
    device: str | None = Field(
        description="Device that computed the operator: its kind, or its hardware if several devices have the same "
        "kind; null for the host."
    )
    ticks: int = Field(description="Ticks of the device's counter.")
    instructions: int | None = Field(
        description="Instructions on an emulated board, with those that read its counter; null on other boards."
    )
    estimated_cycles: int | None = Field(
        description="Cycles of the host's core, estimated as `estimated_cycles_basis` states; null "
        "if there is no estimate, and on a device."
    )
    estimated_cycles_basis: Basis | None = Field(
        description="`counted`: by the core's table over the executed instructions of the profiled run, without those "
        "that read the counter; `predicted`: by the cost model, as in `aboard compile`; null without an estimate."
    )
    device_cycles: int | None = Field(
        description="Cycles of the device that computes the operator, by the estimate of the device's own compiler, "
        "not measured; null without one."
    )


class RunResult(Result):
    """`aboard run`."""

    path: str = Field(description="Folder of the project.")
    board: str
    runner: str
    model: str
    image: str = Field(description="Path of the ELF file.")
    outputs: dict[str, Any] = Field(description="Outputs as nested lists, by tensor name.")
    instructions: int | None = Field(
        description="Instructions of one inference without the RPC; null without an emulator."
    )
    cycles: int | None = Field(
        description="Cycles of one inference without the RPC; null if the board's counter does not count cycles."
    )
    estimated_cycles: int | None = Field(
        description="Cycles of one inference without the RPC, estimated as "
        "`estimated_cycles_basis` states; null if there is no estimate."
    )
    estimated_cycles_basis: Basis | None = Field(
        description="`counted`: by the core's table over the instructions that QEMU executed; `predicted`: by the cost "
        "model, scaled to the instructions of an emulator; null without an estimate."
    )
    seconds: float | None = Field(description="Time of one inference, measured on a device; null in an emulator.")
    estimated_time: EstimatedTimeInfo | None = Field(
        description="Time of `estimated_cycles` at the board's clock rate, in an emulator; null on a device."
    )
    ram_bytes: int = Field(description="RAM of the model alone: arena, scratch, inputs and outputs.")
    flash_bytes: int = Field(description="Flash of the models alone: their code, their kernels and their constants.")
    image_ram_bytes: int = Field(description="RAM of the whole image without the stack: data and bss.")
    ram_needed_bytes: int = Field(description="RAM of the whole image: data, bss and stack (there is no heap).")
    image_flash_bytes: int = Field(description="Flash of the whole image: text, rodata and data.")
    stack_bytes: int | None = Field(description="Largest stack use of the inference; null if it was not measured.")
    profile: list[ProfileRow] | None = Field(description="Time of every operator; null without `--profile`.")


class DeployResult(RunResult):
    """`aboard deploy`: the keys of `aboard run`, and keys of the compilation and the build."""

    target: str
    macs: int = Field(description="Multiply-accumulates of the model file.")
    macs_run: int = Field(description="Multiply-accumulates of the compiled model.")
    ram_lower_bound_bytes: int = Field(
        description="Lower bound of `ram_bytes`: no memory plan for this order of operators can need less."
    )
    weights_bytes: int = Field(description="Size of the model's constants in the C code.")
    toolchain: ToolchainInfo
