/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/line_buffer.h
 * The line buffer: the input rows in the receptive field of one row of results, with padding.
 *
 * A line buffer is stored in scratch: rows at a fixed distance, pixels without gaps, padding filled in. It holds the
 * windows of a few rows of results; then it is shifted up, so that an input row is copied once. It is filled anew for
 * each row of results if rows of a window are not neighbours, of which it contains these alone, and in a cascade. If
 * there is no padding, dilation and group, and the input has this form, the line buffer is the input itself.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_LINE_BUFFER_H
#define ABOARD_KERNELS_ARM_MVE_LINE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"
#include "length.h"

/** Input and windows of a layer. */
typedef struct {
    aboard_view_t in;   /**< Any view. */
    int32_t in_height;  /**< Rows of an image of the input; the view counts the rows of all images of the batch. */
    int32_t out_height; /**< Rows of an image of the result. */
    int32_t window_height;
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h; /**< Rows from one tap to the next. */
    int32_t dilation_w; /**< Pixels from one tap to the next. */
    int32_t groups;     /**< Groups of channels; a window contains the channels of one. */
    int32_t pad_top;
    int32_t pad_left;
    int32_t cols;       /**< Pixels of a row of the line buffer; 0: the line buffer is the input itself. */
    int32_t keeps;      /**< 1: rows stay from one row of results to the next; 2: so they do within a call; 0: all are
                             copied for each. */
    int32_t lines;      /**< Rows of results whose windows the line buffer holds at once; 1 unless rows are kept, the
                             input is whole, and the stride is at most the height of a window. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
} aboard_mve_line_buffer_t;

#if ABOARD_MVE_ASM

/** Copies `count` bytes in loops of the core: neither reads nor writes beyond. */
ABOARD_INLINE void aboard_mve_copy_looped(int8_t *to, const int8_t *from, int32_t count) {
    const uint32_t blocks = (uint32_t)count / 64;
    const uint32_t rest = (uint32_t)count % 64;
    /* clang-format off */
    __asm__ volatile("wls lr, %[blocks], 2f\n\t"
                     "1:\n\t"
                     "vldrb.8 q0, [%[from]], #16\n\t"
                     "vldrb.8 q1, [%[from]], #16\n\t"
                     "vldrb.8 q2, [%[from]], #16\n\t"
                     "vldrb.8 q3, [%[from]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "vstrb.8 q1, [%[to]], #16\n\t"
                     "vstrb.8 q2, [%[to]], #16\n\t"
                     "vstrb.8 q3, [%[to]], #16\n\t"
                     "le lr, 1b\n\t"
                     "2:\n\t"
                     "wlstp.8 lr, %[rest], 4f\n\t"
                     "3:\n\t"
                     "vldrb.8 q0, [%[from]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 3b\n\t"
                     "4:"
                     : [to] "+&r"(to), [from] "+&r"(from)
                     : [blocks] "r"(blocks), [rest] "r"(rest)
                     : "lr", "q0", "q1", "q2", "q3", ABOARD_MVE_PREDICATE "cc", "memory");
    /* clang-format on */
}

/** Copies `count` bytes, which may lie over each other if `to` is below: neither reads nor writes beyond. */
ABOARD_INLINE void aboard_mve_copy(int8_t *to, const int8_t *from, int32_t count) {
    if (!__builtin_constant_p(count) || count > 64) {
        aboard_mve_copy_looped(to, from, count);
        return;
    }
    if (count == 4) {
        memcpy(to, from, 4);
        return;
    }
    const int32_t rest = count > 16 && count % 16 > 0 ? 16 + count % 16 : count % 16;
    for (; count >= rest + 16; count -= 16) {
        vstrbq_s8(to, vldrbq_s8(from));
        to += 16;
        from += 16;
    }
    if (count > 16) {
        /* Two vectors that have bytes in common; both are loaded before one is stored. */
        const int8x16_t first = vldrbq_s8(from);
        const int8x16_t last = vldrbq_s8(from + count - 16);
        vstrbq_s8(to, first);
        vstrbq_s8(to + count - 16, last);
    } else if (count > 0) {
        const mve_pred16_t some = vctp8q((uint32_t)count);
        vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
    }
}

/** Copies `count` bytes, and up to fifteen more. */
ABOARD_INLINE void aboard_mve_copy_and_more(int8_t *to, const int8_t *from, int32_t count) {
    if (count <= 4) {
        memcpy(to, from, 4);
        return;
    }
    ABOARD_UNROLL(8)
    for (int32_t i = 0; i < count; i += 16) {
        vstrbq_s8(to + i, vldrbq_s8(from + i));
    }
}

/** Writes `count` bytes of one value. */
ABOARD_INLINE void aboard_mve_fill(int8_t *to, int32_t value, int32_t count) {
    /* clang-format off */
    __asm__ volatile("vdup.8 q0, %[value]\n\t"
                     "wlstp.8 lr, %[count], 2f\n\t"
                     "1:\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 1b\n\t"
                     "2:"
                     : [to] "+&r"(to)
                     : [value] "r"(value), [count] "r"(ABOARD_MAX(count, 0))
                     : "lr", "q0", ABOARD_MVE_PREDICATE "cc", "memory");
    /* clang-format on */
}

#else

/** Copies `count` bytes, which may lie over each other if `to` is below. */
ABOARD_INLINE void aboard_mve_copy(int8_t *to, const int8_t *from, int32_t count) {
    memmove(to, from, (size_t)ABOARD_MAX(count, 0));
}

/** Copies `count` bytes; no caller depends on more. */
ABOARD_INLINE void aboard_mve_copy_and_more(int8_t *to, const int8_t *from, int32_t count) {
    aboard_mve_copy(to, from, count);
}

/** Writes `count` bytes of one value. */
ABOARD_INLINE void aboard_mve_fill(int8_t *to, int32_t value, int32_t count) {
    memset(to, value, (size_t)ABOARD_MAX(count, 0));
}

#endif

/** Bytes from a pixel of the line buffer to the next. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_pixel(const aboard_mve_line_buffer_t *b) {
    return b->cols == 0 ? b->in.pixel_stride : b->in.channels;
}

/** Bytes from a row of the line buffer to the next. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_stride(const aboard_mve_line_buffer_t *b) {
    return b->cols == 0 ? b->in.row_stride : b->cols * b->in.channels;
}

/** Bytes of scratch for the line buffer; a vector may exceed the last pixel. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_bytes(const aboard_mve_line_buffer_t *b) {
    const int32_t rows = b->window_height + (b->lines - 1) * b->stride_h;
    return b->cols == 0 ? 0 : (rows * b->cols * b->in.channels + 31) / 16 * 16;
}

/**
 * Copies input rows of an image from `y` on, or padding, into rows of the line buffer; not inlined.
 *
 * @param padded 1: the columns of padding have its value already.
 */
ABOARD_SHARED void aboard_mve_line_buffer_rows(const aboard_mve_line_buffer_t *b, const int8_t *in, int32_t image,
                                               int32_t y, int32_t count, int32_t padded, int8_t *to) {
    const int32_t depth = b->in.channels;
    const int32_t pixels = ABOARD_MIN(b->in.cols, b->cols - b->pad_left);
    const int32_t before = b->pad_left * depth;
    const int32_t bytes = pixels * depth;
    const int32_t stride = b->cols * depth;
    const int8_t *const end = to + count * stride;
    for (; to != end; to += stride) {
        if (y < 0 || y >= b->in_height) {
            aboard_mve_fill(to, b->zero_point, stride);
        } else {
            const int8_t *from = aboard_row_s8(&b->in, in, image * b->in_height + y);
            if (!padded) {
                aboard_mve_fill(to, b->zero_point, before);
                aboard_mve_fill(to + before + bytes, b->zero_point, stride - before - bytes);
            }
            if (b->in.pixel_stride == depth) {
                aboard_mve_copy(to + before, from, bytes);
            } else {
                for (int32_t x = before; x < before + bytes; x += depth) {
                    aboard_mve_copy(to + x, from, depth);
                    from += b->in.pixel_stride;
                }
            }
        }
        y += b->dilation_h;
    }
}

/**
 * Updates the line buffer for the windows of a row of results, and of those behind it that it holds too.
 *
 * @param b           Parameters.
 * @param in          Input.
 * @param row         Row of the result; within an image rows come in ascending order.
 * @param first       First row of a call.
 * @param line_buffer Scratch; keeps its content between rows if `keeps` is 1, and between those of a call if it is 2.
 *
 * @return The first byte of the first window.
 */
ABOARD_INLINE const int8_t *aboard_mve_line_buffer_from(const aboard_mve_line_buffer_t *b, const int8_t *in,
                                                        int32_t row, int32_t first, int8_t *line_buffer) {
    const int32_t image = b->in.rows == b->in_height ? 0 : row / b->out_height;
    const int32_t top = (row - image * b->out_height) * b->stride_h - b->pad_top;
    if (b->cols == 0) {
        return aboard_row_s8(&b->in, in, image * b->in_height + top);
    }
    const int32_t stride = aboard_mve_line_buffer_stride(b);
    const int32_t line = row - image * b->out_height;
    if (b->keeps && line % b->lines != 0) {
        return line_buffer + line % b->lines * b->stride_h * stride;
    }
    const int32_t rows = b->window_height + (ABOARD_MIN(b->lines, b->out_height - line) - 1) * b->stride_h;
    const int32_t kept = ABOARD_MAX(b->window_height - b->stride_h, 0);
    if (line == 0 || !b->keeps || (b->keeps == 2 && row == first)) {
        aboard_mve_line_buffer_rows(b, in, image, top, rows, 0, line_buffer);
    } else {
        /* To lower addresses, in ascending order. */
        aboard_mve_copy(line_buffer, line_buffer + b->lines * b->stride_h * stride, kept * stride);
        aboard_mve_line_buffer_rows(b, in, image, top + kept, rows - kept, 1, line_buffer + kept * stride);
    }
    return line_buffer;
}

/** As aboard_mve_line_buffer_from, where rows do not stay within a call alone. */
ABOARD_INLINE const int8_t *aboard_mve_line_buffer(const aboard_mve_line_buffer_t *b, const int8_t *in, int32_t row,
                                                   int8_t *line_buffer) {
    return aboard_mve_line_buffer_from(b, in, row, row, line_buffer);
}

/** Rows of results from `row` on, before `last`, whose windows the line buffer holds. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_held(const aboard_mve_line_buffer_t *b, int32_t row, int32_t last) {
    if (b->lines == 1) {
        return 1;
    }
    const int32_t line = b->in.rows == b->in_height ? row : row % b->out_height;
    return ABOARD_MIN(b->lines - line % b->lines, ABOARD_MIN(b->out_height - line, last - row));
}

/**
 * Returns how many windows at the end of a row of the input are too near to its end for loads that exceed them.
 *
 * @param b      Parameters; windows of one row.
 * @param excess Bytes by which a load exceeds a window.
 * @param step   Bytes from one window to the next.
 * @param last   True if no other row of windows follows.
 */
ABOARD_INLINE int32_t aboard_mve_line_buffer_rest(const aboard_mve_line_buffer_t *b, int32_t excess, int32_t step,
                                                  int32_t last) {
    const int32_t follows = b->in.buffer_rows >= b->in.rows && b->stride_h * b->in.row_stride >= excess;
    return follows && !last ? 0 : (excess + step - 1) / step;
}

/** Channels of a group. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_depth(const aboard_mve_line_buffer_t *b) {
    return b->in.channels / b->groups;
}

/** True if rows of a window are not contiguous: they have a dilation, or the channels of one of several groups. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_scattered(const aboard_mve_line_buffer_t *b) {
    return b->dilation_w > 1 || b->groups > 1;
}

/** Runs of contiguous bytes in a row of a window. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_runs(const aboard_mve_line_buffer_t *b) {
    return aboard_mve_line_buffer_scattered(b) ? b->window_width : 1;
}

/** Bytes of a run. */
ABOARD_INLINE int32_t aboard_mve_line_buffer_run(const aboard_mve_line_buffer_t *b) {
    return b->window_width * aboard_mve_line_buffer_depth(b) / aboard_mve_line_buffer_runs(b);
}

/** Two windows in a line buffer, and two columns that they are copied to. */
typedef struct {
    const int8_t *from[2];
    int8_t *to[2];
} aboard_mve_windows_t;

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** To the next run of both windows. */
#define ABOARD_MVE_WINDOWS_NEXT(x, a) \
    ".if %c[next] < 128\n\t" \
    "vldrb.8 %q[" a "], [%[" x "]], %[next]\n\t" \
    ".else\n\t" \
    "vldrb.8 %q[" a "], [%[" x "]]\n\t" \
    "addw %[" x "], %[" x "], %[next]\n\t" \
    ".endif\n\t"

/** A row of two windows: `more` whole vectors and a last one for each run. */
#define ABOARD_MVE_WINDOWS_ROW(length) \
    __asm__ volatile(".rept %c[runs]\n\t" \
                     ".rept %c[more]\n\t" \
                     "vldrb.8 %q[a], [%[x0]], #16\n\t" \
                     "vldrb.8 %q[b], [%[x1]], #16\n\t" \
                     "vstrb.8 %q[a], [%[y0]], #16\n\t" \
                     "vstrb.8 %q[b], [%[y1]], #16\n\t" \
                     ".endr\n\t" \
                     ABOARD_MVE_WINDOWS_NEXT("x0", "a") \
                     ABOARD_MVE_WINDOWS_NEXT("x1", "b") \
                     "vstrb.8 %q[a], [%[y0]], %[rest]\n\t" \
                     "vstrb.8 %q[b], [%[y1]], %[rest]\n\t" \
                     ".endr" length \
                     : [a] "=&w"(a), [b] "=&w"(b1), [x0] "+&r"(x0), [x1] "+&r"(x1), [y0] "+&r"(y0), [y1] "+&r"(y1) \
                     : [runs] "i"(runs), [more] "i"(more), [next] "i"(next), [rest] "i"(bytes - 16 * more) \
                     : "memory")

/* clang-format on */

/** Copies two windows, and up to fifteen bytes more for each. */
ABOARD_INLINE void aboard_mve_line_buffer_windows(const aboard_mve_line_buffer_t *b, aboard_mve_windows_t w) {
    const int32_t runs = aboard_mve_line_buffer_runs(b);
    const int32_t bytes = aboard_mve_line_buffer_run(b);
    const int32_t more = (bytes - 1) / 16;
    const int32_t step = b->dilation_w * aboard_mve_line_buffer_pixel(b);
    const int32_t next = step - 16 * more;
    const int8_t *x0 = w.from[0];
    const int8_t *x1 = w.from[1];
    int8_t *y0 = w.to[0];
    int8_t *y1 = w.to[1];
    int8x16_t a;
    int8x16_t b1;
    ABOARD_UNROLL(1)
    for (int32_t row = 0; row < b->window_height; ++row) {
        ABOARD_MVE_SIZED(runs * (4 * more + 6) - 20, ABOARD_MVE_WINDOWS_ROW);
        x0 += aboard_mve_line_buffer_stride(b) - runs * step;
        x1 += aboard_mve_line_buffer_stride(b) - runs * step;
    }
}

#else

/** Copies two windows; no caller depends on more. */
ABOARD_INLINE void aboard_mve_line_buffer_windows(const aboard_mve_line_buffer_t *b, aboard_mve_windows_t w) {
    const int32_t runs = aboard_mve_line_buffer_runs(b);
    const int32_t bytes = aboard_mve_line_buffer_run(b);
    for (int32_t i = 0; i < 2; ++i) {
        for (int32_t at = 0; at < b->window_height * runs; ++at) {
            const int32_t column = at % runs * b->dilation_w * aboard_mve_line_buffer_pixel(b);
            aboard_mve_copy(w.to[i] + at * bytes, w.from[i] + at / runs * aboard_mve_line_buffer_stride(b) + column,
                            bytes);
        }
    }
}

#endif

#endif
