"""Models of Keras and SavedModels, with TensorFlow: from training to outputs on an emulated board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import aboard
from aboard import frameworks
from aboard.errors import ModelError
from support.commands import deployed

layers = keras.layers
HOST = "c -runtime=host"


def cnn() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.Flatten(), layers.Dense(3)]
    )


def lstm() -> Any:
    keras.utils.set_random_seed(2)
    return keras.Sequential([keras.Input((6, 2)), layers.LSTM(4), layers.Dense(2)])


@keras.saving.register_keras_serializable()
class Doubled(layers.Layer):
    def call(self, x: Any) -> Any:
        return 2 * x


#: How users save models: the name of the file, and what writes it.
WAYS: dict[str, Callable[[Any, Path], object]] = {
    "net.keras": lambda model, path: model.save(path),
    "net.h5": lambda model, path: model.save(path),
    "folder": lambda model, path: model.export(str(path), verbose=False),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [cnn, lstm], ids=["cnn", "lstm"])
def test_files_compute_what_the_model_does(way: str, make: Callable[[], Any], tmp_path: Path) -> None:
    model = make()
    WAYS[way](model, tmp_path / way)
    x = np.random.default_rng(3).normal(size=(1, *model.input_shape[1:])).astype(np.float32)
    if (way, make) == ("folder", lstm):
        with pytest.raises(ModelError, match=r"a recurrent layer has a free batch\)\. Export it with a batch of 1"):
            aboard.compile(tmp_path / way, target=HOST)
        signature = [tf.TensorSpec([1, 6, 2])]
        model.export(str(tmp_path / way), input_signature=signature, verbose=False)
    module = aboard.compile(tmp_path / way, target=HOST)
    assert [tensor.shape for tensor in module.manifest.inputs] == [x.shape]
    np.testing.assert_allclose(module.run(x), model(x), atol=1e-5)


def test_a_saved_model_of_an_older_tensorflow_keeps_slots_of_its_optimiser(tmp_path: Path) -> None:
    model, folder = cnn(), tmp_path / "trained"
    model.export(str(folder), verbose=False)
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    nodes = saved.meta_graphs[0].object_graph_def.nodes
    weights = [place for place, node in enumerate(nodes) if node.WhichOneof("kind") == "variable"][:2]
    nodes[0].slot_variables.add(original_variable_node_id=weights[0], slot_name="m", slot_variable_node_id=weights[1])
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    with pytest.raises(AttributeError, match="add_slot"):
        tf.saved_model.load(str(folder))
    x = np.random.default_rng(3).normal(size=(1, 8, 8, 1)).astype(np.float32)
    np.testing.assert_allclose(aboard.compile(folder, target=HOST).run(x), model(x), atol=1e-5)


def test_a_file_on_a_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = cnn()
    model.save(tmp_path / "net.keras")
    x = np.random.default_rng(4).normal(size=(1, 8, 8, 1)).astype(np.float32)
    (y,) = deployed(tmp_path / "net.keras", x, tmp_path)
    np.testing.assert_allclose(y, model(x), atol=1e-5)


def test_objects() -> None:
    model = cnn()
    x = np.ones((1, 8, 8, 1), np.float32)
    np.testing.assert_allclose(aboard.compile(model, target=HOST).run(x), model(x), atol=1e-5)


def test_several_inputs_by_name(tmp_path: Path) -> None:
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    model = keras.Model({"a": a, "b": b}, layers.Dense(2)(layers.Concatenate()([a, b])))
    model.save(tmp_path / "net.keras")
    assert {t.shape for t in aboard.compile(tmp_path / "net.keras", target=HOST).manifest.inputs} == {(1, 4), (1, 3)}


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    cnn().save(tmp_path / "a.keras")
    (tmp_path / "b.keras").write_bytes((tmp_path / "a.keras").read_bytes())
    assert frameworks.read_bytes(tmp_path / "a.keras") == frameworks.read_bytes(tmp_path / "b.keras")


def refused(path: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        frameworks.read_bytes(path)


@pytest.mark.parametrize("name", ["net.keras", "net.h5"])
def test_code_in_a_file_is_not_run(name: str, tmp_path: Path) -> None:
    keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2)]).save(tmp_path / name)
    refused(tmp_path / name, "a Lambda layer holds code, which is not run")


def test_refusals_have_the_reason(tmp_path: Path) -> None:
    cnn().save_weights(tmp_path / "net.weights.h5")
    refused(tmp_path / "net.weights.h5", "it holds weights and no network")
    keras.Sequential([keras.Input((4,)), Doubled()]).save(tmp_path / "own.keras")
    refused(tmp_path / "own.keras", "its layer Doubled is not of Keras")
    keras.Sequential([keras.Input((None, 2)), layers.GRU(4)]).save(tmp_path / "free.keras")
    refused(tmp_path / "free.keras", r"has free dimensions beside the batch, \(None, None, 2\)")
    with pytest.raises(ModelError, match="TensorFlow Lite has no operators Svd"):
        aboard.compile(keras.Sequential([keras.Input((2, 4)), layers.Lambda(tf.linalg.svd)]), target=HOST)


def test_damaged_files(tmp_path: Path) -> None:
    cnn().save(tmp_path / "net.h5")
    data = (tmp_path / "net.h5").read_bytes()
    (tmp_path / "net.h5").write_bytes(data[:3000])
    refused(tmp_path / "net.h5", "which tensorflow does not convert .*truncated file")
    cnn().export(str(tmp_path / "folder"), verbose=False)
    (tmp_path / "folder" / "saved_model.pb").write_bytes(b"\x08\x01\x12\xff\xff")
    refused(tmp_path / "folder", "a SavedModel of TensorFlow, which tensorflow does not convert")
