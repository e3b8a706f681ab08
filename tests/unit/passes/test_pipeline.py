"""The pipeline as a whole, and the checks around each pass."""

from typing import ClassVar

import numpy as np
import pytest

from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ir.printer import dump
from aboard.passes import HOST, NEUTRAL, Pass, run_passes, run_pipeline
from support import models, zoo
from support.rewrites import check_rewrite, kinds


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_results_stay_the_same(dtype):
    after = check_rewrite(zoo.many_ops(dtype), *NEUTRAL, *HOST)
    assert "pad" not in kinds(after)
    assert kinds(after).count("reshape") == 1
    assert not {"relu", "relu6"} & set(kinds(after))


@pytest.mark.parametrize("name", models.available([models.SHIPPED, "kws", "ic", "ic_f32", "kws_hybrid"]))
def test_real_models_stay_the_same(name):
    after = check_rewrite(models.read(name), *NEUTRAL, *HOST, seeds=1)
    assert len(after.nodes) <= len(load(models.path(name)).nodes)


def test_every_source_operator_is_accounted_for():
    graph = load(zoo.many_ops())
    run_pipeline(graph)
    assert sorted(number for node in graph.nodes for number in node.sources) == list(range(27))


def test_what_an_accelerator_sees_is_not_fused():
    graph = load(zoo.many_ops())
    run_passes(graph, NEUTRAL)
    assert {"pad", "relu", "relu6"} <= set(kinds(graph))


def test_steps_are_reported():
    graph = load(zoo.many_ops())
    steps = []
    run_pipeline(graph, lambda step: steps.append((step, dump(graph).count("\n"))))
    assert [step for step, _ in steps] == ["import", *(step.name for step in (*NEUTRAL, *HOST))]
    assert steps[-1][1] < steps[0][1]


def test_a_second_run_changes_nothing():
    graph = load(zoo.many_ops())
    run_pipeline(graph)
    text = dump(graph)
    run_pipeline(graph)
    assert dump(graph) == text


class Lazy(Pass):
    name: ClassVar[str] = "lazy"

    def run(self, graph):
        """Does nothing."""

    def pending(self, graph):
        return f"relu {graph.nodes[0].name}"


class Breaking(Lazy):
    name: ClassVar[str] = "breaking"

    def run(self, graph):
        graph.nodes.reverse()


class Demanding(Breaking):
    name: ClassVar[str] = "demanding"
    requires: ClassVar[tuple[type[Pass], ...]] = (Lazy,)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Lazy(), "pass lazy: left work at relu t2"),
        (Breaking(), "pass breaking: .* is read before it has a value"),
        (
            Demanding(),
            r"pass demanding: requires lazy, which has work left at relu t2\. Run lazy again before .*",
        ),
    ],
)
def test_broken_promises(step, words):
    with pytest.raises(VerifyError, match=words):
        run_passes(load(zoo.many_ops()), [step])
