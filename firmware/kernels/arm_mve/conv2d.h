/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/conv2d.h
 * int8 convolution with Helium: two pixels times four channels at once, sixteen taps per instruction.
 *
 * As many input rows as a window has are first copied into a line buffer, with padding and without gaps between pixels.
 * A window then consists of a few runs of bytes at equal distances. If runs are whole chunks of sixteen bytes, the
 * products are computed from the line buffer; else each window is copied into an im2col column, a single run padded to
 * whole chunks. Windows with dilation, or of one of several groups of channels, are always copied.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_CONV2D_H
#define ABOARD_KERNELS_ARM_MVE_CONV2D_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "helium.h"
#include "line_buffer.h"
#include "sums.h"

/** Parameters of aboard_conv2d_mve. */
typedef struct {
    aboard_mve_line_buffer_t line_buffer; /**< Input, window and padding. */
    aboard_view_t out;                    /**< Any view. */
    int32_t joined;                       /**< 1: rows of input and result are contiguous, like one long row. */
    int32_t column;           /**< Bytes of an im2col column, a multiple of 16; 0 if windows are read in place. */
    aboard_mve_reach_t reach; /**< The chunks of a window. */
    int32_t alone;            /**< 1: a window is one run of at most sixteen bytes, see aboard_conv2d_mve_alone. */
    aboard_mve_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_conv2d_mve_t;

#if ABOARD_MVE_ASM

/**
 * Computes pixels whose windows are one chunk, four channels at a time, with weights and constants in registers.
 *
 * @param x, y    First window and its results.
 * @param count   Pixels, 1 or more; sixteen bytes are read for each.
 * @param weights [channels / 4][4][16]; a multiple of four channels.
 */
ABOARD_INLINE void aboard_conv2d_mve_alone(const aboard_conv2d_mve_t *p, const int8_t *x, int8_t *y, int32_t count,
                                           const int8_t *weights, const int32_t *constants) {
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->out.channels; n += 4) {
        const int8_t *from = x;
        int8_t *to = y + n;
        /* clang-format off */
        __asm__ volatile(
            "vldrw.32 q1, [%[w]]\n\t"
            "vldrw.32 q2, [%[w], #16]\n\t"
            "vldrw.32 q3, [%[w], #32]\n\t"
            "vldrw.32 q4, [%[w], #48]\n\t"
            "vldrw.32 q5, [%[c]]\n\t"
            "vldrw.32 q6, [%[c], #16]\n\t"
            "vldrw.32 q7, [%[c], #32]\n\t"
            "dls lr, %[count]\n\t"
            "1:\n\t"
            "vldrb.8 q0, [%[x]], %[step]\n\t"
            "vmladav.s8 r0, q0, q1\n\t"
            "vmladav.s8 r2, q0, q2\n\t"
            "vmladav.s8 r4, q0, q3\n\t"
            "vmladav.s8 r6, q0, q4\n\t"
            "vmov q0[2], q0[0], r0, r4\n\t"
            "vmov q0[3], q0[1], r2, r6\n\t"
            "vadd.i32 q0, q0, q5\n\t"
            "vqrdmulh.s32 q0, q0, q6\n\t"
            "vadd.i32 q0, q0, q7\n\t"
            "vqrshrnb.s32 q0, q0, %[shift]\n\t"
            "vqmovnb.s16 q0, q0\n\t"
            "vstrb.32 q0, [%[y]], %[pixel]\n\t"
            "le lr, 1b"
            : [x] "+r"(from), [y] "+l"(to)
            : [w] "r"(weights), [c] "r"(constants), [count] "r"(count), [shift] "i"(p->epilogue.shift),
              [step] "i"(p->line_buffer.stride_w * p->line_buffer.in.pixel_stride), [pixel] "i"(p->out.pixel_stride)
            : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
        /* clang-format on */
        weights += 4 * ABOARD_MVE_CHUNK;
        constants += aboard_mve_epilogue_words(&p->epilogue);
    }
}

/** Number of pixels at the end of a run for which a load of sixteen bytes may exceed the input. */
ABOARD_INLINE int32_t aboard_conv2d_mve_rest(const aboard_conv2d_mve_t *p) {
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    const int32_t step = p->line_buffer.stride_w * p->line_buffer.in.pixel_stride;
    return (ABOARD_MVE_CHUNK - bytes + step - 1) / step;
}

#endif

/** Computes up to four channels of two pixels, from channel `n` on; the second pixel is written first. */
ABOARD_INLINE void aboard_conv2d_mve_block(const aboard_conv2d_mve_t *p, const int8_t *x0, const int8_t *x1,
                                           const int8_t **weights, const int32_t *constants, int8_t *y0, int8_t *y1,
                                           int32_t count) {
    const aboard_mve_sums_t sums = aboard_mve_pair(p->reach, x0, x1, weights);
    const aboard_mve_constants_t c = aboard_mve_constants(&p->epilogue, constants);
    const aboard_mve_packed_words_t b = aboard_mve_epilogue(&p->epilogue, sums.b, &c);
    const aboard_mve_packed_words_t a = aboard_mve_epilogue(&p->epilogue, sums.a, &c);
    aboard_mve_store(y1, b, count);
    aboard_mve_store(y0, a, count);
}

/** Channels of the result in a group. */
ABOARD_INLINE int32_t aboard_conv2d_mve_channels(const aboard_conv2d_mve_t *p) {
    return p->out.channels / p->line_buffer.groups;
}

/** Computes all channels of a group for two pixels; `y1` is written before `y0` and may be the same. */
ABOARD_INLINE void aboard_conv2d_mve_pixels(const aboard_conv2d_mve_t *p, const int8_t *x0, const int8_t *x1,
                                            const int8_t *weights, const int32_t *constants, int8_t *y0, int8_t *y1) {
    int32_t n = 0;
    /* With known constants, a compiler would copy this code for every four channels. */
    ABOARD_OPAQUE(constants);
    ABOARD_UNROLL(1)
    for (; n + 4 <= aboard_conv2d_mve_channels(p); n += 4) {
        aboard_conv2d_mve_block(p, x0, x1, &weights, constants, y0 + n, y1 + n, 4);
        constants += aboard_mve_epilogue_words(&p->epilogue);
    }
    if (n < aboard_conv2d_mve_channels(p)) {
        aboard_conv2d_mve_block(p, x0, x1, &weights, constants, y0 + n, y1 + n, aboard_conv2d_mve_channels(p) - n);
    }
}

/** Returns a window, given its first byte in the line buffer: that address, or an im2col column with a copy. */
ABOARD_INLINE const int8_t *aboard_conv2d_mve_window(const aboard_conv2d_mve_t *p, const int8_t *x, int32_t stride,
                                                     int8_t *column) {
    if (p->column == 0) {
        return x;
    }
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    int8_t *to = column;
    ABOARD_UNROLL(16)
    for (int32_t row = 0; row < p->line_buffer.window_height; ++row) {
        if (p->line_buffer.cols == 0) {
            aboard_mve_copy(to, x, bytes);
        } else {
            /* The line buffer and an im2col column are followed by free bytes. Excess bytes are overwritten, or have
             * weights of 0. */
            aboard_mve_copy_and_more(to, x, bytes);
        }
        to += bytes;
        x += stride;
    }
    return column;
}

/** Computes all channels of two pixels whose windows are no contiguous rows, group by group. */
ABOARD_INLINE void aboard_conv2d_mve_groups(const aboard_conv2d_mve_t *p, const int8_t *x0, const int8_t *x1,
                                            const int8_t *weights, const int32_t *constants, int8_t *columns,
                                            int8_t *y0, int8_t *y1) {
    const int32_t blocks = (aboard_conv2d_mve_channels(p) + 3) / 4;
    ABOARD_UNROLL(1)
    for (int32_t group = 0; group < p->line_buffer.groups; ++group) {
        /* Copies exceed the first column, but not beyond the vector after it. */
        int8_t *const second = columns + p->column + ABOARD_MVE_CHUNK;
        const aboard_mve_windows_t windows = {{x0, x1}, {columns, second}};
        aboard_mve_line_buffer_windows(&p->line_buffer, windows);
        aboard_conv2d_mve_pixels(p, columns, second, weights, constants, y0, y1);
        x0 += aboard_mve_line_buffer_depth(&p->line_buffer);
        x1 += aboard_mve_line_buffer_depth(&p->line_buffer);
        y0 += aboard_conv2d_mve_channels(p);
        y1 += aboard_conv2d_mve_channels(p);
        weights += 4 * blocks * p->column;
        constants += blocks * aboard_mve_epilogue_words(&p->epilogue);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, including rolling buffers.
 * @param weights     [groups][channels of a group / 4][chunks of a window][4][16], padded with zeros.
 * @param constants   Constants of the epilogue: vectors of four channels, one block of channels after another.
 * @param scratch     The line buffer, two im2col columns, and one more vector.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_mve(const aboard_conv2d_mve_t *p, const int8_t *in, int8_t *out, const int8_t *weights,
                                     const int32_t *constants, int8_t *scratch, int32_t first, int32_t last) {
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t stride = aboard_mve_line_buffer_stride(&p->line_buffer);
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        int32_t left = p->joined ? (last - first) * p->out.cols : p->out.cols;
#if ABOARD_MVE_ASM
        const int32_t alone = p->alone ? left - aboard_conv2d_mve_rest(p) : 0;
        if (alone > 0) {
            aboard_conv2d_mve_alone(p, x, y, alone, weights, constants);
            x += alone * step;
            y += alone * p->out.pixel_stride;
            left -= alone;
        }
#endif
        /* An odd last pixel is computed twice. */
        for (; left > 0; left -= 2) {
            const int32_t second = left > 1 ? 1 : 0;
            int8_t *const y1 = y + second * p->out.pixel_stride;
            if (p->column > 0 && aboard_mve_line_buffer_scattered(&p->line_buffer)) {
                aboard_conv2d_mve_groups(p, x, x + second * step, weights, constants, columns, y, y1);
            } else {
                const int8_t *const x0 = aboard_conv2d_mve_window(p, x, stride, columns);
                const int8_t *const x1 = aboard_conv2d_mve_window(p, x + second * step, stride, columns + p->column);
                aboard_conv2d_mve_pixels(p, x0, x1, weights, constants, y, y1);
            }
            x += 2 * step;
            y += 2 * p->out.pixel_stride;
        }
        if (p->joined) {
            break;
        }
    }
}

/** aboard_conv2d_mve for windows whose rows are not contiguous, whose cost differs. */
ABOARD_INLINE void aboard_conv2d_mve_scattered(const aboard_conv2d_mve_t *p, const int8_t *in, int8_t *out,
                                               const int8_t *weights, const int32_t *constants, int8_t *scratch,
                                               int32_t first, int32_t last) {
    aboard_conv2d_mve(p, in, out, weights, constants, scratch, first, last);
}

#endif
