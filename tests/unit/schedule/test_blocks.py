"""Rows in blocks: every stripe finds the bytes of the rows that it reads, whatever was written in between."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.compiler.scheduled import Scheduled
from aboard.errors import VerifyError
from aboard.ir import Node, Tensor
from aboard.kernels.arm_mve import packed_stripes
from aboard.memory.blocks import place
from aboard.ops import get
from aboard.ops.box import Box
from aboard.schedule import blocks, blocks_instead
from aboard.schedule.lowering import Program
from aboard.schedule.moments import moments
from support import models, stripe_models
from support.examples import examples
from support.image_models import image_model, wide_image_model


def scheduled(model: bytes, attributes: str, core: str = "cortex-m4") -> Scheduled:
    return aboard.compile(model, target=f"c -mcpu={core} {attributes}", name="model").schedule()


class Memory:
    """An arena whose bytes have tags; a stripe that reads a byte with another tag has lost it."""

    def __init__(self, program: Program, offsets: tuple[int, ...], tables: dict[str, tuple[int, ...]]) -> None:
        self.program = program
        self.offsets, self.tables = offsets, tables
        self.tags: dict[int, object] = {}

    def row(self, tensor: Tensor, row: int) -> range:
        location = self.program.assignment.locations[tensor]
        view = location.view
        at = self.offsets[self.program.buffers[location.buffer]] + view.offset
        at += self.tables[view.table][row] * view.table_unit if view.table else row * view.row_stride
        return range(at, at + view.row_stride)

    def write(self, where: range, tag: object) -> None:
        self.tags |= dict.fromkeys(where, tag)

    def check(self, tensor: Tensor, first: int, last: int) -> None:
        for row in range(first, last):
            assert all(self.tags.get(byte) == (tensor.name, row) for byte in self.row(tensor, row)), (tensor.name, row)


def execute(program: Program, memory: Memory) -> None:
    """Writes and reads tags as the stripes of the first cascade of a schedule do, which starts with the first step."""
    cascade = program.assignment.cascades[0]
    steps = program.steps[: len(cascade.nodes)]
    outside = {t for node in cascade.nodes for t in node.operands if t in program.assignment.locations}
    for tensor in outside - {node.output for node in cascade.nodes} - {cascade.streamed_input}:
        for row in range(program.assignment.locations[tensor].view.rows):
            memory.write(memory.row(tensor, row), (tensor.name, row))
    kept: dict[Node, int] = {}
    for stripe in cascade.stripes:
        if stripe.position == len(steps):
            assert cascade.streamed_input is not None
            memory.write(memory.row(cascade.streamed_input, stripe.first), (cascade.streamed_input.name, stripe.first))
            continue
        step = steps[stripe.position]
        way = step.implementation.row_wise(step.node)
        assert way is not None
        for index, tensor in enumerate(step.node.inputs):
            if tensor is None or tensor.is_constant:
                continue
            first, last = stripe.first, stripe.last
            if not way.accumulates:
                boxes = get(step.node.op).operand_boxes(step.node, Box.whole(step.node.output.shape).on(1, first, last))
                box = boxes[index] if boxes else None
                assert box is not None
                first, last = box.start[1], box.stop[1]
            # Kernels that keep rows have read the others before.
            memory.check(tensor, max(first, kept.get(step.node, 0)) if way.keeps else first, last)
            kept[step.node] = last
        for index, scratch in zip(step.scratch, step.call.scratch, strict=True):
            memory.write(range(memory.offsets[index], memory.offsets[index] + scratch.bytes), "scratch")
        if not way.accumulates:
            for row in range(stripe.first, stripe.last):
                memory.write(memory.row(step.node.output, row), (step.node.output.name, row))


@given(st.integers(0, 10_000), st.sampled_from(("-opt=size", "-opt=balanced", "-opt=size -input=rows")), st.booleans())
@settings(max_examples=examples(25), deadline=None)
def test_every_stripe_finds_its_rows(seed: int, attributes: str, wide: bool) -> None:
    found = scheduled((wide_image_model if wide else image_model)(seed), attributes)
    cascades = found.program.assignment.cascades
    if not cascades or found.program.steps[0].node is not cascades[0].nodes[0]:
        return
    made = blocks_instead.of(found.program, found.calls, 1 << 40)
    assert made is not None
    program, layout = made
    execute(program, Memory(program, layout.offsets, dict(layout.tables)))
    assert max(layout.offsets) < layout.peak
    assert layout.bounds[0] <= layout.peak


@pytest.mark.parametrize(("attributes", "kws", "ic"), [("", 4608, 14336), ("-opt=size", 4608, 12288)])
@pytest.mark.parametrize("name", ["kws", "ic"])
def test_rows_of_a_whole_model(name: str, attributes: str, kws: int, ic: int) -> None:
    if name not in models.available([name]):
        pytest.skip(f"{name} is not here")
    found = scheduled(models.read(name), attributes)
    assert found.layout.tables
    assert found.layout.ram <= {"kws": kws, "ic": ic}[name]
    execute(found.program, Memory(found.program, found.layout.offsets, dict(found.layout.tables)))


def test_layers_that_overwrite_rows_give_their_height_to_others() -> None:
    """Depthwise and 1x1 layers compute their rows in place, and keep two rows each."""
    found = scheduled(stripe_models.chain(5, (25, 5), 64), "-opt=size", "cortex-m55")
    (cascade,) = found.program.assignment.cascades
    assert {cascade.stripe_height(node) for node in cascade.nodes} == {packed_stripes.ROWS}
    row = 5 * 64
    assert found.layout.ram < (packed_stripes.ROWS + 3 * 2 + 3) * row
    execute(found.program, Memory(found.program, found.layout.offsets, dict(found.layout.tables)))


def test_rows_are_aligned_to_the_units_of_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scheduled(image_model(29), "-opt=size")
    made = blocks_instead.of(found.program, found.calls, 1 << 40)
    assert made is not None
    program, _ = made
    problem = blocks.problem(program, blocks.Overwriting.NONE)
    for tensor, rows in problem.of_rows.items():
        unit = program.assignment.locations[tensor].view.table_unit
        assert all((problem.blocks[block].align % unit, begin % unit) == (0, 0) for block, begin in rows)
    first = next(block for block, _ in next(iter(problem.of_rows.values())))
    wrong = dataclasses.replace(place(problem.blocks, problem.min_offsets), bound=0)
    wrong = dataclasses.replace(wrong, offsets=tuple(at + (i == first) for i, at in enumerate(wrong.offsets)))
    monkeypatch.setattr("aboard.memory.blocks.place", lambda *_, **__: wrong)
    with pytest.raises(VerifyError, match=r"memory plan: rows of .* lie between the units of their table"):
        blocks.layout(program)


def test_a_table_must_save_more_ram_than_it_takes_flash() -> None:
    found = scheduled(image_model(29), "-opt=size")
    made = blocks_instead.of(found.program, found.calls, 1 << 40)
    assert made is not None
    program, layout = made
    entries = sum(len(rows) for _, rows in layout.tables)
    assert program.table_bytes == 2 * entries > 0
    least = max(program.table_bytes, blocks_instead.LEAST_BYTES)
    assert least * blocks_instead.LEAST_SAVING > layout.peak + least
    assert blocks_instead.of(found.program, found.calls, layout.peak + least) is None
    assert blocks_instead.of(found.program, found.calls, layout.peak + least + 1) is not None


def test_moments_are_stripes_in_order() -> None:
    program = scheduled(image_model(29), "-opt=size").program
    found = moments(program)
    cascade = program.assignment.cascades[0]
    assert sum(len(mine) for mine in found.of_node.values()) == sum(len(c.stripes) for c in program.assignment.cascades)
    assert found.of_step[-1][0] == found.end
    for node in cascade.nodes[:-1]:
        rows = [(each.first, each.last) for each in found.written[node.output]]
        assert [first for first, _ in rows[1:]] == [last for _, last in rows[:-1]]
        assert len(rows) == cascade.stripes_of(node)
        assert all(last >= 0 for last in found.last_read[node.output][: rows[0][1]])


def test_policies_differ_in_what_stripes_overwrite() -> None:
    if "kws" not in models.available(["kws"]):
        pytest.skip("kws is not here")
    program = scheduled(models.read("kws"), "").program
    counts = {policy: len(blocks.problem(program, policy).blocks) for policy in blocks.Overwriting}
    assert counts[blocks.Overwriting.EQUAL] < counts[blocks.Overwriting.NONE]
