/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/few_taps.h
 * int8 convolution with Helium for windows of at most five taps: four pixels at a time, a lane for each.
 *
 * Vectors of sixteen products would be almost empty. Here a vector has one tap of four pixels, gathered and widened to
 * words. All taps stay in registers for all channels of the result: a channel is a product by a scalar for each tap.
 *
 * Rows without gaps between them are one run, so that four pixels may be the end of a row and the start of the next.
 * Offsets of the lanes advance by `delta`; a lane that leaves its row advances by `jump` more. The last one to three
 * pixels of a run are computed with copies of the first of them, whose result is written more than once.
 * host/aboard/kernels/arm_mve/few_taps.py makes offsets and constants.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FEW_TAPS_H
#define ABOARD_KERNELS_ARM_MVE_FEW_TAPS_H

#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "helium.h"

/** Most taps of a window, each of which has a register. With all of them no register is left for a second channel. */
#define ABOARD_FEW_TAPS_MOST 5

/** Pixels computed at once. */
#define ABOARD_FEW_TAPS_PIXELS 4

/** Parameters of aboard_few_taps_mve. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< Windows of at most five taps, without padding and groups. */
    int32_t joined;              /**< 1: rows of the result follow each other without gaps. */
    int32_t even;                /**< 1: rows of windows have equal distances, from one image to the next too. */
    int32_t delta;               /**< Bytes from a window to the one of the fourth pixel after it. */
    int32_t jump;                /**< Bytes more for a lane that leaves its row. */
    int32_t ahead;               /**< Pixels that a lane advances in its row for every four pixels; 0: it stays in its
                                      column, or all windows of a run have equal distances. */
    int32_t words;               /**< 1: four channels of a pixel are written as a word: results are at multiples of 4
                                      bytes, and of every four channels the first and the third come before the
                                      others. */
    int32_t ones;                /**< 1: channels are computed one by one: with five taps, or if results of two channels
                                      of the fourth pixel are out of reach of the store. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY, and without limits. */
} aboard_few_taps_mve_t;

/** What a run of pixels is computed from; the assembly depends on the order of fields. */
typedef struct {
    int32_t delta;
    int32_t jump;
    int32_t cols;
    int32_t ahead;
    const int8_t *taps[ABOARD_FEW_TAPS_MOST]; /**< The taps of the first window. */
    const int32_t *channels;                  /**< Constants of all channels. */
    int32_t places[ABOARD_FEW_TAPS_PIXELS];   /**< Columns of the lanes, less `cols`, if taps occupy all registers. */
    int32_t windows[ABOARD_FEW_TAPS_PIXELS];  /**< Offsets of the next windows, while results occupy their register. */
} aboard_few_taps_job_t;

/** Words before the constants of channels: offsets of four windows as words, those of the results of two channels as
 * halfwords (by `ones`, of one channel as words; by `words`, of the four bytes before results as words), and by `ahead`
 * the columns of four pixels less all columns. */
ABOARD_INLINE int32_t aboard_few_taps_head(const aboard_few_taps_mve_t *p) {
    return p->ahead > 0 ? 12 : 8;
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** One instruction of several, by the number of taps. */
#define ABOARD_FEW_TAPS_BY_TAPS(one, two, three, four, five) \
    ".if %c[taps] == 1\n\t" \
    one "\n\t" \
    ".elseif %c[taps] == 2\n\t" \
    two "\n\t" \
    ".elseif %c[taps] == 3\n\t" \
    three "\n\t" \
    ".elseif %c[taps] == 4\n\t" \
    four "\n\t" \
    ".else\n\t" \
    five "\n\t" \
    ".endif\n\t"

/** An instruction for a tap, if windows have it. */
#define ABOARD_FEW_TAPS_TAP(number, text) \
    ".if %c[taps] >= " number "\n\t" \
    text "\n\t" \
    ".endif\n\t"

/** The lanes that leave their row, whose columns are in `place`, go on to the next one. */
#define ABOARD_FEW_TAPS_WRAPPED(place) \
    "vadd.i32 " place ", " place ", r3\n\t" \
    "vcmp.s32 ge, " place ", zr\n\t" \
    "vpstt\n\t" \
    "vsubt.i32 " place ", " place ", r2\n\t" \
    "vaddt.i32 q6, q6, r1\n\t"

/** Reads the windows of four pixels, and advances to those of the next four. */
#define ABOARD_FEW_TAPS_WINDOWS \
    ABOARD_FEW_TAPS_BY_TAPS("ldm %[job], {r0-r4}", "ldm %[job], {r0-r5}", "ldm %[job], {r0-r6}", \
                            "ldm %[job], {r0-r6, r8}", "ldm %[job], {r0-r6, r8, lr}") \
    "vldrb.s32 q0, [r4, q6]\n\t" \
    ABOARD_FEW_TAPS_TAP("2", "vldrb.s32 q1, [r5, q6]") \
    ABOARD_FEW_TAPS_TAP("3", "vldrb.s32 q2, [r6, q6]") \
    ABOARD_FEW_TAPS_TAP("4", "vldrb.s32 q3, [r8, q6]") \
    ABOARD_FEW_TAPS_TAP("5", "vldrb.s32 q5, [lr, q6]") \
    "vadd.i32 q6, q6, r0\n\t" \
    ".if %c[ahead]\n\t" \
    ".if %c[taps] >= 4\n\t" \
    "vldrw.32 q4, [%[job], #40]\n\t" \
    ABOARD_FEW_TAPS_WRAPPED("q4") \
    "vstrw.32 q4, [%[job], #40]\n\t" \
    ".else\n\t" \
    ABOARD_FEW_TAPS_WRAPPED("q3") \
    ".endif\n\t" \
    ".endif\n\t" \
    ".if %c[words] && %c[held] == 6\n\t" \
    "vstrw.32 q6, [%[job], #56]\n\t" \
    ".endif\n\t"

/** A channel of four pixels, scaled; r6 is the constant of a single rounding, the factor of a second product or the right
 * shift. Ties go away from
 * zero: a negative number is reduced by one before halves are rounded up, by VQDMLAH, unless the shift is 0. */
#define ABOARD_FEW_TAPS_CHANNEL(x) \
    ABOARD_FEW_TAPS_BY_TAPS("ldm %[w]!, {r0, r1, r5, r6}", "ldm %[w]!, {r0, r1, r2, r5, r6}", \
                            "ldm %[w]!, {r0, r1, r2, r3, r5, r6}", "ldm %[w]!, {r0-r6}", "ldm %[w]!, {r0-r6, r8}") \
    "vdup.32 " x ", r0\n\t" \
    "vmla.s32 " x ", q0, r1\n\t" \
    ABOARD_FEW_TAPS_TAP("2", "vmla.s32 " x ", q1, r2") \
    ABOARD_FEW_TAPS_TAP("3", "vmla.s32 " x ", q2, r3") \
    ABOARD_FEW_TAPS_TAP("4", "vmla.s32 " x ", q3, r4") \
    ABOARD_FEW_TAPS_TAP("5", "vmla.s32 " x ", q5, r8") \
    "vqrdmulh.s32 " x ", " x ", r5\n\t" \
    ".if %c[single]\n\t" \
    "vadd.i32 " x ", " x ", r6\n\t" \
    ".elseif %c[products]\n\t" \
    "vqrdmulh.s32 " x ", " x ", r6\n\t" \
    ".else\n\t" \
    "lsr r0, r6, #31\n\t" \
    "vqdmlah.s32 " x ", " x ", r0\n\t" \
    "vrshl.s32 " x ", r6\n\t" \
    ".endif\n\t"

/** Narrows a channel to halfwords, and another one by `second`, for a single rounding and for two. */
#define ABOARD_FEW_TAPS_NARROWED(second_single, second) \
    ".if %c[single]\n\t" \
    "vqrshrnb.s32 q4, q4, %[shift]\n\t" \
    second_single \
    ".else\n\t" \
    "mov r0, %[zero_point]\n\t" \
    "vqmovnb.s32 q4, q4\n\t" \
    second \
    "vqadd.s16 q4, q4, r0\n\t" \
    ".endif\n\t"

/** Two channels as halfwords. */
#define ABOARD_FEW_TAPS_TWO \
    ABOARD_FEW_TAPS_CHANNEL("q4") \
    ABOARD_FEW_TAPS_CHANNEL("q5") \
    ABOARD_FEW_TAPS_NARROWED("vqrshrnt.s32 q4, q5, %[shift]\n\t", "vqmovnt.s32 q4, q5\n\t")

/** A loop over channels, `count` times. */
#define ABOARD_FEW_TAPS_LOOP(count, text) \
    "movw r0, %[" count "]\n\t" \
    "dls lr, r0\n\t" \
    "3:\n\t" \
    text \
    "le lr, 3b\n\t"

/** All channels by words: the even ones are the even bytes. */
#define ABOARD_FEW_TAPS_FOURS \
    ABOARD_FEW_TAPS_LOOP("times", \
        ABOARD_FEW_TAPS_TWO \
        "vqmovnb.s16 q%c[held], q4\n\t" \
        ABOARD_FEW_TAPS_TWO \
        "vqmovnt.s16 q%c[held], q4\n\t" \
        "vstrw.32 q%c[held], [q7, #4]!\n\t")

/** All channels two by two, and an odd last one. */
#define ABOARD_FEW_TAPS_TWOS \
    ".if %c[times]\n\t" \
    ABOARD_FEW_TAPS_LOOP("times", \
        ABOARD_FEW_TAPS_TWO \
        "vqmovnb.s16 q4, q4\n\t" \
        "vstrb.16 q4, [%[out], q7]\n\t" \
        "add %[out], %[out], #2\n\t") \
    ".endif\n\t" \
    ".if %c[odd]\n\t" \
    ABOARD_FEW_TAPS_CHANNEL("q4") \
    ABOARD_FEW_TAPS_NARROWED("", "") \
    "vqmovnb.s16 q4, q4\n\t" \
    "vmovlb.u16 q5, q7\n\t" \
    "vstrb.32 q4, [%[out], q5]\n\t" \
    ".endif\n\t"

/** All channels one by one. */
#define ABOARD_FEW_TAPS_ONES \
    ABOARD_FEW_TAPS_LOOP("times", \
        ABOARD_FEW_TAPS_CHANNEL("q4") \
        ABOARD_FEW_TAPS_NARROWED("", "") \
        "vqmovnb.s16 q4, q4\n\t" \
        "vstrb.32 q4, [%[out], q7]\n\t" \
        "add %[out], %[out], #1\n\t")

/** Fewer than four pixels: the lanes beyond become the first of them. */
#define ABOARD_FEW_TAPS_REST \
    "vctp.32 %[left]\n\t" \
    "vmov.32 r0, q6[0]\n\t" \
    "vdup.32 q4, r0\n\t" \
    "vpsel q6, q6, q4\n\t" \
    "vmov.32 r0, q7[0]\n\t" \
    "vdup.32 q4, r0\n\t" \
    "vpsel q7, q7, q4\n\t"

/** A run of pixels. Taps are in q0 to q3, sums in q4 and q5 (which is a fifth tap), offsets of windows in q6 and of
 * results in q7 (by `words`, their addresses, which stores advance by four bytes before they write); columns are in
 * q3 or in memory. */
#define ABOARD_FEW_TAPS_ASM \
    "vldrw.32 q6, [%[w]]\n\t" \
    "vldrw.32 q7, [%[w], #16]\n\t" \
    ".if %c[ahead]\n\t" \
    "vldrw.32 q3, [%[w], #32]\n\t" \
    ".if %c[taps] >= 4\n\t" \
    "vstrw.32 q3, [%[job], #40]\n\t" \
    ".endif\n\t" \
    ".endif\n\t" \
    ".if %c[words]\n\t" \
    "vadd.i32 q7, q7, %[out]\n\t" \
    ".if %c[held] == 6\n\t" \
    "vstrw.32 q6, [%[job], #56]\n\t" \
    ".endif\n\t" \
    ".endif\n\t" \
    "1:\n\t" \
    ".if %c[words] && %c[held] == 6\n\t" \
    "vldrw.32 q6, [%[job], #56]\n\t" \
    ".endif\n\t" \
    "cmp %[left], #4\n\t" \
    "bhs 2f\n\t" \
    ABOARD_FEW_TAPS_REST \
    "2:\n\t" \
    ABOARD_FEW_TAPS_WINDOWS \
    "ldr %[w], [%[job], #36]\n\t" \
    ".if %c[words]\n\t" \
    ABOARD_FEW_TAPS_FOURS \
    ".elseif %c[ones]\n\t" \
    ABOARD_FEW_TAPS_ONES \
    ".else\n\t" \
    ABOARD_FEW_TAPS_TWOS \
    ".endif\n\t" \
    "movw r0, #(%c[skip] & 0xffff)\n\t" \
    ".if %c[skip] > 0xffff\n\t" \
    "movt r0, #(%c[skip] >> 16)\n\t" \
    ".endif\n\t" \
    ".if %c[words]\n\t" \
    "vadd.i32 q7, q7, r0\n\t" \
    ".else\n\t" \
    "add %[out], %[out], r0\n\t" \
    ".endif\n\t" \
    "subs %[left], %[left], #4\n\t" \
    "bhi 1b"

/* clang-format on */

/** Computes `count` pixels that follow each other, 1 or more. */
ABOARD_INLINE void aboard_few_taps_run(const aboard_few_taps_mve_t *p, aboard_few_taps_job_t *job,
                                       const int32_t *weights, int8_t *out, int32_t count) {
    const aboard_view_t *const to = &p->shape.out;
    const int32_t taps = aboard_conv2d_taps(&p->shape);
    const int32_t once = p->words ? 4 : p->ones ? 1 : 2;
    const int32_t *w = weights;
    int32_t left = count;
    __asm__ volatile(ABOARD_FEW_TAPS_ASM
                     : [w] "+&r"(w), [out] "+&r"(out), [left] "+&r"(left)
                     : [job] "r"(job), [taps] "i"(taps), [ahead] "i"(p->ahead), [words] "i"(p->words),
                       [ones] "i"(p->ones), [held] "i"(taps < ABOARD_FEW_TAPS_MOST - 1 && p->ahead == 0 ? 3 : 6),
                       [times] "i"(to->channels / once), [odd] "i"(to->channels % 2),
                       [skip] "i"(ABOARD_FEW_TAPS_PIXELS * to->pixel_stride - to->channels / once * once),
                       [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift),
                       [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), [zero_point] "i"(p->epilogue.zero_point)
                     : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",
                       "q7", ABOARD_MVE_PREDICATE "cc", "memory");
}

#else

/** Bytes from the first window of a run to the one of a pixel. */
ABOARD_INLINE int32_t aboard_few_taps_offset(const aboard_few_taps_mve_t *p, int32_t pixel) {
    const aboard_conv2d_shape_t *s = &p->shape;
    return pixel / s->out.cols * s->stride_h * s->in.row_stride +
           pixel % s->out.cols * s->stride_w * s->in.pixel_stride;
}

/** Computes `count` pixels that follow each other, 1 or more. */
ABOARD_INLINE void aboard_few_taps_run(const aboard_few_taps_mve_t *p, aboard_few_taps_job_t *job,
                                       const int32_t *weights, int8_t *out, int32_t count) {
    const int32_t taps = aboard_conv2d_taps(&p->shape);
    const int32_t first = ABOARD_MIN(taps, ABOARD_FEW_TAPS_MOST - 1);
    (void)weights;
    for (int32_t pixel = 0; pixel < count; ++pixel) {
        const int32_t offset = aboard_few_taps_offset(p, pixel);
        const int32_t *w = job->channels;
        int32_t x[ABOARD_FEW_TAPS_MOST];
        for (int32_t tap = 0; tap < taps; ++tap) {
            x[tap] = job->taps[tap][offset];
        }
        for (int32_t channel = 0; channel < p->shape.out.channels; ++channel) {
            int32_t sum = 0;
            for (int32_t tap = 0; tap < taps; ++tap) {
                sum += x[tap] * w[tap < first ? 1 + tap : 3 + tap];
            }
            /* Of words, channels 0 and 2 come before 1 and 3. */
            const int32_t at = p->words ? channel - channel % 4 + channel % 2 * 2 + channel % 4 / 2 : channel;
            out[at] = aboard_mve_result(&p->epilogue, sum, w[0], 0, w[1 + first], w[2 + first]);
            w += taps + 3;
        }
        out += p->shape.out.pixel_stride;
    }
}

#endif

/** Rows from `row` on, before `last`, whose results follow each other, and whose windows have equal distances. */
ABOARD_INLINE int32_t aboard_few_taps_together(const aboard_few_taps_mve_t *p, int32_t row, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    if (p->joined == 0) {
        return 1;
    }
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t end = p->even ? last : ABOARD_MIN(last, (image + 1) * s->out_height);
    int32_t count = aboard_rows_together(&s->out, row, end - row);
    if (s->in.buffer_rows < s->in.rows) {
        const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, 0);
        ABOARD_UNROLL(1)
        for (int32_t i = 0; i < s->window_height; ++i) {
            const int32_t line = window.base + window.top + i * s->dilation_h;
            const int32_t lines = aboard_rows_together(&s->in, line, (count - 1) * s->stride_h + 1);
            count = (lines - 1) / s->stride_h + 1;
        }
    }
    return count;
}

/** Sets the addresses of the taps of the first window of a row. */
ABOARD_INLINE void aboard_few_taps_window(const aboard_few_taps_mve_t *p, const int8_t *in, int32_t row,
                                          aboard_few_taps_job_t *job) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, 0);
    ABOARD_UNROLL(5)
    for (int32_t tap = 0; tap < aboard_conv2d_taps(s); ++tap) {
        const int32_t pixel = tap / s->in.channels;
        const int32_t line = window.base + window.top + pixel / s->window_width * s->dilation_h;
        const int32_t col = pixel % s->window_width * s->dilation_w;
        job->taps[tap] = aboard_row_s8(&s->in, in, line) + col * s->in.pixel_stride + tap % s->in.channels;
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. All taps of a pixel are read before the first result is
 *                    written of it, or of a pixel after it; otherwise the operand starts after the result by at least
 *                    the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     See aboard_few_taps_head; then for each channel bias, taps, multiplier or factor, and right shift
 *                    (negative) or constant, all as words; a fifth tap comes last.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_few_taps_mve(const aboard_few_taps_mve_t *p, const int8_t *in, int8_t *out,
                                       const int32_t *weights, int32_t first, int32_t last) {
    aboard_few_taps_job_t job;
    job.delta = p->delta;
    job.jump = p->jump;
    job.cols = p->shape.out.cols;
    job.ahead = p->ahead;
    job.channels = weights + aboard_few_taps_head(p);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last;) {
        const int32_t rows = aboard_few_taps_together(p, row, last);
        aboard_few_taps_window(p, in, row, &job);
        aboard_few_taps_run(p, &job, weights, aboard_row_out_s8(&p->shape.out, out, row), rows * p->shape.out.cols);
        row += rows;
    }
}

#endif
