/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_channel.h
 * The work of depthwise_packed.h per block of channels: packing pixels into words, and computing results from them.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_CHANNEL_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_CHANNEL_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"
#include "length.h"
#include "packed_layer.h"
#include "packed_one_column.h"
#include "packed_words.h"
#include "sums.h"

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
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [to] "+r"(to)
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
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [to] "+r"(to), [pixels] "+r"(pixels)
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
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [to] "+r"(to) \
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
        : [x] "+r"(x), [to] "+r"(to) \
        : [apart] distance, [words] "i"((pixels) / 4), [rest] "i"((pixels) % 4), [some] predicate \
        : "lr", "q0", "q1", "q2", "q3", ABOARD_MVE_PREDICATE "cc", "memory")

/** The same for channels that are no whole block, and for those that are. */
#define ABOARD_DEPTHWISE_PACKED_LINE_SOME(load, pixels, distance, predicate) \
    ABOARD_DEPTHWISE_PACKED_LINE("vmsr p0, %[some]\n\t", "vpstttt\n\t", "vpst\n\t", "t", load, pixels, distance, predicate)
#define ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(load, pixels, distance) \
    ABOARD_DEPTHWISE_PACKED_LINE("", "", "", "", load, pixels, distance, "i"(0))

/** All instructions for channels of one line, or of two. */
#define ABOARD_DEPTHWISE_PACKED_RUN(text, length) \
    __asm__ volatile(text length \
                     : [strip] "+r"(strip), [table] "+r"(table), [record] "+r"(record), [out] "+r"(out), \
                       [left] "=&r"(left) \
                     : [shift] "i"(p->epilogue.shift), \
                       [low] "i"(p->epilogue.low), [high] "i"(p->epilogue.high), [wide] "i"(p->wide), [step] "i"(step), \
                       [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), \
                       [groups] "i"(groups), [rest] "i"(rest), [skip] "i"(skip), [strip_bytes] "i"(strip_bytes), \
                       [pairs] "i"(p->pairs), [passes] "i"(passes), [next_strip] "i"(next_strip), [next_out] "i"(next_out), \
                       [next_channel] "i"(next_channel), [next_result] "i"(next_result), \
                       [parts] "i"(parts), [columns] "i"(p->along.parts), [jump] "i"(jump) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/** The same for a single rounding of a kind, or two roundings. */
#define ABOARD_DEPTHWISE_PACKED_ROUNDED(text, kind, length) \
    do { \
        if (p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING) { \
            ABOARD_DEPTHWISE_PACKED_RUN(text(kind), length); \
        } else { \
            ABOARD_DEPTHWISE_PACKED_RUN(text(RIGHT), length); \
        } \
    } while (0)

#define ABOARD_DEPTHWISE_PACKED_RUN_PARTS(length) \
    ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_PARTS_TEXT, PARTS, length)

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

/**
 * Begins `channels` channels: returns the address of the weights before the first ones.
 *
 * `last` becomes the address of the last ones, or, if constants are read once the sums are gathered, the number of
 * further channels in the upper half and the zero point in the lower.
 */
ABOARD_INLINE const int8_t *aboard_depthwise_packed_begin(const aboard_depthwise_packed_mve_t *p, const int8_t *record,
                                                          int32_t channels, aboard_depthwise_packed_table_t *table) {
    const int32_t bytes = aboard_depthwise_packed_record(p);
    /* Loads add the bytes of a record before they read; before the first record there is no object to point to. */
    const uintptr_t at = (uintptr_t)record + (uintptr_t)aboard_depthwise_packed_weights(p) - (uintptr_t)bytes;
    const int8_t *const before = (const int8_t *)at;
    if (p->form == ABOARD_DEPTHWISE_PACKED_PARTS || p->epilogue.form != ABOARD_MVE_SINGLE_ROUNDING) {
        table->last = (uint32_t)(channels - 1) << 16 | (uint16_t)p->epilogue.zero_point;
    } else {
        table->last = (uint32_t)(uintptr_t)(before + channels * bytes);
    }
    return before;
}

/** Bytes that the addresses of loads advance by for a line. */
ABOARD_INLINE int32_t aboard_depthwise_packed_advance(const aboard_depthwise_packed_mve_t *p, int32_t lines,
                                                      int32_t groups, int32_t step) {
    int32_t loads = 8 / lines;
    if (p->form == ABOARD_DEPTHWISE_PACKED_FOUR) {
        loads = lines == 2 ? 2 : 4;
    } else if (p->form == ABOARD_DEPTHWISE_PACKED_ONE_AXIS) {
        loads = 2;
    }
    return loads * groups * step;
}

/** Computes `channels` channels of `passes` times `lines` lines; more than one pass for a whole image only. */
ABOARD_INLINE void aboard_depthwise_packed_channels(const aboard_depthwise_packed_mve_t *p, int32_t passes,
                                                    int32_t lines, int32_t channels,
                                                    aboard_depthwise_packed_table_t *table, const int8_t *strip,
                                                    const int8_t *record, int8_t *out) {
    const int32_t results = 8 / lines;
    const int32_t groups = p->along.outputs / results;
    const int32_t rest = aboard_depthwise_packed_first(lines, p->along.outputs % results);
    const int32_t step = aboard_depthwise_packed_step(p) * aboard_depthwise_packed_pitch(p);
    const int32_t strip_bytes = aboard_depthwise_packed_strip(p);
    const int32_t skip = results * p->along.out_stride;
    const int32_t parts = aboard_depthwise_packed_parts(p);
    const int32_t jump = 4 * p->along.dilation * aboard_depthwise_packed_pitch(p);
    const int32_t advance = aboard_depthwise_packed_advance(p, lines, groups + (rest != 0), step);
    const int32_t strips_bytes = aboard_depthwise_packed_strips(p, lines) * strip_bytes;
    const int32_t next_strip = strips_bytes - advance;
    const int32_t next_out = lines * p->across.out_stride - groups * skip;
    const int32_t next_channel = aboard_depthwise_packed_word(p) - (passes > 1 ? passes * strips_bytes : advance);
    const int32_t next_result = 1 - (passes > 1 ? passes * lines * p->across.out_stride : groups * skip);
    int32_t left;
    if (p->column) {
        aboard_depthwise_packed_one_column(p, 0, channels, strip, strip, record, out);
        return;
    }
    record = aboard_depthwise_packed_begin(p, record, channels, table);
    if (p->form == ABOARD_DEPTHWISE_PACKED_ONE_AXIS) {
        ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_ONE_AXIS_TEXT, FULL, "");
    } else if (p->form == ABOARD_DEPTHWISE_PACKED_PARTS) {
        /* Two copies of all parts, of which the lines of the text count four. */
        ABOARD_MVE_SIZED(ABOARD_DEPTHWISE_PACKED_PART_LENGTH * 2 * (parts - 4), ABOARD_DEPTHWISE_PACKED_RUN_PARTS);
    } else if (p->form == ABOARD_DEPTHWISE_PACKED_FOUR && lines == 2) {
        ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_FOUR_TEXT, FULL, "");
    } else if (p->form == ABOARD_DEPTHWISE_PACKED_FOUR) {
        ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_TWO_TEXT, SPARE, "");
    } else if (lines == 2) {
        ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_PAIR_TEXT, SPARE, "");
    } else {
        ABOARD_DEPTHWISE_PACKED_ROUNDED(ABOARD_DEPTHWISE_PACKED_ONE_TEXT, SPARE, "");
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
        for (int32_t c = 0; c < ABOARD_DEPTHWISE_PACKED_BLOCK; ++c) {
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

/** Sum of products of a window: `count` words at `pitch`, `bytes` bytes of each, times as many words of weights. */
ABOARD_INLINE int32_t aboard_depthwise_packed_sum(const int8_t *x, int32_t pitch, const int8_t *weights, int32_t count,
                                                  int32_t bytes) {
    int32_t sum = 0;
    for (int32_t i = 0; i < 4 * count; ++i) {
        if (i % 4 < bytes) {
            sum += x[i / 4 * pitch + i % 4] * weights[i];
        }
    }
    return sum;
}

/** Sum of products of window `along` of line `line`. */
ABOARD_INLINE int32_t aboard_depthwise_packed_window(const aboard_depthwise_packed_mve_t *p, const int8_t *strip,
                                                     const int8_t *record, int32_t line, int32_t along) {
    const int32_t pitch = aboard_depthwise_packed_pitch(p);
    const int8_t *const weights = record + aboard_depthwise_packed_weights(p);
    if (p->form == ABOARD_DEPTHWISE_PACKED_FOUR) {
        return aboard_depthwise_packed_sum(strip + along * pitch + line, pitch, weights + 4, 3, 3);
    }
    int32_t sum = 0;
    if (p->form == ABOARD_DEPTHWISE_PACKED_ONE || p->form == ABOARD_DEPTHWISE_PACKED_PARTS) {
        const int32_t dilated = p->along.dilation * pitch;
        const int8_t *const x = strip + line * aboard_depthwise_packed_strip(p) + along * p->along.stride * pitch;
        for (int32_t part = 0; part < aboard_depthwise_packed_parts(p); ++part) {
            const int8_t *const from = x + part / p->along.parts * aboard_depthwise_packed_strip(p);
            sum += aboard_depthwise_packed_sum(from + part % p->along.parts * 4 * dilated, dilated, weights + 16 * part,
                                               4, 4);
        }
        return sum;
    }
    for (int32_t tap = 0; tap < 13; ++tap) {
        sum += strip[(along + tap) / 4 * pitch + (along + tap) % 4] * weights[3 + tap];
    }
    return sum;
}

/** Result of a sum, with the three constants of its channel. */
ABOARD_INLINE int8_t aboard_depthwise_packed_rounded(const aboard_mve_epilogue_t *e, const int8_t *constants,
                                                     int32_t sum) {
    int32_t c[3];
    memcpy(c, constants, sizeof(c));
    /* A second shift is a byte. */
    return aboard_mve_result(e, sum, c[0], 0, c[1], e->form == ABOARD_MVE_RIGHT ? (int8_t)c[2] : c[2]);
}

/** Result of window `along` of line `line`. */
ABOARD_INLINE int8_t aboard_depthwise_packed_scaled(const aboard_depthwise_packed_mve_t *p, const int8_t *strip,
                                                    const int8_t *record, int32_t line, int32_t along) {
    const int8_t *const constants = record + aboard_depthwise_packed_weights(p) - 3 * sizeof(int32_t);
    const int32_t sum = aboard_depthwise_packed_window(p, strip, record, line, along);
    return aboard_depthwise_packed_rounded(&p->epilogue, constants, sum);
}

/** Computes a channel of `passes` times `lines` lines. */
ABOARD_INLINE void aboard_depthwise_packed_channel(const aboard_depthwise_packed_mve_t *p, int32_t passes,
                                                   int32_t lines, const aboard_depthwise_packed_table_t *table,
                                                   const int8_t *strip, const int8_t *record, int8_t *out) {
    for (int32_t pass = 0; pass < passes; ++pass) {
        for (int32_t at = 0; at < p->along.outputs * lines; ++at) {
            const int32_t line = at % lines;
            /* Lanes alternate between the lines. */
            out[at / lines * p->along.out_stride + table->results[line]] =
                aboard_depthwise_packed_scaled(p, strip, record, line, at / lines);
        }
        strip += aboard_depthwise_packed_strips(p, lines) * aboard_depthwise_packed_strip(p);
        out += lines * p->across.out_stride;
    }
}

/** Computes `channels` channels of `passes` times `lines` lines; more than one pass for a whole image only. */
ABOARD_INLINE void aboard_depthwise_packed_channels(const aboard_depthwise_packed_mve_t *p, int32_t passes,
                                                    int32_t lines, int32_t channels,
                                                    const aboard_depthwise_packed_table_t *table, const int8_t *strip,
                                                    const int8_t *record, int8_t *out) {
    for (int32_t c = 0; c < channels; ++c) {
        aboard_depthwise_packed_channel(p, passes, lines, table, strip + c * aboard_depthwise_packed_word(p),
                                        record + c * aboard_depthwise_packed_record(p), out + c);
    }
}

#endif

#endif
