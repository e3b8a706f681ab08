/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels_last.h
 * conv2d_four_pixels.h for windows in place whose number is known: the last one, two or three pixels have instructions
 * of their own, with fewer products and loads than four.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_LAST_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_LAST_H

#include <stdint.h>

#include "aboard/config.h"
#include "four_pixels.h"
#include "four_pixels_layer.h"
#include "length.h"

#if ABOARD_MVE_ASM

/*
 * Operands and registers are those of four_pixels.h. q0 to q3 hold as many chunks of the pixels as they have room for:
 * register number r has chunk r / pixels of pixel r % pixels.
 *
 * Further literals: `pixels`, chunks that are `kept`, and `counted`: LR, which has no sum, counts pairs of channels.
 */

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** A chunk that is kept. */
#define ABOARD_MVE_FOUR_PIXELS_KEEP(load, number) \
    ".if %c[kept] > " number "\n\t" \
    ".set aboard_chunk, " number " / %c[pixels]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_CHUNK \
    load " q" number ", [%[x], #" number " %% %c[pixels] * %c[distance] + aboard_at]\n\t" \
    ".endif\n\t"

/** A pixel in a register times both channels. */
#define ABOARD_MVE_FOUR_PIXELS_TIMES(op, x, first, second) \
    op ".s8 " first ", " x ", q4\n\t" \
    op ".s8 " second ", " x ", q5\n\t"

/** The first chunk, of which all pixels are kept. */
#define ABOARD_MVE_FOUR_PIXELS_LAST_FIRST(op) \
    ABOARD_MVE_FOUR_PIXELS_TIMES(op, "q0", "r0", "r8") \
    ".if %c[pixels] > 1\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TIMES(op, "q1", "r2", "r10") \
    ".endif\n\t" \
    ".if %c[pixels] > 2\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TIMES(op, "q2", "r4", "r12") \
    ".endif\n\t"

/** A further chunk of pixel `number`, if there is this pixel. */
#define ABOARD_MVE_FOUR_PIXELS_LAST_MORE(load, number, first, second) \
    ".if %c[pixels] > " number "\n\t" \
    ".set aboard_register, " number " + %c[pixels] * aboard_chunk\n\t" \
    ".if aboard_register >= %c[kept]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_MORE(load, "%[x], #" number " * %c[distance] + ", first, second) \
    ".elseif aboard_register == 1\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TIMES("vmladava", "q1", first, second) \
    ".elseif aboard_register == 2\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TIMES("vmladava", "q2", first, second) \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TIMES("vmladava", "q3", first, second) \
    ".endif\n\t" \
    ".endif\n\t"

/** Gathers the sums; those of the last pixel stand for further ones, as its results do. */
#define ABOARD_MVE_FOUR_PIXELS_LAST_GATHER \
    ".if %c[pixels] == 1\n\t" \
    "vdup.32 q4, r0\n\t" \
    "vdup.32 q5, r8\n\t" \
    ".elseif %c[pixels] == 2\n\t" \
    "vmov q4[2], q4[0], r0, r2\n\t" \
    "vmov q4[3], q4[1], r2, r2\n\t" \
    "vmov q5[2], q5[0], r8, r10\n\t" \
    "vmov q5[3], q5[1], r10, r10\n\t" \
    ".else\n\t" \
    "vmov q4[2], q4[0], r0, r4\n\t" \
    "vmov q4[3], q4[1], r2, r4\n\t" \
    "vmov q5[2], q5[0], r8, r12\n\t" \
    "vmov q5[3], q5[1], r10, r12\n\t" \
    ".endif\n\t"

/** All channels of the last pixels. */
#define ABOARD_MVE_FOUR_PIXELS_LAST(load) \
    ABOARD_MVE_FOUR_PIXELS_TABLE \
    ABOARD_MVE_FOUR_PIXELS_KEEP(load, "0") \
    ABOARD_MVE_FOUR_PIXELS_KEEP(load, "1") \
    ABOARD_MVE_FOUR_PIXELS_KEEP(load, "2") \
    ABOARD_MVE_FOUR_PIXELS_KEEP(load, "3") \
    "movw %[left], #(%c[pairs] >> %c[words])\n\t" \
    ".if %c[counted]\n\t" \
    "dls lr, %[left]\n\t" \
    ".endif\n\t" \
    "1:\n\t" \
    ".set aboard_second, 0\n\t" \
    ".rept 1 + %c[words]\n\t" \
    ".if %c[begun]\n\t" \
    "ldm %[w]!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t" \
    ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
    ABOARD_MVE_FOUR_PIXELS_LAST_FIRST("vmladava") \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
    ABOARD_MVE_FOUR_PIXELS_LAST_FIRST("vmladav") \
    ".endif\n\t" \
    ".set aboard_chunk, 1\n\t" \
    ".rept %c[chunks] - 1\n\t" \
    ABOARD_MVE_FOUR_PIXELS_CHUNK \
    ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
    ABOARD_MVE_FOUR_PIXELS_LAST_MORE(load, "0", "r0", "r8") \
    ABOARD_MVE_FOUR_PIXELS_LAST_MORE(load, "1", "r2", "r10") \
    ABOARD_MVE_FOUR_PIXELS_LAST_MORE(load, "2", "r4", "r12") \
    ".set aboard_chunk, aboard_chunk + 1\n\t" \
    ".endr\n\t" \
    ABOARD_MVE_FOUR_PIXELS_LAST_GATHER \
    ABOARD_MVE_FOUR_PIXELS_SCALED("q5") \
    ".set aboard_second, 1\n\t" \
    ".endr\n\t" \
    ".if %c[counted]\n\t" \
    "le lr, 1b\n\t" \
    ".else\n\t" \
    "subs %[left], %[left], #1\n\t" \
    "bne 1b\n\t" \
    ".endif"

/** Instructions of a further chunk beside two for each pixel. */
#define ABOARD_MVE_FOUR_PIXELS_LAST_CHUNK_LENGTH 5

#define ABOARD_FOUR_PIXELS_LAST_ASM(load, length) \
    __asm__ volatile(ABOARD_MVE_FOUR_PIXELS_LAST(load) length \
                     : [x] "+&r"(x), [x2] "+&r"(table), [w] "+&r"(w), [out] "+&r"(out), [left] "=&r"(left) \
                     : [pairs] "i"(aboard_four_pixels_pairs(p)), [odd] "i"(aboard_four_pixels_channels(p) % 2), \
                       [chunks] "i"(p->chunks), [distance] "i"(p->distance), [back] "i"(p->back), \
                       [words] "i"(p->words), [begun] "i"(p->begun), [ends] "i"(p->ends), [held] "i"(aboard_four_pixels_held(p)), \
                       [form] "i"(p->epilogue.form), [shift] "i"(p->epilogue.shift), \
                       [zero_point] "i"(p->epilogue.zero_point), [pixels] "i"(p->last), [kept] "i"(kept), \
                       [counted] "i"(counted) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/* clang-format on */

#define ABOARD_FOUR_PIXELS_LAST_WORDS(length) ABOARD_FOUR_PIXELS_LAST_ASM("vldrw.32", length)
#define ABOARD_FOUR_PIXELS_LAST_HALVES(length) ABOARD_FOUR_PIXELS_LAST_ASM("vldrh.16", length)
#define ABOARD_FOUR_PIXELS_LAST_BYTES(length) ABOARD_FOUR_PIXELS_LAST_ASM("vldrb.8", length)

/** Computes all channels of the last one to three pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels_last(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                           const aboard_four_pixels_table_t *table, int8_t *out) {
    /* Without a fourth sum of a channel, and with nothing else that takes LR. */
    const int32_t counted = !p->begun && !p->ends && aboard_four_pixels_channels(p) % 2 == 0;
    const int32_t kept = ABOARD_MIN(p->last * p->chunks, aboard_four_pixels_held(p) == 3 ? 3 : 4);
    const int32_t repeated =
        (1 + p->words) * (p->chunks - 2) * (ABOARD_MVE_FOUR_PIXELS_LAST_CHUNK_LENGTH + 2 * p->last) +
        p->words * ABOARD_MVE_FOUR_PIXELS_EPILOGUE_LENGTH;
    int32_t left;
    if (p->unit == 1) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_LAST_BYTES);
    } else if (p->unit == 2) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_LAST_HALVES);
    } else {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_LAST_WORDS);
    }
}

#else

/** Computes all channels of the last one to three pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels_last(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                           const aboard_four_pixels_table_t *table, int8_t *out) {
    aboard_four_pixels_of(p, p->last, x, w, table, out);
}

#endif

/** Computes `count` pixels from `x` on, in groups of four; the last group has `last` pixels. */
ABOARD_INLINE void aboard_four_pixels_in_place(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t count,
                                               const int8_t *weights, int8_t *out) {
    const int32_t groups = count / ABOARD_FOUR_PIXELS;
    aboard_four_pixels_table_t table;
    if (groups > 0) {
        aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &table);
        aboard_four_pixels_groups(p, x, weights, &table, out, groups);
    }
    if (p->last < ABOARD_FOUR_PIXELS) {
        aboard_four_pixels_fill(p, p->last, &table);
        x += ABOARD_FOUR_PIXELS * p->distance * groups;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride * groups;
        aboard_four_pixels_last(p, x, weights, &table, out);
    }
}

#endif
