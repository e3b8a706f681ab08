/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file few_channels.h
 * int8 convolution of 1x1 over one to four channels with the DSP extension: two pixels are widened into registers and
 * stay there for all channels of the result, whose weights are halfwords in flash, so that each load of weights serves
 * both.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_FEW_CHANNELS_H
#define ABOARD_KERNELS_ARM_DSP_FEW_CHANNELS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Parameters of aboard_few_channels_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< Windows of 1x1 over one to four channels, without padding and groups. */
    int32_t single_rounding;     /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;             /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_few_channels_dsp_t;

/** Pairs of pixels at equal distances; the assembly depends on the order of fields. */
typedef struct {
    const uint32_t
        *weights; /**< For each channel: bias, words of taps, factor, constant; for double rounding the shift. */
    const uint32_t *weights_end;
    const int8_t *x;   /**< Word of the first pixel, at any address; bytes behind its channels are not used. */
    int32_t x_stride;  /**< 0: a single pixel is both of a pair. */
    const int8_t *end; /**< End: twice x_stride after the first pixel of the last pair. */
    int8_t *y;
    int32_t y_stride;
    int32_t skipped; /**< Bytes of code of the channels that the first iteration leaves out. */
} aboard_dsp_few_channels_t;

/** Words of taps of a channel: of one or two input channels one, of more two. */
#define ABOARD_DSP_FEW_WORDS(depth) ((depth) > 2 ? 2 : 1)

/** Words of a channel. */
#define ABOARD_DSP_FEW_CHANNEL(depth, single) (ABOARD_DSP_FEW_WORDS(depth) + ((single) ? 3 : 4))

/** Channels of an iteration, and bytes of the code of one. */
#define ABOARD_DSP_FEW_ONCE 4
#define ABOARD_DSP_FEW_CODE(depth, single) (((depth) > 2 ? 8 : 0) + ((single) ? 36 : 64))

/** Most pixels at the end of a row whose words are not within the row, and one more. */
#define ABOARD_DSP_FEW_LAST 4

#if ABOARD_DSP_ASM

/* clang-format off */
/** Results of a channel of both pixels, the second one's first: factor in r7, constant in r8. */
#define ABOARD_DSP_FEW_SINGLE                                           \
    "smmlar r9, r9, r7, r8\n ssat r9, #8, r9, asr #4\n strb.w r9, [r10], #1\n" \
    "smmlar r4, r4, r7, r8\n ssat r4, #8, r4, asr #4\n strb.w r4, [r12], #1\n"

/** Likewise by two roundings, from three words at lr. */
#define ABOARD_DSP_FEW_ROUNDED(sum, to)                                 \
    "add.w r5, " sum ", " sum ", asr #31\n smmlar " sum ", " sum ", r6, r5\n" \
    "add.w " sum ", " sum ", r7\n asr.w " sum ", " sum ", r8\n ssat " sum ", #8, " sum "\n" \
    "strb.w " sum ", [" to "], #1\n"
#define ABOARD_DSP_FEW_DOUBLE                                           \
    "ldmia.w lr!, {r6-r8}\n"                                           \
    ABOARD_DSP_FEW_ROUNDED("r9", "r10") ABOARD_DSP_FEW_ROUNDED("r4", "r12")

/** Sums of a channel of both pixels in r4 and r9: of one word of taps in r5, and of two in r5 and r6. */
#define ABOARD_DSP_FEW_ONE "smlad r9, r2, r5, r4\n smlad r4, r0, r5, r4\n"
#define ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_ONE "smlad r9, r3, r6, r9\n smlad r4, r1, r6, r4\n"

/** The first pixel in r0 and r1, the second in r2 and r3; weights in lr, their end in r11; results from r12 and r10 on. All
 * instructions of `channel` are four bytes. Frame: the job, and where the first iteration begins. */
#define ABOARD_DSP_FEW_FUNCTION(name, joined, channel)                  \
    ABOARD_NAKED void name(const aboard_dsp_few_channels_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                               \
            "push {r4-r11, lr}\n"                                       \
            "ldm r0, {r0-r7}\n"                                         \
            "adr.w r8, 2f\n"                                            \
            "add r8, r7\n orr r8, r8, #1\n"                             \
            "push {r0-r8}\n"                                            \
            "1:\n"                                                      \
            "ldr lr, [sp]\n ldr r11, [sp, #4]\n ldr r1, [sp, #8]\n ldr r2, [sp, #12]\n" \
            "ldr r12, [sp, #20]\n ldr r4, [sp, #24]\n ldr r5, [sp, #32]\n" \
            "ldr r0, [r1]\n ldr r3, [r1, r2]\n"                         \
            "add r1, r1, r2, lsl #1\n str r1, [sp, #8]\n"               \
            "add r10, r12, r4\n add r4, r10\n str r4, [sp, #20]\n"      \
            "sxtb16 r1, r0, ror #8\n sxtb16 r0, r0\n"                   \
            "sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"                   \
            joined                                                      \
            "bx r5\n"                                                   \
            ".balign 4\n"                                               \
            "2:\n"                                                      \
            ".rept 4\n"                                                 \
            channel                                                     \
            ".endr\n"                                                   \
            "cmp lr, r11\n"                                             \
            "bne.w 2b\n"                                                \
            "ldr r1, [sp, #8]\n ldr r2, [sp, #16]\n"                    \
            "cmp r1, r2\n"                                              \
            "bne.w 1b\n"                                                \
            "add sp, #36\n"                                             \
            "pop {r4-r11, pc}\n");                                      \
    }

/** The two pixels of one or two channels become a word each. */
#define ABOARD_DSP_FEW_JOINED "pkhbt r0, r0, r1, lsl #16\n pkhbt r2, r2, r3, lsl #16\n"

ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_2_single, ABOARD_DSP_FEW_JOINED,
                        "ldmia.w lr!, {r4, r5, r7, r8}\n" ABOARD_DSP_FEW_ONE ABOARD_DSP_FEW_SINGLE)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_2_double, ABOARD_DSP_FEW_JOINED,
                        "ldmia.w lr!, {r4, r5}\n" ABOARD_DSP_FEW_ONE ABOARD_DSP_FEW_DOUBLE)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_4_single, "",
                        "ldmia.w lr!, {r4-r8}\n" ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_SINGLE)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_4_double, "",
                        "ldmia.w lr!, {r4-r6}\n" ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_DOUBLE)
/* clang-format on */

/** All channels of pairs of pixels of `depth` channels; literals. */
ABOARD_INLINE void aboard_dsp_few_channels(const aboard_dsp_few_channels_t *p, int32_t depth, bool single) {
    if (depth > 2) {
        (single ? aboard_dsp_few_4_single : aboard_dsp_few_4_double)(p);
    } else {
        (single ? aboard_dsp_few_2_single : aboard_dsp_few_2_double)(p);
    }
}

#else

/** Result of a channel whose words begin at `w`, from the word of a pixel. */
ABOARD_INLINE int8_t aboard_dsp_few_result(uint32_t pixel, const uint32_t *w, int32_t depth, bool single) {
    const uint32_t even = aboard_dsp_even(pixel);
    const uint32_t odd = aboard_dsp_odd(pixel);
    uint32_t sum = w[0];
    if (depth > 2) {
        sum = aboard_dsp_mac(odd, w[2], aboard_dsp_mac(even, w[1], sum));
    } else {
        sum = aboard_dsp_mac((even & 0xffffu) | odd << 16, w[1], sum);
    }
    w += 1 + ABOARD_DSP_FEW_WORDS(depth);
    return single ? aboard_dsp_single_rounding(sum, (int32_t)w[0], (int32_t)w[1], ABOARD_DSP_SINGLE_SHIFT)
                  : aboard_dsp_double_rounding(sum, (int32_t)w[0], (int32_t)w[1], w[2]);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_few_channels(const aboard_dsp_few_channels_t *p, int32_t depth, bool single) {
    const int8_t *x = p->x;
    int8_t *y = p->y;
    do {
        const uint32_t pixels[2] = {aboard_dsp_load(x), aboard_dsp_load(x + p->x_stride)};
        int32_t channel = 0;
        for (const uint32_t *w = p->weights; w != p->weights_end;
             w += ABOARD_DSP_FEW_CHANNEL(depth, single), ++channel) {
            y[p->y_stride + channel] = aboard_dsp_few_result(pixels[1], w, depth, single);
            y[channel] = aboard_dsp_few_result(pixels[0], w, depth, single);
        }
        x += 2 * p->x_stride;
        y += 2 * p->y_stride;
    } while (x != p->end);
}

#endif

/** `count` pixels `step` bytes apart, whose words may be read; a last single pixel is both of a pair. */
ABOARD_INLINE void aboard_few_channels_pixels(const aboard_few_channels_dsp_t *p, const int8_t *x, int32_t step,
                                              int32_t count, int8_t *y, const uint32_t *weights) {
    const aboard_view_t *to = &p->shape.out;
    const int32_t depth = p->shape.in.channels;
    const int32_t left_out = (ABOARD_DSP_FEW_ONCE - to->channels % ABOARD_DSP_FEW_ONCE) % ABOARD_DSP_FEW_ONCE;
    const int32_t even = count / 2 * 2;
    const bool single = p->single_rounding != 0;
    aboard_dsp_few_channels_t job = {
        weights,
        weights + to->channels * ABOARD_DSP_FEW_CHANNEL(depth, single),
        x,
        step,
        x + even * step,
        y,
        to->pixel_stride,
        left_out * ABOARD_DSP_FEW_CODE(depth, single),
    };
    if (even > 0) {
        aboard_dsp_few_channels(&job, depth, single);
    }
    if (even < count) {
        job.x = job.end;
        job.x_stride = 0;
        job.y = y + even * to->pixel_stride;
        job.y_stride = 0;
        aboard_dsp_few_channels(&job, depth, single);
    }
}

/** `count` pixels `step` bytes apart. Words of the last ones, which reach behind the last pixel, are copied. */
ABOARD_INLINE void aboard_few_channels_row(const aboard_few_channels_dsp_t *p, const int8_t *x, int32_t step,
                                           int32_t count, int8_t *y, const uint32_t *weights) {
    const int32_t depth = p->shape.in.channels;
    const int32_t room = (count - 1) * step + depth - ABOARD_DSP_TAP_GROUP;
    const int32_t readable = room < 0 ? 0 : room / step + 1;
    const int32_t direct = readable < count ? readable / 2 * 2 : count;
    aboard_few_channels_pixels(p, x, step, direct, y, weights);
    if (direct < count) {
        uint32_t last[ABOARD_DSP_FEW_LAST] = {0};
        for (int32_t i = direct; i < count; ++i) {
            memcpy(&last[i - direct], x + i * step, (size_t)depth);
        }
        aboard_few_channels_pixels(p, (const int8_t *)last, ABOARD_DSP_TAP_GROUP, count - direct,
                                   y + direct * p->shape.out.pixel_stride, weights);
    }
}

/**
 * int8 convolution of 1x1, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. A pixel is read before the first result is written of it, or
 * of the pixel before it; otherwise the operand starts after the result by at least the minimum in-place offset
 *                    (host/aboard/kernels/overlap.py).
 * @param weights     ABOARD_DSP_FEW_CHANNEL words per channel, see aboard_dsp_few_channels_t.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_few_channels_dsp(const aboard_few_channels_dsp_t *p, const int8_t *in, int8_t *out,
                                           const uint32_t *weights, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_view_t *from = &s->in;
    const aboard_view_t *to = &s->out;
    /* Rows without gaps are one long row. */
    const bool flat = s->stride_h == 1 && s->stride_w == 1 && from->row_stride == from->cols * from->pixel_stride &&
                      to->row_stride == to->cols * to->pixel_stride;
    int32_t row = first;
    while (row < last) {
        const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, 0);
        const int32_t line = window.base + window.top;
        const int32_t some = flat ? aboard_rows_together(from, line, aboard_rows_together(to, row, last - row)) : 1;
        const int8_t *const x = aboard_row_s8(from, in, line);
        int8_t *const y = aboard_row_out_s8(to, out, row);
        const int32_t count = some * to->cols;
        aboard_few_channels_row(p, x, s->stride_w * from->pixel_stride, count, y, weights);
        for (int32_t i = 0; p->clamped && i < count; ++i) {
            aboard_dsp_clamp(y + i * to->pixel_stride, to->channels, p->low, p->high);
        }
        row += some;
    }
}

#endif
