"""Estimates of instructions: how near they come to what was measured, and what stands in for what was not."""

from __future__ import annotations

import json
from statistics import mean
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.select import cost_model, measured
from aboard.kernels.select.cost_model import FURTHER_CALL, predict, whole_call
from aboard.kernels.select.work import Work, work
from aboard.passes import run_pipeline
from aboard.target import Target
from bench import core_data, cost_fit, costs, measure, sample_models
from support import models, single_layers, zoo
from support.single_layers import SingleLayer
from support.tflite_builder import ModelBuilder

SAMPLES: list[dict[str, Any]] = json.loads(costs.SAMPLES.read_text(encoding="utf-8"))


@pytest.mark.parametrize("core", ["m3", "m4", "m55", "rv32"])
@pytest.mark.parametrize("name", models.available(["digits", "kws"]))
def test_whole_models_are_estimated_within_a_fifth(name: str, core: str) -> None:
    nodes = aboard.compile(models.path(name), board=measure.BOARDS[core]).manifest.nodes
    samples = [s for s in SAMPLES if (s["model"], s["core"]) == (name, costs.CORES[core])]
    pairs = []
    for node in nodes:
        of_node = (node.op, node.implementation, node.macs)
        same = [s for s in samples if (s["op"], s["implementation"], s["mac"]) == of_node]
        # The default's code, or where it was another kernel then, that of -opt=speed.
        same = [s for s in same if s["opt"] == "balanced"] or same
        if same:
            pairs.append((node.estimated_instructions, mean(s["instructions"] for s in same)))
    # Kernels that came after the samples were taken have none.
    assert len(pairs) > len(nodes) / 2
    assert sum(pair[0] for pair in pairs) == pytest.approx(sum(pair[1] for pair in pairs), rel=0.2)


def test_the_table_is_what_the_samples_say() -> None:
    cores = list(costs.CORES.values())
    assert core_data.rows("kernels", sorted(cores)) == cost_fit.table(SAMPLES)
    common = [row for row in measured.kernels() if row.layers >= 10 and row.error is not None]
    assert len(common) > 20
    assert np.median([row.error for row in common]) < 0.12
    assert {core: core_data.read(core)["errors"] for core in cores} == cost_fit.model_errors(
        SAMPLES, sample_models.LEFT_OUT
    )


def layer(instructions: int, macs: int, elements: int, **others: int) -> dict[str, int]:
    """Returns a sample."""
    return {"setup": 1, "mac": macs, "element": elements, "instructions": instructions, **others}


def test_a_fit_finds_what_samples_were_made_of() -> None:
    sizes = [(1000, 10), (5000, 30), (20000, 500), (300, 200)]
    terms = cost_fit.fit([layer(50 + 2 * m + 7 * e, m, e) for m, e in sizes])
    assert terms == pytest.approx({"setup": 50, "mac": 2, "element": 7}, rel=1e-3)
    assert cost_fit.fit([layer(640, 0, 64)]) == {"element": 10.0}
    larger_is_cheaper = [layer(900, 10, 0), layer(1000, 1000, 0)]
    assert cost_fit.fit(larger_is_cheaper).get("setup", 0) <= 450


def test_loops_are_the_only_term_of_few_layers() -> None:
    # The elements fit better by chance, up to three different layers.
    made = [layer(10 * n + more, 0, n, loops=2 * n + more) for n, more in ((100, 1), (200, 400), (400, 0))]
    assert set(cost_fit.fit(made)) == {"loops"}
    assert set(cost_fit.fit([*made, layer(10010, 0, 1000, loops=2100)])) != {"loops"}


def test_a_fit_knows_windows_rows_growth_and_cycles() -> None:
    price = {"setup": 100, "mac": 3, "element": 5, "read": 7, "window": 11, "spread": 2, "line": 13, "pixel": 4}
    sizes = np.random.default_rng(1).integers(1, 1000, (12, len(price)))
    made = [dict(zip(price, map(int, row), strict=True)) for row in sizes]
    for sample in made:
        sample["growth"] = 1.5
        work = sum(price[term] * sample[term] for term in price if term != "setup")
        sample["cycles"] = price["setup"] + 1.5 * work
    assert cost_fit.fit(made, "cycles") == pytest.approx(price, rel=1e-2)


def test_further_calls_of_a_cascade_are_no_part_of_a_fit() -> None:
    calls = [
        {**layer(2 * m + FURTHER_CALL * (number - 1), m, 0), "calls": number}
        for m, number in ((1000, 9), (5000, 1), (700, 30))
    ]
    assert cost_fit.fit(calls) == pytest.approx({"mac": 2.0}, rel=1e-3)
    assert cost_fit.predicted({"mac": 2.0}, calls[0]) == 2000 + 8 * FURTHER_CALL


def test_errors_are_those_of_models_that_were_left_out() -> None:
    def of(model: str, price: float, *macs: int) -> list[dict[str, Any]]:
        return [{**layer(round(price * m), m, 0), "model": model} for m in macs]

    one, other = of("one", 2, 1000, 3000), of("other", 3, 1000, 5000)
    # Each model is predicted with the price of the other: 50 % too much, and a third too little.
    assert cost_fit.left_out_error([*one, *other], "instructions") == pytest.approx((0.5 + 1 / 3) / 2, abs=1e-3)
    assert cost_fit.left_out_error(one, "instructions") is None
    where = {"core": "cortex-m4", "op": "relu", "implementation": "i", "function": "f", "opt": "balanced"}
    samples = [{**each, **where, "cycles": 2 * each["instructions"]} for each in (*one, *other)]
    assert cost_fit.model_errors(samples, ["one", "other"])["cortex-m4"] == {
        "models": 2,
        "instructions": {"median": 0.417, "most": 0.5},
        "cycles": {"median": 0.417, "most": 0.5},
        "rate": {"median": 0.0, "most": 0.0},
    }


def test_a_slow_epilogue_costs_its_elements() -> None:
    done = Work.of(6400, [(1, 5, 5, 16)], [(1, 5, 5, 8)], slow_epilogue=True)
    assert done.rounded == 200
    assert Work.of(6400, [(1, 5, 5, 16)], [(1, 5, 5, 8)]).rounded == 0


def test_layers_of_both_epilogues_are_predicted() -> None:
    """The last zero point decides: with -128 and RELU results step on one side only, and one rounding gives them."""
    slow = {}
    for seed in sample_models.DRAWN:
        module = aboard.compile(zoo.drawn_layers(seed), target="arm/mps2_an386", name="drawn")
        for step in module.schedule().program.steps:
            slow.setdefault(step.implementation.name, set()).add(step.call.slow_epilogue)
    assert slow["dsp_s8"] == slow["dsp_packed_s8"] == slow["portable_s8"] == {False, True}


def test_work_is_what_a_node_does() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    x, weights, y = conv.inputs[0], conv.inputs[1], conv.output
    assert x is not None
    assert weights is not None
    done = work(conv)
    pixels, taps = y.type.elements // y.shape[-1], weights.type.elements // y.shape[-1]
    assert (done.mac, done.element, done.read) == (pixels * taps * y.shape[-1], y.type.elements, x.type.elements)
    assert (done.window, done.spread, done.line) == (pixels * taps, done.mac, y.shape[1] * y.shape[-1])
    assert Work.of(6400, [(1, 5, 5, 16)], [(1, 5, 5, 16)]).spread == 0


def test_further_calls_and_work_done_twice_are_counted() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    row = measured.KernelMeasurement.read(
        {"core": "cortex-m4", "op": "conv2d", "implementation": "i", "layers": 3, "setup": 100.0, "mac": 1.0,
         "error": 0.01, "cycles_setup": 200.0, "cycles_mac": 2.0, "cycles_fit": 0.02}
    )  # fmt: skip
    target = Target("c -mcpu=cortex-m4")
    once, thrice = (predict(conv, "i", target, [row], calls=calls) for calls in (1, 3))
    macs = work(conv).mac
    assert (once.instructions, once.cycles) == (100 + macs, 200 + 2 * macs)
    assert (once.error, once.in_cycles, once.is_priced) == (0.01, True, True)
    # Cores differ more in cycles than in instructions.
    another = predict(conv, "i", Target("c -mcpu=cortex-m7"), [row])
    assert (another.error, another.in_cycles, another.is_priced) == (0.01, False, True)
    assert thrice.instructions - once.instructions == 2 * FURTHER_CALL
    assert thrice.cycles - once.cycles == 2 * FURTHER_CALL
    more = predict(conv, "i", target, [row], growth=1.5)
    assert (more.instructions, more.cycles) == (100 + 1.5 * macs, 200 + 3 * macs)


def test_implementations_with_cycles_are_known_on_cores_that_choose() -> None:
    for core in ("cortex-m3", "cortex-m4", "cortex-m55"):
        convolutions = [row for row in measured.kernels() if (row.core, row.op) == (core, "conv2d")]
        assert len([row for row in convolutions if row.cycles and row.implementation.endswith("s8")]) >= 2


def test_cores_that_were_not_measured_take_the_nearest() -> None:
    def first(spec: str, *, is_float: bool = False) -> str:
        return measured.nearest(Target(spec), is_float=is_float)[0]

    assert first("c -mcpu=cortex-m7") == "cortex-m4"
    assert first("c -mcpu=cortex-m33") == "cortex-m4"
    assert first("c -mcpu=cortex-m33+nodsp+nofp") == "cortex-m3"
    assert first("c -mcpu=cortex-m0plus") == "cortex-m0"
    assert first("c -mcpu=rv32imc") == "rv32imac"
    assert first("c -mcpu=cortex-m4+nofp") == "cortex-m4"
    assert first("c -mcpu=cortex-m4+nofp", is_float=True) == "cortex-m3"
    assert first("c -mcpu=cortex-m55 + cmsis-nn") == "cortex-m55"


def test_a_formula_serves_until_the_kernel_is_measured() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    target = Target("c -mcpu=cortex-m4")
    guess = predict(conv, "a_new_one", target, calls=3, growth=1.5, formula=1000.0)
    assert (guess.instructions, guess.basis) == (1500 + 2 * FURTHER_CALL, "formula of a_new_one")
    assert not guess.is_measured
    known = predict(conv, "dsp_s8", target, formula=1000.0)
    assert known == predict(conv, "dsp_s8", target)
    assert known.is_measured


def test_the_cost_of_a_kernel_has_four_parts() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    target = Target("c -mcpu=cortex-m4")
    (kernel,) = [each for each in of("conv2d") if each.name == "dsp_s8"]
    found, call = cost_model.cost(conv, kernel, target), cost_model.whole_call(conv, kernel, target)
    assert (found.instructions, found.cycles) == (found.prediction.instructions, found.prediction.cycles)
    assert found.ram_bytes == sum(scratch.bytes for scratch in call.scratch) > 0
    assert found.weights_bytes == sum(constant.values.nbytes for constant in call.constants) > 0
    assert found.flash_bytes > found.weights_bytes


def test_cycles_decide_where_the_manual_of_the_core_has_them() -> None:
    assert measured.has_cycles(Target("c -mcpu=cortex-m4+nofp"))
    assert measured.has_cycles(Target("c -mcpu=cortex-m3 + cmsis-nn"))
    assert not any(measured.has_cycles(Target(f"c -mcpu={core}")) for core in ("cortex-m55", "cortex-m7", "x86-64"))


def test_a_fit_that_misses_other_layers_is_no_price() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    row = {"core": "cortex-m4", "op": "conv2d", "implementation": "i", "layers": 4, "mac": 1.0, "cycles_mac": 2.0}

    def is_priced(core: str, **errors: float) -> bool:
        found = [measured.KernelMeasurement.read({**row, **errors})]
        return predict(conv, "i", Target(f"c -mcpu={core}"), found).is_priced

    assert is_priced("cortex-m4", cycles_error=0.4, error=0.9)
    assert not is_priced("cortex-m4", cycles_error=0.6, error=0.1)
    assert not is_priced("cortex-m55", cycles_error=0.1, error=0.6)
    # Layers of one model only: nothing was left out.
    assert is_priced("cortex-m4")
    other = [measured.KernelMeasurement.read({**row, "implementation": "j"})]
    assert not predict(conv, "i", Target("c -mcpu=cortex-m4"), other).is_priced
    assert predict(conv, "i", Target("c -mcpu=cortex-m4"), other, formula=9.0).is_priced


def test_a_fit_by_savings_keeps_the_difference_of_two_kernels() -> None:
    sizes = [(1000, 10), (5000, 30), (20000, 500), (300, 200)]
    base = [{**layer(50 + 3 * m + 7 * e, m, e), "model": "m", "opt": "speed"} for m, e in sizes]
    own = [{**each, "instructions": each["instructions"] - each["mac"]} for each in base]
    assert cost_fit.fit_row(own, base, "instructions") == pytest.approx({"setup": 50, "mac": 2, "element": 7}, rel=1e-3)
    # Layers that were measured of one kernel alone say nothing of the difference.
    assert [each["instructions"] for each in cost_fit.savings([*own, {**own[0], "model": "n"}], base)] == [
        each["mac"] for each in base
    ]
    assert cost_fit.fit_row(own, [], "instructions") == cost_fit.fit(own)


def loops_of(op: str, kernel: str, *shapes: SingleLayer, core: str = "cortex-m4") -> list[int]:
    target, (implementation,) = Target(f"c -mcpu={core}"), [each for each in of(op) if each.name == kernel]
    nodes = [node for shape in shapes for node in load(single_layers.model([shape])).nodes if node.op == op]
    return [whole_call(node, implementation, target).loops for node in nodes]


def test_loops_count_results_that_are_computed_for_nothing() -> None:
    five, eight = loops_of("fully_connected", "dsp_s8", *(SingleLayer("fully_connected", 32, n) for n in (5, 8)))
    assert five == eight == 8 * (32 + 10) + 2 * 32
    odd, even = loops_of("conv2d", "dsp_s8", *(SingleLayer("conv2d", 8, 6, (1, n)) for n in (5, 6)))
    # Two pixels are computed at a time; each has a part of a call, 50, and two tap groups of eight taps to copy.
    assert odd - 5 * (50 + 11) == even - 6 * (50 + 11) == 6 * 6 * (8 + 10)
    plain, padded, apart = loops_of(
        "conv2d",
        "dsp_s8",
        SingleLayer("conv2d", 3, 4, (9, 9), (3, 3), padding="valid"),
        SingleLayer("conv2d", 3, 4, (7, 7), (3, 3)),
        SingleLayer("conv2d", 3, 4, (11, 11), (3, 3), dilation=(2, 2), padding="valid"),
    )
    # 49 pixels of 28 taps, three bytes of which are the rests of rows.
    assert plain == 50 * 4 * (28 + 10) + round(49 * (7 * 5.5 + 3 * 5.5 + 50))
    # Windows with padding, or whose pixels are apart, are copied twice.
    assert padded - plain == round(24 * (150 + 27 * 2.4))
    assert apart - plain == round(49 * (150 + 27 * 2.4 + 9 * 9))
    dense, dilated = (
        loops_of("conv2d", "portable_s8", SingleLayer("conv2d", 6, 4, (9, 9), (3, 3), dilation=by, padding="valid"))[0]
        for by in ((1, 1), (1, 2))
    )
    # 56 taps of 54; a window has three runs of 18 bytes, or nine of 6.
    assert dense == 50 * 4 * (56 + 10) + 49 * 3 * (10 + 4 * 4 + 2 * 5)
    assert dilated == 36 * 4 * (56 + 10) + 35 * 9 * (10 + 4 + 2 * 5)


@pytest.mark.parametrize(
    ("kind", "whole", "cut"), [("AVERAGE", (2, 3.5, 1), (21, 1, 0.5)), ("MAX", (2, 0, 1), (3, 5, 2))]
)
def test_loops_of_pools_count_windows_that_the_border_cuts(
    kind: str, whole: tuple[float, ...], cut: tuple[float, ...]
) -> None:
    def counted(kernel: str, depth: int) -> int:
        build = ModelBuilder().tensor("x", (1, 5, 7, depth), np.int8, scale=0.1)
        build.tensor("y", (1, 5, 7, depth), np.int8, scale=0.1)
        window = {"FilterHeight": 3, "FilterWidth": 3, "StrideH": 1, "StrideW": 1, "Padding": "SAME"}
        (node,) = load(build.op(f"{kind}_POOL_2D", ["x"], ["y"], window).build(["x"], ["y"])).nodes
        (found,) = [each for each in of(node.op) if each.name == kernel]
        return whole_call(node, found, Target("c -mcpu=cortex-m4")).loops

    def work(rows: int, cols: int, costs: tuple[float, ...]) -> float:
        return costs[0] + rows * (costs[1] + cols * costs[2])

    one = 15 * work(3, 3, whole) + 10 * work(2, 3, cut) + 6 * work(3, 2, cut) + 4 * work(2, 2, cut)
    assert counted("portable_s8", 6) == round(6 * one)
    # Four channels at once, the last four a block of their own.
    assert counted("dsp_s8", 6) == counted("dsp_s8", 8) == round(2 * one)


def test_loops_of_helium_count_blocks_and_copies() -> None:
    def counted(op: str, *shapes: SingleLayer, kernel: str = "arm_mve_s8") -> list[int]:
        return loops_of(op, kernel, *shapes, core="cortex-m55")

    # Blocks of eight channels, or of four where no more are left; chunks of sixteen inputs.
    four, five, seven = counted("fully_connected", *(SingleLayer("fully_connected", 32, n) for n in (4, 5, 7)))
    assert four < five == seven
    short, full = counted(
        "fully_connected", *(SingleLayer("fully_connected", n, 9) for n in (20, 32)), kernel="mve_rows_s8"
    )
    assert short == full
    # Groups of four pixels, of which the last one may have fewer; windows with dilation are copied.
    odd, even, more = counted("conv2d", *(SingleLayer("conv2d", 32, 8, (1, n)) for n in (17, 20, 21)))
    assert odd < even < more
    dense, dilated = counted(
        "conv2d", *(SingleLayer("conv2d", 16, 8, (8, 8), (3, 3), dilation=by) for by in ((1, 1), (1, 2)))
    )
    assert dense < dilated
    # Groups of eight results of a channel.
    one, two = counted("depthwise_conv2d", *(SingleLayer("depthwise_conv2d", n, n, (9, 9), (3, 3)) for n in (17, 18)))
    assert one < two < counted("depthwise_conv2d", SingleLayer("depthwise_conv2d", 17, 17, (9, 9), (7, 7)))[0]


def test_every_prediction_names_its_source() -> None:
    graph = load(zoo.many_ops(), name="m")
    run_pipeline(graph)
    target = Target("c -mcpu=cortex-m4")
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    assert predict(conv, "dsp_s8", target).basis == "dsp_s8 on cortex-m4"
    other = predict(conv, "mla_s8", target)
    assert other.basis == "mla_s8 on cortex-m3"
    assert other.error is not None
    unknown = predict(conv, "a_new_one", target)
    assert (unknown.basis, unknown.error) == ("dsp_s8 on cortex-m4", None)
    (dsp,) = [each for each in of("conv2d") if each.name == "dsp_s8"]
    known = predict(conv, "dsp_s8", target, call=whole_call(conv, dsp, target))
    assert unknown.instructions == pytest.approx(known.instructions, rel=0.3)
    conv.op = "squeezed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost_model, "work", lambda node, **_: Work(0, 100, 100, 0, 0, 10, 10, 0, 0))
        last = predict(conv, "", target)
    assert last.basis == "average element on cortex-m4"
    assert 0 < last.instructions < 100_000
