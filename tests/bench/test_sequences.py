"""Goals beside TFLM: what is recorded as met is met, the page shows it, and the check fails where a goal is lost."""

from __future__ import annotations

import copy

import pytest

from bench import run, sequence_page, sequences

RECORDED = run.recorded()["sequences"]
PEERS = sequence_page.peers()
#: Ratios to TFLM that a release may not lose again, of instructions for each second of sound and of the arena.
WAKE_WORD = {"instructions": 0.75, "ram": 0.5}


def test_the_record_says_of_each_goal_whether_it_is_met() -> None:
    assert set(RECORDED["models"]) == set(PEERS["models"]) == set(PEERS["goals"])
    for name, record in RECORDED["models"].items():
        assert record["met"] == sequences.met(name, record), name


@pytest.mark.parametrize("name", ["wake_jarvis", "wake_vad"])
def test_wake_words_need_at_most_half_of_tflm(name: str) -> None:
    assert RECORDED["models"][name]["met"] == {"instructions": True, "ram": True}


@pytest.mark.parametrize("name", ["lstm", "svdf", "audio_features"])
def test_other_models_need_at_most_half_of_its_ram(name: str) -> None:
    assert RECORDED["models"][name]["met"]["ram"]


def test_sound_to_score_needs_fewer_instructions_and_less_ram() -> None:
    ours, theirs = RECORDED["wake_word"], PEERS["wake_word"]
    assert ours["instructions_per_second"] <= WAKE_WORD["instructions"] * theirs["instructions_per_second"]
    assert ours["ram_bytes"] <= WAKE_WORD["ram"] * (theirs["arena_bytes"] - theirs["state_bytes"])


def test_the_page_shows_both_totals_and_what_is_missed() -> None:
    record = {"instructions": 400, "ram_bytes": 70, "state_bytes": 30, "met": {"instructions": True, "ram": False}}
    word = {"instructions_per_second": 5000, "ram_bytes": 70, "state_bytes": 30}
    peers = {
        "source": {"compiler": "gcc"},
        "goals": {"net": {"instructions": 0.5, "ram": 0.5}},
        "models": {"net": {"instructions": 1000, "arena_bytes": 125, "state_bytes": 25}},
        "wake_word": {"instructions_per_second": 9000, "arena_bytes": 200, "state_bytes": 20},
    }
    lines = sequence_page.section({"models": {"net": record}, "wake_word": word}, peers).splitlines()
    assert "| net | 400 | 1,000 | 0.40 | 70 | 30 | 125 | 0.70 (*missed*: 0.5) |" in lines
    assert "| aboard | 5,000 | 70 | 30 |" in lines
    assert "| TFLM | 9,000 | 200 | 20 |" in lines
    assert "- compiler: gcc" in lines


def test_the_check_finds_figures_that_grew_and_goals_that_were_lost() -> None:
    assert sequences.worse(RECORDED, RECORDED) == []
    now = copy.deepcopy(RECORDED)
    now["models"]["svdf"]["ram_bytes"] *= 20
    now["models"]["svdf"]["met"]["ram"] = False
    now["wake_word"]["instructions_per_second"] *= 2
    found = sequences.worse(now, RECORDED)
    ram, instructions = RECORDED["models"]["svdf"]["ram_bytes"], RECORDED["wake_word"]["instructions_per_second"]
    assert found == [
        f"svdf: ram_bytes {20 * ram:,}, recorded {ram:,}: +1900.0 %",
        "svdf: the goal for ram is missed, recorded as met",
        f"wake word: instructions_per_second {2 * instructions:,}, recorded {instructions:,}: +100.0 %",
    ]
