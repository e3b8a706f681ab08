/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_image.h
 * depthwise_packed.h for images whose strips are packed all together: channels of an image in one run of instructions.
 *
 * Weights and constants of a channel are read once. All pairs of lines have their whole groups of eight results, and
 * then a last line alone. Of each of these the last one or two results along are left; they share groups.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_IMAGE_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_IMAGE_H

#include <stdint.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"
#include "length.h"
#include "packed_channel.h"
#include "packed_layer.h"
#include "packed_words.h"
#include "sums.h"

/** As aboard_depthwise_packed_table_t, and the offsets of results of a single line and of those that are left. */
typedef struct {
    aboard_depthwise_packed_table_t lines;
    uint16_t single[8];
    uint16_t rest[8];
} aboard_depthwise_packed_image_table_t;

/** Results along that are left of each line: 0, 1 or 2. */
ABOARD_INLINE int32_t aboard_depthwise_packed_left(const aboard_depthwise_packed_mve_t *p) {
    return p->along.outputs % 4;
}

/** Offset of the result in lane `lane` of a group of what is left: two lines and one or two results, and so on. */
ABOARD_INLINE int32_t aboard_depthwise_packed_left_result(const aboard_depthwise_packed_mve_t *p, int32_t lane) {
    if (aboard_depthwise_packed_left(p) == 1) {
        return lane * p->across.out_stride;
    }
    return (lane / 4 * 2 + lane % 2) * p->across.out_stride + lane / 2 % 2 * p->along.out_stride;
}

/** Fills the table of an image. */
ABOARD_INLINE void aboard_depthwise_packed_image_fill(const aboard_depthwise_packed_mve_t *p,
                                                      aboard_depthwise_packed_image_table_t *table) {
    aboard_depthwise_packed_fill(p, 2, 0, p->across.out_stride, &table->lines);
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        table->single[lane] = (uint16_t)(aboard_depthwise_packed_result(1, lane) * p->along.out_stride);
        table->rest[lane] = (uint16_t)aboard_depthwise_packed_left_result(p, lane);
    }
}

#if ABOARD_MVE_ASM

/** Predicate of the last group of what is left of `members` lines or pairs of lines. */
ABOARD_INLINE int32_t aboard_depthwise_packed_left_last(const aboard_depthwise_packed_mve_t *p, int32_t members) {
    if (aboard_depthwise_packed_left(p) == 1) {
        return (1 << 2 * (p->across.outputs - (members - 1) / 4 * 8)) - 1;
    }
    const int32_t last = p->across.outputs % 2 != 0 ? 0x33 : 0xff;
    return members % 2 != 0 ? last : 0xff | last << 8;
}

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Eight results, whose offsets are at `results` of the table. */
#define ABOARD_DEPTHWISE_PACKED_IMAGE_GROUP(sums, results) \
    ABOARD_DEPTHWISE_PACKED_FULL_BEGIN \
    sums \
    ABOARD_DEPTHWISE_PACKED_SINGLE_EPILOGUE("q2") \
    "vldrh.16 q3, [%[table], #" results "]\n\t"

/** What is left of a pair of lines, or of the single line, which is last: a load from the next strip. */
#define ABOARD_DEPTHWISE_PACKED_LEFT(first, second, third, fourth) \
    ".if aboard_member < %c[members]\n\t" \
    ".if aboard_member\n\t" \
    "vadd.i32 q1, q1, %[left]\n\t" \
    ".endif\n\t" \
    "vldrw.u32 q0, [q1]\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(first, "q4") \
    ".if %c[rest] == 2\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(third, "q5") \
    ".endif\n\t" \
    ".if aboard_member < %c[passes]\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(second, "q6") \
    ".if %c[rest] == 2\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(fourth, "q7") \
    ".endif\n\t" \
    ".endif\n\t" \
    ".set aboard_member, aboard_member + 1\n\t" \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_PACKED_LEFT_SUMS \
    ABOARD_DEPTHWISE_PACKED_LEFT("r0", "r8", "r2", "r10") \
    ".if %c[rest] == 1\n\t" \
    ABOARD_DEPTHWISE_PACKED_LEFT("r2", "r10", "r2", "r10") \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_LEFT("r4", "r12", "r6", "lr") \
    ".if %c[rest] == 1\n\t" \
    ABOARD_DEPTHWISE_PACKED_LEFT("r6", "lr", "r6", "lr") \
    ".endif\n\t"

/** Groups of what is left: of four pairs of lines with one result each, or of two with two. */
#define ABOARD_DEPTHWISE_PACKED_LEFT_GROUPS \
    ABOARD_DEPTHWISE_PACKED_Q1("%c[to_rest]") \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESS, "%[out]", "%c[to_out]") \
    "movw %[left], %[strip_bytes]\n\t" \
    ".set aboard_member, 0\n\t" \
    ".rept (%c[members] * %c[rest] + 3) / 4\n\t" \
    ABOARD_DEPTHWISE_PACKED_IMAGE_GROUP(ABOARD_DEPTHWISE_PACKED_LEFT_SUMS, "88") \
    ".if aboard_member < %c[members]\n\t" \
    "vstrb.16 q0, [%[out], q3]\n\t" \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESS, "%[out]", "8 / %c[rest] * %c[across]") \
    ".else\n\t" \
    "movw r0, %[last]\n\t" \
    "vmsr p0, r0\n\t" \
    "vpst\n\t" \
    "vstrbt.16 q0, [%[out], q3]\n\t" \
    ".endif\n\t" \
    ".endr\n\t"

#define ABOARD_DEPTHWISE_PACKED_IMAGE_LINES \
    "movw %[strip], %[passes]\n\t" \
    "2:\n\t" \
    ABOARD_DEPTHWISE_PACKED_WHOLE( \
        ABOARD_DEPTHWISE_PACKED_IMAGE_GROUP(ABOARD_DEPTHWISE_PACKED_FOUR_SUMS(FULL), "32"), "q3", "%c[groups]", "%c[skip]") \
    ABOARD_DEPTHWISE_PACKED_Q1("%c[next_strip]") \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESS, "%[out]", "%c[next_out]") \
    "subs %[strip], %[strip], #1\n\t" \
    "bne 2b\n\t" \
    ".if %c[members] > %c[passes]\n\t" \
    ABOARD_DEPTHWISE_PACKED_WHOLE( \
        ABOARD_DEPTHWISE_PACKED_IMAGE_GROUP(ABOARD_DEPTHWISE_PACKED_TWO_ALL(FULL), "72"), "q3", "%c[groups] / 2", \
        "2 * %c[skip]") \
    ".endif\n\t" \
    ".if %c[rest]\n\t" \
    ABOARD_DEPTHWISE_PACKED_LEFT_GROUPS \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_PACKED_IMAGE_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_CHANNELS(FULL, ABOARD_DEPTHWISE_PACKED_FOUR_WEIGHTS, ABOARD_DEPTHWISE_PACKED_IMAGE_LINES, \
        ABOARD_DEPTHWISE_PACKED_Q1)

#define ABOARD_DEPTHWISE_PACKED_IMAGE(length) \
    __asm__ volatile(ABOARD_DEPTHWISE_PACKED_IMAGE_TEXT length \
                     : [strip] "+&r"(strip), [table] "+&r"(table), [record] "+&r"(record), [out] "+&r"(out), \
                       [left] "=&r"(left) \
                     : [shift] "i"(p->epilogue.shift), [low] "i"(p->epilogue.low), [high] "i"(p->epilogue.high), \
                       [step] "i"(step), [groups] "i"(groups), [skip] "i"(4 * p->along.out_stride), [pairs] "i"(p->pairs), \
                       [passes] "i"(passes), [next_strip] "i"(strip_bytes - 2 * groups * step), \
                       [next_out] "i"(2 * p->across.out_stride - whole), [members] "i"(members), \
                       [rest] "i"(aboard_depthwise_packed_left(p)), [strip_bytes] "i"(strip_bytes), \
                       [to_rest] "i"((members > passes ? 1 : 1 + 2 * groups) * step - passes * strip_bytes), \
                       [to_out] "i"((members > passes ? 0 : whole) - 2 * passes * p->across.out_stride), \
                       [across] "i"(p->across.out_stride), [last] "i"(aboard_depthwise_packed_left_last(p, members)), \
                       [next_channel] "i"(next_channel), [next_result] "i"(next_result) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/* clang-format on */

/** Computes `channels` channels of an image. */
ABOARD_INLINE void aboard_depthwise_packed_image(const aboard_depthwise_packed_mve_t *p, int32_t channels,
                                                 aboard_depthwise_packed_image_table_t *tables, const int8_t *strip,
                                                 const int8_t *record, int8_t *out) {
    const int32_t step = aboard_depthwise_packed_step(p) * aboard_depthwise_packed_pitch(p);
    const int32_t strip_bytes = aboard_depthwise_packed_strip(p);
    const int32_t groups = p->along.outputs / 4;
    const int32_t passes = p->across.outputs / 2;
    const int32_t members = passes + p->across.outputs % 2;
    const int32_t whole = 4 * groups * p->along.out_stride;
    /* From the first words and the first result of a channel to the last ones. */
    const int32_t rest = aboard_depthwise_packed_left(p);
    const int32_t single = members > passes;
    const int32_t words = rest > 0 ? (1 + 2 * groups) * step + (members - 1) * strip_bytes
                                   : passes * strip_bytes + single * 2 * groups * step;
    const int32_t result = rest > 0 ? whole + ((members * rest + 3) / 4 - 1) * (8 / rest) * p->across.out_stride
                                    : 2 * passes * p->across.out_stride + single * whole;
    const int32_t next_channel = aboard_depthwise_packed_word(p) - words;
    const int32_t next_result = 1 - result;
    int32_t left;
    aboard_depthwise_packed_table_t *table = &tables->lines;
    record = aboard_depthwise_packed_begin(p, record, channels, table);
    ABOARD_DEPTHWISE_PACKED_IMAGE("");
}

#else

/** Computes `channels` channels of an image. */
ABOARD_INLINE void aboard_depthwise_packed_image(const aboard_depthwise_packed_mve_t *p, int32_t channels,
                                                 const aboard_depthwise_packed_image_table_t *tables,
                                                 const int8_t *strip, const int8_t *record, int8_t *out) {
    (void)tables;
    for (int32_t c = 0; c < channels; ++c) {
        for (int32_t line = 0; line < p->across.outputs; ++line) {
            const int8_t *const x = strip + line / 2 * aboard_depthwise_packed_strip(p);
            for (int32_t along = 0; along < p->along.outputs; ++along) {
                out[c + line * p->across.out_stride + along * p->along.out_stride] =
                    aboard_depthwise_packed_scaled(p, x, record, line % 2, along);
            }
        }
        strip += aboard_depthwise_packed_word(p);
        record += aboard_depthwise_packed_record(p);
    }
}

#endif

#endif
