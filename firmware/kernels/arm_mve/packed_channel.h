/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_channel.h
 * Results of depthwise_packed.h for a block of channels, whose pixels packed_strips.h packs into words.
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
#include "packed_strips.h"
#include "packed_words.h"
#include "sums.h"

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** All instructions for channels of one line, or of two. */
#define ABOARD_DEPTHWISE_PACKED_RUN(text, length) \
    __asm__ volatile(text length \
                     : [strip] "+&r"(strip), [table] "+&r"(table), [record] "+&r"(record), [out] "+&r"(out), \
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
