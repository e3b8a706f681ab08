/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file few_channels.h
 * int8 convolution of 1x1 over one to eight channels of a group with the DSP extension: two pixels are widened into
 * registers and stay there for all channels of the result, whose weights are halfwords in flash, so that each load of
 * weights serves both.
 *
 * A pixel of more than four channels is read as two words, its first four and its last four channels, so that none
 * reaches behind it; the channels that are in both have weights of zero in the second.
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
#include "pairs_in_registers.h"

/** Parameters of aboard_few_channels_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< Windows of 1x1 over one to eight channels of each group, without padding. */
    int32_t single_rounding;     /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;             /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_few_channels_dsp_t;

/** Pairs of pixels at equal distances; the assembly depends on the order of fields. */
typedef struct {
    const int8_t *x;  /**< Word of the first pixel, at any address; bytes behind its channels are not used. */
    int32_t x_stride; /**< 0: a single pixel is both of a pair. */
    int32_t second;   /**< Bytes from the word of a pixel to its second one, of more than four channels. */
    int32_t y_stride;
    int8_t *y;
    const uint32_t
        *weights; /**< For each channel: bias, words of taps, factor, constant; for double rounding the shift. */
    const uint32_t *weights_end;
    const int8_t *end; /**< End: twice x_stride after the first pixel of the last pair. */
    int32_t skipped;   /**< Bytes of code of the channels that the first iteration leaves out. */
} aboard_dsp_few_channels_t;

/** Most input channels. */
#define ABOARD_DSP_FEW_DEPTH 8

/** Words of taps of a channel, of two input channels each. */
#define ABOARD_DSP_FEW_WORDS(depth) (((depth) + 1) / 2)

/** Words of a channel. */
#define ABOARD_DSP_FEW_CHANNEL(depth, single) (ABOARD_DSP_FEW_WORDS(depth) + ABOARD_DSP_PAIRS_AROUND(single))

/** Bytes of the code of a channel. */
#define ABOARD_DSP_FEW_CODE(depth, single)                                                                             \
    (((depth) > 6 ? 36 : (depth) > 4 ? 20 : (depth) > 2 ? 8 : 0) + ((single) ? 36 : 64))

/** Most pixels at the end of a row whose words are not within the row, and one more. */
#define ABOARD_DSP_FEW_LAST 4

#if ABOARD_DSP_ASM

/* clang-format off */
/** Stores both results; a store that advances its address has four bytes, and clang takes no suffix for it. */
#define ABOARD_DSP_FEW_STORED(first, second, to) "strb " second ", [" to "], #1\n strb " first ", [r12], #1\n"

#define ABOARD_DSP_FEW_FUNCTION(name, pixels, channel, finished)        \
    ABOARD_DSP_PAIRS_FUNCTION(name, aboard_dsp_few_channels_t, pixels, channel, finished)

/** Up to four channels: the first pixel in r0 and r1, the second in r2 and r3; the end of the weights in r11, sums in r4 and r9,
 * the second pixel's results from r10 on. */
#define ABOARD_DSP_FEW_WORD(joined)                                     \
    "ldr lr, [sp, #20]\n ldr r11, [sp, #24]\n ldr r1, [sp]\n ldr r2, [sp, #4]\n" \
    "ldr r12, [sp, #16]\n ldr r4, [sp, #12]\n ldr r5, [sp, #32]\n"      \
    "ldr r0, [r1]\n ldr r3, [r1, r2]\n"                                 \
    "add r1, r1, r2, lsl #1\n str r1, [sp]\n"                           \
    "add r10, r12, r4\n add r4, r10\n str r4, [sp, #16]\n"              \
    "sxtb16 r1, r0, ror #8\n sxtb16 r0, r0\n"                           \
    "sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"                           \
    joined                                                              \
    "bx r5\n"

/** The two pixels of one or two channels become a word each. */
#define ABOARD_DSP_FEW_JOINED "pkhbt r0, r0, r1, lsl #16\n pkhbt r2, r2, r3, lsl #16\n"

#define ABOARD_DSP_FEW_ONE ABOARD_DSP_PAIRS_BEGUN("r5", "r0", "r2", "r4", "r9")
#define ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_ONE ABOARD_DSP_PAIRS_TAPS("r6", "r1", "r3", "r4", "r9")
#define ABOARD_DSP_FEW_WORD_SINGLE                                      \
    ABOARD_DSP_PAIRS_SINGLE("r9", "r7", "r8") ABOARD_DSP_PAIRS_SINGLE("r4", "r7", "r8") ABOARD_DSP_FEW_STORED("r4", "r9", "r10")
#define ABOARD_DSP_FEW_WORD_DOUBLE                                      \
    "ldmia.w lr!, {r6-r8}\n"                                           \
    ABOARD_DSP_PAIRS_PRODUCT("r9", "r6", "r5") ABOARD_DSP_PAIRS_ROUNDED("r9", "r7", "r8") \
    ABOARD_DSP_PAIRS_PRODUCT("r4", "r6", "r5") ABOARD_DSP_PAIRS_ROUNDED("r4", "r7", "r8") \
    ABOARD_DSP_FEW_STORED("r4", "r9", "r10")
#define ABOARD_DSP_FEW_WORD_END "cmp lr, r11\n"

ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_2_single, ABOARD_DSP_FEW_WORD(ABOARD_DSP_FEW_JOINED),
                        "ldmia.w lr!, {r4, r5, r7, r8}\n" ABOARD_DSP_FEW_ONE ABOARD_DSP_FEW_WORD_SINGLE,
                        ABOARD_DSP_FEW_WORD_END)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_2_double, ABOARD_DSP_FEW_WORD(ABOARD_DSP_FEW_JOINED),
                        "ldmia.w lr!, {r4, r5}\n" ABOARD_DSP_FEW_ONE ABOARD_DSP_FEW_WORD_DOUBLE, ABOARD_DSP_FEW_WORD_END)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_4_single, ABOARD_DSP_FEW_WORD(""),
                        "ldmia.w lr!, {r4-r8}\n" ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_WORD_SINGLE, ABOARD_DSP_FEW_WORD_END)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_4_double, ABOARD_DSP_FEW_WORD(""),
                        "ldmia.w lr!, {r4-r6}\n" ABOARD_DSP_FEW_TWO ABOARD_DSP_FEW_WORD_DOUBLE, ABOARD_DSP_FEW_WORD_END)

/** More channels: both words of both pixels, which `widened` widens; y_stride in r11. */
#define ABOARD_DSP_FEW_WORDS_OF(third, fourth, widened)                 \
    "ldm sp, {r8-r12, lr}\n"                                            \
    "ldr r0, [r8]\n ldr r2, [r8, r10]\n add r8, r9\n"                   \
    "ldr " third ", [r8]\n ldr " fourth ", [r8, r10]\n ldr r10, [sp, #32]\n" \
    "add r8, r9\n str r8, [sp]\n"                                       \
    "add r9, r12, r11, lsl #1\n str r9, [sp, #16]\n"                    \
    widened                                                             \
    "bx r10\n"
#define ABOARD_DSP_FEW_WORDS_END "ldr r9, [sp, #24]\n cmp lr, r9\n"
#define ABOARD_DSP_FEW_WIDE(word, odd) "sxtb16 " odd ", " word ", ror #8\n sxtb16 " word ", " word "\n"

/** Five or six channels: pixels in r0 to r2 and r3 to r5, sums in r6 and r10, the second pixel's results from r11 on. The third
 * word are the last two channels. */
#define ABOARD_DSP_FEW_LAST_TWO(word) ABOARD_DSP_FEW_WIDE(word, "r6") "pkhtb " word ", r6, " word ", asr #16\n"
#define ABOARD_DSP_FEW_6_PIXELS                                         \
    ABOARD_DSP_FEW_WORDS_OF("r3", "r5",                                 \
        ABOARD_DSP_FEW_WIDE("r0", "r1") ABOARD_DSP_FEW_LAST_TWO("r2")   \
        ABOARD_DSP_FEW_WIDE("r3", "r4") ABOARD_DSP_FEW_LAST_TWO("r5") "add r11, r12\n")
#define ABOARD_DSP_FEW_THREE                                            \
    "ldmia.w lr!, {r6-r9}\n"                                           \
    ABOARD_DSP_PAIRS_BEGUN("r7", "r0", "r3", "r6", "r10")                 \
    ABOARD_DSP_PAIRS_TAPS("r8", "r1", "r4", "r6", "r10") ABOARD_DSP_PAIRS_TAPS("r9", "r2", "r5", "r6", "r10")

ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_6_single, ABOARD_DSP_FEW_6_PIXELS,
                        ABOARD_DSP_FEW_THREE "ldmia.w lr!, {r7, r8}\n" ABOARD_DSP_PAIRS_SINGLE("r10", "r7", "r8")
                        ABOARD_DSP_PAIRS_SINGLE("r6", "r7", "r8") ABOARD_DSP_FEW_STORED("r6", "r10", "r11"),
                        ABOARD_DSP_FEW_WORDS_END)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_6_double, ABOARD_DSP_FEW_6_PIXELS,
                        ABOARD_DSP_FEW_THREE ABOARD_DSP_PAIRS_DOUBLE("r6", "r10", "r7", "r8")
                        ABOARD_DSP_FEW_STORED("r6", "r10", "r11"), ABOARD_DSP_FEW_WORDS_END)

/** Seven or eight channels: pixels in r0 to r3 and r4 to r7, sums in r8 and r11, the second pixel's results at y_stride. */
#define ABOARD_DSP_FEW_8_PIXELS                                         \
    ABOARD_DSP_FEW_WORDS_OF("r4", "r6",                                 \
        ABOARD_DSP_FEW_WIDE("r0", "r1") ABOARD_DSP_FEW_WIDE("r2", "r3") \
        ABOARD_DSP_FEW_WIDE("r4", "r5") ABOARD_DSP_FEW_WIDE("r6", "r7"))
#define ABOARD_DSP_FEW_FOUR                                             \
    "ldmia.w lr!, {r8-r10}\n"                                          \
    ABOARD_DSP_PAIRS_BEGUN("r9", "r0", "r4", "r8", "r11") ABOARD_DSP_PAIRS_TAPS("r10", "r1", "r5", "r8", "r11") \
    "ldmia.w lr!, {r9, r10}\n"                                         \
    ABOARD_DSP_PAIRS_TAPS("r9", "r2", "r6", "r8", "r11") ABOARD_DSP_PAIRS_TAPS("r10", "r3", "r7", "r8", "r11")
#define ABOARD_DSP_FEW_APART "ldr.w r9, [sp, #12]\n strb.w r11, [r12, r9]\n strb r8, [r12], #1\n"

ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_8_single, ABOARD_DSP_FEW_8_PIXELS,
                        ABOARD_DSP_FEW_FOUR "ldmia.w lr!, {r9, r10}\n" ABOARD_DSP_PAIRS_SINGLE("r11", "r9", "r10")
                        ABOARD_DSP_PAIRS_SINGLE("r8", "r9", "r10") ABOARD_DSP_FEW_APART, ABOARD_DSP_FEW_WORDS_END)
ABOARD_DSP_FEW_FUNCTION(aboard_dsp_few_8_double, ABOARD_DSP_FEW_8_PIXELS,
                        ABOARD_DSP_FEW_FOUR ABOARD_DSP_PAIRS_DOUBLE("r8", "r11", "r9", "r10") ABOARD_DSP_FEW_APART,
                        ABOARD_DSP_FEW_WORDS_END)
/* clang-format on */

/** All channels of pairs of pixels of `depth` channels; literals. */
ABOARD_INLINE void aboard_dsp_few_channels(const aboard_dsp_few_channels_t *p, int32_t depth, bool single) {
    if (depth > 6) {
        (single ? aboard_dsp_few_8_single : aboard_dsp_few_8_double)(p);
    } else if (depth > 4) {
        (single ? aboard_dsp_few_6_single : aboard_dsp_few_6_double)(p);
    } else if (depth > 2) {
        (single ? aboard_dsp_few_4_single : aboard_dsp_few_4_double)(p);
    } else {
        (single ? aboard_dsp_few_2_single : aboard_dsp_few_2_double)(p);
    }
}

#else

/** Writes the halfwords of a pixel in the order of the weights. */
ABOARD_INLINE void aboard_dsp_few_widen(const int8_t *x, int32_t second, int32_t depth, uint32_t *words) {
    const uint32_t first = aboard_dsp_load(x);
    words[0] = aboard_dsp_even(first);
    words[1] = aboard_dsp_odd(first);
    if (depth <= 2) {
        words[0] = (words[0] & 0xffffu) | words[1] << 16;
    } else if (depth > 4) {
        const uint32_t last = aboard_dsp_load(x + second);
        words[2] = aboard_dsp_even(last);
        words[3] = aboard_dsp_odd(last);
        if (depth <= 6) {
            words[2] = words[2] >> 16 | (words[3] & 0xffff0000u);
        }
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_few_channels(const aboard_dsp_few_channels_t *p, int32_t depth, bool single) {
    const int8_t *x = p->x;
    int8_t *y = p->y;
    do {
        uint32_t pixels[2][ABOARD_DSP_FEW_WORDS(ABOARD_DSP_FEW_DEPTH)];
        aboard_dsp_few_widen(x, p->second, depth, pixels[0]);
        aboard_dsp_few_widen(x + p->x_stride, p->second, depth, pixels[1]);
        int32_t channel = 0;
        for (const uint32_t *w = p->weights; w != p->weights_end;
             w += ABOARD_DSP_FEW_CHANNEL(depth, single), ++channel) {
            y[p->y_stride + channel] = aboard_dsp_pairs_result(pixels[1], ABOARD_DSP_FEW_WORDS(depth), w, single);
            y[channel] = aboard_dsp_pairs_result(pixels[0], ABOARD_DSP_FEW_WORDS(depth), w, single);
        }
        x += 2 * p->x_stride;
        y += 2 * p->y_stride;
    } while (x != p->end);
}

#endif

/** Input channels of a group. */
ABOARD_INLINE int32_t aboard_few_channels_depth(const aboard_few_channels_dsp_t *p) {
    return p->shape.in.channels / p->shape.groups;
}

/** Channels of the result of a group. */
ABOARD_INLINE int32_t aboard_few_channels_results(const aboard_few_channels_dsp_t *p) {
    return p->shape.out.channels / p->shape.groups;
}

/** A group of `count` pixels `step` bytes apart, whose words may be read; a last single pixel is both of a pair. */
ABOARD_INLINE void aboard_few_channels_pixels(const aboard_few_channels_dsp_t *p, const int8_t *x, int32_t step,
                                              int32_t count, int8_t *y, const uint32_t *weights) {
    const aboard_view_t *to = &p->shape.out;
    const int32_t depth = aboard_few_channels_depth(p);
    const int32_t channels = aboard_few_channels_results(p);
    const int32_t even = count / 2 * 2;
    const bool single = p->single_rounding != 0;
    aboard_dsp_few_channels_t job = {
        x,
        step,
        depth - ABOARD_DSP_TAP_GROUP,
        to->pixel_stride,
        y,
        weights,
        weights + channels * ABOARD_DSP_FEW_CHANNEL(depth, single),
        x + even * step,
        ABOARD_DSP_PAIRS_SKIPPED(channels, ABOARD_DSP_FEW_CODE(depth, single)),
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

/** A group of `count` pixels `step` bytes apart. Words of the last ones that reach behind the last pixel are copied. */
ABOARD_INLINE void aboard_few_channels_row(const aboard_few_channels_dsp_t *p, const int8_t *x, int32_t step,
                                           int32_t count, int8_t *y, const uint32_t *weights) {
    const int32_t depth = aboard_few_channels_depth(p);
    if (depth >= ABOARD_DSP_TAP_GROUP) {
        aboard_few_channels_pixels(p, x, step, count, y, weights);
        return;
    }
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
 * @param in, out     Any views, including rolling buffers; in different memory if there are groups. Otherwise a pixel
 * is read before the first result is written of it, or of the pixel before it, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
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
        for (int32_t group = 0; group < s->groups; ++group) {
            const int32_t channel = group * aboard_few_channels_results(p);
            const uint32_t *const words =
                weights + channel * ABOARD_DSP_FEW_CHANNEL(aboard_few_channels_depth(p), p->single_rounding);
            aboard_few_channels_row(p, x + group * aboard_few_channels_depth(p), s->stride_w * from->pixel_stride,
                                    count, y + channel, words);
        }
        for (int32_t i = 0; p->clamped && i < count; ++i) {
            aboard_dsp_clamp(y + i * to->pixel_stride, to->channels, p->low, p->high);
        }
        row += some;
    }
}

#endif
