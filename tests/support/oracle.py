"""The reference interpreters that results are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import tflite
from tflite_micro import runtime

#: The interpreter's own choice is too small for small models.
ARENA_BYTES = 1 << 24


def _run(model: bytes, inputs: Iterable[np.ndarray], config: runtime.InterpreterConfig) -> runtime.Interpreter:
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=ARENA_BYTES, intrepreter_config=config)
    for index, value in enumerate(inputs):
        interpreter.set_input(np.asarray(value, order="C"), index)
    interpreter.invoke()
    return interpreter


def tflm(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Returns the outputs of TensorFlow Lite for Microcontrollers, the golden reference.

    Leave the bias of DEPTHWISE_CONV_2D out rather than name it absent (-1): the interpreter ends the process there.

    Args:
        model: A TFLite file.
        inputs: Values of the model's inputs, in its order, with their exact shape and type.

    Raises:
        RuntimeError: The interpreter refuses the model.
    """
    interpreter = _run(model, inputs, runtime.InterpreterConfig.kAllocationRecording)
    outputs = tflite.Model.GetRootAs(model, 0).Subgraphs(0).OutputsLength()
    return [np.array(interpreter.get_output(index)) for index in range(outputs)]


def tflm_steps(model: bytes, steps: Iterable[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Returns the outputs of each of several runs of one interpreter, which keeps its state between them.

    Args:
        model: A TFLite file.
        steps: For each run, the values of the model's inputs.
    """
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=ARENA_BYTES)
    outputs = tflite.Model.GetRootAs(model, 0).Subgraphs(0).OutputsLength()
    found = []
    for inputs in steps:
        for index, value in enumerate(inputs):
            interpreter.set_input(np.asarray(value, order="C"), index)
        interpreter.invoke()
        found.append([np.array(interpreter.get_output(index)) for index in range(outputs)])
    return found


def tflm_tensors(model: bytes, *inputs: np.ndarray, tensors: Iterable[int]) -> dict[int, np.ndarray]:
    """Returns values of tensors inside the model after a run, by their index in the file.

    Args:
        model: A TFLite file.
        inputs: As for `tflm`.
        tensors: The indices asked for; one that does not exist ends the process.
    """
    interpreter = _run(model, inputs, runtime.InterpreterConfig.kPreserveAllTensors)
    return {index: np.array(interpreter._interpreter.GetTensor(index, 0)["tensor_data"]) for index in tensors}


def litert_ref(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Returns the outputs of LiteRT with its reference kernels: the second witness, and the only one for hybrid models.

    Its integer results may differ from `tflm` by a rounding step; its default kernels (XNNPACK) differ by much more and
    are never used.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
