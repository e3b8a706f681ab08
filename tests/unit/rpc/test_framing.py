from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.rpc import framing

few = settings(max_examples=50, deadline=None)


@few
@given(st.lists(st.binary(max_size=600), max_size=5), st.integers(1, 700))
def test_messages_survive_any_cutting_of_the_stream(messages: list[bytes], step: int) -> None:
    stream = b"".join(map(framing.encode, messages))
    decoder = framing.Decoder(1000)
    received = [m for start in range(0, len(stream), step) for m in decoder.feed(stream[start : start + step])]
    assert received == messages
    assert (decoder.damaged, decoder.too_long) == (0, 0)


@few
@given(st.binary(max_size=300), st.binary(max_size=100))
def test_a_message_is_found_after_noise(noise: bytes, message: bytes) -> None:
    decoder = framing.Decoder(1000)
    assert decoder.feed(noise + framing.encode(message))[-1:] == [message]


@few
@given(st.binary(min_size=1, max_size=200), st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_message(message: bytes, place: int, bit: int) -> None:
    frame = bytearray(framing.encode(message))
    frame[place % len(frame)] ^= 1 << bit
    assert framing.Decoder(1000).feed(bytes(frame)) in ([], [message])


def test_noise_without_delimiter_fills_no_memory() -> None:
    decoder = framing.Decoder(300)
    for _ in range(100):
        assert decoder.feed(b"x" * 1000) == []
    assert len(decoder._pending) <= framing.encoded_bytes(300)
    assert decoder.feed(b"\0" + framing.encode(b"back")) == [b"back"]
    assert (decoder.damaged, decoder.too_long) == (0, 1)


def test_the_longest_message_is_accepted_and_one_more_byte_is_not() -> None:
    decoder = framing.Decoder(300)
    assert decoder.feed(framing.encode(bytes(296))) == [bytes(296)]
    assert decoder.feed(framing.encode(bytes(297))) == []
    assert decoder.too_long == 1
