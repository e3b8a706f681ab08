"""The second core of a board as a device, in QEMU: exact, timed, restarted, and reported when it is dead."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Project
from aboard.compiler.pipeline import Module
from aboard.errors import DeviceFault, DeviceStatusError
from aboard.rpc.status import Status
from support import fake_device, models
from support.device import device

BOARD = "arm/mps2_an521"
BOTH = f"{BOARD}:cpu0 + {BOARD}:cpu1"
SECOND = f"{BOARD}:cpu1"


def feeds(module: Module) -> list[np.ndarray]:
    record = module.manifest.inputs[0]
    rng = np.random.default_rng(8)
    return [rng.integers(-128, 128, record.shape).astype(record.dtype) for _ in range(2)]


def built(module: Module, folder: Path, toolchain: str | None = None) -> Project:
    project = aboard.create(module, board=BOARD, path=folder / "project")
    project.build(toolchain)
    return project


@pytest.mark.parametrize("name", models.available(["kws", models.SHIPPED]))
def test_both_cores_compute_what_the_host_alone_does(name: str, tmp_path: Path) -> None:
    module = aboard.compile(models.path(name), target=f"{BOTH} -claim-ops=conv2d,max_pool2d")
    alone = aboard.compile(models.path(name), target="c -runtime=host")
    with built(module, tmp_path).session(runner="qemu") as session:
        for feed in feeds(module):
            np.testing.assert_array_equal(session.run(feed), alone.run(feed))
        profile = session.profile(feed)
    assert {node.node.device for node in profile.nodes} == {SECOND, None}
    assert f"{SECOND}: conv2d" in profile.table()
    assert all(node.duration.instructions for node in profile.nodes if node.node.device == SECOND)


def test_the_second_core_alone_built_by_zig(tmp_path: Path) -> None:
    module = aboard.compile(models.path(models.SHIPPED), target="mps2-an521-both")
    alone = aboard.compile(models.path(models.SHIPPED), target="c -runtime=host")
    with built(module, tmp_path, "zig").session(runner="qemu") as session:
        for feed in feeds(module):
            np.testing.assert_array_equal(session.run(feed), alone.run(feed))
            session.reset()
        profile = session.profile(feed)
    assert [node.node.device for node in profile.nodes] == [SECOND]


def test_three_devices_and_the_host(tmp_path: Path) -> None:
    library = "cmsis-nn" if os.environ.get("CMSIS_NN_PATH") else "library"
    with ExitStack() as stack:
        stack.enter_context(fake_device.fake_device())
        second = {"patterns": fake_device.patterns(), "codegen": fake_device.codegen, "runtime": fake_device.runtime}
        stack.enter_context(device(**second, name="library"))
        devices = (
            "fake -claim-ops=fully_connected",
            f"{library} -claim-nodes=2",
            f"{SECOND} -claim-ops=conv2d,softmax",
        )
        target = " + ".join((f"{BOARD}:cpu0", *devices))
        module = aboard.compile(models.path(models.SHIPPED), target=target)
        [feed, _] = feeds(module)
        with built(module, tmp_path).session(runner="qemu") as session:
            result = session.run(feed)
            profile = session.profile(feed)
    alone = aboard.compile(models.path(models.SHIPPED), target="c -runtime=host")
    np.testing.assert_array_equal(result, alone.run(feed))
    assert [node.node.device for node in profile.nodes] == [SECOND, None, library, None, "fake", SECOND]


def changed(module: Module, end: str, change: Callable[[str], str]) -> Module:
    """Returns a module in which one file, named by its end, is another."""
    [path] = [path for path in module.files if path.endswith(end)]
    text = change(module.files[path])
    assert text != module.files[path]
    return Module(module.manifest, {**module.files, path: text})


def test_a_core_that_does_not_start_is_an_error_and_no_hang(tmp_path: Path) -> None:
    module = aboard.compile(models.path(models.SHIPPED), target=BOTH)
    dead = changed(module, "_start.c", lambda text: text.replace("&= ~0x2u", "&= ~0x0u"))
    [feed, _] = feeds(module)
    with built(dead, tmp_path).session(runner="qemu") as session:
        for _ in range(2):
            with pytest.raises(
                DeviceStatusError, match="an accelerator or another core did not answer in time"
            ) as caught:
                session.run(feed)
            assert caught.value.status == Status.TIMEOUT
        assert session.fault() is None


def test_a_core_that_hangs_is_an_error_until_it_goes_on(tmp_path: Path) -> None:
    module = aboard.compile(models.path(models.SHIPPED), target=BOTH)
    hang = '    while (*(const volatile uint8_t *)a->x0 == 77) {\n        __asm volatile("wfe");\n    }\n'
    stuck = changed(module, "_core.c", lambda text: text.replace("= arguments;\n", f"= arguments;\n{hang}", 1))
    [feed, _] = feeds(module)
    feed[0, 0, 0] = 0
    alone = aboard.compile(models.path(models.SHIPPED), target="c -runtime=host")
    with built(stuck, tmp_path).session(runner="qemu") as session:
        np.testing.assert_array_equal(session.run(feed), alone.run(feed))
        feed[0, 0, 0] = 77
        with pytest.raises(DeviceStatusError, match="did not answer in time"):
            session.run(feed)
        # The next input comes to where the core looks: it goes on and finishes the old call, and the new one is made.
        feed[0, 0, 0] = 0
        np.testing.assert_array_equal(session.run(feed), alone.run(feed))


@pytest.mark.parametrize(
    ("crash", "status"),
    [
        ("    *(volatile uint32_t *)0x70000000u = 1;\n", 0x8200),
        ("    volatile uint8_t big[8192];\n    big[0] = 1;\n    big[8191] = big[0];\n", 1 << 20),
    ],
    ids=["bus", "stack"],
)
def test_a_fault_of_the_second_core_is_its_own(crash: str, status: int, tmp_path: Path) -> None:
    module = aboard.compile(models.path(models.SHIPPED), target=BOTH)
    broken = changed(module, "_core.c", lambda text: text.replace("= arguments;\n", f"= arguments;\n{crash}", 1))
    [feed, _] = feeds(module)
    with built(broken, tmp_path).session(runner="qemu") as session:
        for _ in range(2):
            with pytest.raises(DeviceFault, match=r"core 1 of the device crashed and stays stopped, got fault 3: "):
                session.run(feed)
        fault = session.fault(clear=True)
        assert fault is not None
        assert (fault.core, fault.exception, fault.status & status) == (1, 3, status)
        assert session.stats().requests > 0
        session.reset()
        with pytest.raises(DeviceFault, match="core 1 of the device crashed"):
            session.run(feed)
