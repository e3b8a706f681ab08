/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_strips.h
 * Packing for depthwise_packed.h: pixels of channels into words of a strip, four rows of the operand in each.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_STRIPS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_STRIPS_H

#include <stdint.h>

#include "aboard/config.h"
#include "helium.h"
#include "packed_layer.h"

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Packs `count` vectors of four rows; only the bytes in `some` are read, the others are 0. */
ABOARD_SHARED void aboard_depthwise_packed_pack(const aboard_depthwise_packed_rows_t *rows, int8_t *to, int32_t count,
                                               uint32_t some) {
    const int8_t *a = rows->from[0];
    const int8_t *b = rows->from[1];
    const int8_t *c = rows->from[2];
    const int8_t *d = rows->from[3];
    __asm__ volatile(
        "vmsr p0, %[some]\n\t"
        "dls lr, %[count]\n\t"
        "1:\n\t"
        "vpstttt\n\t"
        "vldrbt.8 q0, [%[a]]\n\t"
        "vldrbt.8 q1, [%[b]]\n\t"
        "vldrbt.8 q2, [%[c]]\n\t"
        "vldrbt.8 q3, [%[d]]\n\t"
        "add %[a], %[a], %[sa]\n\t"
        "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[b], %[b], %[sb]\n\t"
        "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[c], %[c], %[sc]\n\t"
        "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[d], %[d], %[sd]\n\t"
        "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t"
        "le lr, 1b"
        : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [d] "+&r"(d), [to] "+&r"(to)
        : [sa] "r"(rows->step[0]), [sb] "r"(rows->step[1]), [sc] "r"(rows->step[2]), [sd] "r"(rows->step[3]),
          [count] "r"(count), [some] "r"(some)
        : "lr", "q0", "q1", "q2", "q3", ABOARD_MVE_PREDICATE "cc", "memory");
}

/** Packs four channels of `pixels` pixels, at least four, in four rows: words, which loads gather from four pixels. The
 * last ones may be packed again. */
ABOARD_SHARED void aboard_depthwise_packed_pack_few(const aboard_depthwise_packed_rows_t *rows, int8_t *to,
                                                   int32_t pixels) {
    const int8_t *a = rows->from[0];
    const int8_t *b = rows->from[1];
    const int8_t *c = rows->from[2];
    const int8_t *d = rows->from[3];
    __asm__ volatile(
        "mov lr, #0\n\t"
        "vidup.u32 q7, lr, #1\n\t"
        "vmul.i32 q4, q7, %[sa]\n\t"
        "vmul.i32 q5, q7, %[sb]\n\t"
        "vmul.i32 q6, q7, %[sc]\n\t"
        "vmul.i32 q7, q7, %[sd]\n\t"
        "lsr lr, %[pixels], #2\n\t"
        "dls lr, lr\n\t"
        "1:\n\t"
        "vldrw.u32 q0, [%[a], q4]\n\t"
        "vldrw.u32 q1, [%[b], q5]\n\t"
        "vldrw.u32 q2, [%[c], q6]\n\t"
        "vldrw.u32 q3, [%[d], q7]\n\t"
        "add %[a], %[a], %[sa], lsl #2\n\t"
        "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[b], %[b], %[sb], lsl #2\n\t"
        "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[c], %[c], %[sc], lsl #2\n\t"
        "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[d], %[d], %[sd], lsl #2\n\t"
        "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t"
        "le lr, 1b\n\t"
        "rsb %[pixels], %[pixels], #0\n\t"
        "ands %[pixels], %[pixels], #3\n\t"
        "beq 2f\n\t"
        "mls %[a], %[sa], %[pixels], %[a]\n\t"
        "mls %[b], %[sb], %[pixels], %[b]\n\t"
        "mls %[c], %[sc], %[pixels], %[c]\n\t"
        "mls %[d], %[sd], %[pixels], %[d]\n\t"
        "sub %[to], %[to], %[pixels], lsl #4\n\t"
        "mov %[pixels], #0\n\t"
        "mov lr, #1\n\t"
        "b 1b\n\t"
        "2:"
        : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [d] "+&r"(d), [to] "+&r"(to), [pixels] "+&r"(pixels)
        : [sa] "r"(rows->step[0]), [sb] "r"(rows->step[1]), [sc] "r"(rows->step[2]), [sd] "r"(rows->step[3])
        : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
}

/** Packs `count` vectors of four rows that advance by `step`, a literal: all bytes of all vectors. */
#define ABOARD_DEPTHWISE_PACKED_STEPS(step_bytes) \
    __asm__ volatile( \
        "dls lr, %[count]\n\t" \
        "1:\n\t" \
        "vldrb.8 q0, [%[a]], %[step]\n\t" \
        "vldrb.8 q1, [%[b]], %[step]\n\t" \
        "vldrb.8 q2, [%[c]], %[step]\n\t" \
        "vldrb.8 q3, [%[d]], %[step]\n\t" \
        "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
        "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
        "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
        "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t" \
        "le lr, 1b" \
        : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [d] "+&r"(d), [to] "+&r"(to) \
        : [step] "i"(step_bytes), [count] "r"(count) \
        : "lr", "q0", "q1", "q2", "q3", "cc", "memory")

/** Loads a pixel and advances to the next one: words, or bytes anywhere. */
#define ABOARD_DEPTHWISE_PACKED_WORDS_AT(t, vector) "vldrw" t ".u32 " vector ", [%[x]], %[apart]\n\t"
#define ABOARD_DEPTHWISE_PACKED_BYTES_AT(t, vector) "vldrb" t ".u8 " vector ", [%[x]], %[apart]\n\t"

#define ABOARD_DEPTHWISE_PACKED_STORE \
    "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
    "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
    "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t" \
    "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t"

/** Packs the pixels of a line, which `load` reads, four to a word. For some channels `begin` sets a predicate; `four` and
 * `one` precede as many loads, and `t` is part of their name. */
#define ABOARD_DEPTHWISE_PACKED_LINE(begin, four, one, t, load, pixels, distance, predicate) \
    __asm__ volatile( \
        begin \
        ".if %c[words]\n\t" \
        "movw lr, %[words]\n\t" \
        "dls lr, lr\n\t" \
        "1:\n\t" \
        four \
        load(t, "q0") \
        load(t, "q1") \
        load(t, "q2") \
        load(t, "q3") \
        ABOARD_DEPTHWISE_PACKED_STORE \
        "le lr, 1b\n\t" \
        ".endif\n\t" \
        ".if %c[rest]\n\t" \
        one \
        load(t, "q0") \
        ".if %c[rest] > 1\n\t" \
        one \
        load(t, "q1") \
        ".endif\n\t" \
        ".if %c[rest] > 2\n\t" \
        one \
        load(t, "q2") \
        ".endif\n\t" \
        ABOARD_DEPTHWISE_PACKED_STORE \
        ".endif" \
        : [x] "+&r"(x), [to] "+&r"(to) \
        : [apart] distance, [words] "i"((pixels) / 4), [rest] "i"((pixels) % 4), [some] predicate \
        : "lr", "q0", "q1", "q2", "q3", ABOARD_MVE_PREDICATE "cc", "memory")

/** The same for channels that are no whole block, and for those that are. */
#define ABOARD_DEPTHWISE_PACKED_LINE_SOME(load, pixels, distance, predicate) \
    ABOARD_DEPTHWISE_PACKED_LINE("vmsr p0, %[some]\n\t", "vpstttt\n\t", "vpst\n\t", "t", load, pixels, distance, predicate)
#define ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(load, pixels, distance) \
    ABOARD_DEPTHWISE_PACKED_LINE("", "", "", "", load, pixels, distance, "i"(0))

/* clang-format on */

/** As aboard_depthwise_packed_pack for `count` whole vectors of four rows that are `apart` bytes from each other. */
ABOARD_INLINE void aboard_depthwise_packed_pack_steps(const int8_t *a, int32_t apart, int32_t step, int8_t *to,
                                                      int32_t count) {
    const int8_t *b = a + apart;
    const int8_t *c = b + apart;
    const int8_t *d = c + apart;
    ABOARD_DEPTHWISE_PACKED_STEPS(step);
}

/** Packs a line of the form ONE_AXIS whose pixels are aligned and near. */
ABOARD_INLINE void aboard_depthwise_packed_pack_line(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                     uint32_t some, int8_t *to) {
    if (p->channels % ABOARD_DEPTHWISE_PACKED_BLOCK != 0) {
        ABOARD_DEPTHWISE_PACKED_LINE_SOME(ABOARD_DEPTHWISE_PACKED_WORDS_AT, p->along.inputs, "i"(p->along.in_stride),
                                          "r"(some));
    } else {
        ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(ABOARD_DEPTHWISE_PACKED_WORDS_AT, p->along.inputs, "i"(p->along.in_stride));
    }
}

#else

/** Packs `count` vectors of four rows; only the bytes in `some` are read, the others are 0. */
ABOARD_SHARED void aboard_depthwise_packed_pack(const aboard_depthwise_packed_rows_t *rows, int8_t *to, int32_t count,
                                                uint32_t some) {
    for (int32_t i = 0; i < count; ++i) {
        for (int32_t lane = 0; lane < ABOARD_DEPTHWISE_PACKED_BLOCK; ++lane) {
            for (int32_t row = 0; row < 4; ++row) {
                *to++ = (int8_t)(some >> lane & 1 ? rows->from[row][i * rows->step[row] + lane] : 0);
            }
        }
    }
}

/** Packs four channels of `pixels` pixels in four rows. */
ABOARD_SHARED void aboard_depthwise_packed_pack_few(const aboard_depthwise_packed_rows_t *rows, int8_t *to,
                                                    int32_t pixels) {
    for (int32_t i = 0; i < pixels; ++i) {
        for (int32_t c = 0; c < ABOARD_DEPTHWISE_PACKED_FEW; ++c) {
            for (int32_t row = 0; row < 4; ++row) {
                *to++ = rows->from[row][i * rows->step[row] + c];
            }
        }
    }
}

/** Packs a line of the form ONE_AXIS whose pixels are aligned and near. */
ABOARD_INLINE void aboard_depthwise_packed_pack_line(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                     uint32_t some, int8_t *to) {
    for (int32_t i = 0; i < p->along.inputs; ++i) {
        for (int32_t c = 0; c < p->words; ++c) {
            to[i / 4 * aboard_depthwise_packed_pitch(p) + 4 * c + i % 4] = (int8_t)(some >> c & 1 ? x[c] : 0);
        }
        x += p->along.in_stride;
    }
}

/** As aboard_depthwise_packed_pack for `count` whole vectors of four rows that are `apart` bytes from each other. */
ABOARD_INLINE void aboard_depthwise_packed_pack_steps(const int8_t *a, int32_t apart, int32_t step, int8_t *to,
                                                      int32_t count) {
    const aboard_depthwise_packed_rows_t rows = {{a, a + apart, a + 2 * apart, a + 3 * apart},
                                                 {step, step, step, step}};
    aboard_depthwise_packed_pack(&rows, to, count, 0xffff);
}

#endif

#endif
