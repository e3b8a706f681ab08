"""Keras and TensorFlow: models become TFLite files of a batch of 1, by TensorFlow's own converter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

_SAVE = 'Save the whole model: `model.save("model.keras")`'
_EXPORT = 'Export it where its layers are defined: `model.export("folder")`, and give that folder'
_FIX = (
    'Export it with a batch of 1: `model.export("folder", input_signature=[tf.TensorSpec([1, ...])])`; recurrent '
    "layers need that, or `unroll=True`"
)
_REPLACE = "Replace these layers in the model"

#: Reason and advice by what is found in the message of an error; the first group, if any, is quoted.
EXPLAINED = (
    (r"No model config found", "it holds weights and no network", _SAVE),
    (r"`Lambda` layer|unsafe deserialization", "a Lambda layer holds code, which is not run", _EXPORT),
    (r"Could not locate class '(\w+)'|Unknown layer: '?(\w+)", "its layer {} is not of Keras", _EXPORT),
    (r"TensorList\w+.*element_shape", "a recurrent layer has a free batch", _FIX),
    (r"(?:Flex|Custom) ops: ([\w, ]+)", "TensorFlow Lite has no operators {}", _REPLACE),
    (r"(signatures .*)", "{}", "Export it with one signature, or one named serving_default"),
    (r"(has no inputs .*)", "{}", _FIX),
    (
        r"(input .* has free dimensions.*)",
        "{}",
        "Build it with `keras.Input(batch_shape=(1, ...))`",
    ),
    (r"(keras [\d.]+ .*)", "{}", "Run pip install --upgrade keras"),
)

#: Older versions run code in files that say they hold none.
_OLDEST = (3, 11, 3)


def convert(source: Path, folder: Path) -> bytes:
    """Returns the TFLite file of a `.keras` or HDF5 file, or of the folder of a SavedModel.

    Code in the file, as Lambda layers have it, is not run. The program of a SavedModel is TensorFlow's to load.

    Args:
        source: The file or folder.
        folder: For temporary files.

    Raises:
        Exception: Of any class, from TensorFlow; `explain` has the reason.
    """
    if source.is_dir():
        return _of_saved_model(source, folder / "batch_of_1")
    import keras

    if tuple(int(part) for part in re.findall(r"\d+", keras.__version__)[:3]) < _OLDEST:
        raise ValueError(f"keras {keras.__version__} is older than {'.'.join(map(str, _OLDEST))}")
    return of_model(keras.models.load_model(source, compile=False, safe_mode=True), folder / "saved_model")


def of_model(model: Any, folder: Path) -> bytes:
    """Returns the TFLite file of a Keras model.

    Args:
        model: A built model of Keras 3.
        folder: Where a SavedModel is written; it does not exist.

    Raises:
        Exception: As for `convert`.
    """
    import keras
    import tensorflow as tf

    structure = getattr(model, "_inputs_struct", None) or getattr(model, "inputs", None)
    if not structure:
        raise ValueError("has no inputs of known shape")

    def fixed(tensor: Any) -> Any:
        return tf.TensorSpec(_batch_of_1(tensor.shape, tensor.name), tensor.dtype, name=tensor.name)

    specs = keras.tree.map_structure(fixed, structure)
    signature = specs if isinstance(specs, list) and len(specs) == 1 else [specs]
    model.export(str(folder), format="tf_saved_model", input_signature=signature, verbose=False)
    return _converted(folder)


def _of_saved_model(source: Path, folder: Path) -> bytes:
    """Returns the TFLite file of a SavedModel, whose serving signature gets a batch of 1."""
    import tensorflow as tf

    source = _without_optimiser(source, folder.with_name("without_optimiser"))
    loaded = tf.saved_model.load(str(source))
    names = sorted(loaded.signatures)
    name = "serving_default" if "serving_default" in names else "".join(names[:1])
    if name != "serving_default" and len(names) != 1:
        raise ValueError(f"signatures {', '.join(names) or 'are missing'}")
    serve = loaded.signatures[name]
    given = serve.structured_input_signature[1]
    if not any(None in (spec.shape.as_list() if spec.shape.rank is not None else []) for spec in given.values()):
        return _converted(source, name)
    holder = tf.Module()
    holder.loaded = loaded
    holder.serve = tf.function(lambda **inputs: serve(**inputs))
    specs = {key: tf.TensorSpec(_batch_of_1(spec.shape, key), spec.dtype, name=key) for key, spec in given.items()}
    tf.saved_model.save(holder, str(folder), signatures=holder.serve.get_concrete_function(**specs))
    return _converted(folder)


def _without_optimiser(source: Path, folder: Path) -> Path:
    """Returns a SavedModel without what an optimiser keeps for each weight: the folder itself, or a copy.

    TensorFlow since 2.6 does not load these of a model that was trained and saved with an older one.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((source / "saved_model.pb").read_bytes())
    graphs = [part.object_graph_def for part in saved.meta_graphs]
    kept = [node for graph in graphs for node in graph.nodes if node.slot_variables]
    if not kept:
        return source
    for node in kept:
        del node.slot_variables[:]
    shutil.copytree(source, folder)
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    return folder


def _batch_of_1(shape: Any, name: str) -> list[int]:
    """Returns the sizes of an input, the batch 1 if it is free."""
    first, *others = list(shape) or [1]
    if None in others:
        raise ValueError(f"input {name} has free dimensions beside the batch, {tuple(shape)}")
    return [1 if first is None else first, *others] if len(shape) else []


def _converted(folder: Path, signature: str = "serving_default") -> bytes:
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=[signature])
    return bytes(converter.convert())


def explain(error: Exception) -> tuple[str, str]:
    """Returns the reason of a failed conversion, and what to do."""
    text = str(error)
    for pattern, reason, advice in EXPLAINED:
        found = re.search(pattern, text)
        if found is not None:
            return reason.format(next(filter(None, found.groups()), "")), advice
    first = next(iter(text.strip().splitlines()), "")
    return f"{type(error).__name__}: {first}", "Save the model again, or replace the layer that the reason names"
