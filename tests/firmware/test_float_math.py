"""The float functions of the firmware against double precision: every 997th float32 argument, and special ones.

Of float_special.h, it is every 9973rd argument.
"""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import cffi
import numpy as np
import pytest

from aboard.base import resources

FUNCTIONS = ("expf", "tanhf", "logisticf", "sqrtf", "logf", "expm1f", "sinf", "cosf")
BOUNDS = {
    "expf": 1e-7,
    "tanhf": 2e-7,
    "logisticf": 2e-7,
    "sqrtf": 6e-8,
    "logf": 3e-7,
    "expm1f": 3e-7,
    "sinf": 2e-7,
    "cosf": 2e-7,
}
#: Where functions are defined for part of the arguments alone.
DOMAINS = {"sqrtf": (0, np.inf), "logf": (1e-45, np.inf), "expm1f": (-np.inf, 0)}
#: Functions whose error is relative to the larger of the result and 1, and numpy's names for them.
SPECIAL = {
    "acosf": np.arccos,
    "acoshf": np.arccosh,
    "asinf": np.arcsin,
    "asinhf": np.arcsinh,
    "atanf": np.arctan,
    "atanhf": np.arctanh,
    "coshf": np.cosh,
    "erff": np.vectorize(math.erf, otypes=[np.float64]),
    "sinhf": np.sinh,
    "softplusf": lambda x: np.logaddexp(x, 0),
    "tanf": np.tan,
}
SPECIAL_BOUND = 5e-7
FLT_MIN = float(np.finfo(np.float32).tiny)

POWER = "void run_powf(const float *x, const float *y, float *z, int32_t n)"

SOURCE = '#include <stdint.h>\n#include "portable/float_functions.h"\n#include "portable/float_special.h"\n' + "".join(
    f"""
void run_{name}(const float *x, float *y, int32_t n);
void run_{name}(const float *x, float *y, int32_t n) {{
    for (int32_t i = 0; i < n; ++i) {{
        y[i] = aboard_{name}(x[i]);
    }}
}}
"""
    for name in (*FUNCTIONS, *SPECIAL)
)
SOURCE += f"{POWER};\n{POWER} {{ for (int32_t i = 0; i < n; ++i) {{ z[i] = aboard_powf(x[i], y[i]); }} }}\n"


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def compute(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Returns a function (name, arguments) -> results that runs the C code."""
    folder = tmp_path_factory.mktemp("float_math")
    (folder / "math.c").write_text(SOURCE)
    flags = ["-std=c99", request.param, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion"]
    include = [f"-I{resources.firmware() / 'include'}", f"-I{resources.firmware() / 'kernels'}"]
    subprocess.run(["gcc", *flags, *include, str(folder / "math.c"), "-o", str(folder / "math.so")], check=True)
    ffi = cffi.FFI()
    ffi.cdef("".join(f"void run_{name}(const float *x, float *y, int32_t n);" for name in (*FUNCTIONS, *SPECIAL)))
    ffi.cdef(f"{POWER};")
    library = ffi.dlopen(str(Path(folder) / "math.so"))

    def run(name: str, *operands: np.ndarray) -> np.ndarray:
        y = np.empty_like(operands[0])
        pointers = [ffi.cast("float *", array.ctypes.data) for array in (*operands, y)]
        getattr(library, f"run_{name}")(*pointers, len(y))
        return y

    return run


def exact(name: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        if name != "logisticf":
            return getattr(np, name.removesuffix("f"))(wide)
        # TFLite's shortcuts belong to the function.
        return np.where(x > np.float32(16.6190472), 1.0, np.where(x < -9, np.exp(wide), 1 / (1 + np.exp(-wide))))


@pytest.mark.parametrize(("name", "bound"), BOUNDS.items())
def test_relative_error_over_the_whole_range(compute, name: str, bound: float) -> None:
    bits = np.arange(0, 2**32, 997, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    low, high = DOMAINS.get(name, (-np.inf, np.inf))
    x = np.ascontiguousarray(x[np.isfinite(x) & (x >= low) & (x <= high)])
    wanted, got = exact(name, x), compute(name, x).astype(np.float64)
    overflow = wanted > float(np.finfo(np.float32).max)
    assert np.isinf(got[overflow]).all()
    normal = ~overflow & (np.abs(wanted) >= FLT_MIN)
    assert float(np.max(np.abs(got[normal] / wanted[normal] - 1))) < bound
    denormal = np.abs(wanted) < FLT_MIN
    assert float(np.max(np.abs(got[denormal] - wanted[denormal]), initial=0.0)) <= 1.5e-45


def test_special_arguments(compute) -> None:
    x = np.array([0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 88.8, -104.5], np.float32)
    assert compute("expf", x).tolist()[:3] == [1.0, math.inf, 0.0]
    assert compute("expf", x).tolist()[4:] == [1.0, 1.0, math.inf, 0.0]
    assert compute("tanhf", x).tolist()[:3] == [0.0, 1.0, -1.0]
    assert compute("tanhf", x)[4:6].tolist() == x[4:6].tolist()
    assert compute("logisticf", x).tolist()[:3] == [0.5, 1.0, 0.0]
    assert [math.isnan(compute(name, x)[3]) for name in FUNCTIONS] == [True] * len(FUNCTIONS)


@pytest.mark.parametrize("name", SPECIAL)
def test_error_of_special_functions_over_the_whole_range(compute, name: str) -> None:
    x = np.arange(0, 2**32, 9973, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([x, np.array([0, 1, -1, math.inf, -math.inf, math.nan, 0.5, -0.5], np.float32)])
    if name == "tanf":
        x = x[~(np.abs(x) > 1e4)]  # Where neighbours are far apart, next to a pole.
    with np.errstate(all="ignore"):
        wanted = SPECIAL[name](x.astype(np.float64))
        rounded = wanted.astype(np.float32)
    check_special(compute(name, x), rounded, wanted, SPECIAL_BOUND)


def test_error_of_powers(compute) -> None:
    rng = np.random.default_rng(0)
    count = 100_000
    x = (10.0 ** rng.uniform(-12, 12, count) * rng.choice([-1, 1], count)).astype(np.float32)
    y = np.where(rng.random(count) < 0.5, rng.integers(-70, 71, count), rng.uniform(-5, 5, count)).astype(np.float32)
    ends = np.array([0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, math.inf, -math.inf, math.nan, 16777216, 1e30], np.float32)
    pairs = np.array(np.meshgrid(ends, ends), np.float32).reshape(2, -1)
    x, y = (np.ascontiguousarray(np.concatenate([a, b])) for a, b in zip((x, y), pairs, strict=True))
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
        rounded = wanted.astype(np.float32)
    near_infinity = np.abs(wanted) > 3.3e38
    keep = ~(near_infinity & np.isfinite(wanted))
    check_special(compute("powf", x, y)[keep], rounded[keep], wanted[keep], 1e-5)


def check_special(got: np.ndarray, rounded: np.ndarray, wanted: np.ndarray, bound: float) -> None:
    """Fails for an error above a bound, relative to the larger of the result and 1."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
    known = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~known], rounded[~known])
    errors = np.abs(got[known].astype(np.float64) - wanted[known]) / np.maximum(np.abs(wanted[known]), 1)
    assert float(errors.max()) < bound
