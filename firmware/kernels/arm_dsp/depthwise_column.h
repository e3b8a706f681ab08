/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_column.h
 * int8 depthwise convolution with windows of one column and without padding, with the DSP extension: one channel after
 * another, and of each column of a channel six results at once.
 *
 * Two results are neighbours, and a word is two pixels below one another. The weights (w0, w1), (w2, w3), ... are those
 * of the first result, (w1, w2), (w3, w4), ... those of the second, so that each instruction adds two products. No row
 * is copied: a word is made of two pixels where they lie, and serves three pairs of results.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_COLUMN_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/depthwise_conv2d.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_taps.h"
#include "dot.h"
#include "tall_windows.h"

/** Parameters of aboard_depthwise_conv2d_column: no padding, strides and dilations of 1, one result of each channel. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_depthwise_conv2d_column_t;

/**
 * Words of a channel before its weights: bias, factor and constant of results; for double rounding the right shift.
 *
 * Sums with a double rounding are twice the sums, as bias and widened weights are: then the factor is TFLite's
 * multiplier, and the constant is added with the product.
 */
#define ABOARD_DSP_TALL_HEAD(single) ((single) ? 3 : 4)

/** Words of a channel. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_column_words(const aboard_depthwise_conv2d_column_t *p) {
    return ABOARD_DSP_TALL_HEAD(p->single_rounding) + (p->shape.window_height + 3) / 4;
}

/** The words of a channel before its weights. */
typedef struct {
    int32_t bias;
    int32_t factor;
    int32_t constant;
    uint32_t shift;
} aboard_dsp_tall_head_t;

/** One result from a sum, or from twice a sum for a double rounding. */
ABOARD_INLINE int8_t aboard_depthwise_conv2d_column_result(int32_t sum, int32_t factor, int32_t constant,
                                                           uint32_t shift, bool single) {
    if (single) {
        return aboard_dsp_result(sum, factor, constant, shift, single);
    }
    const int32_t addend = constant + (sum >> 31);
#if ABOARD_DSP_ASM
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(sum), "r"(factor), "r"(addend));
    return (int8_t)__builtin_arm_ssat(high >> shift, 8);
#else
    const int64_t product = (int64_t)sum * factor + INT64_C(0x80000000);
    return aboard_dsp_saturate(((int32_t)(product >> 32) + addend) >> shift);
#endif
}

/** Stores the results of sums, a row apart. */
ABOARD_INLINE void aboard_depthwise_conv2d_column_put(const aboard_depthwise_conv2d_column_t *p,
                                                      const aboard_dsp_tall_head_t *head, const int32_t *sums,
                                                      int32_t results, int8_t *y) {
    const bool single = p->single_rounding != 0;
    int32_t factor = head->factor;
    int32_t constant = head->constant;
    uint32_t shift = head->shift;
    /* Loaded once, not for each result. */
    ABOARD_OPAQUE(factor);
    ABOARD_OPAQUE(constant);
    ABOARD_OPAQUE(shift);
    ABOARD_UNROLL(6)
    for (int32_t i = 0; i < ABOARD_DSP_TALL_RESULTS; ++i) {
        if (i < results) {
            const int8_t value = aboard_depthwise_conv2d_column_result(sums[i], factor, constant, shift, single);
            y[i * p->shape.out.row_stride] =
                p->clamped ? (int8_t)ABOARD_MIN(ABOARD_MAX(value, p->low), p->high) : value;
        }
    }
}

/** The first `results` of six results of a column below one another. */
ABOARD_INLINE void aboard_depthwise_conv2d_column_block(const aboard_depthwise_conv2d_column_t *p,
                                                        const aboard_dsp_tall_weights_t *w,
                                                        const aboard_dsp_tall_head_t *head, const int8_t *x, int8_t *y,
                                                        int32_t results) {
    int32_t sums[ABOARD_DSP_TALL_RESULTS];
    aboard_dsp_tall_six(x, p->shape.in.row_stride, w, p->shape.window_height, head->bias, sums);
    aboard_depthwise_conv2d_column_put(p, head, sums, results, y);
}

/** One or two results of a column below one another. */
ABOARD_INLINE void aboard_depthwise_conv2d_column_few(const aboard_depthwise_conv2d_column_t *p,
                                                      const aboard_dsp_tall_weights_t *w,
                                                      const aboard_dsp_tall_head_t *head, const int8_t *x, int8_t *y,
                                                      int32_t results) {
    int32_t sums[2];
    aboard_dsp_tall_few(x, p->shape.in.row_stride, w, p->shape.window_height, head->bias, sums, results);
    aboard_depthwise_conv2d_column_put(p, head, sums, results, y);
}

/**
 * `rows` results of a column of a channel, whose pixels are in rows one after another.
 *
 * If they are no multiple of six, the first block computes results that the second computes again: these must not be
 * stored twice, for a result may lie over its first pixel.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_column_rows(const aboard_depthwise_conv2d_column_t *p,
                                                       const aboard_dsp_tall_weights_t *w,
                                                       const aboard_dsp_tall_head_t *head, const int8_t *x, int8_t *y,
                                                       int32_t rows) {
    const int32_t in = p->shape.in.row_stride;
    const int32_t out = p->shape.out.row_stride;
    int32_t left = rows;
    const int32_t rest = rows % ABOARD_DSP_TALL_RESULTS;
    if (rows >= ABOARD_DSP_TALL_RESULTS && rest != 0) {
        aboard_depthwise_conv2d_column_block(p, w, head, x, y, rest);
        ABOARD_OPAQUE(x);
        x += rest * in;
        y += rest * out;
        left -= rest;
    }
    for (; left >= ABOARD_DSP_TALL_RESULTS; left -= ABOARD_DSP_TALL_RESULTS) {
        aboard_depthwise_conv2d_column_block(p, w, head, x, y, ABOARD_DSP_TALL_RESULTS);
        /* Not before: two addresses would take a register of a sum. */
        ABOARD_OPAQUE(x);
        x += ABOARD_DSP_TALL_RESULTS * in;
        y += ABOARD_DSP_TALL_RESULTS * out;
    }
    for (; left >= 2; left -= 2) {
        aboard_depthwise_conv2d_column_few(p, w, head, x, y, 2);
        x += 2 * in;
        y += 2 * out;
    }
    if (left != 0) {
        aboard_depthwise_conv2d_column_few(p, w, head, x, y, 1);
    }
}

/** One result of a column whose window passes the end of a rolling buffer. */
ABOARD_INLINE void aboard_depthwise_conv2d_column_parted(const aboard_depthwise_conv2d_column_t *p,
                                                         const aboard_dsp_tall_head_t *head, const int32_t *words,
                                                         const int8_t *in, int32_t row, int8_t *y) {
    const int8_t *const weights = (const int8_t *)(const void *)words;
    int32_t sum = 0;
    for (int32_t tap = 0; tap < p->shape.window_height; ++tap) {
        sum += *aboard_row_s8(&p->shape.in, in, row + tap) * weights[aboard_dsp_tall_place(tap)];
    }
    sum = head->bias + (p->single_rounding ? sum : 2 * sum);
    aboard_depthwise_conv2d_column_put(p, head, &sum, 1, y);
}

/** One channel of rows of the result that are one after another in memory; `x` is the channel in the operand's base. */
ABOARD_INLINE void aboard_depthwise_conv2d_column_channel(const aboard_depthwise_conv2d_column_t *p,
                                                          const int32_t *words, const int8_t *x, int8_t *y, int32_t row,
                                                          int32_t rows) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t taps = s->window_height;
    const bool single = p->single_rounding != 0;
    aboard_dsp_tall_head_t head = {words[0], words[1], words[2], single ? 0 : (uint32_t)words[3]};
    /* Kept, and not loaded again after each result, which might lie there. */
    ABOARD_OPAQUE(head.bias);
    ABOARD_OPAQUE(head.factor);
    ABOARD_OPAQUE(head.constant);
    ABOARD_OPAQUE(head.shift);
    words += ABOARD_DSP_TALL_HEAD(p->single_rounding);
    aboard_dsp_tall_weights_t w;
    aboard_dsp_tall_widen(words, taps, !single, &w);
    for (int32_t done = 0; done < rows;) {
        const int32_t together = aboard_rows_together(&s->in, row + done, rows - done + taps - 1);
        const int32_t count = ABOARD_MAX(together - taps + 1, 1);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            const int8_t *const from = x + col * s->in.pixel_stride;
            int8_t *const to = y + done * s->out.row_stride + col * s->out.pixel_stride;
            if (together >= taps) {
                aboard_depthwise_conv2d_column_rows(p, &w, &head, aboard_row_s8(&s->in, from, row + done), to, count);
            } else {
                aboard_depthwise_conv2d_column_parted(p, &head, words, from, row + done, to);
            }
        }
        done += count;
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory; or rows of both are equally far apart,
 * and the operand starts a whole number of rows after the result, which may be 0.
 * @param weights     Words of each channel: see ABOARD_DSP_TALL_HEAD, then its weights in groups of four.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_column(const aboard_depthwise_conv2d_column_t *p, const int8_t *in,
                                                  int8_t *out, const uint32_t *weights, int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t words = aboard_depthwise_conv2d_column_words(p);
    int32_t r = first;
    while (r < last) {
        const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
        const int32_t y = r - image * s->out_height;
        const int32_t rows = aboard_rows_together(&s->out, r, ABOARD_MIN(last - r, s->out_height - y));
        int8_t *const to = aboard_row_out_s8(&s->out, out, r);
        const int32_t *head = (const int32_t *)(const void *)weights;
        for (int32_t channel = 0; channel < s->out.channels; ++channel) {
            aboard_depthwise_conv2d_column_channel(p, head, in + channel, to + channel, image * s->in_height + y, rows);
            head += words;
        }
        r += rows;
    }
}

#endif
