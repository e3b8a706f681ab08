"""Files are found, recognised and named."""

import hashlib
import os
import re
from pathlib import Path

import pytest

from aboard.errors import ModelError
from aboard.importers import load
from aboard.importers.registry import MOST_NAME, identifier
from support import zoo


def test_a_path_gives_name_source_and_hash(tmp_path):
    path = tmp_path / "My Net-2.tflite"
    path.write_bytes(zoo.many_ops())
    graph = load(path)
    assert (graph.name, graph.source) == ("my_net_2", "My Net-2.tflite")
    assert graph.model_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(str(path), name="net").name == "net"


def test_bytes_are_named_model():
    assert load(zoo.many_ops()).name == "model"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kws", "kws"),
        ("ResNet-8 (int8)", "resnet_8_int8"),
        ("8bit", "model_8bit"),
        ("é", "model"),
        ("aboard", "model_aboard"),
        ("aboard_board", "model_aboard_board"),
        ("string", "model_string"),
        ("server", "model_server"),
        ("int", "int"),
    ],
)
def test_identifiers(text, expected):
    assert identifier(text) == expected


def test_a_name_that_is_no_identifier():
    with pytest.raises(ModelError, match=r"got 'My Net', expected a C identifier in lower case .*Try my_net"):
        load(zoo.many_ops(), name="My Net")


def test_a_name_whose_header_would_hide_another():
    with pytest.raises(ModelError, match=r"got 'stdint', expected .* no header of the C library.*Try model_stdint"):
        load(zoo.many_ops(), name="stdint")


def test_no_such_file_names_near_ones(tmp_path):
    (tmp_path / "kws.tflite").write_bytes(b"")
    with pytest.raises(ModelError, match=r"^kw\.tflite: no such file in .*Did you mean kws\.tflite\?"):
        load(tmp_path / "kw.tflite")
    with pytest.raises(ModelError, match=r"^none\.tflite: no such file .*Check the path"):
        load(tmp_path / "nowhere" / "none.tflite")
    with pytest.raises(ModelError, match=f"no such file in {re.escape(str(Path.cwd()))}. "):
        load("none.tflite")


def test_a_folder(tmp_path):
    with pytest.raises(ModelError, match="got a folder, expected a model file"):
        load(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path):
    with pytest.raises(ModelError, match=r"cannot be read \("):
        load(tmp_path / ("x" * 300))
    with pytest.raises(ModelError, match=r"cannot be read \("):
        load("a\0b.tflite")


def test_an_empty_file(tmp_path):
    path = tmp_path / "empty.tflite"
    path.touch()
    with pytest.raises(ModelError, match=r"^empty\.tflite: the file is empty"):
        load(path)


def test_another_format(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(
        ModelError,
        match=r"^x\.json: not a model file, got bytes b'\{\}', expected ONNX \(\.onnx\), TFLite \(\.tflite, ",
    ):
        load(path)


def test_another_format_under_the_right_suffix(tmp_path):
    path = tmp_path / "noise.tflite"
    path.write_bytes(bytes(range(64)))
    with pytest.raises(ModelError, match=r"^noise\.tflite: not a TFLite file, got b'.*' at byte 4, expected b'TFL3'"):
        load(path)


def test_the_suffix_does_not_matter_where_the_content_is_clear(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(zoo.many_ops())
    assert len(load(os.fspath(path)).nodes) == 27


def test_long_names_are_cut_and_stay_as_they_are() -> None:
    for text in ("n" * 300, "9" * 300, "a_" * 150):
        name = identifier(text)
        assert len(name) <= MOST_NAME
        assert identifier(name) == name
    with pytest.raises(ModelError, match=r"name of the model, got 101 characters, expected at most 100\. Shorten it"):
        load(zoo.many_ops(), name="n" * 101)
