/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frontend/picture.h
 * Crops and resizes pictures of uint8, whose channels are next to each other (grey: 1, RGB: 3). Pixel centres are at
 * half coordinates, as in PIL, OpenCV and Keras:
 *
 *     position of output pixel i in the crop = (i + 1/2) * crop size / output size - 1/2
 *
 * The output is computed row by row. A camera that gives rows needs no memory for a picture: aboard_picture_rows names
 * the two rows that an output row is made of. host/aboard/frontend/picture.py is the same in numpy.
 */
#ifndef ABOARD_FRONTEND_PICTURE_H
#define ABOARD_FRONTEND_PICTURE_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** Fractional bits of positions. */
#define ABOARD_PICTURE_BITS 11

/** Parameters. Sizes are from 1 to 4096. */
typedef struct {
    int32_t channels;   /**< Bytes of a pixel. */
    int32_t row_bytes;  /**< Bytes from a row of the input to the next. */
    int32_t left;       /**< First column of the crop. */
    int32_t top;        /**< First row of the crop. */
    int32_t width;      /**< Columns of the crop. */
    int32_t height;     /**< Rows of the crop. */
    int32_t out_width;  /**< Columns of the result. */
    int32_t out_height; /**< Rows of the result. */
} aboard_picture_t;

/** The rows of the input that an output row is made of. */
typedef struct {
    int32_t upper;  /**< Row of the input. */
    int32_t lower;  /**< The next one, or the same at the lower edge. */
    int32_t weight; /**< Of the lower row, in 1/2048; the upper one has the rest. */
} aboard_picture_rows_t;

/** Position of output pixel i, with 11 fractional bits, from 0 to the last pixel of the crop; rounded down. */
ABOARD_INLINE int32_t aboard_picture_position(int32_t i, int32_t size, int32_t out_size) {
    const int64_t numerator = (int64_t)(2 * i + 1) * size * (1 << (ABOARD_PICTURE_BITS - 1));
    const int32_t position = (int32_t)(numerator / out_size) - (1 << (ABOARD_PICTURE_BITS - 1));
    const int32_t last = (size - 1) * (1 << ABOARD_PICTURE_BITS);
    return position < 0 ? 0 : position > last ? last : position;
}

/** Returns the rows that output row `row` is made of. */
ABOARD_INLINE aboard_picture_rows_t aboard_picture_rows(const aboard_picture_t *p, int32_t row) {
    const int32_t position = aboard_picture_position(row, p->height, p->out_height);
    const int32_t upper = position >> ABOARD_PICTURE_BITS;
    const aboard_picture_rows_t rows = {p->top + upper, p->top + ABOARD_MIN(upper + 1, p->height - 1),
                                        position & ((1 << ABOARD_PICTURE_BITS) - 1)};
    return rows;
}

/**
 * Computes an output row by bilinear interpolation, rounded half up.
 *
 * @param p       Parameters.
 * @param upper   The upper row of the input, from its first column on.
 * @param lower   The lower row; may be the same.
 * @param weight  Weight of the lower row.
 * @param out     Gets out_width * channels bytes; none of the operands' memory.
 */
ABOARD_INLINE void aboard_picture_bilinear_row(const aboard_picture_t *p, const uint8_t *upper, const uint8_t *lower,
                                               int32_t weight, uint8_t *out) {
    const int32_t one = 1 << ABOARD_PICTURE_BITS;
    /* Positions in steps of crop size / output size: a whole part and a rest, so that no pixel needs a division. */
    const int32_t step = p->width * one / p->out_width;
    const int32_t step_rest = p->width * one % p->out_width;
    int32_t whole = p->width * (one / 2) / p->out_width - one / 2;
    int32_t rest = p->width * (one / 2) % p->out_width;
    const int32_t last = (p->width - 1) * one;
    for (int32_t column = 0; column < p->out_width; ++column) {
        const int32_t position = whole < 0 ? 0 : whole > last ? last : whole;
        const int32_t x = position >> ABOARD_PICTURE_BITS;
        const int32_t fraction = position & (one - 1);
        const int32_t at = (p->left + x) * p->channels;
        const int32_t next = x + 1 < p->width ? p->channels : 0;
        for (int32_t channel = at; channel < at + p->channels; ++channel) {
            const int32_t high = upper[channel] * (one - fraction) + upper[channel + next] * fraction;
            const int32_t low = lower[channel] * (one - fraction) + lower[channel + next] * fraction;
            const int32_t sum = high * (one - weight) + low * weight;
            *out++ = (uint8_t)((sum + (1 << (2 * ABOARD_PICTURE_BITS - 1))) >> (2 * ABOARD_PICTURE_BITS));
        }
        whole += step;
        rest += step_rest;
        if (rest >= p->out_width) {
            rest -= p->out_width;
            ++whole;
        }
    }
}

/**
 * Computes a picture by bilinear interpolation.
 *
 * @param p    Parameters.
 * @param in   Input, from its first row on.
 * @param out  Gets out_height * out_width * channels bytes; none of the operand's memory.
 */
ABOARD_INLINE void aboard_picture_bilinear(const aboard_picture_t *p, const uint8_t *in, uint8_t *out) {
    for (int32_t row = 0; row < p->out_height; ++row) {
        const aboard_picture_rows_t rows = aboard_picture_rows(p, row);
        aboard_picture_bilinear_row(p, in + rows.upper * p->row_bytes, in + rows.lower * p->row_bytes, rows.weight,
                                    out + row * p->out_width * p->channels);
    }
}

/**
 * Computes a picture of the nearest pixels: those in which the centres of the output's pixels are.
 *
 * @param p    Parameters.
 * @param in   Input, from its first row on.
 * @param out  Gets out_height * out_width * channels bytes; none of the operand's memory.
 */
ABOARD_INLINE void aboard_picture_nearest(const aboard_picture_t *p, const uint8_t *in, uint8_t *out) {
    for (int32_t row = 0; row < p->out_height; ++row) {
        const int32_t y = p->top + (2 * row + 1) * p->height / (2 * p->out_height);
        for (int32_t column = 0; column < p->out_width; ++column) {
            const int32_t x = p->left + (2 * column + 1) * p->width / (2 * p->out_width);
            memcpy(out, in + y * p->row_bytes + x * p->channels, (size_t)p->channels);
            out += p->channels;
        }
    }
}

#endif
