"""The JSON of `aboard targets`, `aboard partition` and `aboard new-target`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class AttributeInfo(Result):
    """An attribute of a kind of target."""

    name: str
    type: str
    default: str | int | bool | None
    allowed: list[str | int | bool] | None = Field(
        description="Allowed values; null if every value of the type is allowed."
    )
    implied: str | None = Field(description="Attributes or hardware that imply the default; null without.")
    help: str


class KindInfo(Result):
    """A kind of target."""

    name: str
    help: str
    device_type: str = Field(description="`cpu`, `accelerator`, `library` or `composite`.")
    subgraph_only: bool = Field(description="True if the kind can only be a device of a composite target.")
    attributes: list[AttributeInfo]
    columns: list[str] = Field(description="Columns in which the kind has a value.")


class PluginInfo(Result):
    """A package that brings kinds of target, cores or kernels."""

    name: str = Field(description="Name of the package's entry point.")
    group: str = Field(description="Group of the entry point: `aboard.targets`, `aboard.cores` or `aboard.kernels`.")
    source: str = Field(description="Name and version of the package; `aboard` for kinds that aboard ships.")
    kinds: list[str] = Field(description="Kinds that the package registered.")
    problem: str | None = Field(description="Reason why the package could not be loaded; null if it was loaded.")


class TargetsResult(Result):
    """`aboard targets`."""

    kinds: list[KindInfo]
    cores: list[str] = Field(description="Allowed values of -mcpu.")
    aliases: dict[str, str] = Field(description="Targets by alias.")
    plugins: list[PluginInfo]


class TargetResult(Result):
    """`aboard targets show`."""

    target: str = Field(description="Canonical form of the target.")
    kind: str
    key: str = Field(description="Key under which tuning records are stored.")
    host: str | None = Field(description="Host of a composite target; null for other targets.")
    devices: list[str] = Field(description="Devices of a composite target, in the order in which they may claim.")
    attributes: dict[str, str | int | bool]
    hardware: str | None
    core: str
    features: list[str]
    keys: list[str] = Field(description="Keys of the kernels that the target can use.")


class RefusalInfo(Result):
    """Why a device does not compute a node."""

    device: str
    reason: str


class PlacedNode(Result):
    """The device or host that computes a node of the model."""

    name: str
    op: str = Field(description="Name of the op in the IR, such as `conv2d`.")
    device: str = Field(
        description="Kind of the device, or its hardware if several devices have the same kind; or the kind of the "
        "host."
    )
    region: int | None = Field(
        description="Number of the region, whose nodes are computed together; null for the host."
    )
    pattern: str | None = Field(description="Pattern of the device that matches the node; null for the host.")
    refused: list[RefusalInfo] = Field(description="Devices that do not compute the node, with their reasons.")


class PriceInfo(Result):
    """The costs and savings of a match of a device's pattern, given the other taken matches; all are estimates."""

    device: str
    pattern: str
    nodes: list[str]
    host_cycles: float = Field(description="Instructions that the host saves, counted as one cycle each.")
    compute_cycles: float = Field(description="Cycles of computation on devices.")
    transfer_cycles: float = Field(description="Cycles of transfers of operands and results.")
    ram_bytes: int = Field(description="Change of the lower bound of the RAM.")
    taken: bool = Field(description="True if the device computes the match.")


class TotalInfo(Result):
    """The cost of a whole model; all figures are estimates."""

    host_instructions: int = Field(description="Instructions of the host.")
    compute_cycles: float = Field(description="Cycles of computation on devices.")
    transfer_cycles: float = Field(description="Cycles of transfers of operands and results.")
    ram_bytes: int = Field(description="Lower bound of the RAM.")
    missing_nodes: int = Field(description="Nodes that neither a device nor the host computes.")


class TotalsInfo(Result):
    """The costs that `-partition=cost` compared."""

    alone: TotalInfo = Field(description="Cost on the host alone.")
    chosen: TotalInfo = Field(description="Cost of the chosen partition.")
    cycles_per_byte: int = Field(description="Cycles that a byte of RAM counts as (`-ram-cycles`).")


class PartitionResult(Result):
    """`aboard partition`."""

    model: str = Field(description="File name of the model.")
    target: str = Field(description="Canonical form of the target.")
    devices: list[str] = Field(description="The devices, in the order in which they may claim.")
    host: str = Field(description="Kind of the host.")
    nodes: list[PlacedNode]
    prices: list[PriceInfo] | None = Field(description="Prices of the matches; null without `-partition=cost`.")
    totals: TotalsInfo | None = Field(description="Costs of the model; null without `-partition=cost`.")
    picture: str | None = Field(description="Path of the picture; null without `--svg`.")


class ImplementationInfo(Result):
    """An implementation of a node's op, and the reason for or against it."""

    name: str
    keys: list[str] = Field(description="Keys of the kernel; the target must have one of these.")
    instructions: int | None = Field(description="Estimated instructions, if costs were compared; else null.")
    cycles: int | None = Field(
        description="Estimated cycles, which decide instead of instructions if those of the core are known; else null."
    )
    weights_bytes: int | None = Field(description="Size of packed constants, if costs were compared; else null.")
    more_bytes: int | None = Field(
        description="Additional flash of the model in comparison with the chosen kernel, or null."
    )
    chosen: bool
    reason: str = Field(description="Reason for or against the kernel.")


class NodeChoice(Result):
    """The implementation of a node, and the reason."""

    name: str
    op: str = Field(description="Name of the op in the IR, after all passes.")
    implementation: str | None = Field(description="Kernel that computes the node; null if no kernel can.")
    candidates: list[ImplementationInfo] = Field(description="All kernels of the op, the more specific ones first.")


class WhyResult(Result):
    """`aboard targets why`."""

    model: str = Field(description="File name of the model.")
    target: str = Field(description="Canonical form of the target.")
    nodes: list[NodeChoice]


class NewTargetResult(Result):
    """`aboard new-target`."""

    name: str = Field(description="Name of the kind.")
    path: str = Field(description="Folder of the package.")
    files: list[str] = Field(description="Files of the package, relative to `path`.")
    next: str = Field(description="Command line that installs the package and runs its tests.")
