"""Partitioning by cost: whole models are priced, with all that a claim changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations, pairwise

import numpy as np
import pytest

from aboard import ops
from aboard.compiler import pipeline as compiler
from aboard.errors import TargetError
from aboard.importers import load
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.kernels.select import strategy
from aboard.partition import pipeline
from aboard.partition.partitioner import Partition
from aboard.partition.pattern import DevicePattern, any_tensor, chain, constant, op
from aboard.reports import partition as report
from aboard.target import Target
from support import fake_device, models
from support.device import device
from support.tflite_builder import ModelBuilder

HOST = "c -mcpu=cortex-m4"

#: A host whose kernels for windows of 3x3 need little scratch, so that their result may lie over the operand.
LITTLE_SCRATCH = "c -mcpu=cortex-m3"

Pricing = Callable[[Target, ClaimedRegion], Cost]


def by_cost(*devices: str, more: str = "", host: str = HOST) -> Target:
    named = " ".join(f"-device='{name}'" for name in devices)
    return Target(f"composite -host='{host}' {named} -partition=cost {more}")


def a_mac(cycles: float, *, setup: float = 0, transfer: float = 0) -> Pricing:
    """Returns the prices of a device that takes so long for a multiply-accumulate, and for a byte at its border."""

    def cost(target: Target, region: ClaimedRegion) -> Cost:
        macs = sum(ops.get(node.op).macs(node) for node in region.graph.nodes)
        border = sum(tensor.type.bytes for tensor in (*region.graph.inputs, *region.graph.outputs))
        return Cost(setup + macs * cycles, border * transfer)

    return cost


def windows(channels: Sequence[int]) -> bytes:
    """Returns a model of convolutions 3x3 that are padded by nodes of their own, as other frameworks export them."""
    rng, build, last = np.random.default_rng(0), ModelBuilder(), "x"
    build.tensor("x", (1, 8, 8, channels[0]), np.int8, scale=0.05)
    build.tensor("pads", (4, 2), np.int32, data=[[0, 0], [1, 1], [1, 1], [0, 0]])
    for number, (inner, outer) in enumerate(pairwise(channels)):
        padded, made, weights = f"p{number}", f"y{number}", f"w{number}"
        build.tensor(padded, (1, 10, 10, inner), np.int8, scale=0.05)
        build.tensor(made, (1, 8, 8, outer), np.int8, scale=0.05)
        values = rng.integers(-127, 128, (outer, 3, 3, inner))
        build.tensor(weights, (outer, 3, 3, inner), np.int8, scale=0.002, data=values)
        build.op("PAD", [last, "pads"], [padded])
        build.op("CONV_2D", [padded, weights, -1], [made], {"StrideH": 1, "StrideW": 1, "Padding": "VALID"})
        last = made
    return build.build(["x"], [last])


CONV = DevicePattern("conv", op("conv2d", any_tensor(), constant(), name="conv"))
PADDED = DevicePattern("padded", op("conv2d", op("pad"), constant(), name="conv"))


def decide(model: bytes, *patterns: DevicePattern, cost: Pricing, more: str = "") -> Partition:
    with device(patterns, cost=cost):
        return pipeline.decide(load(model, name="m"), by_cost("fake", more=more, host=LITTLE_SCRATCH))


def test_what_saves_is_taken_and_all_figures_are_said() -> None:
    cheap = decide(windows([8, 8]), PADDED, cost=a_mac(0.1, setup=100, transfer=1))
    (price,) = cheap.prices
    assert price.taken
    assert [p.device for p in cheap.placements] == ["fake", "fake"]
    assert (price.cost.compute, price.cost.transfer) == (100 + 8 * 8 * 8 * 9 * 8 * 0.1, 1024)
    assert cheap.totals is not None
    assert cheap.totals.alone.host - cheap.totals.chosen.host == price.host > 20_000
    dear = decide(windows([8, 8]), PADDED, cost=a_mac(9, transfer=1))
    (refusal,) = dear.placements[1].refused
    assert [p.device for p in dear.placements] == ["c", "c"]
    assert refusal.reason.startswith("padded: costs 331,776 cycles, 1,024 for transfers and +")
    assert refusal.reason.endswith(f" bytes of RAM, and saves the host {price.host:,}")


def test_what_a_claim_takes_from_the_hosts_passes_counts() -> None:
    """The convolution alone leaves its padding to the host, which then has to be computed: time, and RAM."""
    alone = decide(windows([8, 8]), CONV, cost=a_mac(0.1)).prices[0]
    whole = decide(windows([8, 8]), PADDED, cost=a_mac(0.1)).prices[0]
    assert whole.host > alone.host
    assert alone.cost.ram_bytes - whole.cost.ram_bytes >= 800 - 512
    assert whole.cost.ram_bytes > 0, "the host's layer may write over its operand, the device's may not"


def test_the_price_of_ram_decides() -> None:
    model = windows([8, 8])
    price = decide(model, CONV, cost=a_mac(0.1)).prices[0]
    assert price.taken
    saved = price.host - price.cost.total
    worth = int(saved // price.cost.ram_bytes)
    assert decide(model, CONV, cost=a_mac(0.1), more=f"-ram-cycles={worth}").prices[0].taken
    assert not decide(model, CONV, cost=a_mac(0.1), more=f"-ram-cycles={worth + 1}").prices[0].taken
    assert decide(model, CONV, cost=a_mac(0.1), more="-ram-cycles=0").totals.cycles_per_byte == 0


def test_a_region_that_is_joined_has_its_transfers_once() -> None:
    joined = [DevicePattern("padded", PADDED.pattern, merge=True)]
    cost = a_mac(0.1, transfer=2)
    two = decide(windows([4, 4, 4]), *joined, cost=cost)
    assert len(two.claims) == 1
    assert two.totals is not None
    assert two.totals.chosen.transfer == 2 * 2 * 8 * 8 * 4
    apart = decide(windows([4, 4, 4]), PADDED, cost=cost)
    assert apart.totals is not None
    assert apart.totals.chosen.transfer == 2 * two.totals.chosen.transfer


def test_the_cheaper_of_two_devices_gets_it() -> None:
    with ExitStack() as stack:
        stack.enter_context(device([PADDED], name="slow", cost=a_mac(0.5)))
        stack.enter_context(device([PADDED], name="quick", cost=a_mac(0.1)))
        decided = pipeline.decide(load(windows([8, 8]), name="m"), by_cost("slow", "quick"))
    assert [p.device for p in decided.placements] == ["quick", "quick"]
    assert decided.placements[1].refused[0].reason.endswith("; more is saved with quick")


def test_several_small_matches_win_over_a_large_one_that_costs_more() -> None:
    long = DevicePattern("long", chain(op("conv2d"), op("pad"), op("conv2d")))

    def cost(target: Target, region: ClaimedRegion) -> Cost:
        return Cost(100_000.0 if len(region.patterns[0].nodes) == 3 else 1.0)

    decided = decide(windows([8, 8, 8]), long, PADDED, cost=cost)
    assert [claim.matches[0].pattern.name for claim in decided.claims] == ["padded", "padded"]


@contextmanager
def products(cost: Pricing) -> Iterator[None]:
    with device(fake_device.patterns(), codegen=fake_device.codegen, runtime=fake_device.runtime, cost=cost):
        yield


def test_no_set_of_claims_is_cheaper_on_a_small_model() -> None:
    """All sets are tried by another way: the device may have only so many of the layers."""
    cost = a_mac(0.3, setup=60, transfer=4)
    model = load(models.path(models.SHIPPED), name="m")
    with products(cost):
        decided = pipeline.decide(model, by_cost("fake"))
        numbers = [i for i, p in enumerate(decided.placements) if p.node.op in ("conv2d", "fully_connected")]
        offers = [price.match for price in decided.prices]
        assert decided.totals is not None
        least = decided.totals.chosen.price(1)
        found = []
        for count in range(len(offers) + 1):
            for some in combinations(numbers, count):
                limit = ",".join(map(str, some)) or "999"
                target = by_cost(f"fake -claim-nodes={limit}") if some else by_cost("fake -claim-ops=softmax")
                totals = pipeline.decide(load(models.path(models.SHIPPED), name="m"), target).totals
                assert totals is not None
                found.append(totals.chosen.price(1))
    assert least == min(found)


@pytest.mark.parametrize("name", models.available(["digits", "kws"]))
def test_the_bound_is_that_of_the_compiled_model(name: str) -> None:
    with products(a_mac(0.1)):
        module = compiler.compile_model(models.path(name), target=by_cost("fake"))
        alone = compiler.compile_model(models.path(name), target=HOST)
    totals = module.partition.totals
    for cost, made in ((totals.chosen, module), (totals.alone, alone)):
        in_blocks = any(buffer.name.endswith("(in blocks)") for buffer in made.manifest.buffers)
        bound = made.manifest.ram_lower_bound_bytes
        assert cost.ram_bytes > bound if in_blocks else cost.ram_bytes == bound
    assert totals.alone.host == sum(node.estimated_instructions for node in alone.manifest.nodes)


def test_a_node_that_only_the_device_computes_goes_there_at_any_price() -> None:
    build = ModelBuilder()
    for name in ("x", "y"):
        build.tensor(name, (1, 4), np.int8, scale=0.1)
    model = build.op("RELU", ["x"], ["y"]).build(["x"], ["y"])
    with pytest.MonkeyPatch.context() as patch, device([DevicePattern("r", op("relu"))], cost=a_mac(0, setup=1e9)):
        patch.setattr(strategy, "of", lambda name: ())
        decided = pipeline.decide(load(model, name="m"), by_cost("fake"))
    assert decided.placements[0].device == "fake"
    assert decided.totals.alone.missing == 1
    assert decided.totals.chosen.missing == 0


def test_the_report_has_the_totals() -> None:
    decided = decide(windows([8, 8]), PADDED, cost=a_mac(0.1, setup=100, transfer=1))
    text = report.summary(decided)
    alone, chosen = decided.totals.alone, decided.totals.chosen
    assert f"host alone     {alone.host:,} instructions, at least {alone.ram_bytes:,} bytes of RAM" in text
    assert f"{chosen.host:,} instructions, {chosen.compute:,.0f} cycles of devices, 1,024 for transfers" in text
    assert "counted as 1 cycles (-ram-cycles); all figures are estimated" in text


def test_wrong_costs_are_refused() -> None:
    text = r"kind fake: has no column cost, so -partition=cost cannot ask it\. Use -partition=order"
    with device([PADDED]), pytest.raises(TargetError, match=text):
        pipeline.decide(load(windows([8, 8]), name="m"), by_cost("fake"))
    text = r"kind fake, column cost: transfer of m_fake_0, got -1, expected a number of at least 0\. This is a bug"
    with pytest.raises(TargetError, match=text):
        decide(windows([8, 8]), PADDED, cost=lambda target, region: Cost(1.0, -1))
    with pytest.raises(TargetError, match=r"compute of m_fake_0, got nan, expected a number of at least 0"):
        decide(windows([8, 8]), PADDED, cost=lambda target, region: Cost(float("nan")))
    with pytest.raises(TargetError, match=r"-ram-cycles, got -1, expected at least 0\. Say 0 to leave"):
        by_cost("cmsis-nn", more="-ram-cycles=-1")
