"""Random graphs with state, run for some steps: every evaluation and the generated C against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from support import oracle, streams
from support.streams import Stream

SHAPE, STEPS = (1, 3, 1, 4), 4


class _Drawn:
    """A model of random operators over values of one shape; variables are read and assigned in between."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.build = Stream().quantised("x", shape=SHAPE)
        self.values = ["x"]
        self.assigned: set[str] = set()

    def fresh(self) -> str:
        name = f"t{len(self.build._tensors)}"
        self.build.quantised(name, shape=SHAPE)
        return name

    def value(self) -> str:
        return self.data.draw(st.sampled_from(self.values[-4:]))

    def variable(self) -> str:
        return self.data.draw(st.sampled_from("uvw"))

    def read(self) -> None:
        name = self.fresh()
        self.build.read(self.variable(), name)
        self.values.append(name)

    def assign(self) -> None:
        variable = self.variable()
        self.assigned.add(variable)
        self.build.assign(variable, self.value())

    def compute(self) -> None:
        kind, name = self.data.draw(st.sampled_from(("ADD", "SUB", "RELU", "MUL"))), self.fresh()
        operands = [self.value()] if kind == "RELU" else [self.value(), self.value()]
        self.build.op(kind, operands, [name], {} if kind != "RELU" else None)
        self.values.append(name)

    def window(self) -> None:
        """Joins two values and keeps some rows of them."""
        fresh, count = self.fresh(), len(self.build._tensors)
        self.build.quantised(f"cat{count}", shape=(1, 6, 1, 4))
        first = self.data.draw(st.integers(0, 3))
        self.build.op("CONCATENATION", [self.value(), self.value()], [f"cat{count}"], {"Axis": 1})
        for name, values in (("b", [0, first, 0, 0]), ("e", [1, first + 3, 1, 4]), ("s", [1, 1, 1, 1])):
            self.build.tensor(f"{name}{count}", (4,), np.int32, data=values)
        self.build.op("STRIDED_SLICE", [f"cat{count}", f"b{count}", f"e{count}", f"s{count}"], [fresh], {})
        self.values.append(fresh)

    def model(self) -> bytes:
        if self.data.draw(st.booleans()):
            ramp = np.arange(12, dtype=np.int8).reshape(SHAPE)
            self.assigned.add("u")
            self.build.initial("u", ramp)
        actions = st.sampled_from((self.read, self.assign, self.compute, self.window))
        for _ in range(self.data.draw(st.integers(3, 12))):
            self.data.draw(actions)()
        for variable in "uvw":
            if variable not in self.assigned:
                self.build.assign(variable, self.value())
        y = self.fresh()
        self.build.op("ADD", [self.value(), "x"], [y], {})
        outputs = [y, *{self.value()} - {"x", y}]
        return self.build.build(["x"], outputs)


def check(model: bytes, target: str | None) -> None:
    steps = streams.draws([SHAPE], STEPS)
    expected = oracle.tflm_steps(model, steps)
    if target is None:
        got = streams.evaluated(model, steps)
    else:
        module, got = aboard.compile(model, target=target), []
        for (x,) in steps:
            results = module.run(x)
            got.append(list(results.values()) if isinstance(results, dict) else [results])
    for number, (mine, wanted) in enumerate(zip(got, expected, strict=True)):
        for index, (a, b) in enumerate(zip(mine, wanted, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"step {number}, output {index}")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_evaluation(data: st.DataObject) -> None:
    check(_Drawn(data).model(), None)


@pytest.mark.parametrize("attributes", ["", "-state=arena -opt=size", "-input=kept -arena=fast:64,slow"])
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_generated_c(attributes: str, data: st.DataObject) -> None:
    check(_Drawn(data).model(), f"c -runtime=host {attributes}")


def test_quantisation_of_a_variable_is_that_of_its_reader() -> None:
    build = Stream().quantised("x", "y").tensor("s", (1, 4), np.int8, scale=0.1, zero_point=-20)
    build.read("v", "s").op("ADD", ["x", "s"], ["y"], {}).assign("v", "y")
    model = build.build(["x"], ["y"])
    steps = streams.draws([(1, 4)], STEPS)
    module = aboard.compile(model, target="c -runtime=host")
    got = np.stack([module.run(x) for (x,) in steps])
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))
