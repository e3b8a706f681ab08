/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_block.h
 * The computation of depthwise_conv2d.h for a row of results of sixteen channels, whose input is in the line buffer.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_BLOCK_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_BLOCK_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "helium.h"

/** Channels of a block: lanes of a vector. */
#define ABOARD_DEPTHWISE_MVE_BLOCK 16

/** Largest height of a window. */
#define ABOARD_DEPTHWISE_MVE_ROWS 16

/** Parameters of aboard_depthwise_conv2d_mve. */
typedef struct {
    aboard_view_t in;      /**< Any view. */
    aboard_view_t out;     /**< Any view; without gaps between pixels if a vector contains several. */
    int32_t in_height;     /**< Rows of an image of the input; the view counts the rows of all images of the batch. */
    int32_t out_height;    /**< Rows of an image of the result. */
    int32_t window_height; /**< At most ABOARD_DEPTHWISE_MVE_ROWS. */
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w; /**< 1 if a vector contains several pixels. */
    int32_t pad_top;
    int32_t pad_left;
    int32_t cols;  /**< Pixels of a row of the line buffer. */
    int32_t pixel; /**< Bytes of a pixel in the line buffer: 16; the number of channels if a vector contains several
                      pixels. */
    int32_t group; /**< Number of taps whose products can be summed in 16 bits. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
    aboard_mve_epilogue_t epilogue;
} aboard_depthwise_conv2d_mve_t;

#if ABOARD_MVE_ASM

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
 * The following functions are assembly because they need all eight vector registers: compilers load all values first
 * and then have no free registers.
 */

/** Products of the first tap of a group: pixels at `x` and a literal; weights at `w`, which is advanced. */
ABOARD_INLINE aboard_depthwise_mve_group_t aboard_depthwise_mve_first_at(const int8_t *x, int32_t offset,
                                                                         const int8_t **w) {
    aboard_depthwise_mve_group_t g;
    int8x16_t weights;
    __asm__ volatile("vldrb.8 %q[odd], [%[x], %[offset]]\n\t"
                     "vldrb.8 %q[weights], [%[w]], #16\n\t"
                     "vmullb.s8 %q[even], %q[odd], %q[weights]\n\t"
                     "vmullt.s8 %q[odd], %q[odd], %q[weights]"
                     : [even] "=&w"(g.even), [odd] "=&w"(g.odd), [weights] "=&w"(weights), [w] "+&r"(*w)
                     : [x] "r"(x), [offset] "i"(offset)
                     : "memory");
    return g;
}

/** Adds the products of a further tap. Pixels are loaded twice, because no register is free for both products. */
ABOARD_INLINE void aboard_depthwise_mve_next_at(aboard_depthwise_mve_group_t *g, const int8_t *x, int32_t offset,
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
        : [even] "+&w"(g->even), [odd] "+&w"(g->odd), [pixels] "=&w"(pixels), [weights] "=&w"(weights), [w] "+&r"(*w)
        : [x] "r"(x), [offset] "i"(offset)
        : "memory");
}

/** Products of the first tap of a group: pixels at `x + offset`, which is a literal if loops over taps are unrolled. */
ABOARD_INLINE aboard_depthwise_mve_group_t aboard_depthwise_mve_first(const int8_t *x, int32_t offset,
                                                                      const int8_t **w) {
    if (__builtin_constant_p(offset)) {
        return aboard_depthwise_mve_first_at(x, offset, w);
    }
    return aboard_depthwise_mve_first_at(x + offset, 0, w);
}

/** The same for a further tap. */
ABOARD_INLINE void aboard_depthwise_mve_next(aboard_depthwise_mve_group_t *g, const int8_t *x, int32_t offset,
                                             const int8_t **w) {
    if (__builtin_constant_p(offset)) {
        aboard_depthwise_mve_next_at(g, x, offset, w);
    } else {
        aboard_depthwise_mve_next_at(g, x + offset, 0, w);
    }
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

/** Scaled sums of four channels from their sums of products, including the bias. */
ABOARD_INLINE int32x4_t aboard_depthwise_mve_scaled(const aboard_depthwise_conv2d_mve_t *p, int32x4_t sums,
                                                    const int32_t *constants, int32_t part) {
    const int32_t vectors = aboard_mve_epilogue_words(&p->epilogue) / 4;
    const int32_t first = part * vectors;
    aboard_mve_constants_t c;
    if (p->epilogue.form == ABOARD_MVE_ANY) {
        c.left = aboard_mve_constant(constants, first + 1);
    }
    c.multiplier = aboard_mve_constant(constants, first + vectors - 2);
    c.right = aboard_mve_constant(constants, first + vectors - 1);
    return aboard_mve_scaled(&p->epilogue, sums, &c);
}

/**
 * Computes sixteen results.
 *
 * @param rows      Rows of a window, each from the first pixel of the window.
 * @param at        Offset in bytes.
 * @param weights   [taps][16].
 * @param constants Of channels 0, 4, 8, 12, then from 2, from 1 and from 3.
 */
ABOARD_INLINE int8x16_t aboard_depthwise_mve_vector(const aboard_depthwise_conv2d_mve_t *p, const int8_t *const *rows,
                                                    int32_t at, const int8_t *weights, const int32_t *constants) {
    const int32_t vectors = aboard_mve_epilogue_words(&p->epilogue) / 4;
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
    return aboard_mve_epilogue_sixteen(&p->epilogue, s.from0, s.from2, s.from1, s.from3);
}

/** Computes a block of channels for a row of results; `y` is the address of its first channel in the first pixel. */
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

#else

/** Sum of products of a lane; `weights` are the weights of its first tap. */
ABOARD_INLINE int32_t aboard_depthwise_mve_sum(const aboard_depthwise_conv2d_mve_t *p, const int8_t *const *rows,
                                               int32_t at, const int8_t *weights) {
    int32_t sum = 0;
    for (int32_t y = 0; y < p->window_height; ++y) {
        for (int32_t x = 0; x < p->window_width; ++x) {
            sum += rows[y][at + x * p->pixel] * *weights;
            weights += ABOARD_DEPTHWISE_MVE_BLOCK;
        }
    }
    return sum;
}

/** Result of a lane from its sum: constants are those of lanes 0, 4, 8, 12, then from 2, from 1 and from 3. */
ABOARD_INLINE int8_t aboard_depthwise_mve_result(const aboard_depthwise_conv2d_mve_t *p, int32_t sum,
                                                 const int32_t *constants, int32_t lane) {
    const int32_t part = lane % 2 * 2 + lane / 2 % 2;
    const int32_t *const c = constants + part * aboard_mve_epilogue_words(&p->epilogue) + lane / 4;
    if (p->epilogue.form == ABOARD_MVE_ANY) {
        return aboard_mve_result(&p->epilogue, sum, c[0], c[4], c[8], c[12]);
    }
    return aboard_mve_result(&p->epilogue, sum, c[0], 0, c[4], c[8]);
}

/** Computes a block of channels for a row of results; `y` is the address of its first channel in the first pixel. */
ABOARD_INLINE void aboard_depthwise_mve_row(const aboard_depthwise_conv2d_mve_t *p, const int8_t *const *rows,
                                            const int8_t *weights, const int32_t *constants, int32_t channels,
                                            int8_t *y) {
    const int32_t count = ABOARD_MIN(channels, p->pixel);
    for (int32_t x = 0; x < p->out.cols; ++x) {
        for (int32_t c = 0; c < count; ++c) {
            const int32_t sum = aboard_depthwise_mve_sum(p, rows, x * p->stride_w * p->pixel + c, weights + c);
            y[c] = aboard_depthwise_mve_result(p, sum, constants, c);
        }
        y += p->out.pixel_stride;
    }
}

#endif

#endif
