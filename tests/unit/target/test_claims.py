"""What the user lets a device claim: `-claim-ops` and `-claim-nodes`, in one canonical form."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import TargetError
from aboard.target import Attribute, Kind, Target, claims, plugins, register

HOST = "c -mcpu=cortex-m4"


def device(attributes: str) -> Target:
    return Target(f"{HOST} + cmsis-nn {attributes}").devices[0]


def test_every_kind_of_device_has_them_and_they_canonicalise() -> None:
    made = device("-claim-ops=fully_connected,conv2d,conv2d -claim-nodes=7,0..1,2..3,3..4")
    assert str(made) == "cmsis-nn -claim-nodes=0..4,7 -claim-ops=conv2d,fully_connected"
    assert claims.ops(made.attrs) == {"conv2d", "fully_connected"}
    assert claims.nodes(made.attrs) == (range(5), range(7, 8))


def test_without_them_nothing_is_left_out() -> None:
    assert (claims.ops(device("").attrs), claims.nodes(device("").attrs)) == (None, None)


@settings(deadline=None, max_examples=50)
@given(st.sets(st.integers(0, 40), min_size=1))
def test_numbers_mean_the_same_in_every_form(numbers: set[int]) -> None:
    one_by_one = device(f"-claim-nodes={','.join(map(str, sorted(numbers, reverse=True)))}")
    ranges = claims.nodes(one_by_one.attrs)
    assert ranges is not None
    assert {number for r in ranges for number in r} == numbers
    again = device(f"-claim-nodes={one_by_one.attrs['claim-nodes']}")
    assert again == one_by_one
    assert all(left.stop < right.start for left, right in pairwise(ranges))


def test_they_are_part_of_the_target_and_not_of_its_key() -> None:
    target = Target(f"{HOST} + cmsis-nn -claim-ops=add")
    assert Target.from_json(target.to_json()) == target == Target(str(target))
    assert target != Target(f"{HOST} + cmsis-nn")
    assert target.key == Target(f"{HOST} + cmsis-nn").key


@pytest.mark.parametrize("text", ["x", "3..1", "1..", "-2", ""])
def test_what_is_no_list_of_nodes(text: str) -> None:
    with pytest.raises(
        TargetError, match=f"-claim-nodes is not a list of nodes, got {text!r}, expected numbers and range"
    ):
        Target({"kind": "composite", "host": HOST, "devices": [{"kind": "cmsis-nn", "claim-nodes": f"0,{text}"}]})


@pytest.mark.parametrize("target", [f"{HOST} -claim-ops=add", f"{HOST} -claim-ops=add + cmsis-nn"])
def test_who_makes_no_claims(target: str) -> None:
    with pytest.raises(
        TargetError,
        match=r"-claim-ops is for the devices of a composite target, got add on a target that makes no claims\. Wri",
    ):
        Target(target)


def test_the_names_are_taken() -> None:
    mine = Kind("mine", "A test", "accelerator", (Attribute("claim-ops", "Something else"),))
    expected = "kind mine: -claim-ops is an attribute of every kind, got another of that name. Rename it"
    with plugins.restored(), pytest.raises(TargetError, match=re.escape(expected)):
        register(mine)


def test_a_kind_can_refuse_a_host() -> None:
    def refuses(device: Target, host: Target) -> str | None:
        return None if host.cpu.name == "cortex-m7" else f"{device.kind.name} wants an M7, got {host.cpu.name}"

    with plugins.restored():
        register(Kind("choosy", "A test", "accelerator", (), subgraph_only=True, refuses_host=refuses))
        fine = Target("c -mcpu=cortex-m7 + choosy")
        assert fine.devices[0].caller == fine.host
        assert fine.host.caller is None
        with pytest.raises(TargetError, match=r"a device: choosy wants an M7, got cortex-m4$"):
            Target(f"{HOST} + choosy")
