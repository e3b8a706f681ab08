/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d.h
 * int8 convolution with the DSP extension: the windows of two pixels are copied as halfwords, then all channels of both
 * are computed.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_windows.h"
#include "dot.h"
#include "dot_blocks.h"
#include "dot_wide.h"

/** Channels that a pass computes. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_channels(const aboard_conv2d_dsp_t *p) {
    return p->shape.out.channels / p->shape.groups / p->passes;
}

/** Words of a block of two channels. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_block(const aboard_conv2d_dsp_t *p) {
    const int32_t words = aboard_conv2d_dsp_taps(&p->shape) / ABOARD_DSP_TAP_GROUP * (p->wide ? 4 : 2);
    return words + (p->single_rounding ? ABOARD_DSP_SINGLE_WORDS : ABOARD_DSP_DOUBLE_WORDS);
}

/** Address of result pixel (row, col); advances (row, col) by one pixel. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_next(const aboard_conv2d_shape_t *s, int8_t *out, int32_t *row, int32_t *col) {
    int8_t *const y = aboard_row_out_s8(&s->out, out, *row) + *col * s->out.pixel_stride;
    if (++*col == s->out.cols) {
        *col = 0;
        ++*row;
    }
    return y;
}

/** The job of a pass, of two or of four channels at once. */
typedef union {
    aboard_dsp_pair_t two;
    aboard_dsp_block_t four;
} aboard_conv2d_dsp_job_t;

/** The job of a pass with `block` channels at once, 2 or 4, a literal; `pairs` is where two windows are copied. */
ABOARD_INLINE aboard_conv2d_dsp_job_t aboard_conv2d_dsp_job(const aboard_conv2d_dsp_t *p, const uint32_t *weights,
                                                            const uint32_t *pairs, int32_t block) {
    const int32_t taps = aboard_conv2d_dsp_taps(&p->shape);
    aboard_conv2d_dsp_job_t job;
    if (block == ABOARD_DSP_BLOCK) {
        const int32_t channels = aboard_conv2d_dsp_channels(p);
        const int32_t rest = channels < ABOARD_DSP_BLOCK ? 0 : channels % ABOARD_DSP_BLOCK;
        job.four = (aboard_dsp_block_t){NULL,         0,    NULL, ABOARD_DSP_BLOCK_LEFT_OUT(taps), pairs, weights,
                                        pairs + taps, NULL, rest};
    } else {
        const int32_t tap_groups = taps / ABOARD_DSP_TAP_GROUP;
        job.two = (aboard_dsp_pair_t){NULL, NULL, NULL, pairs, pairs + taps, {0, 0, 0}, weights, tap_groups};
    }
    return job;
}

/** Results of the channels of a job of four channels at once. */
ABOARD_INLINE void aboard_conv2d_dsp_four(const aboard_conv2d_dsp_t *p, const aboard_dsp_block_t *job) {
    if (p->single_rounding) {
        aboard_dsp_block_single(job);
    } else {
        aboard_dsp_block_double(job);
    }
}

/** Results of the channels of a job of two channels at once. */
ABOARD_INLINE void aboard_conv2d_dsp_two_channels(const aboard_conv2d_dsp_t *p, aboard_dsp_pair_t *job) {
    if (p->wide) {
        aboard_dsp_pair_wide(job, p->wide);
    } else if (p->single_rounding) {
        aboard_dsp_pair_single(job);
    } else {
        aboard_dsp_pair_double(job);
    }
}

/** The last channel of a pass with an odd number: a block of two of which one result is used. */
typedef struct {
    aboard_dsp_pair_t job;
    int8_t results[2][2]; /**< Of both pixels. */
} aboard_conv2d_dsp_last_t;

/** The last channel, for all pixels of a pass, if it is not computed with others. */
ABOARD_INLINE aboard_conv2d_dsp_last_t aboard_conv2d_dsp_last(const aboard_conv2d_dsp_t *p,
                                                              const aboard_conv2d_dsp_job_t *job, int32_t block) {
    aboard_conv2d_dsp_last_t last = {0};
    if (block != ABOARD_DSP_BLOCK) {
        last.job = job->two;
        last.job.weights += aboard_conv2d_dsp_channels(p) / 2 * aboard_conv2d_dsp_block(p);
    }
    return last;
}

/** Results of all channels of a pass by two channels at once. */
ABOARD_INLINE void aboard_conv2d_dsp_pairs(const aboard_conv2d_dsp_t *p, aboard_dsp_pair_t *job,
                                           aboard_conv2d_dsp_last_t *last, int8_t *const *y) {
    const int32_t channels = aboard_conv2d_dsp_channels(p);
    const int32_t even = channels / 2 * 2;
    if (even > 0) {
        job->y0 = y[0];
        job->y1 = y[1];
        job->end = y[0] + even;
        aboard_conv2d_dsp_two_channels(p, job);
    }
    if (even < channels) {
        last->job.y0 = last->results[0];
        last->job.y1 = last->results[1];
        last->job.end = last->results[0] + 2;
        aboard_conv2d_dsp_two_channels(p, &last->job);
        y[1][even] = last->results[1][0];
        y[0][even] = last->results[0][0];
    }
}

/** Results of fewer channels than a block for two pixels: those of a block, of which the first are copied. */
ABOARD_INLINE void aboard_conv2d_dsp_part(const aboard_conv2d_dsp_t *p, aboard_dsp_block_t *job, int8_t *const *y) {
    int8_t results[2 * ABOARD_DSP_BLOCK];
    job->y0 = results;
    job->apart = ABOARD_DSP_BLOCK;
    job->end = results + ABOARD_DSP_BLOCK;
    aboard_conv2d_dsp_four(p, job);
    memcpy(y[1], results + ABOARD_DSP_BLOCK, (size_t)aboard_conv2d_dsp_channels(p));
    memcpy(y[0], results, (size_t)aboard_conv2d_dsp_channels(p));
}

/** Results of all channels of a pass for two pixels, from their copied windows. */
ABOARD_INLINE void aboard_conv2d_dsp_epilogue(const aboard_conv2d_dsp_t *p, aboard_conv2d_dsp_job_t *job,
                                              aboard_conv2d_dsp_last_t *last_channel, int8_t *const *y, int32_t block) {
    const int32_t channels = aboard_conv2d_dsp_channels(p);
    if (block == ABOARD_DSP_BLOCK && channels < ABOARD_DSP_BLOCK) {
        aboard_conv2d_dsp_part(p, &job->four, y);
    } else if (block == ABOARD_DSP_BLOCK) {
        job->four.y0 = y[0];
        job->four.apart = (int32_t)(y[1] - y[0]);
        job->four.end = y[0] + channels - job->four.rest;
        aboard_conv2d_dsp_four(p, &job->four);
    } else {
        aboard_conv2d_dsp_pairs(p, &job->two, last_channel, y);
    }
    if (p->clamped) {
        aboard_dsp_clamp(y[0], channels, p->low, p->high);
        aboard_dsp_clamp(y[1], channels, p->low, p->high);
    }
}

/** Finds two pixels from (row, col) on, and advances (row, col) past them; a single last pixel takes both places. */
ABOARD_INLINE void aboard_conv2d_dsp_two(const aboard_conv2d_shape_t *s, int8_t *out, int32_t *row, int32_t *col,
                                         int32_t last, aboard_conv2d_window_t *windows, int8_t **y) {
    windows[0] = windows[1] = aboard_conv2d_window(s, *row, *col);
    y[0] = y[1] = aboard_conv2d_dsp_next(s, out, row, col);
    if (*col != 0) {
        windows[1].left += s->stride_w;
        y[1] += s->out.pixel_stride;
        if (++*col == s->out.cols) {
            *col = 0;
            ++*row;
        }
    } else if (*row < last) {
        windows[1] = aboard_conv2d_window(s, *row, *col);
        y[1] = aboard_conv2d_dsp_next(s, out, row, col);
    }
}

/** Rows [first, last) of one pass; a last single pixel is computed twice. */
ABOARD_INLINE void aboard_conv2d_dsp_group(const aboard_conv2d_dsp_t *p, const int8_t *x, int8_t *out,
                                           const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                           int32_t last, int32_t block) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t taps = aboard_conv2d_dsp_taps(s);
    aboard_conv2d_dsp_job_t job = aboard_conv2d_dsp_job(p, weights, pairs, block);
    aboard_conv2d_dsp_last_t last_channel = aboard_conv2d_dsp_last(p, &job, block);
    int32_t row = first;
    int32_t col = 0;
    while (row < last) {
        aboard_conv2d_window_t windows[2];
        int8_t *y[2];
        aboard_conv2d_dsp_two(s, out, &row, &col, last, windows, y);
        if (aboard_conv2d_dsp_whole(p)) {
            aboard_conv2d_dsp_im2col(p, x, windows, pairs, bytes);
        } else {
            const aboard_conv2d_lines_t lines[2] = {
                aboard_conv2d_dsp_lines(p, x, &windows[0], bytes),
                aboard_conv2d_dsp_lines(p, x, &windows[1], bytes + taps),
            };
            aboard_conv2d_dsp_im2col_lines(p, lines, pairs);
        }
        aboard_conv2d_dsp_epilogue(p, &job, &last_channel, y, block);
    }
}

/** True if a pass has whole blocks of four channels, which are computed for many pixels in one call. */
ABOARD_INLINE bool aboard_conv2d_dsp_in_blocks(const aboard_conv2d_dsp_t *p, int32_t block) {
    return block == ABOARD_DSP_BLOCK && aboard_conv2d_dsp_channels(p) >= ABOARD_DSP_BLOCK;
}

/** True if windows are single pixels at the positions of the result pixels, and are read where they lie. */
ABOARD_INLINE bool aboard_conv2d_dsp_flat(const aboard_conv2d_dsp_t *p, int32_t block) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const bool ragged = s->in.channels / s->groups % ABOARD_DSP_TAP_GROUP != 0;
    return s->window_height == 1 && s->window_width == 1 && s->stride_h == 1 && s->stride_w == 1 && s->pad_top == 0 &&
           s->pad_left == 0 && s->out.cols == s->in.cols && s->out.rows == s->in.rows &&
           (aboard_conv2d_dsp_whole(p) || (ragged && aboard_conv2d_dsp_in_blocks(p, block)));
}

/** Results of all channels of a pass for `count` pixels `from_stride` bytes apart, four channels at once. */
ABOARD_INLINE void aboard_conv2d_dsp_some_pixels(const aboard_conv2d_dsp_t *p, const int8_t *x, int32_t from_stride,
                                                 int32_t count, int8_t *y, uint32_t *pairs, aboard_dsp_block_t *job) {
    const int32_t to_stride = p->shape.out.pixel_stride;
    const int32_t channels = aboard_conv2d_dsp_channels(p);
    aboard_dsp_block_pixels_t pixels = {
        x,         x + count * from_stride, from_stride, y,
        to_stride, channels - job->rest,    pairs,       aboard_conv2d_dsp_taps(&p->shape),
    };
    job->pixels = &pixels;
    aboard_conv2d_dsp_four(p, job);
    for (int32_t i = 0; p->clamped && i < count; ++i) {
        aboard_dsp_clamp(y + i * to_stride, channels, p->low, p->high);
    }
}

/** Results of all channels of a pass for a row of `count` pixels, four channels at once. The last bytes of a pixel are
 * read as a word; the last one or two pixels, whose words may reach beyond the input, are copied to `bytes`. */
ABOARD_INLINE void aboard_conv2d_dsp_all_pixels(const aboard_conv2d_dsp_t *p, const int8_t *x, int32_t count, int8_t *y,
                                                uint32_t *pairs, int8_t *bytes, aboard_dsp_block_t *job) {
    const int32_t stride = p->shape.in.pixel_stride;
    const int32_t depth = p->shape.in.channels / p->shape.groups;
    const int32_t taps = aboard_conv2d_dsp_taps(&p->shape);
    const int32_t direct = taps == depth ? count : (count - 1) / 2 * 2;
    if (direct > 0) {
        aboard_conv2d_dsp_some_pixels(p, x, stride, direct, y, pairs, job);
    }
    if (direct < count) {
        for (int32_t i = 0; i < count - direct; ++i) {
            memcpy(bytes + i * taps, x + (direct + i) * stride, (size_t)depth);
        }
        y += direct * p->shape.out.pixel_stride;
        aboard_conv2d_dsp_some_pixels(p, bytes, taps, count - direct, y, pairs, job);
    }
}

/** Like aboard_conv2d_dsp_group, if aboard_conv2d_dsp_flat is true: rows without gaps are one long row. */
ABOARD_INLINE void aboard_conv2d_dsp_pixels(const aboard_conv2d_dsp_t *p, const int8_t *x, int8_t *out,
                                            const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                            int32_t last, int32_t block) {
    const aboard_view_t *in = &p->shape.in;
    const aboard_view_t *to = &p->shape.out;
    const int32_t taps = in->channels / p->shape.groups;
    const bool dense = in->row_stride == in->cols * in->pixel_stride && to->row_stride == to->cols * to->pixel_stride;
    aboard_conv2d_dsp_job_t job = aboard_conv2d_dsp_job(p, weights, pairs, block);
    aboard_conv2d_dsp_last_t last_channel = aboard_conv2d_dsp_last(p, &job, block);
    int32_t row = first;
    while (row < last) {
        const int32_t rows = aboard_rows_together(in, row, aboard_rows_together(to, row, dense ? last - row : 1));
        const int8_t *a = aboard_row_s8(in, x, row);
        int8_t *y[2] = {aboard_row_out_s8(to, out, row), NULL};
        if (aboard_conv2d_dsp_in_blocks(p, block)) {
            aboard_conv2d_dsp_all_pixels(p, a, rows * in->cols, y[0], pairs, bytes, &job.four);
            row += rows;
            continue;
        }
        for (int32_t left = rows * in->cols; left > 0; left -= 2) {
            /* A last single pixel is computed twice. */
            aboard_dsp_fill_pair(pairs, a, left > 1 ? a + in->pixel_stride : a, taps);
            y[1] = left > 1 ? y[0] + to->pixel_stride : y[0];
            aboard_conv2d_dsp_epilogue(p, &job, &last_channel, y, block);
            a += 2 * in->pixel_stride;
            y[0] += 2 * to->pixel_stride;
        }
        row += rows;
    }
}

/** aboard_conv2d_dsp with `block` channels at once, a literal. */
ABOARD_INLINE void aboard_conv2d_dsp_passes(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                            const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                            int32_t last, int32_t block) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = aboard_conv2d_dsp_channels(p);
    const bool padded = s->window_height * s->window_width > 1 || s->pad_top > 0 || s->pad_left > 0;
    if (aboard_conv2d_dsp_whole(p) && padded) {
        aboard_im2col_fill_shared(bytes, p->zero_point, depth);
    }
    for (int32_t pass = 0; pass < s->groups * p->passes; ++pass) {
        const int8_t *const x = in + pass / p->passes * depth;
        int8_t *const y = out + pass * channels;
        if (aboard_conv2d_dsp_flat(p, block)) {
            aboard_conv2d_dsp_pixels(p, x, y, weights, pairs, bytes, first, last, block);
        } else {
            aboard_conv2d_dsp_group(p, x, y, weights, pairs, bytes, first, last, block);
        }
        weights += (channels + block - 1) / block * (block / 2) * aboard_conv2d_dsp_block(p);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     Packed, see aboard_dsp_pair_t and aboard_dsp_pair_wide; one group after another.
 * @param pairs       Scratch of ABOARD_DSP_PAIR_WORDS words per tap group.
 * @param bytes       Scratch: a pixel of padding if pixels consist of whole tap groups, otherwise the windows of two
 * pixels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_dsp(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                     const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                     int32_t last) {
    aboard_conv2d_dsp_passes(p, in, out, weights, pairs, bytes, first, last, 2);
}

#endif
