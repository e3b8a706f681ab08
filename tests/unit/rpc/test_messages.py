from __future__ import annotations

import re

import pytest

from aboard.base import resources
from aboard.errors import ProtocolError
from aboard.rpc import messages, replies, status
from aboard.rpc.messages import Feature, Header, RunFlag, TensorKind, Type
from aboard.rpc.status import Status


def _c_constants(file: str, prefix: str) -> dict[str, int]:
    text = (resources.firmware() / file).read_text(encoding="utf-8")
    found = re.findall(rf"\b{prefix}(\w+) = (0x[0-9a-f]+|\d+)", text)
    return {name: int(value, 0) for name, value in found}


def test_the_statuses_are_those_of_the_firmware() -> None:
    statuses = _c_constants("include/aboard/status.h", "ABOARD_")
    assert {name.removeprefix("ERROR_"): value for name, value in statuses.items()} == dict(Status.__members__)


def test_every_status_has_words() -> None:
    texts = [status.words(number) for number in Status]
    assert len(set(texts)) == len(texts)
    assert status.words(2) == "the arena is not aligned"
    assert status.words(200) == "a status that this version of aboard does not know"


def test_the_numbers_are_those_of_the_firmware() -> None:
    constants = _c_constants("rpc/messages.h", "ABOARD_RPC_")
    assert {name: constants[name] for name in Type.__members__} == dict(Type.__members__)
    assert {name: constants[name] for name in TensorKind.__members__} == dict(TensorKind.__members__)
    assert {name: constants[f"RUN_{name}"] for name in RunFlag.__members__} == {
        name: flag.value for name, flag in RunFlag.__members__.items()
    }
    features = _c_constants("rpc/messages.h", "ABOARD_FEATURE_")
    assert features == {name: flag.value for name, flag in Feature.__members__.items()}


def test_the_versions_and_sizes_are_those_of_the_firmware() -> None:
    text = (resources.firmware() / "rpc/messages.h").read_text(encoding="utf-8")
    defined = dict(re.findall(r"#define ABOARD_RPC_(\w+) (\w+)", text))
    assert (int(defined["MAJOR"]), int(defined["MINOR"])) == (messages.MAJOR, messages.MINOR)
    assert int(defined["HEADER_BYTES"]) == messages.HEADER.size
    assert int(defined["MIN_FRAME"]) == messages.MIN_FRAME
    assert int(defined["REPLY"], 0) == messages.REPLY


def test_a_message_without_a_header_is_refused() -> None:
    with pytest.raises(
        ProtocolError,
        match=r"message: too short for a header, got 7 bytes, expected 8\. Build the device's image again",
    ):
        messages.split(bytes(7))
    assert messages.split(bytes(8)) == (Header(0, 0, 0, 0), b"")


@pytest.mark.parametrize(
    ("unpack", "shortest", "name"),
    [
        (replies.Hello.unpack, 34, "hello"),
        (replies.ModelInfo.unpack, 14, "model"),
        (replies.RunReply.unpack, 36, "run"),
        (replies.Stats.unpack, 24, "stats"),
        (replies.FaultReply.unpack, 76, "fault"),
        (replies.TraceEvent.unpack, 20, "trace event"),
    ],
)
def test_a_short_payload_is_refused(unpack: object, shortest: int, name: str) -> None:
    assert callable(unpack)
    message = (
        rf"{name}: the payload is too short, got {shortest - 1} bytes, expected \d+\. Build the device's image again"
    )
    with pytest.raises(ProtocolError, match=message):
        unpack(bytes(shortest - 1))


def test_a_short_hash_is_refused() -> None:
    with pytest.raises(
        ProtocolError, match=r"model: the hash is too short, got 31 bytes, expected 32\. Build the device's image again"
    ):
        replies.ModelInfo.unpack(bytes(14 + 31))


def test_a_short_profile_is_refused() -> None:
    assert replies.unpack_ticks(bytes([1] + [0] * 7 + [2] + [0] * 7), 2) == (1, 2)
    with pytest.raises(
        ProtocolError,
        match=r"profile: the payload is too short, got 15 bytes, expected 16\. Build the device's image again",
    ):
        replies.unpack_ticks(bytes(15), 2)
