"""The kind `c`: standalone C for a CPU core."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.boards import cpu as cpus
from aboard.errors import TargetError
from aboard.target import regions
from aboard.target.kind import Attribute, Kind, Value, register
from aboard.target.second_core import refuses_host

_ATTRIBUTES = (
    Attribute(
        "arena",
        "Memory regions for the arenas, fastest first, with optional limits: `dtcm:64K,sram`; by default one arena in "
        "the board's data region",
    ),
    Attribute(
        "arithmetic",
        "How integer layers round: as TensorFlow Lite Micro does for the same graph (`tflite`), or once from the real "
        "result, ties to even, as the standard of ONNX defines it (`exact`)",
        default="tflite",
        allowed=("tflite", "exact"),
    ),
    Attribute(
        "flash-max",
        "Bytes of flash that the model may take, such as `64K`; the compiler chooses the fastest kernels and weight "
        "layouts that are predicted to fit",
    ),
    Attribute(
        "hardware",
        "Board the code runs on, `vendor/board` or `vendor/board:core`, or its SoC, `vendor/soc`; implies the core. "
        "`aboard hardware` lists boards and their SoCs",
        identity=True,
    ),
    Attribute(
        "input",
        "How the model treats its input: it may overwrite the input (`consumed`), preserves it (`kept`, costs RAM), or "
        "takes it row by row (`rows`) and stores a few rows only",
        default="consumed",
        allowed=("consumed", "kept", "rows"),
    ),
    Attribute(
        "input-layout",
        "Order of the axes of images in ONNX files: as in the model file (`file`), or with channels last, as a camera "
        "delivers them (`nhwc`). In TFLite files channels are last anyway",
        default="file",
        allowed=("file", "nhwc"),
    ),
    Attribute(
        "io",
        "Element type of inputs and outputs of quantised models: as in the model file (`file`), or `int8` or `uint8` "
        "without the conversions from and to float32 at the border",
        default="file",
        allowed=("file", "int8", "uint8"),
    ),
    Attribute(
        "mcpu",
        "gcc's name of the core, with modifiers for missing units: `cortex-m4`, `cortex-m33+nodsp+nofp`; `native` is "
        "the core of this machine, `generic` any other core with a C99 compiler",
        implied="-hardware, or this machine with -runtime=host",
        identity=True,
    ),
    Attribute(
        "mfloat-abi",
        "Float ABI; follows the FPU: `hard` with an FPU, else `soft`",
        allowed=("hard", "soft"),
        implied="-mcpu and -mfpu",
    ),
    Attribute(
        "mfpu",
        "gcc's name of the FPU; `none` leaves the FPU unused, as -mcpu=...+nofp does",
        implied="-mcpu",
    ),
    Attribute(
        "opt",
        "Preference between small and fast code",
        default="balanced",
        allowed=("size", "balanced", "speed"),
    ),
    Attribute(
        "ram-max",
        "Bytes that the arenas may take, such as `16K`; the compiler chooses the fastest schedule within this limit",
    ),
    Attribute(
        "runtime",
        "Runtime of the code: `standalone` firmware, or a shared library in this process on the `host`",
        allowed=("standalone", "host"),
        implied="-hardware, else `host` for cores of host class and `standalone` for the rest",
    ),
    Attribute(
        "state",
        "Memory of the values that a model keeps from run to run: a block of their own (`separate`), the end of the "
        "arena (`arena`), or a block in a memory region, by name or by kind of memory; by default `separate`",
    ),
    Attribute(
        "weights",
        "Memory region for the weights, or a kind of memory: `flash`, `itcm`, `external`; by default the region of the "
        "code. Weights in RAM are copied there before main",
    ),
)


def _core(attrs: Mapping[str, Value], where: str) -> cpus.Cpu:
    name = attrs.get("mcpu")
    if name is None and attrs.get("runtime") == "host":
        name = "native"
    if name is None:
        raise TargetError(
            f"{where}: the core is missing, expected -mcpu=<core> or a board. Add -mcpu=, one of: "
            f"{', '.join(cpus.names())}"
        )
    try:
        core = cpus.find(str(name))
    except TargetError as error:
        raise TargetError(f"{where}: -mcpu: {error}") from error
    wanted = str(attrs.get("mfpu", core.fpu))
    fitted = core.with_fpu(wanted)
    if fitted is None:
        raise TargetError(
            f"{where}: -mfpu does not belong to the core, got {wanted}, expected {core.fpu} for {core.name}. "
            f"Leave -mfpu out, or name the core with modifiers: -mcpu={core.base}+nofp"
        )
    return fitted


def _complete(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    core = _core(attrs, where)
    abi = attrs.get("mfloat-abi", core.float_abi)
    if abi != core.float_abi:
        raise TargetError(
            f"{where}: -mfloat-abi contradicts the FPU, got {abi}, expected {core.float_abi} for {core.name}. "
            f"Leave it out; for soft float on a core with an FPU write -mfpu=none"
        )
    runtime = attrs.get("runtime", "host" if core.is_host_class else "standalone")
    if runtime == "host" and not core.has_host_compiler:
        raise TargetError(
            f"{where}: -runtime=host needs a core of host class, got {core.name}, expected one of: "
            f"{', '.join(n for n in cpus.names() if cpus.find(n).is_host_class)}. Use -runtime=standalone"
        )
    if core.is_generic and "flash-max" in attrs:
        raise TargetError(
            f"{where}: -flash-max needs a core whose code sizes were measured, got -mcpu={core.name}. "
            f"Leave -flash-max out, or name the core"
        )
    known = {**attrs, "mcpu": core.name, "mfpu": core.fpu, "mfloat-abi": core.float_abi, "runtime": runtime}
    return regions.complete(known, where)


def _keys(attrs: Mapping[str, Value]) -> frozenset[str]:
    core = cpus.find(str(attrs["mcpu"]))
    found = {"portable"}
    if core.is_arm_m and "thumb2" not in core.features:
        found.add("arm_thumb1")
    if core.is_arm_m and "dsp" in core.features:
        found.add("arm_dsp")
    elif core.is_arm_m and "mul64" in core.features:
        found.add("arm_mla")
    if "mve" in core.features:
        found.add("arm_mve")
    if core.is_riscv:
        found.add("riscv")
    if "vectors" in core.features:
        found.add("riscv_v")
    if core.is_host_class:
        found.add("host")
    return core.keys | found


C = register(
    Kind(
        "c",
        "Standalone C99 for a CPU core",
        "cpu",
        _ATTRIBUTES,
        complete=_complete,
        keys=_keys,
        refuses_host=refuses_host,
    )
)
