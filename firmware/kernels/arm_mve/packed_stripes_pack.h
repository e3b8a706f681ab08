/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_stripes_pack.h
 * What packed_stripes.h knows of a stripe, and the packing of its pixels, four channels at a time.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_PACK_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "helium.h"
#include "packed_columns.h"

/** Rows of a stripe at most, rows that it reads, and channels that are packed at once. */
#define ABOARD_DEPTHWISE_STRIPES_ROWS 8
#define ABOARD_DEPTHWISE_STRIPES_PLACES 10
#define ABOARD_DEPTHWISE_STRIPES_CHANNELS 4

/** Bytes from a row of a strip to the next, and bytes of a strip: the rows of windows of up to three. Literals of
 * instructions below. */
#define ABOARD_DEPTHWISE_STRIPES_PITCH 16
#define ABOARD_DEPTHWISE_STRIPES_STRIP 160

/** Parameters of aboard_depthwise_stripes_mve. */
typedef struct {
    aboard_view_t in;   /**< A multiple of four channels; columns with padding before them are at most seven. */
    aboard_view_t out;  /**< At most six columns. */
    int32_t taps;       /**< Rows of a window: up to 3; as many columns or fewer. */
    int32_t pad_top;    /**< Rows of padding before the image. */
    int32_t pad_left;   /**< Columns of padding before the image. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY. */
} aboard_depthwise_stripes_mve_t;

/** What the instructions of a stripe read: offsets in them are literals. */
typedef struct {
    int32_t bias[8];         /**< Eight copies of a channel's bias. */
    const int8_t *words[4];  /**< First words of the first strip, less four bytes. */
    uint32_t last;           /**< Predicate of the last group of results. */
    int8_t *strips;          /**< Room for the strips of four channels. */
    uint16_t results[6 * 8]; /**< Offsets of results: groups of the first four rows of each strip, and of the others. */
    int32_t back;    /**< Bytes of the addresses that a further vector, of the last four rows, has from those; or 0. */
    int32_t whole;   /**< Vectors of four rows. */
    int8_t *kept[4]; /**< Where rows of the last four are kept. */
    uint32_t kept_lanes;                                     /**< Predicate of those that are. */
    const int8_t *from[ABOARD_DEPTHWISE_STRIPES_PLACES + 2]; /**< Addresses of the rows that are read, at least four. */
    int8_t *padding[ABOARD_DEPTHWISE_STRIPES_PLACES + 1];    /**< Places of rows of padding, and then NULL. */
} aboard_depthwise_stripes_table_t;

/** Strips of two columns; the last one may have a single column. */
ABOARD_INLINE int32_t aboard_depthwise_stripes_strips(const aboard_depthwise_stripes_mve_t *p) {
    return (p->out.cols + 1) / 2;
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** A predicate for `count` columns from `number` on. */
#define ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, count, then) \
    ".if (" number " - %c[before]) %% 4 == 0 && %c[before] + %c[pixels] - " number count "\n\t" \
    then "\n\t" \
    ".endif\n\t"

/** Column `number` of four rows of four channels is kept for the rows of the predicate. */
#define ABOARD_DEPTHWISE_STRIPES_KEEP(number) \
    ".if " number " >= %c[before] && " number " < %c[before] + %c[pixels]\n\t" \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 1", "vpst") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 2", "vpstt") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 3", "vpsttt") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " >= 4", "vpstttt") \
    "vstrwt.32 q" number ", [q7, #(" number " - %c[before]) * %c[apart]]\n\t" \
    ".endif\n\t"

/** An instruction for strip `number`, if there is one. */
#define ABOARD_DEPTHWISE_STRIPES_FURTHER(number, instruction) \
    ".if %c[strips] > " number "\n\t" \
    instruction "\n\t" \
    ".endif\n\t"

/** Vector `number` is padding. */
#define ABOARD_DEPTHWISE_STRIPES_PADDING(number) ABOARD_DEPTHWISE_PACKED_PADDING_OF(number, "r12")

/** Packs all rows for four channels: r0 is the addresses of rows, r2, r4 and r8 are strips, r6 is `back`, r10 the first
 * channel. Then keeps rows, and writes those of padding. */
#define ABOARD_DEPTHWISE_STRIPES_PACK \
    "ldr r2, [%[table], #52]\n\t" \
    "ldrd r6, lr, [%[table], #152]\n\t" \
    "add r0, %[table], #180\n\t" \
    "bic r10, %[at], #3\n\t" \
    "mov r12, %[padding]\n\t" \
    ABOARD_DEPTHWISE_STRIPES_PADDING("0") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("1") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("2") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("3") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("4") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("5") \
    ABOARD_DEPTHWISE_STRIPES_PADDING("6") \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("1", "add r4, r2, #160") \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("2", "add r8, r2, #320") \
    "dls lr, lr\n\t" \
    "1:\n\t" \
    "vldrw.32 q7, [r0], #16\n\t" \
    "vadd.i32 q7, q7, r10\n\t" \
    ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PIXELS) \
    ".if %c[outputs] == 6\n\t" \
    "vdup.8 q7, r12\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_WORD("0", "r2", "{q0, q1, q2, q3}") \
    ABOARD_DEPTHWISE_PACKED_WORD("1", "r4", "{q2, q3, q4, q5}") \
    ABOARD_DEPTHWISE_PACKED_WORD("2", "r8", "{q4, q5, q6, q7}") \
    "le lr, 1b\n\t" \
    "cbz r6, 2f\n\t" \
    "sub r0, r0, r6\n\t" \
    "sub r2, r2, r6, lsl #2\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("1", "sub r4, r4, r6, lsl #2") \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("2", "sub r8, r8, r6, lsl #2") \
    "movs r6, #0\n\t" \
    "mov lr, #1\n\t" \
    "b 1b\n\t" \
    "2:\n\t" \
    "vldrw.32 q7, [%[table], #160]\n\t" \
    "ldr r0, [%[table], #176]\n\t" \
    "vadd.i32 q7, q7, r10\n\t" \
    "vmsr p0, r0\n\t" \
    ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_STRIPES_KEEP) \
    "add r2, %[table], #228\n\t" \
    "1:\n\t" \
    "ldr r0, [r2], #4\n\t" \
    "cbz r0, 2f\n\t" \
    "vdup.8 q0, r12\n\t" \
    "vstrw.32 q0, [r0]\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("1", "vstrw.32 q0, [r0, #160]") \
    ABOARD_DEPTHWISE_STRIPES_FURTHER("2", "vstrw.32 q0, [r0, #320]") \
    "b 1b\n\t" \
    "2:\n\t"

/* clang-format on */

#else

/** Packs `count` rows of a stripe for four channels from `n` on, and keeps those that the next stripe reads again. */
ABOARD_INLINE void aboard_depthwise_stripes_pack(const aboard_depthwise_stripes_mve_t *p,
                                                 const aboard_depthwise_stripes_table_t *table, int32_t count,
                                                 int32_t n) {
    for (int32_t place = 0; place < ABOARD_MAX(count, 4); ++place) {
        for (int32_t at = 0; at < aboard_depthwise_stripes_strips(p) * 16; ++at) {
            const int32_t col = at / 16 * 2 + at % 4 - p->pad_left;
            const int32_t there = col >= 0 && col < p->in.cols;
            const int8_t *const x = table->from[place] + n + at / 4 % 4;
            table->strips[at / 16 * ABOARD_DEPTHWISE_STRIPES_STRIP + place * ABOARD_DEPTHWISE_STRIPES_PITCH + at % 16] =
                (int8_t)(there ? x[col * p->in.pixel_stride] : p->zero_point);
        }
    }
    for (int32_t lane = 0; lane < 4; ++lane) {
        const int8_t *const from = table->from[ABOARD_MAX(count, 4) - 4 + lane] + n;
        for (int32_t col = 0; col < p->in.cols && (table->kept_lanes >> 4 * lane & 1); ++col) {
            /* A row that was kept before moves to a lower place, which was read. */
            memcpy(table->kept[lane] + n + col * p->in.pixel_stride, from + col * p->in.pixel_stride, 4);
        }
    }
    for (int8_t *const *place = table->padding; *place != NULL; ++place) {
        for (int32_t strip = 0; strip < aboard_depthwise_stripes_strips(p); ++strip) {
            memset(*place + strip * ABOARD_DEPTHWISE_STRIPES_STRIP, p->zero_point, ABOARD_DEPTHWISE_STRIPES_PITCH);
        }
    }
}

#endif

#endif
