/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_s16.h
 * Convolution of int16 with the DSP extension: the windows of two pixels are interleaved, then all channels of both are
 * computed.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_S16_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_S16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../portable/conv2d_s16.h"
#include "../portable/epilogue_s16.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot_s16.h"

/** Parameters of aboard_conv2d_dsp_s16. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t wide;                   /**< 1: 16-bit weights; 0: packed. */
    int32_t chunk;                  /**< Number of tap groups whose products fit a 32-bit sum. */
    aboard_epilogue_s16_t epilogue; /**< Epilogue of the result. */
} aboard_conv2d_dsp_s16_t;

/** Two pixels of the result: the starts of their windows, and the addresses of their results. */
typedef struct {
    int32_t row[2];
    int32_t col[2];
    int16_t *y[2];
} aboard_conv2d_dsp_s16_two_t;

/** Tap groups of a window. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_s16_tap_groups(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP;
}

/** Words of a block of two channels. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_s16_block(const aboard_conv2d_dsp_s16_t *p) {
    return aboard_conv2d_dsp_s16_tap_groups(&p->shape) * (p->wide ? 4 : 2) + 2 * aboard_s16_words(p->epilogue.form);
}

/** Interleaves `words` words of two taps of two pixels, at any address; returns the end. */
ABOARD_INLINE uint32_t *aboard_conv2d_dsp_s16_im2col(uint32_t *to, const int16_t *a, const int16_t *b, int32_t words) {
    for (; words >= 2; words -= 2) {
#if ABOARD_DSP_ASM
        __asm__ volatile("ldr r4, [%[a]], #4\n ldr r5, [%[b]], #4\n ldr r6, [%[a]], #4\n ldr r8, [%[b]], #4\n"
                         "stmia %[to]!, {r4-r6, r8}\n"
                         : [to] "+&r"(to), [a] "+&r"(a), [b] "+&r"(b)
                         :
                         : "r4", "r5", "r6", "r8", "memory");
#else
        to[0] = aboard_dsp_load_s16(a);
        to[1] = aboard_dsp_load_s16(b);
        to[2] = aboard_dsp_load_s16(a + 2);
        to[3] = aboard_dsp_load_s16(b + 2);
        to += ABOARD_DSP_S16_PAIR_WORDS;
        a += ABOARD_DSP_TAP_GROUP;
        b += ABOARD_DSP_TAP_GROUP;
#endif
    }
    if (words > 0) {
        *to++ = aboard_dsp_load_s16(a);
        *to++ = aboard_dsp_load_s16(b);
    }
    return to;
}

/** Row `tap` of a pixel's window: in the input, or in `column` if a part of the row is outside the input. */
ABOARD_INLINE const int16_t *aboard_conv2d_dsp_s16_row(const aboard_conv2d_shape_t *s, const int16_t *x, int32_t row,
                                                       int32_t col, int32_t tap, int16_t *column) {
    const int32_t depth = s->in.channels / s->groups;
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    const int32_t y = w.top + tap * s->dilation_h;
    if (y < 0 || y >= s->in_height) {
        aboard_im2col_fill_shared((int8_t *)column, 0, s->window_width * depth * (int32_t)sizeof(int16_t));
        return column;
    }
    const int16_t *const from = aboard_row_s16(&s->in, x, w.base + y);
    const bool dense = s->dilation_w == 1 && s->in.pixel_stride == depth * (int32_t)sizeof(int16_t);
    if ((dense || s->window_width == 1) && w.left >= 0 && w.left + s->window_width <= s->in.cols) {
        return from + w.left * (s->in.pixel_stride / (int32_t)sizeof(int16_t));
    }
    aboard_conv2d_s16_gather_row(s, from, w.left, column);
    return column;
}

/** Interleaves the windows of two pixels, in whole tap groups. */
ABOARD_INLINE void aboard_conv2d_dsp_s16_windows(const aboard_conv2d_shape_t *s, const int16_t *x,
                                                 const aboard_conv2d_dsp_s16_two_t *two, uint32_t *pairs,
                                                 int16_t *columns) {
    const int32_t row = s->window_width * (s->in.channels / s->groups);
    const int32_t taps = aboard_conv2d_taps(s);
    if (row % 2 == 0) {
        for (int32_t tap = 0; tap < s->window_height; ++tap) {
            const int16_t *const a = aboard_conv2d_dsp_s16_row(s, x, two->row[0], two->col[0], tap, columns);
            const int16_t *const b = aboard_conv2d_dsp_s16_row(s, x, two->row[1], two->col[1], tap, columns + row);
            pairs = aboard_conv2d_dsp_s16_im2col(pairs, a, b, row / 2);
        }
    } else {
        /* Rows that end in the middle of a word are first copied one after another; bytes after the last tap are
         * multiplied by 0. */
        int16_t *const second = columns + taps + 1;
        columns[taps] = 0;
        second[taps] = 0;
        aboard_conv2d_s16_gather(s, x, two->row[0], two->col[0], columns);
        aboard_conv2d_s16_gather(s, x, two->row[1], two->col[1], second);
        pairs = aboard_conv2d_dsp_s16_im2col(pairs, columns, second, (taps + 1) / 2);
    }
    if ((taps + 1) / 2 % 2 != 0) {
        pairs[0] = pairs[1] = 0;
    }
}

/** Results of `channels` channels, an even number, in the short form. */
ABOARD_INLINE void aboard_conv2d_dsp_s16_short(const aboard_conv2d_dsp_s16_t *p, const aboard_dsp_s16_pair_t *job) {
    if (p->wide) {
        if (p->epilogue.low == 0) {
            aboard_dsp_s16_pair_wide_relu(job);
        } else {
            aboard_dsp_s16_pair_wide(job);
        }
    } else if (p->epilogue.low == 0) {
        aboard_dsp_s16_pair_packed_relu(job);
    } else {
        aboard_dsp_s16_pair_packed(job);
    }
}

/** Results of all channels of a group for two pixels in the short form, from their interleaved windows. */
ABOARD_INLINE void aboard_conv2d_dsp_s16_epilogue(const aboard_conv2d_dsp_s16_t *p, const uint32_t *pairs,
                                                  const uint32_t *weights, int16_t *const *y) {
    const int32_t channels = p->shape.out.channels / p->shape.groups;
    const int32_t tap_groups = aboard_conv2d_dsp_s16_tap_groups(&p->shape);
    const int32_t even = channels / 2 * 2;
    const uint32_t *const end = pairs + tap_groups * ABOARD_DSP_S16_PAIR_WORDS;
    if (even > 0) {
        const aboard_dsp_s16_pair_t job = {y[0], y[1], y[0] + even, pairs, end, weights, tap_groups};
        aboard_conv2d_dsp_s16_short(p, &job);
    }
    if (even < channels) {
        /* The last block may have only one channel. */
        int16_t last[2][2];
        const aboard_dsp_s16_pair_t one = {
            last[0], last[1], last[0] + 2, pairs, end, weights + even / 2 * aboard_conv2d_dsp_s16_block(p), tap_groups};
        aboard_conv2d_dsp_s16_short(p, &one);
        y[1][even] = last[1][0];
        y[0][even] = last[0][0];
    }
    if ((p->epilogue.low != 0 && p->epilogue.low != INT16_MIN) || p->epilogue.high != INT16_MAX) {
        aboard_dsp_s16_clamp(y[0], channels, p->epilogue.low, p->epilogue.high);
        aboard_dsp_s16_clamp(y[1], channels, p->epilogue.low, p->epilogue.high);
    }
}

/** Results of all channels of a group for two pixels in a long form. Not inlined: one copy serves all layers. */
ABOARD_SHARED void aboard_conv2d_dsp_s16_long(const aboard_conv2d_dsp_s16_t *p, const uint32_t *pairs,
                                              const uint32_t *weights, int16_t *y0, int16_t *y1) {
    const int32_t tap_groups = aboard_conv2d_dsp_s16_tap_groups(&p->shape);
    const int32_t words = p->wide ? 4 : 2;
    for (int32_t left = p->shape.out.channels / p->shape.groups; left > 0; left -= 2) {
        int64_t totals[4] = {0, 0, 0, 0};
        for (int32_t done = 0; done < tap_groups; done += p->chunk) {
            int32_t sums[4];
            const int32_t now = ABOARD_MIN(p->chunk, tap_groups - done);
            const uint32_t *const x = pairs + done * ABOARD_DSP_S16_PAIR_WORDS;
            const aboard_dsp_s16_sums_t job = {x, x + now * ABOARD_DSP_S16_PAIR_WORDS, weights, now, sums};
            if (p->wide) {
                aboard_dsp_s16_sums_wide(&job);
            } else {
                aboard_dsp_s16_sums_packed(&job);
            }
            aboard_dsp_s16_add(totals, sums);
            weights += now * words;
        }
        for (int32_t i = 0; i < ABOARD_MIN(left, 2); ++i) {
            const int32_t *const c = (const int32_t *)weights + i * aboard_s16_words(p->epilogue.form);
            *y1++ = aboard_epilogue_s16(&p->epilogue, totals[2 * i + 1], c);
            *y0++ = aboard_epilogue_s16(&p->epilogue, totals[2 * i], c);
        }
        weights += 2 * aboard_s16_words(p->epilogue.form);
    }
}

/** Finds two pixels from (row, col) on, and advances (row, col) past them; a single last pixel takes both places. */
ABOARD_INLINE aboard_conv2d_dsp_s16_two_t aboard_conv2d_dsp_s16_two(const aboard_conv2d_shape_t *s, int16_t *out,
                                                                    int32_t *row, int32_t *col, int32_t last) {
    aboard_conv2d_dsp_s16_two_t two;
    ABOARD_UNROLL(2)
    for (int32_t i = 0; i < 2; ++i) {
        if (i == 1 && *row == last) {
            two.row[1] = two.row[0];
            two.col[1] = two.col[0];
            two.y[1] = two.y[0];
            return two;
        }
        two.row[i] = *row;
        two.col[i] = *col;
        two.y[i] = aboard_row_out_s16(&s->out, out, *row) + *col * (s->out.pixel_stride / (int32_t)sizeof(int16_t));
        if (++*col == s->out.cols) {
            *col = 0;
            ++*row;
        }
    }
    return two;
}

/**
 * Convolution of int16, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     Packed, see aboard_dsp_s16_pair_t; in the long forms for each two channels weights, then constants
 *                    (aboard_epilogue_s16) of both. Groups after one another.
 * @param pairs       Scratch of ABOARD_DSP_S16_PAIR_WORDS words per tap group.
 * @param columns     Scratch of a row of the windows of two pixels; if a row has an odd number of taps, of whole
 *                    windows with one more tap each.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_dsp_s16(const aboard_conv2d_dsp_s16_t *p, const int16_t *in, int16_t *out,
                                         const uint32_t *weights, uint32_t *pairs, int16_t *columns, int32_t first,
                                         int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->out.channels / s->groups;
    for (int32_t group = 0; group < s->groups; ++group) {
        const int16_t *const x = in + group * (s->in.channels / s->groups);
        int32_t row = first;
        int32_t col = 0;
        while (row < last) {
            const aboard_conv2d_dsp_s16_two_t two =
                aboard_conv2d_dsp_s16_two(s, out + group * channels, &row, &col, last);
            aboard_conv2d_dsp_s16_windows(s, x, &two, pairs, columns);
            if (p->epilogue.form == ABOARD_S16_SHORT) {
                aboard_conv2d_dsp_s16_epilogue(p, pairs, weights, two.y);
            } else {
                aboard_conv2d_dsp_s16_long(p, pairs, weights, two.y[0], two.y[1]);
            }
        }
        weights += (channels + 1) / 2 * aboard_conv2d_dsp_s16_block(p);
    }
}

#endif
