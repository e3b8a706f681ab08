/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_windows.h
 * The windows of two pixels of an int8 convolution, copied as halfwords: from whole pixels, or row by row.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_WINDOWS_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Parameters of aboard_conv2d_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t wide;     /**< 16-bit weights: largest number of tap groups in the code, see aboard_dsp_pair_wide; 0:
                         SWAR-packed weights. */
    int32_t lines;    /**< 1: windows are staged row by row, although their pixels are whole tap groups. */
    int32_t row_ends; /**< 1: the rest of each row of a window is a tap group of its own, whose last weights are 0. */
    int32_t passes;   /**< Passes over the image for each group, each for a part of its channels. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t low;
    int32_t high;
} aboard_conv2d_dsp_t;

/** Taps of a window, in whole tap groups. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_taps(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * ABOARD_DSP_TAP_GROUP;
}

/** True if the pixels of a window consist of whole tap groups and are copied directly from the input. */
ABOARD_INLINE bool aboard_conv2d_dsp_whole(const aboard_conv2d_dsp_t *p) {
    return !p->lines && p->shape.in.channels / p->shape.groups % ABOARD_DSP_TAP_GROUP == 0;
}

/** Address of tap (ky, kx) of a window, or `padding` if the tap is outside the input. */
ABOARD_INLINE const int8_t *aboard_conv2d_dsp_tap(const aboard_conv2d_shape_t *s, const int8_t *x,
                                                  const aboard_conv2d_window_t *w, int32_t ky, int32_t kx,
                                                  const int8_t *padding) {
    const int32_t row = w->top + ky * s->dilation_h;
    const int32_t col = w->left + kx * s->dilation_w;
    if (row < 0 || row >= s->in_height || col < 0 || col >= s->in.cols) {
        return padding;
    }
    return aboard_row_s8(&s->in, x, w->base + row) + col * s->in.pixel_stride;
}

/** Copies the windows of two pixels directly from the input; `padding` contains a pixel of zero points. */
ABOARD_INLINE void aboard_conv2d_dsp_im2col(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                            const aboard_conv2d_window_t *w, uint32_t *pairs, const int8_t *padding) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const bool rows = s->dilation_w == 1 && s->in.pixel_stride == depth && aboard_conv2d_inside(s, w[0].left) &&
                      aboard_conv2d_inside(s, w[1].left);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t first = w[0].top + ky * s->dilation_h;
        const int32_t second = w[1].top + ky * s->dilation_h;
        if (rows && first >= 0 && first < s->in_height && second >= 0 && second < s->in_height) {
            const int8_t *const a = aboard_row_s8(&s->in, x, w[0].base + first) + w[0].left * depth;
            const int8_t *const b = aboard_row_s8(&s->in, x, w[1].base + second) + w[1].left * depth;
            pairs = aboard_dsp_fill_pair(pairs, a, b, s->window_width * depth);
            continue;
        }
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int8_t *const a = aboard_conv2d_dsp_tap(s, x, &w[0], ky, kx, padding);
            const int8_t *const b = aboard_conv2d_dsp_tap(s, x, &w[1], ky, kx, padding);
            pairs = aboard_dsp_fill_pair(pairs, a, b, depth);
        }
    }
}

/** A row of a window of one word with `before` or `after` pixels outside the input, whose rows have at least as many
 * pixels; `from` is the row's first pixel within the window. */
ABOARD_INLINE uint32_t aboard_conv2d_dsp_word(const aboard_conv2d_dsp_t *p, const int8_t *from, int32_t before,
                                              int32_t after) {
    const int32_t depth = p->shape.in.channels / p->shape.groups;
    const uint32_t padding = 0x01010101u * (uint8_t)p->zero_point;
    if (before > 0) {
        const uint32_t bits = 8 * (uint32_t)(before * depth);
        return aboard_dsp_load(from) << bits | padding >> (32 - bits);
    }
    const uint32_t bits = 8 * (uint32_t)(after * depth);
    return aboard_dsp_load(from - after * depth) >> bits | padding << (32 - bits);
}

/** Copies a row of a window with `before` and `after` pixels outside the input; `from` is the address of the first
 * pixel. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_gather_row(const aboard_conv2d_dsp_t *p, const int8_t *from, int32_t before,
                                                   int32_t after, int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t inside = s->window_width - before - after;
    if (inside == s->window_width) {
        /* Inlined if the size is a literal. */
        memcpy(column, from, (size_t)(s->window_width * depth));
        return column + s->window_width * depth;
    }
    if (s->window_width * depth == ABOARD_DSP_TAP_GROUP && s->in.cols >= s->window_width && inside > 0) {
        const uint32_t word = aboard_conv2d_dsp_word(p, from + before * depth, before, after);
        memcpy(column, &word, sizeof(word));
        return column + sizeof(word);
    }
    column = aboard_im2col_fill_shared(column, p->zero_point, before * depth);
    column = aboard_im2col_copy_shared(column, from + before * depth, inside * depth);
    return aboard_im2col_fill_shared(column, p->zero_point, after * depth);
}

/** 1: rows whose pixels are apart have code of their own. With -Os layers share code, in which no size is a literal. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_CONV2D_DSP_APART 0
#else
#define ABOARD_CONV2D_DSP_APART 1
#endif

/** Copies a pixel of a window. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_gather_pixel(const int8_t *from, int32_t depth, int8_t *column) {
    if (ABOARD_CONV2D_DSP_APART && depth <= 2 * ABOARD_DSP_TAP_GROUP) {
        /* Inlined if the size is a literal. */
        memcpy(column, from, (size_t)depth);
        return column + depth;
    }
    return aboard_im2col_copy_shared(column, from, depth);
}

/** Copies a row of a window within the input whose pixels are apart: with a dilation, of a group, of a wider tensor. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_gather_apart(const aboard_conv2d_shape_t *s, const int8_t *from,
                                                     int8_t *column) {
    ABOARD_UNROLL(1)
    for (int32_t kx = 0; kx < s->window_width; ++kx) {
        column = aboard_conv2d_dsp_gather_pixel(from, s->in.channels / s->groups, column);
        from += s->dilation_w * s->in.pixel_stride;
    }
    return column;
}

/** Copies a window of pixels with any number of channels. */
ABOARD_INLINE void aboard_conv2d_dsp_gather(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                            const aboard_conv2d_window_t *w, int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t before = ABOARD_MIN(ABOARD_MAX(-w->left, 0), s->window_width);
    const int32_t behind = ABOARD_MAX(w->left + s->window_width - s->in.cols, 0);
    const int32_t after = ABOARD_MIN(behind, s->window_width - before);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t row = w->top + ky * s->dilation_h;
        if (row < 0 || row >= s->in_height) {
            column = aboard_im2col_fill_shared(column, p->zero_point, s->window_width * depth);
        } else if (s->dilation_w == 1 && s->in.pixel_stride == depth) {
            const int8_t *const from = aboard_row_s8(&s->in, x, w->base + row) + w->left * depth;
            column = aboard_conv2d_dsp_gather_row(p, from, before, after, column);
        } else if (ABOARD_CONV2D_DSP_APART && aboard_conv2d_inside(s, w->left)) {
            const int8_t *const from = aboard_row_s8(&s->in, x, w->base + row) + w->left * s->in.pixel_stride;
            column = aboard_conv2d_dsp_gather_apart(s, from, column);
        } else {
            ABOARD_UNROLL(1)
            for (int32_t kx = 0; kx < s->window_width; ++kx) {
                const int8_t *const from = aboard_conv2d_dsp_tap(s, x, w, ky, kx, NULL);
                column = from ? aboard_conv2d_dsp_gather_pixel(from, depth, column)
                              : aboard_im2col_fill_shared(column, p->zero_point, depth);
            }
        }
    }
}

/** Bytes of a row of a window. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_row(const aboard_conv2d_shape_t *s) {
    return s->window_width * (s->in.channels / s->groups);
}

/** Bytes of a row of a window that are tap groups of their own; with `row_ends` they may be more than the row has. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_row_groups(const aboard_conv2d_dsp_t *p) {
    const int32_t more = p->row_ends ? ABOARD_DSP_TAP_GROUP - 1 : 0;
    return (aboard_conv2d_dsp_row(&p->shape) + more) / ABOARD_DSP_TAP_GROUP * ABOARD_DSP_TAP_GROUP;
}

/** True if the input has the bytes behind the rows of a window that are read with `row_ends`. */
ABOARD_INLINE bool aboard_conv2d_dsp_readable(const aboard_conv2d_dsp_t *p, const aboard_conv2d_window_t *w) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t behind = s->in.cols - w->left - (s->window_width - 1) * s->dilation_w - 1;
    return behind * s->in.pixel_stride >= aboard_conv2d_dsp_row_groups(p) - aboard_conv2d_dsp_row(s);
}

/** Location of a window's rows: in the input, or in `column` if a part of the window is outside the input. */
ABOARD_INLINE aboard_conv2d_lines_t aboard_conv2d_dsp_lines(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                                            const aboard_conv2d_window_t *w, int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_conv2d_lines_t there = aboard_conv2d_lines(s, x, w);
    if (there.from && aboard_conv2d_dsp_readable(p, w)) {
        return there;
    }
    aboard_conv2d_dsp_gather(p, x, w, column);
    const aboard_conv2d_lines_t copied = {column, aboard_conv2d_dsp_row(s)};
    return copied;
}

/** Writes a tap group of two pixels side by side as halfwords; returns the end. */
ABOARD_INLINE uint32_t *aboard_conv2d_dsp_tap_group(uint32_t *pairs, uint32_t a, uint32_t b) {
    pairs[0] = aboard_dsp_even(a);
    pairs[1] = aboard_dsp_even(b);
    pairs[2] = aboard_dsp_odd(a);
    pairs[3] = aboard_dsp_odd(b);
    return pairs + ABOARD_DSP_PAIR_WORDS;
}

/** Writes a tap group of two pixels side by side, and advances both. */
ABOARD_INLINE uint32_t *aboard_conv2d_dsp_next_tap_group(uint32_t *pairs, const int8_t **a, const int8_t **b) {
#if ABOARD_DSP_ASM
    __asm__ volatile("ldr r6, [%[a]], #4\n ldr r8, [%[b]], #4\n"
                     "sxtb16 r4, r6\n sxtb16 r5, r8\n sxtb16 r6, r6, ror #8\n sxtb16 r8, r8, ror #8\n"
                     "stmia %[pairs]!, {r4-r6, r8}\n"
                     : [pairs] "+&r"(pairs), [a] "+&r"(*a), [b] "+&r"(*b)
                     :
                     : "r4", "r5", "r6", "r8", "memory");
    return pairs;
#else
    pairs = aboard_conv2d_dsp_tap_group(pairs, aboard_dsp_load(*a), aboard_dsp_load(*b));
    *a += ABOARD_DSP_TAP_GROUP;
    *b += ABOARD_DSP_TAP_GROUP;
    return pairs;
#endif
}

/** Four bytes after the whole tap groups of a window's rows, from byte `at` of all rows; 0 beyond the last. */
ABOARD_INLINE uint32_t aboard_conv2d_dsp_ends(const aboard_conv2d_shape_t *s, const aboard_conv2d_lines_t *lines,
                                              int32_t at) {
    const int32_t row = aboard_conv2d_dsp_row(s);
    const int32_t whole = row / ABOARD_DSP_TAP_GROUP * ABOARD_DSP_TAP_GROUP;
    const int32_t rest = ABOARD_MAX(row - whole, 1);
    uint32_t word = 0;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < ABOARD_DSP_TAP_GROUP; ++i) {
        const int32_t ky = (at + i) / rest;
        if (ky < s->window_height) {
            word |= (uint32_t)(uint8_t)lines->from[ky * lines->stride + whole + (at + i) % rest] << (8 * i);
        }
    }
    return word;
}

/** Copies the windows of two pixels with any number of channels: tap groups of each row, then the rest of all rows. */
ABOARD_INLINE void aboard_conv2d_dsp_im2col_lines(const aboard_conv2d_dsp_t *p, const aboard_conv2d_lines_t *lines,
                                                  uint32_t *pairs) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t row = aboard_conv2d_dsp_row(s);
    const int32_t whole = aboard_conv2d_dsp_row_groups(p);
    const int8_t *a = lines[0].from;
    const int8_t *b = lines[1].from;
    ABOARD_UNROLL(4)
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        ABOARD_UNROLL(4)
        for (int32_t k = 0; k < whole; k += ABOARD_DSP_TAP_GROUP) {
            pairs = aboard_conv2d_dsp_next_tap_group(pairs, &a, &b);
        }
        a += lines[0].stride - whole;
        b += lines[1].stride - whole;
    }
    const int32_t left = (row - whole) * s->window_height;
    ABOARD_UNROLL(4)
    for (int32_t at = 0; at < left; at += ABOARD_DSP_TAP_GROUP) {
        pairs = aboard_conv2d_dsp_tap_group(pairs, aboard_conv2d_dsp_ends(s, &lines[0], at),
                                            aboard_conv2d_dsp_ends(s, &lines[1], at));
    }
}

#endif
