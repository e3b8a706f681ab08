/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels_staged.h
 * conv2d_four_pixels.h for 1x1 layers whose results may lie over their operand: four pixels are copied before their
 * results are written.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_STAGED_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_STAGED_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "four_pixels_layer.h"
#include "helium.h"
#include "line_buffer.h"
#include "sums.h"

/** A table, the address of copies, and that of the next four pixels. */
typedef struct {
    aboard_four_pixels_table_t table;
    int8_t *copies;
    const int8_t *next;
} aboard_four_pixels_staged_t;

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Groups of four pixels from `x` on, each of which is copied; their number and both addresses come after the table. */
#define ABOARD_MVE_FOUR_PIXELS_STAGED \
    ABOARD_MVE_FOUR_PIXELS_TABLE \
    "3:\n\t" \
    "ldr %[left], [%[x2], #20]\n\t" \
    ".rept 4 * %c[distance] / 16\n\t" \
    "vldrb.8 q0, [%[x]], #16\n\t" \
    "vstrb.8 q0, [%[left]], #16\n\t" \
    ".endr\n\t" \
    "str %[x], [%[x2], #24]\n\t" \
    "ldr %[x], [%[x2], #20]\n\t" \
    "vldrw.32 q0, [%[x]]\n\t" \
    "vldrw.32 q1, [%[x], %[distance]]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_LAST_TWO("vldrw.32", "%[x], #2 * %c[distance] + ") \
    ABOARD_MVE_FOUR_PIXELS_RUN_SUMS("vldrw.32") "\n\t" \
    ABOARD_MVE_FOUR_PIXELS_NUMBER("stream") \
    "sub %[w], %[w], %[left]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_NUMBER("skip") \
    ".if %c[words]\n\t" \
    "vadd.i32 q7, q7, %[left]\n\t" \
    ".else\n\t" \
    "add %[out], %[out], %[left]\n\t" \
    ".endif\n\t" \
    "ldr %[left], [%[x2], #16]\n\t" \
    "ldr %[x], [%[x2], #24]\n\t" \
    "subs %[left], %[left], #1\n\t" \
    "str %[left], [%[x2], #16]\n\t" \
    "bne 3b"

/* clang-format on */

#define ABOARD_FOUR_PIXELS_STAGED_RUN(length) ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_STAGED, length)

/** Computes all channels of the groups of the table from `x` on. */
ABOARD_INLINE void aboard_four_pixels_staged_groups(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                    const int8_t *w, const aboard_four_pixels_staged_t *table,
                                                    int8_t *out) {
    const int32_t held = aboard_four_pixels_held(p);
    const int32_t advance = 0;
    int32_t left;
    ABOARD_MVE_SIZED(aboard_four_pixels_repeated(p) + p->distance / 2, ABOARD_FOUR_PIXELS_STAGED_RUN);
}

#else

/** Computes all channels of the groups of the table from `x` on. */
ABOARD_INLINE void aboard_four_pixels_staged_groups(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                    const int8_t *w, const aboard_four_pixels_staged_t *table,
                                                    int8_t *out) {
    for (int32_t group = 0; group < table->table.groups; ++group) {
        memmove(table->copies, x, (size_t)(ABOARD_FOUR_PIXELS * p->distance));
        aboard_four_pixels(p, table->copies, w, &table->table, out);
        x += ABOARD_FOUR_PIXELS * p->distance;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride;
    }
}

#endif

/** Computes `count` pixels from `x` on, where rows of both tensors follow each other. */
ABOARD_INLINE void aboard_four_pixels_staged(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t count,
                                             const int8_t *weights, int8_t *scratch, int8_t *out) {
    aboard_four_pixels_staged_t table;
    table.copies = scratch;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &table.table);
    ABOARD_UNROLL(1)
    while (count > 0) {
        const int32_t groups = ABOARD_MAX(count / ABOARD_FOUR_PIXELS, 1);
        const int8_t *from = x;
        if (count < ABOARD_FOUR_PIXELS) {
            /* The last pixel is repeated, as its results are. Copies are copied to themselves. */
            ABOARD_UNROLL(1)
            for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
                aboard_mve_copy(scratch + i * p->distance, x + ABOARD_MIN(i, count - 1) * p->distance, p->distance);
            }
            aboard_four_pixels_fill(p, count, &table.table);
            from = scratch;
        }
        table.table.groups = groups;
        aboard_four_pixels_staged_groups(p, from, weights, &table, out);
        x += ABOARD_FOUR_PIXELS * p->distance * groups;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride * groups;
        count -= ABOARD_FOUR_PIXELS * groups;
    }
}

#endif
