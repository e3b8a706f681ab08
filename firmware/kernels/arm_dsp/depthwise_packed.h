/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_packed.h
 * int8 depthwise convolution of any window with the DSP extension: four products in an instruction (packed_taps.h).
 *
 * Strips of rows of four channels are copied to words of two neighbouring pixels. With a stride, the pixels
 * of a row are in phases: pixels of equal remainder are neighbours, and a row of the window has words of taps for each
 * phase. With a dilation, results of equal remainder read the pixels of one phase.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_PACKED_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/depthwise_conv2d.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_taps.h"
#include "line_buffer.h"
#include "packed_pixels.h"
#include "packed_taps.h"

/** Parameters of aboard_depthwise_conv2d_packed: each channel has one result; one of stride_w and dilation_w is 1. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t strip;           /**< Rows of the result per strip. */
    int32_t pairs;           /**< Words of a channel in a phase of a row. */
    int32_t sums;            /**< Sums of a block: 1 to ABOARD_DSP_PACKED_SUMS. */
    int32_t blocks;          /**< Blocks of a row in which every sum has two results. */
    int32_t apart;           /**< 1: the first block has code of its own, for 2 blocks or more; 0: code of the loop. */
    int32_t rest;            /**< Sums of the last block: 1 to ABOARD_DSP_PACKED_SUMS. */
    int32_t zero_point;      /**< Zero point of the input. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_depthwise_conv2d_packed_t;

/** A row of results of one channel in one phase. */
typedef struct {
    const int32_t *x; /**< Pixels of the first window. */
    const int32_t *w; /**< Words of the channel. */
    int8_t *y;        /**< First result. */
    int32_t cols;     /**< Results. */
} aboard_dsp_packed_job_t;

/** Phases of the pixels of a row. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_phases(const aboard_depthwise_conv2d_packed_t *p) {
    return p->shape.stride_w * p->shape.dilation_w;
}

/** Words from a row of four channels to the next. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_pitch(const aboard_depthwise_conv2d_packed_t *p) {
    return aboard_depthwise_conv2d_packed_phases(p) * p->pairs * ABOARD_DSP_PACKED_CHANNELS;
}

/** Taps of a row of a window in a phase of the stride. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_taps(const aboard_depthwise_conv2d_packed_t *p, int32_t phase) {
    return (p->shape.window_width - phase + p->shape.stride_w - 1) / p->shape.stride_w;
}

/** Words of taps of a row of a window in a phase of the stride. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_words(const aboard_depthwise_conv2d_packed_t *p, int32_t phase) {
    return (aboard_depthwise_conv2d_packed_taps(p, phase) + 1) / 2;
}

/** Bytes from a result to the next of its phase. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_right(const aboard_depthwise_conv2d_packed_t *p) {
    return p->shape.dilation_w * p->shape.out.pixel_stride;
}

/** Words of a channel. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_packed_channel(const aboard_depthwise_conv2d_packed_t *p) {
    int32_t words = 0;
    for (int32_t phase = 0; phase < p->shape.stride_w; ++phase) {
        words += aboard_depthwise_conv2d_packed_words(p, phase);
    }
    return ABOARD_DSP_PACKED_HEAD(p->single_rounding) + p->shape.window_height * words;
}

/** The words after the sums in the head of a channel. */
typedef struct {
    int32_t offset; /**< Of the middle field. */
    int32_t factor;
    int32_t constant;
    uint32_t shift; /**< For double rounding. */
} aboard_dsp_packed_channel_t;

/** One result. */
ABOARD_INLINE int8_t aboard_depthwise_conv2d_packed_result(const aboard_depthwise_conv2d_packed_t *p, int32_t acc,
                                                           const aboard_dsp_packed_channel_t *c) {
    const int8_t y = aboard_dsp_result(acc, c->factor, c->constant, c->shift, p->single_rounding != 0);
    return p->clamped ? (int8_t)ABOARD_MIN(ABOARD_MAX(y, p->low), p->high) : y;
}

/** Largest offset of a load. */
#define ABOARD_DSP_PACKED_REACH 4095

/** True if offsets of loads reach all pixels of a window from its first row. */
ABOARD_INLINE bool aboard_depthwise_conv2d_packed_near(const aboard_depthwise_conv2d_packed_t *p) {
    const int32_t rows = (p->shape.window_height - 1) * p->shape.dilation_h + 1;
    return rows * aboard_depthwise_conv2d_packed_pitch(p) * (int32_t)sizeof(int32_t) <= ABOARD_DSP_PACKED_REACH;
}

/** Sums of `count` windows, a literal; `half` is true where only the part on the left is needed, of each second tap. */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_sums(const aboard_depthwise_conv2d_packed_t *p, const int32_t *x,
                                                       const int32_t *w, aboard_dsp_packed_sum_t *sums, int32_t count,
                                                       bool half) {
    const aboard_dsp_packed_sum_t start = {(uint32_t)w[0], (uint32_t)w[1]};
    ABOARD_UNROLL(3)
    for (int32_t j = 0; j < count; ++j) {
        sums[j] = start;
    }
    w += ABOARD_DSP_PACKED_HEAD(p->single_rounding);
    const int32_t down = p->shape.dilation_h * aboard_depthwise_conv2d_packed_pitch(p);
    ABOARD_UNROLL(8)
    for (int32_t ky = 0; ky < p->shape.window_height; ++ky) {
        if (!aboard_depthwise_conv2d_packed_near(p)) {
            /* An address for each row, where an address for each word would take registers of sums. */
            ABOARD_OPAQUE(x);
        }
        ABOARD_UNROLL(2)
        for (int32_t phase = 0; phase < p->shape.stride_w; ++phase) {
            const int32_t words = aboard_depthwise_conv2d_packed_words(p, phase);
            const int32_t needed = half ? aboard_depthwise_conv2d_packed_taps(p, phase) / 2 : words;
            aboard_dsp_packed_row(sums, x + phase * p->pairs * ABOARD_DSP_PACKED_CHANNELS, w, count, needed);
            w += words;
        }
        x += down;
    }
}

/**
 * Results of a block.
 *
 * @param p     Parameters.
 * @param job   The row; it moves to the next block.
 * @param part  Part of the result before the block from the block before; then that of the next block.
 * @param count Sums, a literal.
 * @param done  Results before the block.
 * @param last  True for the last block: some sums may have no result.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_block(const aboard_depthwise_conv2d_packed_t *p,
                                                        aboard_dsp_packed_job_t *job, int32_t *part, int32_t count,
                                                        int32_t done, bool last) {
    const bool single = p->single_rounding != 0;
    const int32_t right = aboard_depthwise_conv2d_packed_right(p);
    aboard_dsp_packed_sum_t sums[ABOARD_DSP_PACKED_SUMS];
    /* Their addresses would take registers of sums. */
    ABOARD_OPAQUE(job->x);
    ABOARD_OPAQUE(job->w);
    const bool half = last && count == 1 && p->shape.out.cols % (2 * p->shape.dilation_w) == 0;
    aboard_depthwise_conv2d_packed_sums(p, job->x, job->w, sums, count, half);
    aboard_dsp_packed_channel_t c = {job->w[2], job->w[3], job->w[4], single ? 0 : (uint32_t)job->w[5]};
    /* Loaded once, not for each result. */
    ABOARD_OPAQUE(c.factor);
    ABOARD_OPAQUE(c.constant);
    ABOARD_UNROLL(3)
    for (int32_t j = 0; j < count; ++j) {
        const int32_t col = done + 2 * j;
        if ((j > 0 || done > 0) && (!last || col <= job->cols)) {
            const int32_t acc = *part + aboard_dsp_packed_left(&sums[j]);
            job->y[(2 * j - 1) * right] = aboard_depthwise_conv2d_packed_result(p, acc, &c);
        }
        if (!last || col < job->cols) {
            const int32_t acc = aboard_dsp_packed_middle(&sums[j]) - c.offset;
            job->y[2 * j * right] = aboard_depthwise_conv2d_packed_result(p, acc, &c);
        }
        *part = aboard_dsp_packed_right(&sums[j]);
    }
    job->x += count * ABOARD_DSP_PACKED_CHANNELS;
    job->y += 2 * count * right;
}

/** The results of a row. */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_row(const aboard_depthwise_conv2d_packed_t *p,
                                                      aboard_dsp_packed_job_t *job) {
    int32_t part = 0;
    int32_t done = 0;
    if (p->apart) {
        /* The only block with a result less: its loop keeps fewer values on the stack without it. */
        aboard_depthwise_conv2d_packed_block(p, job, &part, p->sums, done, false);
        done += 2 * p->sums;
    }
    for (int32_t block = p->apart; block < p->blocks; ++block) {
        aboard_depthwise_conv2d_packed_block(p, job, &part, p->sums, done, false);
        done += 2 * p->sums;
    }
    aboard_depthwise_conv2d_packed_block(p, job, &part, p->rest, done, true);
}

/** The results of one channel of a strip: `x` are its words, `y` is its first result. */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_rows(const aboard_depthwise_conv2d_packed_t *p, const int32_t *x,
                                                       const int32_t *w, int8_t *y, int32_t rows) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    for (int32_t row = 0; row < rows; ++row) {
        /* Numbers of results and addresses become literals. */
        ABOARD_UNROLL(2)
        for (int32_t phase = 0; phase < s->dilation_w; ++phase) {
            /* A literal where all phases have as many results. */
            const bool equal = s->out.cols % s->dilation_w == 0;
            const int32_t cols = (s->out.cols + (equal ? 0 : s->dilation_w - 1 - phase)) / s->dilation_w;
            aboard_dsp_packed_job_t job = {x + phase * p->pairs * ABOARD_DSP_PACKED_CHANNELS, w,
                                           y + phase * s->out.pixel_stride, cols};
            aboard_depthwise_conv2d_packed_row(p, &job);
        }
        x += s->stride_h * aboard_depthwise_conv2d_packed_pitch(p);
        y += s->out.row_stride;
    }
}

/** Copies four channels of `count` rows of an image, from row `top`, which may be outside; `in` is the first channel.
 * Words of padding are left as they are. */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_fill(const aboard_depthwise_conv2d_packed_t *p, const int8_t *in,
                                                       int32_t image, int32_t top, int32_t count, int32_t *to) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t phases = aboard_depthwise_conv2d_packed_phases(p);
    const int32_t pitch = aboard_depthwise_conv2d_packed_pitch(p);
    const int32_t begin = ABOARD_MAX(-top, 0);
    const int32_t end = ABOARD_MIN(s->in_height - top, count);
    for (int32_t row = begin; row < end; ++row) {
        const int8_t *const from = aboard_row_s8(&s->in, in, image + top + row);
        ABOARD_UNROLL(2)
        for (int32_t phase = 0; phase < phases; ++phase) {
            const aboard_dsp_packed_pixels_t pixels = {
                phase - s->pad_left, phases, s->in.cols, s->in.pixel_stride, s->in.channels, p->zero_point, p->pairs,
            };
            aboard_dsp_packed_fill(&pixels, from, to + row * pitch + phase * p->pairs * ABOARD_DSP_PACKED_CHANNELS);
        }
    }
}

/**
 * Computes contiguous rows of the result of one image.
 *
 * @param p       Parameters.
 * @param in      Input.
 * @param image   First row of the image in the input's view.
 * @param top     First row of the receptive field, relative to the image; may be outside.
 * @param y       First row of the result.
 * @param rows    Rows of the result, at most a strip.
 * @param weights Words of all channels.
 * @param pixels  Scratch.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_packed_strip(const aboard_depthwise_conv2d_packed_t *p, const int8_t *in,
                                                        int32_t image, int32_t top, int8_t *y, int32_t rows,
                                                        const uint32_t *weights, int32_t *pixels) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->in.channels;
    const int32_t span = (rows - 1) * s->stride_h + aboard_depthwise_conv2d_extent(s);
    const int32_t words = aboard_depthwise_conv2d_packed_channel(p);
    const int32_t *w = (const int32_t *)weights;
    /* Padding is the same for all channels. */
    aboard_dsp_packed_clear(pixels, span * aboard_depthwise_conv2d_packed_pitch(p));
    for (int32_t channel = 0; channel < channels; channel += ABOARD_DSP_PACKED_CHANNELS) {
        /* The last four channels may contain some that are computed already. */
        const int32_t most = ABOARD_MAX(channels - ABOARD_DSP_PACKED_CHANNELS, 0);
        const int32_t base = ABOARD_MIN(channel, most);
        const int32_t end = ABOARD_MIN(channels - base, ABOARD_DSP_PACKED_CHANNELS);
        aboard_depthwise_conv2d_packed_fill(p, in + base, image, top, span, pixels);
        for (int32_t i = channel - base; i < end; ++i) {
            aboard_depthwise_conv2d_packed_rows(p, pixels + i, w, y + base + i, rows);
            w += words;
        }
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each channel ABOARD_DSP_PACKED_HEAD words, then for each row of the window and phase of the
 * stride its words of taps.
 * @param pixels      Scratch of four channels of the input rows of a strip.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_packed(const aboard_depthwise_conv2d_packed_t *p, const int8_t *in,
                                                  int8_t *out, const uint32_t *weights, int32_t *pixels, int32_t first,
                                                  int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    int32_t r = first;
    while (r < last) {
        const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
        const int32_t y = r - image * s->out_height;
        const int32_t left = ABOARD_MIN(ABOARD_MIN(last - r, p->strip), s->out_height - y);
        const int32_t rows = aboard_rows_together(&s->out, r, left);
        int8_t *const to = aboard_row_out_s8(&s->out, out, r);
        aboard_depthwise_conv2d_packed_strip(p, in, image * s->in_height, y * s->stride_h - s->pad_top, to, rows,
                                             weights, pixels);
        r += rows;
    }
}

#endif
