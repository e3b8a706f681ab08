"""Results are kept once for each key, also where the process that wrote them was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.errors import InputError
from aboard.farm.store import Store


def test_a_result_is_recorded_once(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with Store(file) as store:
        assert store.record("a", {"state": "exact"})
        assert not store.record("a", {"state": "failed"})
        assert store.record("b", [1])
    with Store(file) as store:
        assert store.rows == {"a": {"state": "exact"}, "b": [1]}
        assert not store.record("b", [2])
        store.clear()
        assert store.record("b", [2])
    assert file.read_text() == '{"key": "b", "row": [2]}\n'


@pytest.mark.parametrize("cut", range(1, 25))
def test_an_unfinished_line_is_dropped(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "rows.jsonl"
    whole = b'{"key": "a", "row": 1}\n'
    file.write_bytes(whole + b'{"key": "b", "row": 2222}\n'[:-cut])
    with Store(file) as store:
        assert store.rows == {"a": 1}
        store.record("c", 3)
    assert file.read_bytes() == whole + b'{"key": "c", "row": 3}\n'


def test_without_a_file() -> None:
    with Store(None) as store:
        assert store.record("a", 1)
        assert not store.record("a", 2)
        assert store.rows == {"a": 1}


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    for content in (b"dear diary", b"dear\ndiary\n", b'{"row": 1}\n', b"[1]\n"):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"not results of `aboard farm`, got .*Name another folder with -o"):
            Store(file)
        assert file.read_bytes() == content
    with Store(tmp_path / "other"), pytest.raises(InputError, match="another process writes it"):
        Store(tmp_path / "other")
    with pytest.raises(InputError, match="cannot be opened, got No such file"):
        Store(tmp_path / "none" / "rows.jsonl")
