"""A client of the toy device, with inputs of its adder and their outputs."""

from __future__ import annotations

import numpy as np

from aboard.rpc import messages
from aboard.rpc.client import Client
from aboard.rpc.exchange import Timing
from aboard.rpc.messages import TensorKind
from support.rpc_device import FakeDevice

FAST = Timing(attempt_s=0.02, attempts=4, settle_s=0.001, hello_s=0.2, patience_s=0.2)
A = np.arange(24, dtype=np.int8).tobytes()
B = np.arange(100, 124, dtype=np.int8).tobytes()


def add(a: bytes, b: bytes) -> bytes:
    wide = np.frombuffer(a, np.int8).astype(int) + np.frombuffer(b, np.int8)
    return np.clip(wide, -128, 127).astype(np.int8).tobytes()


def masked(total: bytes) -> bytes:
    wide = -np.frombuffer(total, np.int8).astype(int).reshape(6, 4)
    wide[:, 2] = 0
    return np.clip(wide, -128, 127).astype(np.int8).tobytes()


def client_of(device: FakeDevice) -> Client:
    return Client(device.transport(), timing=FAST)


def run_adder(client: Client, a: bytes, b: bytes) -> bytes:
    client.write_input(0, 0, a)
    client.write_input(0, 1, b)
    client.run(messages.RunRequest(0))
    return client.read_tensor(0, TensorKind.OUTPUT, 0, 24)
