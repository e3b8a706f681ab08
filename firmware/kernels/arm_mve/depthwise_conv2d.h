/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_conv2d.h
 * int8 depthwise convolution with Helium: sixteen channels of a pixel at once.
 *
 * Products of int8 are computed eight at a time in 16 bits. The host says how many taps can be added up there before
 * the sum could overflow; then it is widened and added to 32-bit sums.
 *
 * Input rows are first copied into a ring, as many as a window is high, with padding around. There each block of
 * sixteen channels lies by itself, so that neighbouring pixels are sixteen bytes apart. Where a pixel has only two,
 * four or eight channels, a vector holds neighbouring pixels instead.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_H

#include <arm_mve.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "band.h"
#include "finish.h"

/** Channels of a block: lanes of a vector. */
#define ABOARD_DEPTHWISE_MVE_BLOCK 16

/** Highest window. */
#define ABOARD_DEPTHWISE_MVE_ROWS 16

/** Parameters of aboard_depthwise_conv2d_mve. */
typedef struct {
    aboard_view_t in;      /**< Any view. */
    aboard_view_t out;     /**< Any view; without gaps between pixels where a vector holds several. */
    int32_t in_height;     /**< Rows of an image; the view counts those of all images of the batch. */
    int32_t out_height;    /**< Likewise. */
    int32_t window_height; /**< At most ABOARD_DEPTHWISE_MVE_ROWS. */
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w; /**< 1 where a vector holds several pixels. */
    int32_t pad_top;
    int32_t pad_left;
    int32_t cols;       /**< Pixels of a row of the ring. */
    int32_t pixel;      /**< Bytes of a pixel in the ring: 16; the channels where a vector holds several pixels. */
    int32_t group;      /**< Taps that may be added up in 16 bits. */
    int32_t zero_point; /**< Of the input: what padding holds. */
    aboard_mve_finish_t finish;
} aboard_depthwise_conv2d_mve_t;

/** Bytes of a row of the ring, of one block. A vector of several pixels may reach beyond the last. */
ABOARD_INLINE int32_t aboard_depthwise_mve_row_bytes(const aboard_depthwise_conv2d_mve_t *p) {
    return p->cols * p->pixel + ABOARD_DEPTHWISE_MVE_BLOCK - p->pixel;
}

/** Writes `pixels` pixels of padding. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pad(const aboard_depthwise_conv2d_mve_t *p, int8_t *to, int32_t pixels) {
    if (p->pixel == ABOARD_DEPTHWISE_MVE_BLOCK) {
        const int8x16_t padding = vdupq_n_s8((int8_t)p->zero_point);
        for (int32_t x = 0; x < pixels; ++x) {
            vstrbq_s8(to, padding);
            to += ABOARD_DEPTHWISE_MVE_BLOCK;
        }
        return to;
    }
    aboard_mve_fill(to, p->zero_point, pixels * p->pixel);
    return to + pixels * p->pixel;
}

/** Copies pixels of a block of channels; `some` says which there are. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pixels(const aboard_depthwise_conv2d_mve_t *p, int8_t *to,
                                                  const int8_t *from, int32_t pixels, mve_pred16_t some) {
    if (p->in.pixel_stride == p->pixel) {
        aboard_mve_copy(to, from, pixels * p->pixel);
        return to + pixels * p->pixel;
    }
    const int32_t full = p->pixel == ABOARD_DEPTHWISE_MVE_BLOCK && p->in.channels % ABOARD_DEPTHWISE_MVE_BLOCK == 0;
    for (int32_t x = 0; x < pixels; ++x) {
        if (full) {
            vstrbq_s8(to, vldrbq_s8(from));
        } else {
            vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
        }
        to += p->pixel;
        from += p->in.pixel_stride;
    }
    return to;
}

/** Copies input row `y` of an image, or padding, into a row of the ring: channels from `channel` on. */
ABOARD_INLINE void aboard_depthwise_mve_stage(const aboard_depthwise_conv2d_mve_t *p, const int8_t *in, int32_t image,
                                              int32_t y, int32_t channel, int8_t *to) {
    if (y < 0 || y >= p->in_height) {
        aboard_depthwise_mve_pad(p, to, p->cols);
        return;
    }
    const int32_t pixels = ABOARD_MIN(p->in.cols, p->cols - p->pad_left);
    const int8_t *from = aboard_row_s8(&p->in, in, image * p->in_height + y) + channel;
    const mve_pred16_t some = vctp8q((uint32_t)ABOARD_MIN(p->in.channels - channel, p->pixel));
    to = aboard_depthwise_mve_pad(p, to, p->pad_left);
    to = aboard_depthwise_mve_pixels(p, to, from, pixels, some);
    aboard_depthwise_mve_pad(p, to, p->cols - p->pad_left - pixels);
}

/** 32-bit sums of sixteen channels: 0, 4, 8, 12, and so on from 2, from 1 and from 3. */
typedef struct {
    int32x4_t from0;
    int32x4_t from2;
    int32x4_t from1;
    int32x4_t from3;
} aboard_depthwise_mve_sums_t;

/** 16-bit sums of sixteen channels. */
typedef struct {
    int16x8_t even;
    int16x8_t odd;
} aboard_depthwise_mve_group_t;

/*
 * The following are assembler because they need all eight vector registers: compilers load everything at once and then
 * have nowhere to put it.
 */

/** Products of the first tap of a group: pixels at `x + offset`, weights at `w`, which moves on. */
ABOARD_INLINE aboard_depthwise_mve_group_t aboard_depthwise_mve_first(const int8_t *x, int32_t offset,
                                                                      const int8_t **w) {
    aboard_depthwise_mve_group_t g;
    int8x16_t weights;
    __asm__ volatile("vldrb.8 %q[odd], [%[x], %[offset]]\n\t"
                     "vldrb.8 %q[weights], [%[w]], #16\n\t"
                     "vmullb.s8 %q[even], %q[odd], %q[weights]\n\t"
                     "vmullt.s8 %q[odd], %q[odd], %q[weights]"
                     : [even] "=&w"(g.even), [odd] "=&w"(g.odd), [weights] "=&w"(weights), [w] "+r"(*w)
                     : [x] "r"(x), [offset] "i"(offset)
                     : "memory");
    return g;
}

/** Adds the products of a further tap. Pixels are loaded twice, as there is no register for both products. */
ABOARD_INLINE void aboard_depthwise_mve_next(aboard_depthwise_mve_group_t *g, const int8_t *x, int32_t offset,
                                             const int8_t **w) {
    int8x16_t pixels;
    int8x16_t weights;
    __asm__ volatile(
        "vldrb.8 %q[pixels], [%[x], %[offset]]\n\t"
        "vldrb.8 %q[weights], [%[w]], #16\n\t"
        "vmullb.s8 %q[pixels], %q[pixels], %q[weights]\n\t"
        "vadd.i16 %q[even], %q[even], %q[pixels]\n\t"
        "vldrb.8 %q[pixels], [%[x], %[offset]]\n\t"
        "vmullt.s8 %q[pixels], %q[pixels], %q[weights]\n\t"
        "vadd.i16 %q[odd], %q[odd], %q[pixels]"
        : [even] "+&w"(g->even), [odd] "+&w"(g->odd), [pixels] "=&w"(pixels), [weights] "=&w"(weights), [w] "+r"(*w)
        : [x] "r"(x), [offset] "i"(offset)
        : "memory");
}

/** Adds the sums of a group. */
ABOARD_INLINE void aboard_depthwise_mve_widen(aboard_depthwise_mve_sums_t *s, aboard_depthwise_mve_group_t g) {
    int32x4_t wide;
    __asm__ volatile("vmovlb.s16 %q[wide], %q[even]\n\t"
                     "vadd.i32 %q[from0], %q[from0], %q[wide]\n\t"
                     "vmovlt.s16 %q[even], %q[even]\n\t"
                     "vadd.i32 %q[from2], %q[from2], %q[even]\n\t"
                     "vmovlb.s16 %q[wide], %q[odd]\n\t"
                     "vadd.i32 %q[from1], %q[from1], %q[wide]\n\t"
                     "vmovlt.s16 %q[odd], %q[odd]\n\t"
                     "vadd.i32 %q[from3], %q[from3], %q[odd]"
                     : [from0] "+&w"(s->from0), [from2] "+&w"(s->from2), [from1] "+&w"(s->from1),
                       [from3] "+&w"(s->from3), [even] "+&w"(g.even), [odd] "+&w"(g.odd), [wide] "=&w"(wide));
}

/** Scaled sums of four channels from their sums of products, bias included. */
ABOARD_INLINE int32x4_t aboard_depthwise_mve_scaled(const aboard_depthwise_conv2d_mve_t *p, int32x4_t sums,
                                                    const int32_t *constants, int32_t part) {
    const int32_t vectors = aboard_mve_finish_words(&p->finish) / 4;
    const int32_t first = part * vectors;
    aboard_mve_constants_t c;
    if (p->finish.form == ABOARD_MVE_ANY) {
        c.left = aboard_mve_constant(constants, first + 1);
    }
    c.multiplier = aboard_mve_constant(constants, first + vectors - 2);
    c.right = aboard_mve_constant(constants, first + vectors - 1);
    return aboard_mve_scaled(&p->finish, sums, &c);
}

/**
 * Computes sixteen results.
 *
 * @param rows      Rows of a window, each at the first pixel the window sees.
 * @param at        Bytes from there.
 * @param weights   [taps][16].
 * @param constants Of channels 0, 4, 8, 12, then from 2, from 1 and from 3.
 */
ABOARD_INLINE int8x16_t aboard_depthwise_mve_vector(const aboard_depthwise_conv2d_mve_t *p, const int8_t *const *rows,
                                                    int32_t at, const int8_t *weights, const int32_t *constants) {
    const int32_t vectors = aboard_mve_finish_words(&p->finish) / 4;
    const int32_t taps = p->window_height * p->window_width;
    aboard_depthwise_mve_sums_t s;
    s.from0 = aboard_mve_constant(constants, 0);
    s.from2 = aboard_mve_constant(constants, vectors);
    s.from1 = aboard_mve_constant(constants, 2 * vectors);
    s.from3 = aboard_mve_constant(constants, 3 * vectors);
    ABOARD_UNROLL(256)
    for (int32_t first = 0; first < taps; first += p->group) {
        const int32_t column = first % p->window_width;
        aboard_depthwise_mve_group_t g =
            aboard_depthwise_mve_first(rows[first / p->window_width] + at, column * p->pixel, &weights);
        ABOARD_UNROLL(256)
        for (int32_t tap = first + 1; tap < ABOARD_MIN(first + p->group, taps); ++tap) {
            aboard_depthwise_mve_next(&g, rows[tap / p->window_width] + at, tap % p->window_width * p->pixel, &weights);
        }
        aboard_depthwise_mve_widen(&s, g);
    }
    s.from0 = aboard_depthwise_mve_scaled(p, s.from0, constants, 0);
    s.from2 = aboard_depthwise_mve_scaled(p, s.from2, constants, 1);
    s.from1 = aboard_depthwise_mve_scaled(p, s.from1, constants, 2);
    s.from3 = aboard_depthwise_mve_scaled(p, s.from3, constants, 3);
    return aboard_mve_finish_sixteen(&p->finish, s.from0, s.from2, s.from1, s.from3);
}

/** Computes a block of channels for a row of results; `y` points at its first channel in the first pixel. */
ABOARD_INLINE void aboard_depthwise_mve_row(const aboard_depthwise_conv2d_mve_t *p, const int8_t *const *rows,
                                            const int8_t *weights, const int32_t *constants, int32_t channels,
                                            int8_t *y) {
    const int32_t pixels = ABOARD_DEPTHWISE_MVE_BLOCK / p->pixel;
    const mve_pred16_t some = vctp8q((uint32_t)channels);
    int32_t left = p->out.cols;
    int32_t at = 0;
    for (; left >= pixels; left -= pixels) {
        const int8x16_t results = aboard_depthwise_mve_vector(p, rows, at, weights, constants);
        if (pixels > 1 || p->out.channels % ABOARD_DEPTHWISE_MVE_BLOCK == 0) {
            vstrbq_s8(y, results);
        } else {
            vstrbq_p_s8(y, results, some);
        }
        at += pixels * p->stride_w * p->pixel;
        y += pixels * p->out.pixel_stride;
    }
    if (left > 0) {
        const int8x16_t results = aboard_depthwise_mve_vector(p, rows, at, weights, constants);
        vstrbq_p_s8(y, results, vctp8q((uint32_t)(left * p->pixel)));
    }
}

/**
 * int8 depthwise convolution with as many output as input channels, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, rings of rows included.
 * @param weights     [blocks of 16 channels][taps][16], filled up with zeros.
 * @param constants   [blocks][4][kinds][4], see aboard_depthwise_mve_vector.
 * @param ring        Scratch: [blocks][window height][a row of the ring]; keeps its content from call to call.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_mve(const aboard_depthwise_conv2d_mve_t *p, const int8_t *in, int8_t *out,
                                               const int8_t *weights, const int32_t *constants, int8_t *ring,
                                               int32_t first, int32_t last) {
    const int32_t row_bytes = aboard_depthwise_mve_row_bytes(p);
    const int32_t height = p->window_height;
    const int32_t kept = ABOARD_MAX(height - p->stride_h, 0);
    for (int32_t row = first; row < last; ++row) {
        const int32_t image = p->in.rows == p->in_height ? 0 : row / p->out_height;
        const int32_t line = row - image * p->out_height;
        const int32_t top = line * p->stride_h;
        const int8_t *w = weights;
        const int32_t *c = constants;
        int8_t *slots = ring;
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        ABOARD_OPAQUE(c);
        ABOARD_UNROLL(1)
        for (int32_t channel = 0; channel < p->in.channels; channel += ABOARD_DEPTHWISE_MVE_BLOCK) {
            const int8_t *rows[ABOARD_DEPTHWISE_MVE_ROWS];
            int32_t slot = top % height;
            ABOARD_UNROLL(16)
            for (int32_t i = 0; i < height; ++i) {
                if (line == 0 || i >= kept) {
                    aboard_depthwise_mve_stage(p, in, image, top + i - p->pad_top, channel, slots + slot * row_bytes);
                }
                rows[i] = slots + slot * row_bytes;
                slot = slot + 1 == height ? 0 : slot + 1;
            }
            aboard_depthwise_mve_row(p, rows, w, c, p->in.channels - channel, y + channel);
            w += ABOARD_DEPTHWISE_MVE_BLOCK * height * p->window_width;
            c += 4 * aboard_mve_finish_words(&p->finish);
            slots += height * row_bytes;
        }
    }
}

#endif
