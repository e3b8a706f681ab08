/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pool2d.h
 * Averages, roots of mean squares, and maxima over a window that slides over an image.
 *
 * Each channel of an output pixel is reduced on its own, in a register: no buffer is needed, and a window that covers
 * the whole image costs a load and an addition per element.
 */
#ifndef ABOARD_KERNELS_PORTABLE_POOL2D_H
#define ABOARD_KERNELS_PORTABLE_POOL2D_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "float_functions.h"
#include "requantize.h"

/** Positions of windows. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;  /**< View with as many channels as the operand. */
    int32_t in_height;  /**< Lines of one image of the operand. */
    int32_t out_height; /**< Lines of one image of the result. */
    int32_t window_height;
    int32_t window_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t padded; /**< 1: some windows extend beyond the image; 0: none. */
} aboard_pool2d_t;

/** Parameters of the int8 kernels. */
typedef struct {
    aboard_pool2d_t pool;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_pool2d_s8_t;

/** Parameters of the float32 kernels. */
typedef struct {
    aboard_pool2d_t pool;
    float low;  /**< Smallest result. */
    float high; /**< Largest result. */
} aboard_pool2d_f32_t;

/** The part of a window within the image, along one axis. */
typedef struct {
    int32_t start;
    int32_t count;
} aboard_pool2d_span_t;

/** Returns the pixels that window number `index` covers along an axis of `size` pixels. */
ABOARD_INLINE aboard_pool2d_span_t aboard_pool2d_span(int32_t index, int32_t stride, int32_t pad, int32_t window,
                                                      int32_t size, int32_t padded) {
    const int32_t start = index * stride - pad;
    aboard_pool2d_span_t span = {start, window};
    if (padded) {
        const int32_t end = ABOARD_MIN(start + window, size);
        span.start = ABOARD_MAX(start, 0);
        span.count = end - span.start;
    }
    return span;
}

/** A window: its lines are rows of the operand; its first pixel is at offset `offset` in each, in bytes. */
typedef struct {
    int32_t row;
    int32_t rows;
    int32_t offset;
    int32_t cols;
} aboard_pool2d_window_t;

/** Returns the window of column `x` in row `r` of the result. */
ABOARD_INLINE aboard_pool2d_window_t aboard_pool2d_window(const aboard_pool2d_t *p, int32_t r, int32_t x) {
    const int32_t image = r / p->out_height;
    const aboard_pool2d_span_t lines = aboard_pool2d_span(r - image * p->out_height, p->stride_height, p->pad_top,
                                                          p->window_height, p->in_height, p->padded);
    const aboard_pool2d_span_t pixels =
        aboard_pool2d_span(x, p->stride_width, p->pad_left, p->window_width, p->in.cols, p->padded);
    const aboard_pool2d_window_t window = {image * p->in_height + lines.start, lines.count,
                                           pixels.start * p->in.pixel_stride, pixels.count};
    return window;
}

/** True if a window is not cut by the border of the image: with literal sizes its loops are several times as fast.
 * False with -Os, where one form of the code is enough. */
ABOARD_INLINE bool aboard_pool2d_is_whole(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w) {
#ifdef __OPTIMIZE_SIZE__
    (void)p;
    (void)w;
    return false;
#else
    return !p->padded || (w->rows == p->window_height && w->cols == p->window_width);
#endif
}

/** A whole window, with literal sizes. */
ABOARD_INLINE aboard_pool2d_window_t aboard_pool2d_whole(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w) {
    const aboard_pool2d_window_t whole = {w->row, p->window_height, w->offset, p->window_width};
    return whole;
}

/**
 * Defines a pool: `void name(const aboard_pool2d_suffix_t *p, const type *in, type *out, int32_t first, int32_t last)`.
 * Rows [first, last) of the result are written. The operand may be any view, including a rolling buffer of at least a
 * window's rows. The result may be any view: in other memory than the operand, or before the operand by at least the
 * minimum in-place offset (host/aboard/kernels/overlap.py).
 *
 * @param name   Name of the function.
 * @param pixel  What computes all channels of a result pixel: `void pixel(const aboard_pool2d_suffix_t *p,
 *               const aboard_pool2d_window_t *w, const type *in, type *y)`, where `y` is the address of the pixel.
 * @param suffix Suffix of the type of the elements: `s8`, `s16` or `f32`.
 * @param type   Type of the elements.
 */
#define ABOARD_POOL2D(name, pixel, suffix, type)                                                                       \
    ABOARD_INLINE void name(const aboard_pool2d_##suffix##_t *p, const type *in, type *out, int32_t first,             \
                            int32_t last) {                                                                            \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            type *y = aboard_row_out_##suffix(&p->pool.out, out, r);                                                   \
            for (int32_t x = 0; x < p->pool.out.cols; ++x) {                                                           \
                const aboard_pool2d_window_t w = aboard_pool2d_window(&p->pool, r, x);                                 \
                if (aboard_pool2d_is_whole(&p->pool, &w)) {                                                            \
                    const aboard_pool2d_window_t whole = aboard_pool2d_whole(&p->pool, &w);                            \
                    pixel(p, &whole, in, y);                                                                           \
                } else {                                                                                               \
                    pixel(p, &w, in, y);                                                                               \
                }                                                                                                      \
                y += p->pool.out.pixel_stride / (int32_t)sizeof(type);                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Sum of one channel over a window. */
ABOARD_INLINE int32_t aboard_pool2d_sum_s8(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w, const int8_t *in,
                                           int32_t channel) {
    int32_t sum = 0;
    for (int32_t y = 0; y < w->rows; ++y) {
        const int8_t *x = aboard_row_s8(&p->in, in, w->row + y) + w->offset + channel;
        ABOARD_UNROLL(8)
        for (int32_t col = 0; col < w->cols; ++col) {
            sum += x[col * p->in.pixel_stride];
        }
    }
    return sum;
}

/** Average from the sum of `count` pixels, rounded to nearest with ties away from zero. */
ABOARD_INLINE int8_t aboard_average_s8(const aboard_pool2d_s8_t *p, int32_t sum, int32_t count) {
    const int32_t average = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
    return (int8_t)aboard_clamp(average, p->low, p->high);
}

/** Averages of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_average_pixel_s8(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w,
                                           const int8_t *in, int8_t *y) {
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        y[c] = aboard_average_s8(p, aboard_pool2d_sum_s8(&p->pool, w, in, c), w->rows * w->cols);
    }
}

/** Average over each window, rounded to nearest with ties away from zero. */
ABOARD_POOL2D(aboard_average_pool2d_s8, aboard_average_pixel_s8, s8, int8_t)

/**
 * Average over an image that arrives row by row: equal to aboard_average_pool2d_s8 with a window that covers the image.
 *
 * @param p            Parameters; the result is one pixel.
 * @param in           Operand. Any view, including a rolling buffer.
 * @param out          Result, written with the last row.
 * @param sums         Scratch of one word per channel; keeps its content between calls.
 * @param first, last  Rows [first, last) of the operand are accumulated, in order; row 0 begins an image.
 */
ABOARD_INLINE void aboard_average_pool2d_rows_s8(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out,
                                                 int32_t *sums, int32_t first, int32_t last) {
    const aboard_pool2d_t *pool = &p->pool;
    const int32_t count = pool->in.rows * pool->in.cols;
    for (int32_t r = first; r < last; ++r) {
        const int8_t *const row = aboard_row_s8(&pool->in, in, r);
        for (int32_t c = 0; c < pool->in.channels; ++c) {
            int32_t sum = r == 0 ? 0 : sums[c];
            ABOARD_UNROLL(8)
            for (int32_t x = 0; x < pool->in.cols; ++x) {
                sum += row[x * pool->in.pixel_stride + c];
            }
            sums[c] = sum;
        }
    }
    for (int32_t c = 0; last == pool->in.rows && c < pool->out.channels; ++c) {
        out[c] = aboard_average_s8(p, sums[c], count);
    }
}

/** Maxima of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_max_pixel_s8(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w, const int8_t *in,
                                       int8_t *y) {
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        int32_t largest = p->low;
        for (int32_t line = 0; line < w->rows; ++line) {
            const int8_t *pixel = aboard_row_s8(&p->pool.in, in, w->row + line) + w->offset + c;
            ABOARD_UNROLL(4)
            for (int32_t col = 0; col < w->cols; ++col) {
                largest = ABOARD_MAX(largest, pixel[col * p->pool.in.pixel_stride]);
            }
        }
        y[c] = (int8_t)ABOARD_MIN(largest, p->high);
    }
}

/** Maximum over each window. */
ABOARD_POOL2D(aboard_max_pool2d_s8, aboard_max_pixel_s8, s8, int8_t)

/** A float clamped to two limits; NaN stays NaN. */
ABOARD_INLINE float aboard_pool2d_limit_f32(const aboard_pool2d_f32_t *p, float x) {
    return x < p->low ? p->low : x > p->high ? p->high : x;
}

/** Distance of a window's pixels in elements. */
ABOARD_INLINE int32_t aboard_pool2d_step_f32(const aboard_pool2d_t *p) {
    return p->in.pixel_stride / (int32_t)sizeof(float);
}

/** Row `line` of a window, at channel `c`. */
ABOARD_INLINE const float *aboard_pool2d_line_f32(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w,
                                                  const float *in, int32_t line, int32_t c) {
    return aboard_row_f32(&p->in, in, w->row + line) + w->offset / (int32_t)sizeof(float) + c;
}

/** Averages of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_average_pixel_f32(const aboard_pool2d_f32_t *p, const aboard_pool2d_window_t *w,
                                            const float *in, float *y) {
    const float count = (float)(w->rows * w->cols);
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        float sum = 0.0f;
        for (int32_t line = 0; line < w->rows; ++line) {
            const float *x = aboard_pool2d_line_f32(&p->pool, w, in, line, c);
            for (int32_t col = 0; col < w->cols; ++col) {
                sum += x[col * aboard_pool2d_step_f32(&p->pool)];
            }
        }
        y[c] = aboard_pool2d_limit_f32(p, sum / count);
    }
}

/** Average over each window. */
ABOARD_POOL2D(aboard_average_pool2d_f32, aboard_average_pixel_f32, f32, float)

/** Roots of the means of squares of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_l2_pixel_f32(const aboard_pool2d_f32_t *p, const aboard_pool2d_window_t *w, const float *in,
                                       float *y) {
    const float count = (float)(w->rows * w->cols);
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        float sum = 0.0f;
        for (int32_t line = 0; line < w->rows; ++line) {
            const float *x = aboard_pool2d_line_f32(&p->pool, w, in, line, c);
            for (int32_t col = 0; col < w->cols; ++col) {
                const float value = x[col * aboard_pool2d_step_f32(&p->pool)];
                sum += value * value;
            }
        }
        y[c] = aboard_pool2d_limit_f32(p, aboard_sqrtf(sum / count));
    }
}

/** Square root of the mean of the squares over each window. */
ABOARD_POOL2D(aboard_l2_pool2d_f32, aboard_l2_pixel_f32, f32, float)

/** Maxima of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_max_pixel_f32(const aboard_pool2d_f32_t *p, const aboard_pool2d_window_t *w, const float *in,
                                        float *y) {
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        float largest = -FLT_MAX;
        for (int32_t line = 0; line < w->rows; ++line) {
            const float *x = aboard_pool2d_line_f32(&p->pool, w, in, line, c);
            for (int32_t col = 0; col < w->cols; ++col) {
                const float value = x[col * aboard_pool2d_step_f32(&p->pool)];
                largest = value > largest ? value : largest;
            }
        }
        y[c] = aboard_pool2d_limit_f32(p, largest);
    }
}

/** Maximum over each window, NaN left out. */
ABOARD_POOL2D(aboard_max_pool2d_f32, aboard_max_pixel_f32, f32, float)

#endif
