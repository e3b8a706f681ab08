"""Writes the C of a front end: the headers of `firmware/frontend`, and for sound tables and calls with literals.

include/<name>.h             the functions, and the bytes that they need
src/<name>.c                 tables, parameters, calls
src/frontend/*.h             functions of the front end
src/kernels/portable/*.h     the kernels that compute them
include/aboard/config.h      what these include
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aboard import outputs
from aboard.base import resources
from aboard.emit import c_text
from aboard.emit.bundle import GENERATOR, kernel_headers
from aboard.errors import InputError
from aboard.frontend.audio import LOG_SCALE, AudioFrontEnd
from aboard.frontend.audio_tables import WEIGHT_BITS
from aboard.ir import Array
from aboard.kernels.view import Literal
from aboard.ops.signal_fft import factors, super_twiddles, twiddles
from aboard.ops.signal_filter_bank import log_table
from aboard.ops.signal_numbers import Numbers

_HEADERS = ("audio.h", "decisions.h", "frames.h", "picture.h", "scale.h")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KERNEL = re.compile(r'^#include "\.\./kernels/([^"]+)"', re.MULTILINE)


def write(front_end: AudioFrontEnd, folder: str | Path, name: str = "frontend", *, force: bool = False) -> Path:
    """Writes the C of a front end.

    Args:
        front_end: Its parameters.
        folder: A new folder, or one that this function wrote.
        name: Prefix of the functions: lower-case letters, digits and underscores.
        force: True to overwrite files of others that are in the way.

    Returns:
        The folder, absolute.

    Raises:
        InputError: The name is none of C.
        ProjectError: The folder holds other files.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"front end: name, got {name!r}, expected lower-case letters, digits and _. Change it")
    return _write(sources(front_end, name), folder, f"the front end {name}", force=force)


def write_headers(folder: str | Path, *, force: bool = False) -> Path:
    """Writes the headers of `firmware/frontend` alone, for an application without a front end for sound.

    Args:
        folder: A new folder, or one that this function wrote.
        force: True to overwrite files of others that are in the way.

    Returns:
        The folder, absolute; `include` and `src` in it are folders for headers.

    Raises:
        ProjectError: The folder holds other files.
    """
    return _write(headers(), folder, "the headers of the front end", force=force)


def _write(files: Mapping[str, str], folder: str | Path, what: str, *, force: bool) -> Path:
    def fill(fresh: Path) -> None:
        for path, text in files.items():
            place = fresh / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")

    return outputs.write_folder(Path(folder), "front end", what, fill, force=force)


def headers() -> dict[str, str]:
    """Returns the headers of the front end, and those that they include, by path."""
    firmware = resources.firmware()
    own = {f"src/frontend/{file}": (firmware / "frontend" / file).read_text(encoding="utf-8") for file in _HEADERS}
    kernels = kernel_headers(path for text in own.values() for path in _KERNEL.findall(text))
    config = (firmware / "include" / "aboard" / "config.h").read_text(encoding="utf-8")
    return {"include/aboard/config.h": config, **own, **kernels}


def sources(front_end: AudioFrontEnd, name: str) -> dict[str, str]:
    """Returns the files by path."""
    return {
        f"include/{name}.h": c_text.fitted(_header(front_end, name)),
        f"src/{name}.c": c_text.fitted(_source(front_end, name)),
        **headers(),
    }


def constants(front_end: AudioFrontEnd) -> dict[str, Array]:
    """Returns the tables of a front end by their fields of `aboard_audio_tables_t`."""
    half, bank = front_end.fft_length // 2, front_end.bank
    energies, starts, widths = (np.asarray(column, np.int16) for column in zip(*bank.groups, strict=True))
    found: dict[str, Array] = {
        "window": front_end.window_weights,
        "twiddles": np.stack(twiddles(Numbers(16), half, inverse=False), axis=-1).astype(np.int16),
        "halves": np.stack(super_twiddles(Numbers(16), half, inverse=False), axis=-1).astype(np.int16),
        "above": bank.above,
        "below": bank.below,
        "energies": energies,
        "starts": starts,
        "widths": widths,
        "logs": log_table(),
    }
    if front_end.gain_control is not None:
        found["gains"] = front_end.gains
    if front_end.coefficients:
        found["cosines"] = front_end.cosines
    return found


def state_bytes(front_end: AudioFrontEnd) -> int:
    """Returns the bytes that a stream needs from call to call."""
    noise = 4 * front_end.channels if front_end.noise_reduction is not None else 0
    return _up(8 + noise + 2 * front_end.window, 4)


def scratch_bytes(front_end: AudioFrontEnd) -> int:
    """Returns the bytes that a frame needs while it is computed; other code may use them between the calls."""
    pairs, words = _scratch(front_end)
    lasting = sum(count for _, count in _lasting(front_end))
    return _up(8 * pairs + 4 * words + 4 * front_end.channels + 2 * lasting, 8)


def _scratch(front_end: AudioFrontEnd) -> tuple[int, int]:
    """Returns the elements of `work` (uint64) and of `frame` (uint32)."""
    spectrum = 2 * (front_end.fft_length + 2)
    return _up(max(spectrum, 8 * front_end.channels), 8) // 8, _up(max(2 * front_end.window, spectrum), 4) // 4


def _lasting(front_end: AudioFrontEnd) -> list[tuple[str, int]]:
    """Returns the results in int16 that are not the caller's features, each with its elements."""
    logs = [("logs", front_end.channels)] if front_end.coefficients or front_end.scale else []
    return logs + ([("cepstra", front_end.coefficients)] if front_end.coefficients and front_end.scale else [])


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def tables_bytes(front_end: AudioFrontEnd) -> int:
    """Returns the bytes of flash that the tables need."""
    return sum(values.nbytes for values in constants(front_end).values())


def _parameters(front_end: AudioFrontEnd) -> Mapping[str, Literal]:
    found: dict[str, Literal] = {
        "window": {"elements": front_end.window, "length": front_end.window, "shift": WEIGHT_BITS},
        "fft": {
            "frames": 1,
            "in_length": front_end.window,
            "count": front_end.fft_length // 2,
            "steps": len(factors(front_end.fft_length // 2)),
            "factors": factors(front_end.fft_length // 2),
        },
        "channels": front_end.channels,
        "log": {
            "channels": front_end.channels,
            "correction_bits": front_end.correction_bits,
            "scale": LOG_SCALE,
        },
        "coefficients": front_end.coefficients,
    }
    if front_end.noise_reduction is not None:
        attrs = front_end.subtraction
        found["reduces"] = True
        found["noise"] = {
            "channels": front_end.channels,
            "smoothing": [attrs.smoothing, attrs.alternate_smoothing],
            "remaining": [attrs.one_minus_smoothing, attrs.alternate_one_minus_smoothing],
            "least": attrs.min_signal_remaining,
            "smoothing_bits": attrs.smoothing_bits,
            "bits": attrs.bits,
            "clamping": attrs.clamping,
        }
    if front_end.gain_control is not None:
        found["controls"] = True
        found["gain"] = {"channels": front_end.channels, "snr_shift": front_end.snr_shift}
    return found


def _banner(front_end: AudioFrontEnd, what: str) -> str:
    reduced = ", noise reduction" if front_end.noise_reduction else ""
    controlled = ", gain control" if front_end.gain_control else ""
    kind = f"{front_end.coefficients} cepstral coefficients" if front_end.coefficients else "logarithms"
    band = f"{front_end.channels} mel channels from {front_end.low_hz:g} to {front_end.high_hz:g} Hz"
    lines = [
        what,
        "",
        f"Frames of {front_end.window} samples, one every {front_end.hop}, at {front_end.sample_rate} Hz.",
        f"{band}{reduced}{controlled}; {kind} of {'int8' if front_end.scale else 'int16'}.",
        f"Flash for tables: {tables_bytes(front_end)} bytes.",
        "",
        f"Generated by {GENERATOR}.",
        "SPDX-License-Identifier: Apache-2.0",
    ]
    return c_text.comment(lines)


def _header(front_end: AudioFrontEnd, name: str) -> str:
    upper, feature = name.upper(), "int8_t" if front_end.scale else "int16_t"
    noise = f"    uint32_t noise[{front_end.channels}];\n" if front_end.noise_reduction else ""
    pairs, words = _scratch(front_end)
    lasting = "".join(f"    int16_t {field}[{count}];\n" for field, count in _lasting(front_end))
    head = _banner(front_end, "A front end for sound: features of frames. aboard.frontend is the same in Python.")
    return f"""{head}
#ifndef {upper}_H
#define {upper}_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_SAMPLE_RATE {front_end.sample_rate}
#define {upper}_WINDOW {front_end.window}
#define {upper}_HOP {front_end.hop}
/** Elements that {name}_read writes. */
#define {upper}_FEATURES {front_end.features}
/** Bytes of {name}_t and of {name}_scratch_t. */
#define {upper}_STATE_BYTES {state_bytes(front_end)}
#define {upper}_SCRATCH_BYTES {scratch_bytes(front_end)}

/** A stream. The caller provides the memory; every field is private. */
typedef struct {{
    int32_t first;
    int32_t filled;
{noise}    int16_t samples[{front_end.window}];
}} {name}_t;

/** Memory of {name}_read; the caller may use it for anything else between the calls. */
typedef struct {{
    uint64_t work[{pairs}];
    uint32_t frame[{words}];
    uint32_t magnitudes[{front_end.channels}];
{lasting}}} {name}_scratch_t;

/** Begins a stream: forgets all samples{" and the estimate of the noise" if noise else ""}. */
void {name}_reset({name}_t *stream);

/**
 * Takes samples until a frame is complete.
 *
 * @param stream   The stream.
 * @param samples  The next samples; may be NULL when `count` is 0.
 * @param count    Their number, from 0.
 * @return         Number of samples taken. Call {name}_read, then give the others.
 */
int32_t {name}_push({name}_t *stream, const int16_t *samples, int32_t count);

/**
 * Computes the features of the frame that is complete, and removes its first {upper}_HOP samples.
 *
 * @param stream    The stream.
 * @param scratch   Memory.
 * @param features  Gets {upper}_FEATURES elements.
 * @return          False if no frame is complete; nothing is written then.
 */
bool {name}_read({name}_t *stream, {name}_scratch_t *scratch, {feature} *features);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(front_end: AudioFrontEnd, name: str) -> str:
    tables = constants(front_end)
    arrays = "\n".join(c_text.array(f"table_{field}", values, 4) for field, values in tables.items())
    fields = c_text.initializer({field: f"table_{field}" for field in tables}, "")
    frames = c_text.initializer({"size": front_end.window, "hop": front_end.hop}, "")
    scale = c_text.initializer(front_end.scale.fields, "") if front_end.scale else ""
    kept = f"static const aboard_scale_t scale = {scale};\n" if scale else ""
    lasting = [field for field, _ in _lasting(front_end)]
    logs, cepstra = (f"scratch->{field}" if field in lasting else "features" for field in ("logs", "cepstra"))
    noise = "stream->noise" if front_end.noise_reduction else "NULL"
    mfcc = f"    aboard_frontend_mfcc(&parameters, &tables, {logs}, {cepstra});\n" if front_end.coefficients else ""
    last = cepstra if front_end.coefficients else logs
    scaled = f"    aboard_scale_s16(&scale, {last}, features, {front_end.features});\n" if scale else ""
    feature = "int8_t" if scale else "int16_t"
    return f"""{_banner(front_end, f"Tables and functions of {name}.h.")}
#include "{name}.h"

#include <stddef.h>
#include <string.h>

#include "frontend/audio.h"
#include "frontend/frames.h"
{'#include "frontend/scale.h"' if scale else ""}
{arrays}

static const aboard_audio_tables_t tables = {fields};
static const aboard_audio_t parameters = {c_text.initializer(_parameters(front_end), "")};
static const aboard_frames_t frames = {frames};
{kept}
/* Fails to compile if the header states other sizes than the compiler's. */
typedef char {name}_state_size[sizeof({name}_t) == {name.upper()}_STATE_BYTES ? 1 : -1];
typedef char {name}_scratch_size[sizeof({name}_scratch_t) == {name.upper()}_SCRATCH_BYTES ? 1 : -1];

void {name}_reset({name}_t *stream) {{
    memset(stream, 0, sizeof *stream);
}}

int32_t {name}_push({name}_t *stream, const int16_t *samples, int32_t count) {{
    aboard_frames_state_t state = {{stream->first, stream->filled}};
    const int32_t taken = aboard_frames_push(&frames, &state, stream->samples, samples, count);
    stream->filled = state.filled;
    return taken;
}}

bool {name}_read({name}_t *stream, {name}_scratch_t *scratch, {feature} *features) {{
    aboard_frames_state_t state = {{stream->first, stream->filled}};
    int16_t *frame = (int16_t *)(void *)scratch->frame;
    if (!aboard_frames_read(&frames, &state, stream->samples, frame)) {{
        return false;
    }}
    stream->first = state.first;
    stream->filled = state.filled;
    aboard_frontend_mel(&parameters, &tables, frame, scratch->work, scratch->magnitudes);
    aboard_frontend_log_mel(&parameters, &tables, scratch->magnitudes, {noise}, {logs});
{mfcc}{scaled}    return true;
}}
"""
