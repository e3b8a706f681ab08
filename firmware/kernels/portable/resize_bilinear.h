/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/resize_bilinear.h
 * Resize by bilinear interpolation. Places were worked out on the host, in the reference's arithmetic.
 */
#ifndef ABOARD_KERNELS_PORTABLE_RESIZE_BILINEAR_H
#define ABOARD_KERNELS_PORTABLE_RESIZE_BILINEAR_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Parameters of aboard_resize_bilinear_s8 and aboard_resize_bilinear_f32. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t in_height;  /**< Rows of an image of the operand. */
    int32_t out_height; /**< Rows of an image of the result. */
} aboard_resize_bilinear_t;

/** Means of int8 have products with fractions of 10 bits twice; they are rounded, halves away from 0. */
ABOARD_INLINE int8_t aboard_bilinear_mean_s8(int32_t upper_left, int32_t lower_left, int32_t upper_right,
                                             int32_t lower_right, int32_t dy, int32_t dx) {
    const int32_t left = upper_left * (1024 - dy) + lower_left * dy;
    const int32_t right = upper_right * (1024 - dy) + lower_right * dy;
    const int32_t sum = left * (1024 - dx) + right * dx;
    return (int8_t)((sum + (sum > 0 ? (int32_t)1 << 19 : -((int32_t)1 << 19))) / ((int32_t)1 << 20));
}

/** Means of float, formed in the reference's order. */
ABOARD_INLINE float aboard_bilinear_mean_f32(float upper_left, float lower_left, float upper_right, float lower_right,
                                             float dy, float dx) {
    const float above = 1.0f - dy;
    const float before = 1.0f - dx;
    return upper_left * above * before + lower_left * dy * before + upper_right * above * dx + lower_right * dy * dx;
}

/**
 * Defines a resize of a batch of images.
 *
 *     aboard_resize_bilinear_s8(const aboard_resize_bilinear_t *p, const int8_t *in, const uint16_t *rows,
 *                               const int16_t *row_fractions, const uint16_t *cols, const int16_t *col_fractions,
 *                               int8_t *out, int32_t first, int32_t last)
 *
 * and likewise _f32, with fractions of float. `in` is any view, a rolling buffer included; `out` is another memory and
 * any view. `rows` has two indices for each row of an image of the result: the rows above and below its place. `cols`
 * has the pixels before and after. Rows [first, last) of the result are written, counted over all images.
 */
#define ABOARD_RESIZE_BILINEAR(suffix, type, fraction)                                                                 \
    ABOARD_INLINE void aboard_resize_bilinear_##suffix(                                                                \
        const aboard_resize_bilinear_t *p, const type *in, const uint16_t *rows, const fraction *row_fractions,        \
        const uint16_t *cols, const fraction *col_fractions, type *out, int32_t first, int32_t last) {                 \
        const int32_t pixel = p->in.pixel_stride / (int32_t)sizeof(type);                                              \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const int32_t row = (int32_t)((uint32_t)r % (uint32_t)p->out_height);                                      \
            const int32_t image = (int32_t)((uint32_t)r / (uint32_t)p->out_height) * p->in_height;                     \
            const type *upper = aboard_row_##suffix(&p->in, in, image + rows[2 * row]);                                \
            const type *lower = aboard_row_##suffix(&p->in, in, image + rows[2 * row + 1]);                            \
            type *y = aboard_row_out_##suffix(&p->out, out, r);                                                        \
            for (int32_t x = 0; x < p->out.cols; ++x) {                                                                \
                const int32_t left = cols[2 * x] * pixel;                                                              \
                const int32_t right = cols[2 * x + 1] * pixel;                                                         \
                for (int32_t c = 0; c < p->out.channels; ++c) {                                                        \
                    y[c] = aboard_bilinear_mean_##suffix(upper[left + c], lower[left + c], upper[right + c],           \
                                                         lower[right + c], row_fractions[row], col_fractions[x]);      \
                }                                                                                                      \
                y += p->out.pixel_stride / (int32_t)sizeof(type);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_RESIZE_BILINEAR(s8, int8_t, int16_t)
ABOARD_RESIZE_BILINEAR(f32, float, float)

#endif
