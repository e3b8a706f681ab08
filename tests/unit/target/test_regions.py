"""Memory regions in targets: canonical forms, limits, and what is refused, with real board files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import boards
from aboard.errors import TargetError
from aboard.target import Target, regions
from aboard.target.regions import FIRMWARE_BYTES, ArenaRegion

H7 = "st/nucleo_h743zi"
MICROCONTROLLERS = [
    "arm/mps2_an505",
    "arm/mps3_an547",
    H7,
    "st/nucleo_h745zi_q:cm4",
    "nxp/mimxrt1060_evk",
    "nordic/nrf52dk",
]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (f"{H7} -arena=dtcm,axi_sram", f"{H7} -arena=dtcm,axi_sram"),
        (f"{H7} -arena=dtcm:65536,ram", f"{H7} -arena=dtcm:64K,axi_sram"),  # a kind: the region of the data
        (f"{H7} -arena=dtcm:100,sram4", f"{H7} -arena=dtcm:100,sram4"),
        (f"{H7} -arena=axi_sram", H7),  # what happens anyway
        (f"{H7} -weights=flash", H7),
        (f"{H7} -weights=itcm", f"{H7} -weights=itcm"),
        ("arm/mps2_an500 -weights=external", "arm/mps2_an500 -weights=psram"),
        ("arm/mps3_an547 -weights=itcm", "arm/mps3_an547"),  # the code lies there
        ("c -mcpu=cortex-m7 -arena=dtcm:65536,sram", "c -mcpu=cortex-m7 -arena=dtcm:64K,sram"),
        ("c -mcpu=cortex-m7 -arena=dtcm:64KiB,sram", "c -mcpu=cortex-m7 -arena=dtcm:64K,sram"),
        ("c -runtime=host -arena=a", "c -runtime=host -arena=a"),
        (f"{H7} -state=separate", H7),  # the default
        (f"{H7} -state=arena", f"{H7} -state=arena"),
        (f"{H7} -state=ram", f"{H7} -state=axi_sram"),  # a kind: the region of the data
        ("c -mcpu=cortex-m7 -state=retained", "c -mcpu=cortex-m7 -state=retained"),
    ],
)
def test_targets_that_mean_the_same_are_one(text: str, canonical: str) -> None:
    target = Target(text)
    assert target == Target(canonical) == Target(str(target)) == Target.from_json(target.to_json())
    assert target.key == Target(canonical).key
    assert "arena" not in target.key


@given(st.sampled_from(MICROCONTROLLERS), st.data())
@settings(max_examples=30, deadline=None)
def test_any_writable_regions_of_a_board_will_do_and_limits_never_exceed_them(name: str, data: st.DataObject) -> None:
    board = boards.load(name)
    sizes = {r.name: r.size_bytes for r in board.memory if r.kind != "flash" and not r.load}
    chosen = data.draw(st.lists(st.sampled_from(sorted(sizes)), min_size=1, unique=True))
    weights = data.draw(st.integers(0, 1 << 20))
    target = Target(f"{board.target} -arena={','.join(chosen)} -weights={chosen[0]}")
    assert Target(str(target)) == target
    arenas = target.arenas(weights)
    is_default = board.data_memory is not None and chosen == [board.data_memory.name]
    assert [arena.name for arena in arenas] == ([] if is_default else chosen)
    for number, arena in enumerate(arenas):
        assert arena.limit is not None
        assert 0 <= arena.limit <= max(sizes[arena.name] - (weights if number == 0 else 0), 0)


def test_a_board_limits_arenas_to_what_the_firmware_and_the_weights_leave() -> None:
    target = Target(f"{H7} -arena=dtcm,axi_sram -weights=dtcm")
    assert target.arenas() == (ArenaRegion("dtcm", 131072), ArenaRegion("axi_sram", 524288 - FIRMWARE_BYTES))
    assert target.arenas(weights_bytes=100_000)[0].limit == 31072
    assert target.arenas(weights_bytes=200_000)[0].limit == 0
    given = Target(f"{H7} -arena=dtcm:64K,axi_sram:512K -weights=dtcm")
    assert [a.limit for a in given.arenas(100_000)] == [31072, 512 * 1024]
    assert [a.limit for a in given.arenas(1000)] == [65536, 512 * 1024]
    assert Target(H7).arenas() == ()
    assert Target("c -mcpu=cortex-m7 -arena=dtcm:1K,sram").arenas()[1] == ArenaRegion("sram", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{H7} -arena=dtmc", "-arena: unknown memory region of st/nucleo_h743zi, got dtmc. Did you mean dtcm, itcm?"),
        (f"{H7} -weights=qspi", "-weights: unknown memory region of st/nucleo_h743zi, got qspi."),
        (
            f"{H7} -arena=flash",
            (
                "-arena: memory region is not writable, got flash of st/nucleo_h743zi, which holds the code, expected "
                "one of: itcm, dtcm, axi_sram, sram123, sram4. Name another region"
            ),
        ),
        ("arm/mps3_an547 -arena=itcm,dtcm", "not writable, got itcm of arm/mps3_an547, which holds the code"),
        ("st/nucleo_h745zi_q:cm7 -arena=flash2", "got flash2 of st/nucleo_h745zi_q:cm7, which is flash, expected one"),
        (
            "st/nucleo_h745zi_q:cm4 -arena=dtcm",
            (
                "-arena: memory region is not reached by the core, got dtcm of st/nucleo_h745zi_q, which cm7 reaches, "
                "expected one of cm4: flash1, flash2, "
            ),
        ),
        (
            f"{H7} -arena=dtcm:1M",
            (
                "-arena: the limit of dtcm is above its size, got 1048576 bytes, expected at most 131072 on "
                "st/nucleo_h743zi. Lower it or leave it out"
            ),
        ),
        (
            f"{H7} -arena=dtcm:much",
            "-arena: the limit of dtcm is not a size, got 'much', expected bytes above 0. Write",
        ),
        (f"{H7} -arena=dtcm:0", "-arena: the limit of dtcm is not a size, got '0', expected bytes above 0."),
        (f"{H7} -arena=dtcm,dtcm", "-arena: a region is named twice, got dtcm, expected each once. Remove one"),
        (f"{H7} -arena=ram,axi_sram", "-arena: a region is named twice, got axi_sram"),
        (
            "c -mcpu=cortex-m7 -arena=dtcm,sram",
            (
                "-arena: the size of dtcm is unknown without a board, got no limit, expected one for each region "
                "but the last. Write it as in dtcm:64K, or name a board"
            ),
        ),
        ("c -mcpu=cortex-m7 -arena=DTCM", "-arena: not the name of a memory region, got 'DTCM', expected a small"),
        ("c -mcpu=cortex-m7 -weights=a-b", "-weights: not the name of a memory region, got 'a-b', expected a small"),
    ],
)
def test_what_does_not_suit_is_refused(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)) as error:
        Target(text)
    assert str(error.value).startswith(f"target {text!r}: ")


def test_sizes_are_read_in_the_usual_forms() -> None:
    assert [regions.size(text) for text in ("65536", "64K", "64 KiB", "64kb", "1M", "K", "-1")] == [
        *[65536] * 4,
        1 << 20,
        None,
        None,
    ]


def test_ram_max_has_one_form() -> None:
    forms = {str(Target(f"c -mcpu=cortex-m4 -ram-max={text}")) for text in ("16K", "16384", "16KiB", "16k")}
    assert len(forms) == 1
    assert "-ram-max=16K" in forms.pop()
    assert Target("c -mcpu=cortex-m4 -ram-max=100").ram_max == 100
    assert Target("c -mcpu=cortex-m4").ram_max is None
    with pytest.raises(TargetError) as error:
        Target("c -mcpu=cortex-m4 -ram-max=some")
    assert "-ram-max is not a size, got 'some', expected bytes above 0. Write it as in -ram-max=16K" in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{H7} -state=flash", "-state: memory region is not writable, got flash of"),
        (f"{H7} -state=dtmc", "-state: unknown memory region of"),
        ("c -mcpu=cortex-m7 -state=A", "-state: not the name of a memory region, got 'A'"),
    ],
)
def test_memory_that_cannot_hold_state_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        Target(text)


def test_the_mode_of_state() -> None:
    modes = {option: Target(f"{H7} {option}").state_mode for option in ("", "-state=arena", "-state=dtcm")}
    assert modes == {"": "separate", "-state=arena": "arena", "-state=dtcm": "dtcm"}
