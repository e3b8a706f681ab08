"""A bundle written by hand, so that projects, ports and runners are tested without the compiler.

Its model has one node, which negates bytes; an input whose first byte is 1 makes it crash, with 2 it does not end, with
3 it counts to a million first, with 101 it overflows its stack, with 102 it reads from an odd address by an instruction
that wants an even one, with 103 it reads where there is no memory, with 104 it jumps there.
"""

from __future__ import annotations

from pathlib import Path

from aboard.base import manifest, resources
from aboard.base.manifest import Manifest
from aboard.base.manifest_records import NodeRecord, TensorRecord

BYTES = 64
HASH = bytes(range(32))

#: Where the emulated boards have no memory; odd, as the address of Thumb code is.
NOWHERE = 0x90000001

#: What the first byte of the input asks for.
CRASH, HANG, LINGER, OVERFLOW, UNALIGNED, UNMAPPED, LOST = 1, 2, 3, 101, 102, 103, 104

_SOURCE = """\
#include "{name}.h"

#include "aboard/config.h"
#include "aboard/hooks.h"

static const aboard_tensor_t input = {{0, {count}, ABOARD_INT8, 0}};
static const aboard_tensor_t output = {{{count}, {count}, ABOARD_INT8, 0}};

#define NOWHERE {nowhere}u

/* Not a tail call, and not a loop. */
static ABOARD_NOINLINE uint32_t dig(volatile uint32_t *above) {{
    volatile uint32_t here[8] = {{0}};
    here[0] = above[0] + 1;
    return above[0] == UINT32_MAX ? 0 : dig(here) + here[0];
}}

static ABOARD_NOINLINE uint32_t read_at(uintptr_t address) {{
    return *(const volatile uint32_t *)address;
}}

static ABOARD_NOINLINE uint32_t read_unaligned(const void *address) {{
    uint32_t value = 0;
#if defined(__riscv)
    register const void *from __asm("a0") = address;
    register uint32_t into __asm("a1") = value;
    __asm volatile(".word 0x100525af" : "=r"(into) : "r"(from)); /* lr.w a1, (a0) */
    value = into;
#elif defined(__ARM_ARCH) && __ARM_ARCH >= 7 && defined(__arm__)
    uint32_t more;
    __asm volatile("ldrd %0, %1, [%2]" : "=&r"(value), "=r"(more) : "r"(address));
#else
    value = *(const volatile uint32_t *)address;
#endif
    return value;
}}

static void leave(uintptr_t address) {{
    ((void (*)(void))address)();
}}

static ABOARD_NOINLINE void misbehave(int8_t what) {{
    volatile uint32_t turns = 0;
    if (what == 1) {{
        __builtin_trap();
    }}
    if (what == 101) {{
        turns = dig(&turns);
    }}
    if (what == 102) {{
        turns = read_unaligned((const char *)&turns + 1);
    }}
    if (what == 103) {{
        turns = read_at(NOWHERE - 1u);
    }}
    if (what == 104) {{
        leave(NOWHERE);
    }}
    while (what == 2) {{
        turns = turns + 1;
    }}
    while (what == 3 && turns < 1000000) {{
        turns = turns + 1;
    }}
}}

static aboard_status_t run(void *arena, size_t arena_bytes, const aboard_hooks_t *hooks) {{
    int8_t *in = arena;
    (void)hooks;
    if (arena_bytes < {count} * 2) {{
        return ABOARD_ERROR_ARENA_TOO_SMALL;
    }}
    ABOARD_BEGIN(0);
    misbehave(in[0]);
    for (int i = 0; i < {count}; i++) {{
        in[{count} + i] = (int8_t)~in[i];
    }}
    ABOARD_END(0);
    return ABOARD_OK;
}}

const aboard_model_t {name}_model = {{
    .name = "{name}",
    .hash = {{{hash}}},
    .arena_bytes = {count} * 2,
    .nodes = 1,
    .input_count = 1,
    .output_count = 1,
    .inputs_kept = true,
    .inputs = &input,
    .outputs = &output,
    .run = run,
}};
"""

_HEADER = """\
#ifndef {upper}_H
#define {upper}_H
#include "aboard/model.h"
extern const aboard_model_t {name}_model;
#endif
"""

_CMAKE = """\
add_library(model_{name} STATIC ${{CMAKE_CURRENT_LIST_DIR}}/src/{name}.c)
target_include_directories(model_{name} PUBLIC ${{CMAKE_CURRENT_LIST_DIR}}/include)
"""


def tiny_node(**changes: object) -> NodeRecord:
    """Returns the record of the model's node, with other values for some fields."""
    node = NodeRecord(
        name="negate",
        op="negate",
        implementation="portable",
        sources=(0,),
        macs=0,
        rows=1,
        weights_bytes=0,
        scratch_bytes=0,
        workspace_bytes=0,
        inputs=(),
        outputs=(),
    )
    return node.model_copy(update=changes)


def tiny_manifest(core: str, name: str = "tiny", *, ram_bytes: int = 2 * BYTES, weights_bytes: int = 0) -> Manifest:
    """Returns the manifest of the model, with figures to choose."""

    def tensor(tensor_name: str, offset: int) -> TensorRecord:
        return TensorRecord(
            name=tensor_name,
            c_name=tensor_name,
            dtype="int8",
            shape=(1, BYTES),
            scale=1.0,
            zero_point=0,
            offset=offset,
            bytes=BYTES,
        )

    return Manifest(
        generator="by hand",
        name=name,
        model_file=f"{name}.tflite",
        model_hash=HASH.hex(),
        target=f"c -mcpu={core}",
        core=core,
        input_mode="kept",
        macs=0,
        macs_run=0,
        ram_bytes=ram_bytes,
        ram_lower_bound_bytes=ram_bytes,
        weights_bytes=weights_bytes,
        cflags=("-O2",),
        sources=(f"src/{name}.c",),
        headers=(f"include/{name}.h",),
        inputs=(tensor("in", 0),),
        outputs=(tensor("out", BYTES),),
        nodes=(tiny_node(),),
        buffers=(),
    )


def tiny_bundle(
    folder: Path, core: str, name: str = "tiny", *, ram_bytes: int = 2 * BYTES, weights_bytes: int = 0
) -> Path:
    """Writes the bundle and returns its folder."""
    words = {
        "name": name,
        "upper": name.upper(),
        "count": BYTES,
        "hash": ", ".join(str(byte) for byte in HASH),
        "nowhere": hex(NOWHERE),
    }
    files = {f"src/{name}.c": _SOURCE, f"include/{name}.h": _HEADER, "CMakeLists.txt": _CMAKE}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.format(**words), encoding="utf-8")
    (folder / "include/aboard").mkdir(parents=True, exist_ok=True)
    for header in ("config.h", "hooks.h", "model.h", "status.h"):
        text = (resources.firmware() / "include" / "aboard" / header).read_text(encoding="utf-8")
        (folder / "include/aboard" / header).write_text(text, encoding="utf-8")
    manifest.write(tiny_manifest(core, name, ram_bytes=ram_bytes, weights_bytes=weights_bytes), folder)
    return folder
