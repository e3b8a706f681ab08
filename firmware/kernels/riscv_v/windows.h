/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file riscv_v/windows.h
 * The places of the windows of four result pixels, for kernels that read inputs where they lie.
 */
#ifndef ABOARD_KERNELS_RISCV_V_WINDOWS_H
#define ABOARD_KERNELS_RISCV_V_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "block.h"

/** Result pixels one after another, row by row. */
typedef struct {
    int32_t row;  /**< Of the next pixel. */
    int32_t last; /**< Row behind the last one. */
    int32_t col;
} aboard_riscv_v_walk_t;

/** Fills column `j` of the table: the places of the window of result pixel (row, col). */
ABOARD_INLINE void aboard_riscv_v_window(const aboard_conv2d_shape_t *s, const int8_t *in, const int8_t *padding,
                                         int32_t row, int32_t col, aboard_riscv_v_place_t *to) {
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t y = w.top + ky * s->dilation_h;
        const int8_t *line = y >= 0 && y < s->in_height ? aboard_row_s8(&s->in, in, w.base + y) : NULL;
        int32_t x = w.left;
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int8_t *pixel = line != NULL && x >= 0 && x < s->in.cols ? line + x * s->in.pixel_stride : NULL;
            *to = aboard_riscv_v_place(in, pixel, padding);
            to += ABOARD_RISCV_V_PIXELS;
            x += s->dilation_w;
        }
    }
}

/**
 * Fills the table for the next pixels, and the addresses of their results.
 *
 * @return The number of pixels, 1 to 4; the first one stands for those that are missing.
 */
ABOARD_INLINE int32_t aboard_riscv_v_next(const aboard_conv2d_shape_t *s, const int8_t *in, int8_t *out,
                                          const int8_t *padding, aboard_riscv_v_walk_t *at,
                                          aboard_riscv_v_place_t *places, int8_t **y) {
    const int32_t positions = s->window_height * s->window_width;
    int32_t pixels = 0;
    for (; pixels < ABOARD_RISCV_V_PIXELS && at->row < at->last; ++pixels) {
        aboard_riscv_v_window(s, in, padding, at->row, at->col, places + pixels);
        y[pixels] = aboard_row_out_s8(&s->out, out, at->row) + at->col * s->out.pixel_stride;
        if (++at->col == s->out.cols) {
            at->col = 0;
            ++at->row;
        }
    }
    for (int32_t j = pixels; j < ABOARD_RISCV_V_PIXELS; ++j) {
        y[j] = y[0];
        for (int32_t i = 0; i < positions; ++i) {
            places[ABOARD_RISCV_V_PIXELS * i + j] = places[ABOARD_RISCV_V_PIXELS * i];
        }
    }
    return pixels;
}

/** Writes a pixel of padding behind the table; returns its address. */
ABOARD_INLINE const int8_t *aboard_riscv_v_padding(const aboard_conv2d_shape_t *s, aboard_riscv_v_place_t *places,
                                                   int32_t channels, int32_t zero_point) {
    int8_t *const padding = (int8_t *)(places + ABOARD_RISCV_V_PIXELS * s->window_height * s->window_width);
    for (int32_t i = 0; i < channels; ++i) {
        padding[i] = (int8_t)zero_point;
    }
    return padding;
}

#endif
