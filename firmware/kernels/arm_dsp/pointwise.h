/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pointwise.h
 * int8 convolution of 1x1 over 8 or 16 channels with the DSP extension: a pixel is widened into registers and stays
 * there for all channels of the result, whose weights are halfwords in flash, and no copy in memory is needed. Of 8
 * channels two pixels are in registers.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_POINTWISE_H
#define ABOARD_KERNELS_ARM_DSP_POINTWISE_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Largest number of channels of a pixel. */
#define ABOARD_DSP_POINT_DEPTH 16

/** Parameters of aboard_pointwise_dsp. */
typedef struct {
    aboard_view_t in;  /**< Any view of 8 or 16 channels. */
    aboard_view_t out; /**< Any view of a multiple of four channels, with as many rows and columns. */
    int32_t clamped;   /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_pointwise_dsp_t;

/** Pixels at equal distances; the assembly depends on the order of fields. */
typedef struct {
    const uint32_t *weights; /**< For each channel: bias, one word per two taps, factor, constant. */
    const int8_t *x;         /**< First pixel, at any address. */
    int32_t x_stride;
    int32_t channels;  /**< Of the result. */
    const int8_t *end; /**< End: x_stride after the last pixel. */
    int8_t *y;
    int32_t gap; /**< Bytes from a pixel's last result to the next pixel's first. */
} aboard_dsp_points_t;

/** Words of a channel of `depth` taps. */
#define ABOARD_DSP_POINT_WORDS(depth) ((depth) / 2 + 3)

#if ABOARD_DSP_ASM

/* clang-format off */
/** Result of a channel in `sum`: the next results go up from r4 or r8. */
#define ABOARD_DSP_POINT_SINGLE(sum, factor, constant, to)               \
    "smmlar " sum ", " sum ", " factor ", " constant "\n"               \
    "ssat " sum ", #8, " sum ", asr #4\n"                               \
    "strb " sum ", [" to "], #1\n"

/**
 * Two pixels of 8 channels, in r0 to r3 and in r4 to r7, so that each load of weights serves both: sums r8 and r11, results of
 * the first from r12 on, weights in lr. Results of the second wait in the frame until there are four. Frame: these four, end of
 * the first pixel's results, distance of the second's from the end of four of the first, weights, next pixel, x_stride, channels,
 * end, bytes from a pair's first results' end to the next pair's results.
 */
ABOARD_NAKED void aboard_dsp_points_8(const aboard_dsp_points_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r0-r6}\n"
        "mov r12, r5\n"
        "add r7, r3, r6\n add r5, r7, r6\n subs r7, #4\n"
        "push {r0-r5}\n"
        "sub sp, #12\n str r7, [sp, #8]\n"
        "1:\n"
        "ldr lr, [sp, #12]\n ldr r1, [sp, #16]\n ldr r2, [sp, #20]\n ldr r3, [sp, #24]\n"
        "add r3, r12\n str r3, [sp, #4]\n"
        "add r4, r1, r2\n add r2, r4\n str r2, [sp, #16]\n"
        "ldr r3, [r1, #4]\n ldr r1, [r1]\n ldr r7, [r4, #4]\n ldr r5, [r4]\n"
        "sxtb16 r0, r1\n sxtb16 r1, r1, ror #8\n sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"
        "sxtb16 r4, r5\n sxtb16 r5, r5, ror #8\n sxtb16 r6, r7\n sxtb16 r7, r7, ror #8\n"
        "2:\n"
        ".irp at, 0, 1, 2, 3\n"
        "ldmia lr!, {r8-r10}\n"
        "smlad r11, r4, r9, r8\n smlad r8, r0, r9, r8\n smlad r11, r5, r10, r11\n smlad r8, r1, r10, r8\n"
        "ldmia lr!, {r9, r10}\n"
        "smlad r11, r6, r9, r11\n smlad r8, r2, r9, r8\n smlad r11, r7, r10, r11\n smlad r8, r3, r10, r8\n"
        "ldmia lr!, {r9, r10}\n"
        "smmlar r11, r11, r9, r10\n ssat r11, #8, r11, asr #4\n strb r11, [sp, #\\at]\n"
        ABOARD_DSP_POINT_SINGLE("r8", "r9", "r10", "r12")
        ".endr\n"
        "ldr r10, [sp, #8]\n ldr r9, [sp, #4]\n ldr r8, [sp]\n"
        "str r8, [r12, r10]\n"
        "cmp r12, r9\n"
        "bne 2b\n"
        "ldr r8, [sp, #16]\n ldr r9, [sp, #28]\n ldr r10, [sp, #32]\n"
        "add r12, r10\n"
        "cmp r8, r9\n"
        "bne 1b\n"
        "add sp, #36\n"
        "pop {r4-r11, pc}\n");
}

/** Pixel in r0 to r7, result in r8, weights in lr; end of the pixel's results behind the job's copy. */
ABOARD_NAKED void aboard_dsp_points_16(const aboard_dsp_points_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r0-r7}\n"
        "push {r0-r7}\n"
        "mov r8, r5\n"
        "1:\n"
        "ldm sp, {r9-r12}\n"
        "mov lr, r9\n add r12, r8\n str r12, [sp, #28]\n"
        "ldr r1, [r10]\n ldr r3, [r10, #4]\n ldr r5, [r10, #8]\n ldr r7, [r10, #12]\n"
        "add r10, r11\n str r10, [sp, #4]\n"
        "sxtb16 r0, r1\n sxtb16 r1, r1, ror #8\n sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"
        "sxtb16 r4, r5\n sxtb16 r5, r5, ror #8\n sxtb16 r6, r7\n sxtb16 r7, r7, ror #8\n"
        "2:\n"
        ".rept 4\n"
        "ldmia lr!, {r9-r12}\n"
        "smlad r9, r0, r10, r9\n smlad r9, r1, r11, r9\n smlad r9, r2, r12, r9\n"
        "ldmia lr!, {r10-r12}\n"
        "smlad r9, r3, r10, r9\n smlad r9, r4, r11, r9\n smlad r9, r5, r12, r9\n"
        "ldmia lr!, {r10-r12}\n"
        "smlad r9, r6, r10, r9\n smlad r9, r7, r11, r9\n"
        "ldr r10, [lr], #4\n"
        ABOARD_DSP_POINT_SINGLE("r9", "r12", "r10", "r8")
        ".endr\n"
        "ldr r9, [sp, #28]\n"
        "cmp r8, r9\n"
        "bne 2b\n"
        "ldr r9, [sp, #4]\n ldrd r10, r11, [sp, #16]\n ldr r11, [sp, #24]\n"
        "add r8, r11\n"
        "cmp r9, r10\n"
        "bne 1b\n"
        "add sp, #32\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

/** All channels of some pixels; `depth` is a literal. */
ABOARD_INLINE void aboard_dsp_points(const aboard_dsp_points_t *p, int32_t depth) {
    if (depth != 8) {
        aboard_dsp_points_16(p);
        return;
    }
    aboard_dsp_points_t job = *p;
    const int32_t pixels = (int32_t)(p->end - p->x) / p->x_stride;
    if (pixels % 2 != 0) {
        job.end -= p->x_stride;
    }
    if (pixels > 1) {
        aboard_dsp_points_8(&job);
    }
    if (pixels % 2 != 0) {
        /* A last single pixel is both of a pair. */
        job.x = job.end;
        job.x_stride = 0;
        job.y += (pixels - 1) * (p->channels + p->gap);
        job.gap = -p->channels;
        aboard_dsp_points_8(&job);
    }
}

#else

/** See above. */
ABOARD_SHARED void aboard_dsp_points(const aboard_dsp_points_t *p, int32_t depth) {
    int8_t *y = p->y;
    for (const int8_t *x = p->x; x != p->end; x += p->x_stride) {
        /* The results of a pixel may overwrite it, as with registers. */
        int8_t pixel[ABOARD_DSP_POINT_DEPTH];
        memcpy(pixel, x, (size_t)depth);
        const uint32_t *words = p->weights;
        for (int32_t channel = 0; channel < p->channels; ++channel) {
            uint32_t sum = *words++;
            for (int32_t k = 0; k < depth; k += ABOARD_DSP_TAP_GROUP) {
                const uint32_t tap_group = aboard_dsp_load(pixel + k);
                sum = aboard_dsp_mac(aboard_dsp_even(tap_group), *words++, sum);
                sum = aboard_dsp_mac(aboard_dsp_odd(tap_group), *words++, sum);
            }
            *y++ = aboard_dsp_single_rounding(sum, (int32_t)words[0], (int32_t)words[1], ABOARD_DSP_SINGLE_SHIFT);
            words += 2;
        }
        y += p->gap;
    }
}

#endif

/**
 * int8 convolution of 1x1 with a stride of 1, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. A pixel is read before the first result is written of it, or
 * of the pixel before it; otherwise the operand starts after the result by at least the minimum in-place offset
 *                    (host/aboard/kernels/overlap.py).
 * @param weights     ABOARD_DSP_POINT_WORDS words per channel, see aboard_dsp_points_t.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_pointwise_dsp(const aboard_pointwise_dsp_t *p, const int8_t *in, int8_t *out,
                                        const uint32_t *weights, int32_t first, int32_t last) {
    const aboard_view_t *x = &p->in;
    const aboard_view_t *y = &p->out;
    /* Rows without gaps are one long row. */
    const int32_t dense =
        x->row_stride == x->cols * x->pixel_stride && y->row_stride == y->cols * y->pixel_stride ? last - first : 1;
    int32_t row = first;
    while (row < last) {
        const int32_t left = ABOARD_MIN(dense, last - row);
        const int32_t rows = aboard_rows_together(x, row, aboard_rows_together(y, row, left));
        const int8_t *const from = aboard_row_s8(x, in, row);
        int8_t *const to = aboard_row_out_s8(y, out, row);
        const int32_t pixels = rows * x->cols;
        const aboard_dsp_points_t job = {
            weights,
            from,
            x->pixel_stride,
            y->channels,
            from + pixels * x->pixel_stride,
            to,
            y->pixel_stride - y->channels,
        };
        aboard_dsp_points(&job, x->channels);
        for (int32_t i = 0; p->clamped && i < pixels; ++i) {
            aboard_dsp_clamp(to + i * y->pixel_stride, y->channels, p->low, p->high);
        }
        row += rows;
    }
}

#endif
