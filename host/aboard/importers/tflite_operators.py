"""The operators of TFLite files: which are read, and which TensorFlow Lite Micro has beside these."""

from __future__ import annotations

from collections.abc import Mapping

from aboard import ops
from aboard.importers import tflite_shapes, tflite_state

_BUILTIN = """
    ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND
    BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL CONCATENATION CONV_2D COS CUMSUM DEPTHWISE_CONV_2D
    DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL FLOOR
    FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF
    L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC
    LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 PRELU QUANTIZE
    READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR
    RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND
    SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF TANH
    TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK VAR_HANDLE WHILE ZEROS_LIKE
"""

_CUSTOM = """
    CIRCULAR_BUFFER SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank SignalFilterBankLog
    SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalFramer SignalIrfft SignalOverlapAdd
    SignalPCAN SignalRfft SignalStacker SignalWindow TFLM_DECODE TFLite_Detection_PostProcess
"""

#: The operators that TensorFlow Lite Micro's resolver can register (`micro_mutable_op_resolver.h`, November 2026),
#: without the calls of an Ethos-U, which only Vela writes.
TFLITE_MICRO = frozenset((*_BUILTIN.split(), *(f"CUSTOM {name}" for name in _CUSTOM.split())))

#: Why operators of TensorFlow Lite Micro are not read; `NOT_YET` for others.
REASONS: Mapping[str, str] = {
    "CUSTOM TFLM_DECODE": "unpacks tensors that a tool of TensorFlow Lite Micro has packed",
}
NOT_YET = "no op computes it yet"


def read() -> list[str]:
    """Returns the names of all operators that the importer reads, sorted, without those of `folded`."""
    return sorted({*ops.tflite_kinds(), *tflite_shapes.ALWAYS, *tflite_state.KINDS})


def folded() -> list[str]:
    """Returns the names of the operators that are only read where all operands are constant, sorted."""
    return sorted(set(tflite_shapes.kinds()).difference(read()))


def missing() -> dict[str, str]:
    """Returns the operators of TensorFlow Lite Micro that are not read, sorted, with the reason."""
    return {kind: REASONS.get(kind, NOT_YET) for kind in sorted(TFLITE_MICRO.difference(read()))}
