"""The JSON of `aboard targets`, `aboard partition` and `aboard new-target`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class AttributeInfo(Result):
    """An attribute of a kind of target."""

    name: str
    type: str
    default: str | int | bool | None
    allowed: list[str | int | bool] | None = Field(description="Null for any.")
    implied: str | None = Field(description="Source of the default.")
    help: str


class KindInfo(Result):
    """A kind of target."""

    name: str
    help: str
    device_type: str = Field(description="`cpu`, `accelerator`, `library` or `composite`.")
    subgraph_only: bool = Field(description="True when it can only be a device of a composite target.")
    attributes: list[AttributeInfo]
    columns: list[str] = Field(description="Columns in which it has a value.")


class PluginInfo(Result):
    """A package that brings kinds of target."""

    name: str = Field(description="Name of its entry point.")
    source: str = Field(description="Package and version; `aboard` for those that come with it.")
    kinds: list[str] = Field(description="Kinds it brought.")
    problem: str | None = Field(description="Why it could not be loaded.")


class TargetsResult(Result):
    """`aboard targets`."""

    kinds: list[KindInfo]
    cores: list[str] = Field(description="Values of -mcpu.")
    aliases: dict[str, str] = Field(description="Names for whole targets.")
    plugins: list[PluginInfo]


class TargetResult(Result):
    """`aboard targets show`."""

    target: str = Field(description="Canonical form.")
    kind: str
    key: str = Field(description="What tuning records are stored under.")
    host: str | None = Field(description="Host of a composite target; null for others.")
    devices: list[str] = Field(description="Devices of a composite target, in the order in which they may claim.")
    attributes: dict[str, str | int | bool]
    hardware: str | None
    core: str
    features: list[str]
    keys: list[str] = Field(description="Which implementations of kernels it can use.")


class RefusalInfo(Result):
    """Why a device does not compute a node."""

    device: str
    reason: str


class PlacedNode(Result):
    """The device or host that computes a node of the model."""

    name: str
    op: str = Field(description="Name of the op in the IR, such as `conv2d`.")
    device: str = Field(
        description="The device: its kind, or its hardware where kinds do not tell; or the kind of the host."
    )
    region: int | None = Field(description="Nodes of one region are computed together; null for the host.")
    pattern: str | None = Field(description="Pattern of the device that it matched; null for the host.")
    refused: list[RefusalInfo] = Field(description="The devices that were asked and do not compute it.")


class PriceInfo(Result):
    """What a match of a device's pattern changes, given the other taken matches; all figures are estimates."""

    device: str
    pattern: str
    nodes: list[str]
    host_cycles: float = Field(description="Instructions that the host saves, one counted as one cycle.")
    compute_cycles: float = Field(description="Cycles on devices.")
    transfer_cycles: float = Field(description="Cycles for bringing operands there and results back.")
    ram_bytes: int = Field(description="Change of the least RAM a plan can need.")
    taken: bool = Field(description="True when the device got it.")


class TotalInfo(Result):
    """What a whole model costs; all figures are estimates."""

    host_instructions: int = Field(description="Instructions of the host.")
    compute_cycles: float = Field(description="Cycles on devices.")
    transfer_cycles: float = Field(description="Cycles for bringing operands there and results back.")
    ram_bytes: int = Field(description="The least RAM a plan can need.")
    missing_nodes: int = Field(description="Nodes that neither a device nor the host computes.")


class TotalsInfo(Result):
    """What `-partition=cost` decided by."""

    alone: TotalInfo = Field(description="On the host alone.")
    chosen: TotalInfo = Field(description="As decided.")
    cycles_per_byte: int = Field(description="How many cycles a byte of RAM counted as (`-ram-cycles`).")


class PartitionResult(Result):
    """`aboard partition`."""

    model: str = Field(description="File name of the model.")
    target: str = Field(description="Canonical form of the target.")
    devices: list[str] = Field(description="The devices, in the order in which they may claim.")
    host: str = Field(description="Kind of the host.")
    nodes: list[PlacedNode]
    prices: list[PriceInfo] | None = Field(description="With `-partition=cost`.")
    totals: TotalsInfo | None = Field(description="With `-partition=cost`.")
    picture: str | None = Field(description="With `--svg`: path of the picture.")


class ImplementationInfo(Result):
    """An implementation of a node's op, and why it is chosen or not."""

    name: str
    keys: list[str] = Field(description="Keys of which the target must have one.")
    priority: int = Field(description="Priority of its instruction set. Costs are compared within the highest.")
    instructions: int | None = Field(description="Estimated instructions, if instructions and flash decide; else null.")
    weights_bytes: int | None = Field(
        description="Size of packed constants, if instructions and flash decide; else null."
    )
    more_bytes: int | None = Field(description="Flash of the model beyond that with the chosen one, or null.")
    chosen: bool
    reason: str = Field(description="Why it was chosen, or not.")


class NodeChoice(Result):
    """The implementation of a node, and the reason."""

    name: str
    op: str = Field(description="Name of the op in the IR, after all passes.")
    implementation: str | None = Field(description="The one that computes it; null where none can.")
    candidates: list[ImplementationInfo] = Field(description="All, in the order in which they are preferred.")


class WhyResult(Result):
    """`aboard targets why`."""

    model: str = Field(description="File name of the model.")
    target: str = Field(description="Canonical form of the target.")
    nodes: list[NodeChoice]


class NewTargetResult(Result):
    """`aboard new-target`."""

    name: str = Field(description="Name of the kind.")
    path: str = Field(description="Folder of the package.")
    files: list[str] = Field(description="Its files, relative to the folder.")
