"""A session with the toy device: its runner, and inputs of its adder with their outputs."""

from __future__ import annotations

import numpy as np

from aboard.device.session import Session
from aboard.rpc.exchange import Timing
from support.rpc_device import FakeDevice
from support.toy_project import ToyProject

FAST = Timing(attempt_s=0.02, attempts=4, settle_s=0.001, hello_s=0.2, patience_s=0.1)
RNG = np.random.default_rng(3)
A = RNG.integers(-128, 128, (1, 2, 3, 4), np.int8)
B = RNG.integers(-128, 128, (1, 2, 3, 4), np.int8)
SUM = np.clip(A.astype(int) + B, -128, 127).astype(np.int8)
MASKED = np.where(np.arange(4) == 2, 0, np.clip(-SUM.astype(int), -128, 127)).astype(np.int8)
INPUTS = {"a": A, "b": B}


class ToyRunner:
    name = "toy runner"

    def __init__(self) -> None:
        self.stopped = 0
        self.lives = True

    def stop(self) -> None:
        self.stopped += 1

    def alive(self) -> bool:
        return self.lives

    def end_reason(self) -> str:
        return "" if self.lives else "ended by signal 9"

    @property
    def real_time(self) -> bool:
        return False

    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        return ticks * 1_000_000_000 // tick_hz


def attach(device: FakeDevice, runner: ToyRunner | None = None, project: ToyProject | None = None) -> Session:
    return Session.attach(project or ToyProject(), device.transport(), runner, timing=FAST)
