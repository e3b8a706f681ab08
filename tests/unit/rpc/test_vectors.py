"""The host's frames and messages against tests/data/rpc_vectors.json; tests/firmware/test_rpc.py does the same in C."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from aboard.base import resources
from aboard.rpc import framing, messages, replies
from aboard.rpc.messages import Header
from support.rpc_device import ALL, FakeDevice, sent

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "rpc_vectors.json").read_text())


@pytest.mark.parametrize("case", VECTORS["crc32"], ids=lambda case: case["data"][:18])
def test_crc(case: dict[str, Any]) -> None:
    assert zlib.crc32(bytes.fromhex(case["data"])) == case["crc"]


def test_the_check_value_of_crc32_is_the_published_one() -> None:
    assert {"data": b"123456789".hex(), "crc": 0xCBF43926} in VECTORS["crc32"]


@pytest.mark.parametrize("case", VECTORS["frames"], ids=lambda case: case["name"])
def test_frames(case: dict[str, Any]) -> None:
    message, frame = bytes.fromhex(case["message"]), bytes.fromhex(case["frame"])
    assert framing.encode(message) == frame
    assert len(frame) <= framing.encoded_bytes(len(message))
    assert b"\0" not in frame[1:-1]
    decoder = framing.Decoder(len(message) + 4)
    assert decoder.feed(frame) == [message]
    assert (decoder.damaged, decoder.too_long) == (0, 0)


@pytest.mark.parametrize("case", VECTORS["damaged"], ids=lambda case: case["name"])
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_damaged_frames(case: dict[str, Any], step: int) -> None:
    data = bytes.fromhex(case["bytes"])
    decoder = framing.Decoder(300)
    for start in range(0, len(data), step):
        assert decoder.feed(data[start : start + step]) == []
    assert (decoder.damaged, decoder.too_long) == (case["damaged"], case["too_long"])


def _field(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("case", VECTORS["messages"], ids=lambda case: case["class"])
def test_messages(case: dict[str, Any]) -> None:
    header, payload = messages.split(bytes.fromhex(case["message"]))
    assert header == Header(**case["header"])
    cls: Any = getattr(replies, case["class"], None) or getattr(messages, case["class"])
    values = {name: _parse(cls, name, value) for name, value in case["fields"].items()}
    assert header.pack() + cls(**values).pack() == bytes.fromhex(case["message"])
    if hasattr(cls, "unpack"):
        for longer in (payload, payload + b"appended"):
            unpacked = cls.unpack(longer)
            if cls is not replies.TraceEvent or longer == payload:
                assert {f.name: _field(getattr(unpacked, f.name)) for f in fields(cls)} == case["fields"]


def _parse(cls: Any, name: str, value: object) -> object:
    kind = {f.name: f.type for f in fields(cls)}[name]
    if kind == "bytes":
        return bytes.fromhex(str(value))
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize(("key", "burst"), [("dialogue", 0), ("credits", 64), ("series", 0)])
def test_dialogue_with_the_server(key: str, burst: int) -> None:
    device = FakeDevice(frame_bytes=300, burst=burst)
    for case in VECTORS[key]:
        received = framing.Decoder(65535).feed(device.step(sent(case)))
        assert [message.hex() for message in received] == case["receive"], case["name"]


def test_dialogue_about_state() -> None:
    device = FakeDevice()
    assert device.c.fake_start_states(ALL, 300, 1) == 0
    for case in VECTORS["states"]:
        received = framing.Decoder(65535).feed(device.step(sent(case)))
        assert [message.hex() for message in received] == case["receive"], case["name"]


def test_the_documentation_shows_a_frame_of_the_vectors() -> None:
    text = (resources.firmware().parent / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    shown = [case for case in VECTORS["dialogue"] if " ".join(_pairs(case["send"])) in text]
    assert {case["name"] for case in shown} == {"hello", "hello again, answered from memory", "model"}
    assert " ".join(_pairs(shown[0]["receive"][0][:48])) in text


def _pairs(text: str) -> list[str]:
    return [text[i : i + 2] for i in range(0, len(text), 2)]
