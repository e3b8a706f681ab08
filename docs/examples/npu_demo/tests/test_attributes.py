"""The kind and its attributes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from aboard.errors import TargetError
from aboard.target import Target, columns
from conftest import PACKAGE

HOST = "arm/mps2_an386"


def device(text: str) -> Target:
    return Target(f"{HOST} + {text}").devices[0]


def test_versions_share_kind_and_runtime_and_differ_in_the_rest() -> None:
    v1, v2 = device("npu-demo"), device("npu-demo -model=v2")
    assert v1.kind is v2.kind
    assert columns.call(v1, "runtime") == columns.call(v2, "runtime")
    assert set(columns.call(v1, "runtime").files) == {
        "npu_demo.c",
        "npu_demo.h",
        "npu_demo_cache.c",
        "npu_demo_cache.h",
    }
    assert [p.name for p in columns.call(v1, "patterns")] == ["pointwise", "product"]
    assert [p.name for p in columns.call(v2, "patterns")] == ["convolution", "depthwise", "product"]
    assert [knob.name for knob in columns.call(v2, "tuning")] == ["buffers", "tile_rows", "order"]
    assert columns.call(v1, "tuning") == ()
    assert [(m.name, m.size_bytes, m.cached) for m in columns.call(v2, "memory")] == [
        ("system", 1 << 32, False),
        ("scratchpad", 16384, False),
    ]
    assert [m.cached for m in columns.call(device("npu-demo -cached=true"), "memory")] == [True]


def test_records_depend_on_version_and_scratchpad_alone() -> None:
    assert device("npu-demo -model=v2 -address=0x50001000").key == device("npu-demo -model=v2").key
    assert device("npu-demo -model=v2 -scratchpad=8192").key != device("npu-demo -model=v2").key
    assert device("npu-demo").key != device("npu-demo -model=v2").key


def test_targets_and_models_do_without_the_compiler() -> None:
    """A device-only installation lists the kind and runs projects."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import npu_demo, npu_demo.peripheral, npu_demo.runtime; "
        "print(sorted({'aboard.compiler', 'aboard.ir', 'aboard.ops', 'aboard.kernels'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-scratchpad=4096", r"-scratchpad is for v2, got 4096 with v1\. Add -model=v2"),
        ("-model=v2 -scratchpad=100", r"-scratchpad is not a size, got 100, expected a multiple of 16 below 16 MiB"),
        ("-address=0x50000010", r"-address is not a register address, got 0x50000010, expected a multiple of 4096"),
        ("-model=v3", r"-model has a value that is not allowed, got v3, expected one of: v1, v2"),
    ],
)
def test_wrong_attributes(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        device(f"npu-demo {text}")


def test_where_it_cannot_be() -> None:
    with pytest.raises(TargetError, match=r"npu-demo.*can only be|composite"):
        Target("npu-demo")
    with pytest.raises(
        TargetError, match=r"npu-demo has registers, got a host with -runtime=host, expected a microcon"
    ):
        Target("c -runtime=host + npu-demo")
