/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_plane.h
 * int8 convolution of 3x3 over one channel with the DSP extension, as of the first layer over a grey image: the windows
 * of two pixels are in registers for all channels of the result (pairs_in_registers.h).
 *
 * A window is nine taps in five words of halfwords. The first two rows are a word for each column, (row 0, row 1), so
 * that the windows of both pixels share the words of common columns. The last row is the word (column 0, column 2) and
 * a halfword, column 1; at a stride of 1 the words of the two pixels have each other's halfwords, at a stride of 2 one
 * word has both. So eight registers hold two windows.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_PLANE_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_PLANE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "pairs_in_registers.h"

/** Parameters of aboard_conv2d_plane_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< Windows of 3x3 over one channel, without dilation; 1 or 2 columns apart. */
    int32_t zero_point;          /**< Zero point of the input, and value of padding. */
    int32_t single_rounding;     /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;             /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_conv2d_plane_dsp_t;

/** Pairs of pixels of a row; the assembly depends on the order of fields. */
typedef struct {
    const int8_t *x[3]; /**< The rows of the first window, at any address; read up to the last column of each pair. */
    int32_t y_stride;   /**< 0: the second pixel of the pair is not wanted. */
    int8_t *y;
    const uint32_t *weights; /**< ABOARD_DSP_PLANE_CHANNEL words for each channel. */
    const uint32_t *weights_end;
    const int8_t *end; /**< x[0] behind the last pair. */
    int32_t skipped;   /**< Bytes of code of the channels that the first iteration leaves out. */
} aboard_dsp_plane_t;

/** Rows and columns of a window. */
#define ABOARD_DSP_PLANE_TAPS 3

/** Words of taps of a channel, and words of a channel. */
#define ABOARD_DSP_PLANE_WORDS 5
#define ABOARD_DSP_PLANE_CHANNEL(single) (ABOARD_DSP_PLANE_WORDS + ABOARD_DSP_PAIRS_AROUND(single))

/** Bytes of the code of a channel. */
#define ABOARD_DSP_PLANE_CODE(stride, single) (((stride) == 1 ? 60 : 64) + ((single) ? 20 : 48))

/** Bytes of a row of two copied windows. */
#define ABOARD_DSP_PLANE_COPY 8

#if ABOARD_DSP_ASM

/* clang-format off */
/** The words of four columns of the first two rows, which are in r0 and r1: columns 0 to 3 in r0 to r3. */
#define ABOARD_DSP_PLANE_COLUMNS                                        \
    "sxtb16 r8, r0\n sxtb16 r9, r0, ror #8\n sxtb16 r10, r1\n sxtb16 r11, r1, ror #8\n" \
    "pkhbt r0, r8, r10, lsl #16\n pkhtb r2, r10, r8, asr #16\n"         \
    "pkhbt r1, r9, r11, lsl #16\n pkhtb r3, r11, r9, asr #16\n"

/** Columns 0 and 2 of the last row, and columns 1 and 3. */
#define ABOARD_DSP_PLANE_LAST "sxtb16 r7, r5, ror #8\n sxtb16 r5, r5\n"

/** Registers of the job, and on to the first channel. */
#define ABOARD_DSP_PLANE_GO(y_stride)                                   \
    "ldr r8, [sp, #32]\n ldr lr, [sp, #20]\n ldr r12, [sp, #16]\n ldr " y_stride ", [sp, #12]\n" \
    "add r9, r12, " y_stride ", lsl #1\n str r9, [sp, #16]\n"           \
    "bx r8\n"

/** A stride of 1: four columns; y_stride in r6. */
#define ABOARD_DSP_PLANE_1                                              \
    "ldm sp, {r8-r10}\n"                                               \
    "ldr r0, [r8], #2\n ldr r1, [r9], #2\n ldr r5, [r10], #2\n"         \
    "stm sp, {r8-r10}\n"                                               \
    ABOARD_DSP_PLANE_COLUMNS ABOARD_DSP_PLANE_LAST ABOARD_DSP_PLANE_GO("r6")

/** A stride of 2: five columns, the last of the first two rows in r4; columns 2 and 4 of the last row in r6. */
#define ABOARD_DSP_PLANE_2                                              \
    "ldm sp, {r8-r10}\n"                                               \
    "ldr r0, [r8], #4\n ldr r1, [r9], #4\n ldr r5, [r10], #4\n"         \
    "ldrsb r4, [r8]\n ldrsb r7, [r9]\n ldrsb r6, [r10]\n"               \
    "stm sp, {r8-r10}\n"                                               \
    "pkhbt r4, r4, r7, lsl #16\n"                                      \
    ABOARD_DSP_PLANE_COLUMNS ABOARD_DSP_PLANE_LAST                      \
    "lsl r6, r6, #16\n pkhtb r6, r6, r5, asr #16\n"                     \
    ABOARD_DSP_PLANE_GO("r9")

/** Sums of a channel: the first pixel's in r8, from r0 to r2, r5 and r7; the second's in r11, from columns a to c, `ends` with
 * columns 0 and 2 of the last row, and the upper half of `middle`. */
#define ABOARD_DSP_PLANE_SUMS(a, b, c, ends, middle)                    \
    "ldmia.w lr!, {r8-r10}\n"                                          \
    ABOARD_DSP_PAIRS_BEGUN("r9", "r0", a, "r8", "r11") ABOARD_DSP_PAIRS_TAPS("r10", "r1", b, "r8", "r11") \
    "ldmia.w lr!, {r9, r10}\n"                                         \
    ABOARD_DSP_PAIRS_TAPS("r9", "r2", c, "r8", "r11") ABOARD_DSP_PAIRS_TAPS("r10", "r5", ends, "r8", "r11") \
    "ldr.w r9, [lr], #4\n"                                             \
    "smlatb r11, " middle ", r9, r11\n smlabb r8, r7, r9, r8\n"
#define ABOARD_DSP_PLANE_SUMS_1 ABOARD_DSP_PLANE_SUMS("r1", "r2", "r3", "r7", "r5")
#define ABOARD_DSP_PLANE_SUMS_2 ABOARD_DSP_PLANE_SUMS("r2", "r3", "r4", "r6", "r7")

#define ABOARD_DSP_PLANE_SINGLE                                         \
    "ldmia.w lr!, {r9, r10}\n"                                         \
    ABOARD_DSP_PAIRS_SINGLE("r11", "r9", "r10") ABOARD_DSP_PAIRS_SINGLE("r8", "r9", "r10")
#define ABOARD_DSP_PLANE_DOUBLE ABOARD_DSP_PAIRS_DOUBLE("r8", "r11", "r9", "r10")

/** Stores both results, the second pixel's first. */
#define ABOARD_DSP_PLANE_STORED(y_stride) "strb.w r11, [r12, " y_stride "]\n strb r8, [r12], #1\n"
#define ABOARD_DSP_PLANE_STORED_1 ABOARD_DSP_PLANE_STORED("r6")
#define ABOARD_DSP_PLANE_STORED_2 "ldr.w r9, [sp, #12]\n" ABOARD_DSP_PLANE_STORED("r9")

#define ABOARD_DSP_PLANE_FUNCTION(name, pixels, channel)                \
    ABOARD_DSP_PAIRS_FUNCTION(name, aboard_dsp_plane_t, pixels, channel, "ldr r9, [sp, #24]\n cmp lr, r9\n")

ABOARD_DSP_PLANE_FUNCTION(aboard_dsp_plane_1_single, ABOARD_DSP_PLANE_1,
                          ABOARD_DSP_PLANE_SUMS_1 ABOARD_DSP_PLANE_SINGLE ABOARD_DSP_PLANE_STORED_1)
ABOARD_DSP_PLANE_FUNCTION(aboard_dsp_plane_1_double, ABOARD_DSP_PLANE_1,
                          ABOARD_DSP_PLANE_SUMS_1 ABOARD_DSP_PLANE_DOUBLE ABOARD_DSP_PLANE_STORED_1)
ABOARD_DSP_PLANE_FUNCTION(aboard_dsp_plane_2_single, ABOARD_DSP_PLANE_2,
                          ABOARD_DSP_PLANE_SUMS_2 ABOARD_DSP_PLANE_SINGLE ABOARD_DSP_PLANE_STORED_2)
ABOARD_DSP_PLANE_FUNCTION(aboard_dsp_plane_2_double, ABOARD_DSP_PLANE_2,
                          ABOARD_DSP_PLANE_SUMS_2 ABOARD_DSP_PLANE_DOUBLE ABOARD_DSP_PLANE_STORED_2)
/* clang-format on */

/** All channels of pairs of pixels `stride` columns apart; literals. */
ABOARD_INLINE void aboard_dsp_plane(const aboard_dsp_plane_t *p, int32_t stride, bool single) {
    if (stride == 1) {
        (single ? aboard_dsp_plane_1_single : aboard_dsp_plane_1_double)(p);
    } else {
        (single ? aboard_dsp_plane_2_single : aboard_dsp_plane_2_double)(p);
    }
}

#else

/** Two values as halfwords. */
ABOARD_INLINE uint32_t aboard_dsp_plane_word(int8_t low, int8_t high) {
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
}

/** Writes the words of the window at column `at`. */
ABOARD_INLINE void aboard_dsp_plane_window(const int8_t *const *x, int32_t at, uint32_t *words) {
    for (int32_t col = 0; col < ABOARD_DSP_PLANE_TAPS; ++col) {
        words[col] = aboard_dsp_plane_word(x[0][at + col], x[1][at + col]);
    }
    words[3] = aboard_dsp_plane_word(x[2][at], x[2][at + 2]);
    words[4] = aboard_dsp_plane_word(x[2][at + 1], 0);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_plane(const aboard_dsp_plane_t *p, int32_t stride, bool single) {
    const int32_t columns = (int32_t)(p->end - p->x[0]);
    int8_t *y = p->y;
    for (int32_t at = 0; at < columns; at += 2 * stride, y += 2 * p->y_stride) {
        uint32_t windows[2][ABOARD_DSP_PLANE_WORDS];
        aboard_dsp_plane_window(p->x, at, windows[0]);
        aboard_dsp_plane_window(p->x, at + stride, windows[1]);
        int32_t channel = 0;
        for (const uint32_t *w = p->weights; w != p->weights_end; w += ABOARD_DSP_PLANE_CHANNEL(single), ++channel) {
            y[p->y_stride + channel] = aboard_dsp_pairs_result(windows[1], ABOARD_DSP_PLANE_WORDS, w, single);
            y[channel] = aboard_dsp_pairs_result(windows[0], ABOARD_DSP_PLANE_WORDS, w, single);
        }
    }
}

#endif

/** Finds the rows of the windows of a row of the result; NULL outside of the input. Returns whether all are in it. */
ABOARD_INLINE bool aboard_conv2d_plane_rows(const aboard_conv2d_shape_t *s, const int8_t *in,
                                            const aboard_conv2d_window_t *w, const int8_t **rows) {
    for (int32_t ky = 0; ky < ABOARD_DSP_PLANE_TAPS; ++ky) {
        const int32_t row = w->top + ky;
        rows[ky] = row < 0 || row >= s->in_height ? NULL : aboard_row_s8(&s->in, in, w->base + row);
    }
    return rows[0] && rows[1] && rows[2];
}

/** Pairs of pixels from the one whose windows begin at column `left` on whose columns are in the input, at most `most`;
 * 0 if a row of the input is no run of bytes. */
ABOARD_INLINE int32_t aboard_conv2d_plane_inside(const aboard_conv2d_shape_t *s, int32_t left, int32_t most) {
    const int32_t room = s->in.cols - ABOARD_DSP_PLANE_TAPS - s->stride_w - left;
    return left < 0 || room < 0 || s->in.pixel_stride != 1 ? 0 : ABOARD_MIN(room / (2 * s->stride_w) + 1, most);
}

/** Copies `count` columns of a row of `cols` pixels from column `left` on, with padding. */
ABOARD_SHARED void aboard_conv2d_plane_copy(const int8_t *row, int32_t pixel_stride, int32_t cols, int32_t left,
                                            int32_t count, int32_t zero_point, int8_t *copy) {
    for (int32_t kx = 0; kx < count; ++kx) {
        const int32_t col = left + kx;
        copy[kx] = (int8_t)(col < 0 || col >= cols ? zero_point : row[col * pixel_stride]);
    }
}

/** Row `row` of the result: pairs of pixels whose columns are in the input, others by their copies; a last single pixel
 * is the first of a pair. */
ABOARD_INLINE void aboard_conv2d_plane_row(const aboard_conv2d_plane_dsp_t *p, const int8_t *in, int8_t *y,
                                           const uint32_t *weights, int32_t row) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const bool single = p->single_rounding != 0;
    const int32_t count = ABOARD_DSP_PLANE_TAPS + s->stride_w;
    const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, 0);
    int8_t padding[ABOARD_DSP_PLANE_COPY];
    memset(padding, p->zero_point, sizeof(padding));
    const int8_t *rows[ABOARD_DSP_PLANE_TAPS];
    const bool is_whole = aboard_conv2d_plane_rows(s, in, &window, rows);
    aboard_dsp_plane_t job;
    job.weights = weights;
    job.weights_end = weights + s->out.channels * ABOARD_DSP_PLANE_CHANNEL(single);
    job.skipped = ABOARD_DSP_PAIRS_SKIPPED(s->out.channels, ABOARD_DSP_PLANE_CODE(s->stride_w, single));
    for (int32_t col = 0; col < s->out.cols;) {
        int8_t copies[ABOARD_DSP_PLANE_TAPS][ABOARD_DSP_PLANE_COPY];
        const int32_t left = window.left + col * s->stride_w;
        const int32_t inside = aboard_conv2d_plane_inside(s, left, (s->out.cols - col) / 2);
        /* Rows of padding have the columns of one pair. */
        const int32_t pairs = is_whole && inside > 0 ? inside : 1;
        for (int32_t ky = 0; ky < ABOARD_DSP_PLANE_TAPS; ++ky) {
            job.x[ky] = padding;
            if (rows[ky] && inside > 0) {
                job.x[ky] = rows[ky] + left;
            } else if (rows[ky]) {
                aboard_conv2d_plane_copy(rows[ky], s->in.pixel_stride, s->in.cols, left, count, p->zero_point,
                                         copies[ky]);
                job.x[ky] = copies[ky];
            }
        }
        job.end = job.x[0] + 2 * pairs * s->stride_w;
        job.y = y + col * s->out.pixel_stride;
        job.y_stride = col + 1 < s->out.cols ? s->out.pixel_stride : 0;
        aboard_dsp_plane(&job, s->stride_w, single);
        col += 2 * pairs;
    }
}

/**
 * int8 convolution of 3x3 over one channel, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py): the windows of two pixels are read before
 * their results are written.
 * @param weights     ABOARD_DSP_PLANE_CHANNEL words per channel: of the taps of a window, row by row, the words
 * (0, 3), (1, 4), (2, 5), (6, 8) and (7, 0).
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_plane_dsp(const aboard_conv2d_plane_dsp_t *p, const int8_t *in, int8_t *out,
                                           const uint32_t *weights, int32_t first, int32_t last) {
    const aboard_view_t *to = &p->shape.out;
    for (int32_t row = first; row < last; ++row) {
        int8_t *const y = aboard_row_out_s8(to, out, row);
        aboard_conv2d_plane_row(p, in, y, weights, row);
        for (int32_t i = 0; p->clamped && i < to->cols; ++i) {
            aboard_dsp_clamp(y + i * to->pixel_stride, to->channels, p->low, p->high);
        }
    }
}

#endif
