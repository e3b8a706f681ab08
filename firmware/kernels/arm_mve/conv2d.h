/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/conv2d.h
 * int8 convolution with Helium: two pixels times four channels at once, sixteen taps per instruction.
 *
 * As many input rows as a window has are first copied into a line buffer, with padding and without gaps between pixels.
 * A window then consists of a few runs of bytes at equal distances. If runs are whole chunks of sixteen bytes, or few
 * bytes less, the products are computed from the line buffer; else each window is copied into an im2col column, a
 * single run padded to whole chunks. Windows with dilation, or of one of several groups of channels, are always copied.
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
    int32_t alone;            /**< 1: a window is one run of at most sixteen bytes, see aboard_conv2d_mve_chunks. */
    aboard_mve_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_conv2d_mve_t;

/** Bytes of a row of a window. */
ABOARD_INLINE int32_t aboard_conv2d_mve_run(const aboard_conv2d_mve_t *p) {
    return p->line_buffer.window_width * p->line_buffer.in.channels;
}

/** Channels of the result in a group. */
ABOARD_INLINE int32_t aboard_conv2d_mve_channels(const aboard_conv2d_mve_t *p) {
    return p->out.channels / p->line_buffer.groups;
}

/** First channel of a group's block of four that would begin at `n`: the last block are the last four. */
ABOARD_INLINE int32_t aboard_conv2d_mve_first(const aboard_conv2d_mve_t *p, int32_t n) {
    const int32_t channels = aboard_conv2d_mve_channels(p);
    return channels % 4 == 0 || channels < 4 ? n : ABOARD_MIN(n, channels - 4);
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Adds a number of either sign. */
#define ABOARD_CONV2D_STEP(x, number) \
    ".if %c[" number "] < 0\n\t" \
    "subw %[" x "], %[" x "], #-%c[" number "]\n\t" \
    ".else\n\t" \
    "addw %[" x "], %[" x "], #%c[" number "]\n\t" \
    ".endif\n\t"

/** The next of several rows, counted by `left`, and that operand. */
#define ABOARD_CONV2D_NEXT \
    "\n\tsubs %[left], %[left], #1\n\t" \
    "beq 3f\n\t" \
    ABOARD_CONV2D_STEP("x", "down") \
    ABOARD_CONV2D_STEP("y", "below") \
    "b 1b\n\t" \
    "3:"
#define ABOARD_CONV2D_LEFT , [left] "+&r"(left)

/** The length of a window, for loads with a predicate. */
#define ABOARD_CONV2D_LENGTH , [run] "r"(aboard_conv2d_mve_run(p))

/** Four channels of `count` pixels, whose windows are read by `load`; `before` sets what that needs, `next` goes on to
 * further rows. Sums are in high registers, because stores need a low one for their address. */
#define ABOARD_CONV2D_ALONE(before, load, next, left, length) \
    __asm__ volatile("vldrw.32 q1, [%[w]]\n\t" \
                     "vldrw.32 q2, [%[w], #16]\n\t" \
                     "vldrw.32 q3, [%[w], #32]\n\t" \
                     "vldrw.32 q4, [%[w], #48]\n\t" \
                     "vldrw.32 q5, [%[c]]\n\t" \
                     "vldrw.32 q6, [%[c], #16]\n\t" \
                     "vldrw.32 q7, [%[c], #32]\n\t" \
                     before \
                     "1:\n\t" \
                     "dls lr, %[count]\n\t" \
                     "2:\n\t" \
                     load " q0, [%[x]], %[step]\n\t" \
                     "vmladav.s8 r8, q0, q1\n\t" \
                     "vmladav.s8 r10, q0, q2\n\t" \
                     "vmladav.s8 r12, q0, q3\n\t" \
                     "vmladav.s8 r6, q0, q4\n\t" \
                     "vmov q0[2], q0[0], r8, r12\n\t" \
                     "vmov q0[3], q0[1], r10, r6\n\t" \
                     "vadd.i32 q0, q0, q5\n\t" \
                     "vqrdmulh.s32 q0, q0, q6\n\t" \
                     "vadd.i32 q0, q0, q7\n\t" \
                     "vqrshrnb.s32 q0, q0, %[shift]\n\t" \
                     "vqmovnb.s16 q0, q0\n\t" \
                     "vstrb.32 q0, [%[y]], %[pixel]\n\t" \
                     "le lr, 2b" next \
                     : [x] "+&r"(from), [y] "+&l"(to) left \
                     : [w] "r"(weights), [c] "r"(constants), [count] "r"(count), [shift] "i"(p->epilogue.shift), \
                       [step] "i"(p->line_buffer.stride_w * p->line_buffer.in.pixel_stride), \
                       [pixel] "i"(p->out.pixel_stride), [down] "i"(aboard_conv2d_mve_down(p)), \
                       [below] "i"(aboard_conv2d_mve_below(p)) length \
                     : "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", \
                       ABOARD_MVE_PREDICATE "cc", "memory")

/* clang-format on */

/** Most pixels that are computed with those near the end of the input, each of which takes an instruction more. */
#define ABOARD_CONV2D_SHORT 16

/** Bytes from the end of a row of windows to the next row of windows. */
ABOARD_INLINE int32_t aboard_conv2d_mve_down(const aboard_conv2d_mve_t *p) {
    const aboard_view_t *const in = &p->line_buffer.in;
    return p->line_buffer.stride_h * in->row_stride - p->out.cols * p->line_buffer.stride_w * in->pixel_stride;
}

/** Bytes from the end of a row of results to the next row. */
ABOARD_INLINE int32_t aboard_conv2d_mve_below(const aboard_conv2d_mve_t *p) {
    return p->out.row_stride - p->out.cols * p->out.pixel_stride;
}

/** True if rows of windows and of results have equal distances, which instructions add. */
ABOARD_INLINE int32_t aboard_conv2d_mve_steps(const aboard_conv2d_mve_t *p) {
    const aboard_view_t *const in = &p->line_buffer.in;
    const int32_t down = aboard_conv2d_mve_down(p);
    const int32_t below = aboard_conv2d_mve_below(p);
    const int32_t whole = in->buffer_rows >= in->rows && p->out.buffer_rows >= p->out.rows;
    const int32_t images = in->rows == p->line_buffer.in_height;
    const int32_t follows = p->line_buffer.stride_h * in->row_stride >= ABOARD_MVE_CHUNK - aboard_conv2d_mve_run(p);
    return !p->joined && whole && images && follows && ABOARD_MAX(down, -down) < 4096 &&
           ABOARD_MAX(below, -below) < 4096;
}

/**
 * Computes pixels whose windows are one chunk, four channels at a time, with weights and constants in registers.
 *
 * @param x, y    First window and its results.
 * @param rows    1, or a number of whole rows.
 * @param count   Pixels of a row, 1 or more.
 * @param exactly True if no byte beyond a window may be read.
 * @param weights [blocks of four channels][4][16]; the last four channels may overlap with those before.
 */
ABOARD_INLINE void aboard_conv2d_mve_alone(const aboard_conv2d_mve_t *p, const int8_t *x, int8_t *y, int32_t rows,
                                           int32_t count, int32_t exactly, const int8_t *weights,
                                           const int32_t *constants) {
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->out.channels; n += 4) {
        const int8_t *from = x;
        int8_t *to = y + aboard_conv2d_mve_first(p, n);
        if (exactly) {
            ABOARD_CONV2D_ALONE("vctp.8 %[run]\n\t", "vpst\n\tvldrbt.8", "", , ABOARD_CONV2D_LENGTH);
        } else if (aboard_conv2d_mve_steps(p)) {
            int32_t left = rows;
            ABOARD_CONV2D_ALONE("", "vldrb.8", ABOARD_CONV2D_NEXT, ABOARD_CONV2D_LEFT, );
        } else {
            ABOARD_CONV2D_ALONE("", "vldrb.8", "", , );
        }
        weights += 4 * ABOARD_MVE_CHUNK;
        constants += aboard_mve_epilogue_words(&p->epilogue);
    }
}

/** Computes rows of pixels whose windows are one chunk; loads may exceed a window where they do not exceed the input.
 */
ABOARD_INLINE void aboard_conv2d_mve_chunks(const aboard_conv2d_mve_t *p, const int8_t *in, int8_t *out,
                                            const int8_t *weights, const int32_t *constants, int32_t first,
                                            int32_t last) {
    const int32_t step = p->line_buffer.stride_w * p->line_buffer.in.pixel_stride;
    const int32_t excess = ABOARD_MVE_CHUNK - aboard_conv2d_mve_run(p);
    /* Rows before the last one of the tensor are computed together. */
    const int32_t inner = last - (last == p->out.rows);
    const int32_t length = p->joined ? (last - first) * p->out.cols : p->out.cols;
    int32_t rows = 1;
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; row += rows) {
        const int8_t *const x = aboard_mve_line_buffer(&p->line_buffer, in, row, NULL);
        int8_t *const y = aboard_row_out_s8(&p->out, out, row);
        rows = p->joined ? last - first : 1;
        if (aboard_conv2d_mve_steps(p) && row < inner) {
            rows = inner - row;
        }
        const int32_t end = p->joined || row + rows == p->out.rows;
        const int32_t near = aboard_mve_line_buffer_rest(&p->line_buffer, excess, step, end);
        /* A few pixels before those near the end take longer alone than with them. */
        const int32_t many = near > 0 && length - near <= ABOARD_CONV2D_SHORT ? 0 : length - near;
        const int32_t rest = length - many;
        if (many > 0) {
            aboard_conv2d_mve_alone(p, x, y, p->joined ? 1 : rows, many, 0, weights, constants);
        }
        if (rest > 0) {
            aboard_conv2d_mve_alone(p, x + many * step, y + many * p->out.pixel_stride, 1, rest, 1, weights, constants);
        }
    }
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

/** Computes all channels of a group for two pixels; `y1` is written before `y0` and may be the same. */
ABOARD_INLINE void aboard_conv2d_mve_pixels(const aboard_conv2d_mve_t *p, const int8_t *x0, const int8_t *x1,
                                            const int8_t *weights, const int32_t *constants, int8_t *y0, int8_t *y1) {
    /* With known constants, a compiler would copy this code for every four channels. */
    ABOARD_OPAQUE(constants);
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < aboard_conv2d_mve_channels(p); n += 4) {
        const int32_t at = aboard_conv2d_mve_first(p, n);
        aboard_conv2d_mve_block(p, x0, x1, &weights, constants, y0 + at, y1 + at, aboard_conv2d_mve_channels(p));
        constants += aboard_mve_epilogue_words(&p->epilogue);
    }
}

/** Returns a window, given its first byte in the line buffer: that address, or an im2col column with a copy. */
ABOARD_INLINE const int8_t *aboard_conv2d_mve_window(const aboard_conv2d_mve_t *p, const int8_t *x, int32_t stride,
                                                     int8_t *column) {
    if (p->column == 0) {
        return x;
    }
    const int32_t bytes = aboard_conv2d_mve_run(p);
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
 * @param weights     [groups][blocks of four channels][chunks of a window][4][16]. The last block are the last four
 *                    channels of a group; fewer are padded with zeros.
 * @param constants   Constants of the epilogue: vectors of four channels, one block of channels after another.
 * @param scratch     The line buffer, two im2col columns, and one more vector.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_mve(const aboard_conv2d_mve_t *p, const int8_t *in, int8_t *out, const int8_t *weights,
                                     const int32_t *constants, int8_t *scratch, int32_t first, int32_t last) {
#if ABOARD_MVE_ASM
    if (p->alone) {
        aboard_conv2d_mve_chunks(p, in, out, weights, constants, first, last);
        return;
    }
#endif
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t stride = aboard_mve_line_buffer_stride(&p->line_buffer);
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        int32_t left = p->joined ? (last - first) * p->out.cols : p->out.cols;
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
