"""The board files against the recorded facts of Zephyr's device trees (`make boards-check` records them)."""

from aboard.boards import registry
from boards import facts, page


def test_every_difference_has_a_reason():
    assert page.unexplained() == []


def test_every_reason_belongs_to_a_difference():
    differing = {(found.target, found.key) for found in page.differences()}
    assert set(facts.reasons()) - differing == set()


def test_the_page_is_what_the_script_writes():
    assert page.PAGE.read_text(encoding="utf-8") == page.written()


def test_a_wrong_size_is_a_difference():
    board = registry.load("st/nucleo_f446re")
    stated = page.recorded()["boards"]["st/nucleo_f446re"]
    memory = tuple(r.model_copy(update={"size_bytes": 65536}) if r.data else r for r in board.memory)
    wrong = board.model_copy(update={"memory": memory})
    found = {difference.key: difference for difference in facts.differences(wrong, stated)}
    assert found["ram"].ours == "0x20000000 + 64 KiB"
    assert found["ram"].zephyr == "0x20000000 + 128 KiB"
    assert "core" not in found
