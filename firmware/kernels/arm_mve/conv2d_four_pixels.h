/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/conv2d_four_pixels.h
 * int8 convolution with Helium: four pixels times two channels at once, sixteen taps per instruction.
 *
 * Windows of single pixels are read from the input. Other windows are read from a line buffer of input rows
 * (line_buffer.h) if pixels are whole chunks of sixteen bytes, else from im2col columns into which they are copied. For
 * 1x1 and im2col columns, four pixels may be the end of a row and the start of the next.
 * host/aboard/kernels/arm_mve/conv2d_four_pixels.py chooses.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_CONV2D_FOUR_PIXELS_H
#define ABOARD_KERNELS_ARM_MVE_CONV2D_FOUR_PIXELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "four_pixels.h"
#include "helium.h"
#include "length.h"
#include "line_buffer.h"
#include "sums.h"

/** Windows of a pixel are read in place. */
#define ABOARD_FOUR_PIXELS_DIRECT 0
/** Windows are read from the line buffer; a row of the result has four pixels or more. */
#define ABOARD_FOUR_PIXELS_LINE_BUFFER 1
/** Windows are copied, each into an im2col column. */
#define ABOARD_FOUR_PIXELS_IM2COL 2

/** Pixels computed at once. */
#define ABOARD_FOUR_PIXELS 4

/** Chunks times taps of windows in a line buffer that are computed without a loop over rows. */
#define ABOARD_FOUR_PIXELS_UNROLLED 36

/** Parameters of aboard_conv2d_four_pixels_mve. */
typedef struct {
    aboard_mve_line_buffer_t line_buffer; /**< Input, window and padding. */
    aboard_view_t out;                    /**< Any view. */
    int32_t source;                       /**< ABOARD_FOUR_PIXELS_DIRECT, _LINE_BUFFER or _IM2COL. */
    int32_t joined;   /**< 1: rows of the result are contiguous, and for DIRECT also rows of the input; 2: as 1, except
                           at the end of a rolling buffer. */
    int32_t rows;     /**< Rows of a window in a line buffer, else 1. */
    int32_t taps;     /**< Pixels of a window's row if neighbouring windows share loads, else 1; at most 5. */
    int32_t chunks;   /**< Chunks of a tap. */
    int32_t distance; /**< Bytes from one window to the next, a multiple of 4. */
    int32_t exact;    /**< 1: a window is as long as its chunks. */
    int32_t unit;     /**< For IM2COL, bytes of a unit that windows are gathered in: 1, 2 or 4; 0: rows are copied. */
    int32_t quads;    /**< 1: four channels of a pixel are written as a word: results are at multiples of 4 bytes, and
                           of every four channels the first and the third come before the others. */
    int32_t begun;    /**< 1: before the weights of two channels come eight words that their sums begin with. */
    aboard_mve_epilogue_t epilogue; /**< ABOARD_MVE_SINGLE_ROUNDING or ABOARD_MVE_RIGHT, without limits. */
} aboard_conv2d_four_pixels_mve_t;

/** Addresses of the results of two channels of four pixels, or of the four bytes before words of four channels. With
 * fewer than four last pixels, the last one is repeated. */
typedef union {
    uint16_t results[8];
    uint32_t words[4];
} aboard_four_pixels_table_t;

/** Fills a table for `count` pixels. */
ABOARD_INLINE void aboard_four_pixels_fill(const aboard_conv2d_four_pixels_mve_t *p, int32_t count,
                                           aboard_four_pixels_table_t *table) {
    if (p->quads) {
        ABOARD_UNROLL(4)
        for (int32_t lane = 0; lane < 4; ++lane) {
            table->words[lane] = (uint32_t)(ABOARD_MIN(lane, count - 1) * p->out.pixel_stride - 4);
        }
        return;
    }
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        table->results[lane] = (uint16_t)(ABOARD_MIN(lane / 2, count - 1) * p->out.pixel_stride + lane % 2);
    }
}

/** Fills a table for the last pixels of `rows` rows that follow each other. */
ABOARD_INLINE void aboard_four_pixels_fill_last(const aboard_conv2d_four_pixels_mve_t *p, int32_t rows,
                                                aboard_four_pixels_table_t *table) {
    aboard_four_pixels_fill(p, (rows * p->out.cols - 1) % ABOARD_FOUR_PIXELS + 1, table);
}

/** Rows from `row` on, before `last`, whose pixels follow each other without gaps. */
ABOARD_INLINE int32_t aboard_four_pixels_together(const aboard_conv2d_four_pixels_mve_t *p, int32_t row, int32_t last) {
    if (p->joined == 0) {
        return 1;
    }
    if (p->joined == 1) {
        return last - row;
    }
    const int32_t out = aboard_rows_together(&p->out, row, last - row);
    return p->source == ABOARD_FOUR_PIXELS_DIRECT ? aboard_rows_together(&p->line_buffer.in, row, out) : out;
}

/** Channels of the result in a group. */
ABOARD_INLINE int32_t aboard_four_pixels_channels(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->out.channels / p->line_buffer.groups;
}

#if ABOARD_MVE_ASM

/* Formatted by hand: lists of operands. */
/* clang-format off */

#define ABOARD_FOUR_PIXELS_ASM(text, length) \
    __asm__ volatile(text length \
                     : [x] "+r"(x), [x2] "+r"(table), [w] "+r"(w), [out] "+r"(out), [left] "=&r"(left) \
                     : [pairs] "i"(aboard_four_pixels_channels(p) / 2), [chunks] "i"(p->chunks), [distance] "i"(p->distance), \
                       [taps] "i"(p->taps), [rows] "i"(p->rows), [advance] "i"(advance), \
                       [quads] "i"(p->quads), [begun] "i"(p->begun), [held] "i"(held), [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift), \
                       [zero_point] "i"(p->epilogue.zero_point) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/* clang-format on */

#define ABOARD_FOUR_PIXELS_RUN(length) ABOARD_FOUR_PIXELS_ASM(ABOARD_MVE_FOUR_PIXELS_RUN, length)
#define ABOARD_FOUR_PIXELS_WINDOWS(length) ABOARD_FOUR_PIXELS_ASM(ABOARD_MVE_FOUR_PIXELS_WINDOWS, length)
#define ABOARD_FOUR_PIXELS_LOOPED(length) ABOARD_FOUR_PIXELS_ASM(ABOARD_MVE_FOUR_PIXELS_LOOPED, length)

/** Computes all channels of four pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                      const aboard_four_pixels_table_t *table, int8_t *out) {
    const int32_t advance =
        p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER ? aboard_mve_line_buffer_stride(&p->line_buffer) : 0;
    const int32_t row = p->chunks * (ABOARD_MVE_FOUR_PIXELS_CHUNK_LENGTH + ABOARD_MVE_FOUR_PIXELS_TAP_LENGTH * p->taps);
    /* The register that holds results: the one of further chunks of a run, or that of the fourth pixel. */
    const int32_t held = p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER || p->chunks == 1 || !p->quads ? 6 : 3;
    const int32_t copies = 1 + p->quads;
    const int32_t epilogues = p->quads * ABOARD_MVE_FOUR_PIXELS_EPILOGUE_LENGTH;
    int32_t left;
    if (p->source != ABOARD_FOUR_PIXELS_LINE_BUFFER) {
        ABOARD_MVE_SIZED(copies * ABOARD_MVE_FOUR_PIXELS_RUN_LENGTH * (p->chunks - 2) + epilogues,
                         ABOARD_FOUR_PIXELS_RUN);
    } else if (p->rows * p->chunks * p->taps <= ABOARD_FOUR_PIXELS_UNROLLED) {
        ABOARD_MVE_SIZED(copies * p->rows * (row + 2) - 2 * ABOARD_MVE_FOUR_PIXELS_ROW_LINES + epilogues,
                         ABOARD_FOUR_PIXELS_WINDOWS);
    } else {
        ABOARD_MVE_SIZED(copies * (row + p->rows) - ABOARD_MVE_FOUR_PIXELS_ROW_LINES + epilogues,
                         ABOARD_FOUR_PIXELS_LOOPED);
    }
}

#else

/** Computes all channels of four pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                      const aboard_four_pixels_table_t *table, int8_t *out) {
    const int32_t advance =
        p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER ? aboard_mve_line_buffer_stride(&p->line_buffer) : 0;
    for (int32_t n = 0; n < aboard_four_pixels_channels(p); n += 2) {
        int32_t sums[8] = {0};
        int32_t begin[8] = {0};
        int32_t constants[2][3];
        if (p->begun) {
            memcpy(begin, w, sizeof(begin));
            w += sizeof(begin);
        }
        for (int32_t at = 0; at < p->rows * p->chunks * p->taps; ++at) {
            const int32_t tap = at % p->taps;
            const int32_t chunk = at / p->taps % p->chunks;
            const int8_t *const from = x + at / p->taps / p->chunks * advance + chunk * ABOARD_MVE_CHUNK;
            for (int32_t lane = 0; lane < 8; ++lane) {
                sums[lane] += aboard_mve_chunk(from + (lane / 2 + tap) * p->distance, w + lane % 2 * ABOARD_MVE_CHUNK);
            }
            w += 2 * ABOARD_MVE_CHUNK;
        }
        for (int32_t channel = 0; channel < 2; ++channel) {
            const size_t bytes = p->begun ? 8 : 12;
            constants[channel][0] = begin[4 * channel];
            memcpy(constants[channel] + p->begun, w, bytes);
            w += bytes;
        }
        for (int32_t lane = 0; lane < 8; ++lane) {
            const int32_t *const c = constants[lane % 2];
            /* With words, lanes are channels 0 and 2, and then 1 and 3. */
            int8_t *const to = p->quads ? out + (int32_t)table->words[lane / 2] + 4 + n - n % 4 / 2 + lane % 2 * 2
                                        : out + n + table->results[lane];
            *to = aboard_mve_result(&p->epilogue, sums[lane], c[0], 0, c[1], c[2]);
        }
    }
}

#endif

/**
 * Computes `count` pixels directly from the input. The last pixels are copied to `scratch` if there are fewer than
 * four, or if vectors would exceed them.
 */
ABOARD_INLINE void aboard_four_pixels_direct(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t count,
                                             const int8_t *weights, int8_t *scratch, int8_t *out) {
    aboard_four_pixels_table_t tables[2];
    const aboard_four_pixels_table_t *table = &tables[0];
    const int32_t safe = p->exact ? ABOARD_FOUR_PIXELS : ABOARD_FOUR_PIXELS + 1;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &tables[0]);
    aboard_four_pixels_fill(p, (count - 1) % ABOARD_FOUR_PIXELS + 1, &tables[1]);
    ABOARD_UNROLL(1)
    for (; count > 0; count -= ABOARD_FOUR_PIXELS) {
        if (count < safe) {
            for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
                const int32_t pixel = ABOARD_MIN(i, count - 1);
                aboard_mve_copy(scratch + i * p->distance, x + pixel * p->distance, p->line_buffer.in.channels);
            }
            x = scratch;
            table = &tables[1];
        }
        aboard_four_pixels(p, x, weights, table, out);
        x += ABOARD_FOUR_PIXELS * p->distance;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride;
    }
}

/** Computes a row of pixels whose windows are in the line buffer. Four last pixels may overlap with pixels that are
 * done. */
ABOARD_INLINE void aboard_four_pixels_line_buffer(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                  const int8_t *weights, const aboard_four_pixels_table_t *table,
                                                  int8_t *out) {
    int32_t col = 0;
    ABOARD_UNROLL(1)
    while (col < p->out.cols) {
        const int32_t at = ABOARD_MIN(col, p->out.cols - ABOARD_FOUR_PIXELS);
        aboard_four_pixels(p, x + at * p->distance, weights, table, out + at * p->out.pixel_stride);
        col += ABOARD_FOUR_PIXELS;
    }
}

/** Copies a window, given its first byte in the line buffer, into an im2col column. */
ABOARD_INLINE void aboard_four_pixels_im2col(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int8_t *to) {
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    const int32_t stride = aboard_mve_line_buffer_stride(&p->line_buffer);
    ABOARD_UNROLL(16)
    for (int32_t row = 0; row < p->line_buffer.window_height; ++row) {
        if (p->line_buffer.cols == 0) {
            aboard_mve_copy(to, x, bytes);
        } else {
            /* The line buffer and the im2col columns are followed by free bytes. Excess bytes are overwritten, or are
             * multiplied by 0. */
            aboard_mve_copy_and_more(to, x, bytes);
        }
        to += bytes;
        x += stride;
    }
}

/** Copies four neighbouring windows: as aboard_four_pixels_im2col for each, with fewer addresses. */
ABOARD_INLINE void aboard_four_pixels_four(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int8_t *to) {
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    ABOARD_UNROLL(16)
    for (int32_t row = 0; row < p->line_buffer.window_height; ++row) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
            aboard_mve_copy_and_more(to + i * p->distance, x + i * step, bytes);
        }
        to += bytes;
        x += aboard_mve_line_buffer_stride(&p->line_buffer);
    }
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

#define ABOARD_FOUR_PIXELS_GATHER(load, length) \
    __asm__ volatile(".set aboard_chunk, 0\n\t" \
                     ".rept %c[chunks]\n\t" \
                     "vldrw.32 q0, [%[offsets], #16 * aboard_chunk]\n\t" \
                     load " q1, [%[x0], q0]\n\t" \
                     load " q2, [%[x1], q0]\n\t" \
                     load " q3, [%[x2], q0]\n\t" \
                     load " q4, [%[x3], q0]\n\t" \
                     "vstrw.32 q1, [%[y0], #16 * aboard_chunk]\n\t" \
                     "vstrw.32 q2, [%[y1], #16 * aboard_chunk]\n\t" \
                     "vstrw.32 q3, [%[y2], #16 * aboard_chunk]\n\t" \
                     "vstrw.32 q4, [%[y3], #16 * aboard_chunk]\n\t" \
                     ".set aboard_chunk, aboard_chunk + 1\n\t" \
                     ".endr" length \
                     : : [x0] "r"(x[0]), [x1] "r"(x[1]), [x2] "r"(x[2]), [x3] "r"(x[3]), [y0] "r"(y[0]), \
                         [y1] "r"(y[1]), [y2] "r"(y[2]), [y3] "r"(y[3]), [offsets] "r"(offsets), \
                         [chunks] "i"(p->chunks) \
                     : "q0", "q1", "q2", "q3", "q4", "memory")

/* clang-format on */

#define ABOARD_FOUR_PIXELS_GATHER_BYTES(length) ABOARD_FOUR_PIXELS_GATHER("vldrb.u8", length)
#define ABOARD_FOUR_PIXELS_GATHER_HALVES(length) ABOARD_FOUR_PIXELS_GATHER("vldrh.u16", length)
#define ABOARD_FOUR_PIXELS_GATHER_WORDS(length) ABOARD_FOUR_PIXELS_GATHER("vldrw.u32", length)

/** Gathers windows at `x` into im2col columns `y`, four at a time, in units whose offsets are `offsets`. */
ABOARD_INLINE void aboard_four_pixels_gather(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *const *x,
                                             int8_t *const *y, const int8_t *offsets) {
    const int32_t repeated = 9 * (p->chunks - 1);
    if (p->unit == 1) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_BYTES);
    } else if (p->unit == 2) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_HALVES);
    } else {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_WORDS);
    }
}

#else

/** Gathers windows at `x` into im2col columns `y`, four at a time, in units whose offsets are `offsets`. */
ABOARD_INLINE void aboard_four_pixels_gather(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *const *x,
                                             int8_t *const *y, const int8_t *offsets) {
    for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
        for (int32_t at = 0; at < p->chunks * ABOARD_MVE_CHUNK; at += p->unit) {
            uint32_t offset = 0;
            memcpy(&offset, offsets + at, (size_t)p->unit);
            memcpy(y[i] + at, x[i] + offset, (size_t)p->unit);
        }
    }
}

#endif

/**
 * Copies the next windows of a row into im2col columns, of which `waiting` are full.
 *
 * The last window is also copied to the columns behind it, which the windows of the next row overwrite.
 *
 * @return Number of windows, up to `left`, that the columns had room for.
 */
ABOARD_INLINE int32_t aboard_four_pixels_more(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t left,
                                              int32_t waiting, const int8_t *offsets, int8_t *columns) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    /* Without an address for each of four windows where none of them needs its own. */
    const int32_t whole = p->out.cols % ABOARD_FOUR_PIXELS == 0 || (waiting == 0 && left >= ABOARD_FOUR_PIXELS);
    if (p->unit > 0) {
        const int32_t more = whole ? ABOARD_FOUR_PIXELS : ABOARD_MIN(left, ABOARD_FOUR_PIXELS - waiting);
        const int8_t *from[ABOARD_FOUR_PIXELS];
        int8_t *to[ABOARD_FOUR_PIXELS];
        if (whole) {
            ABOARD_UNROLL(4)
            for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
                from[i] = x + i * step;
                to[i] = columns + i * p->distance;
            }
            aboard_four_pixels_gather(p, from, to, offsets);
            return ABOARD_FOUR_PIXELS;
        }
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
            from[i] = x + ABOARD_MIN(i, more - 1) * step;
            to[i] = columns + ABOARD_MIN(waiting + i, ABOARD_FOUR_PIXELS - 1) * p->distance;
        }
        aboard_four_pixels_gather(p, from, to, offsets);
        return more;
    }
    if (p->line_buffer.cols > 0 && waiting == 0 && left >= ABOARD_FOUR_PIXELS) {
        aboard_four_pixels_four(p, x, columns);
        return ABOARD_FOUR_PIXELS;
    }
    aboard_four_pixels_im2col(p, x, columns + waiting * p->distance);
    return 1;
}

/** Computes rows of pixels with copied windows: whenever four are copied, and the rest at the end of a run. */
ABOARD_INLINE void aboard_four_pixels_columns(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                              const int8_t *weights, const int8_t *offsets, int8_t *scratch,
                                              int8_t *out, int32_t first, int32_t last) {
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    aboard_four_pixels_table_t tables[2];
    int8_t *y = out;
    int32_t waiting = 0;
    int32_t left = 0;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &tables[0]);
    aboard_four_pixels_fill_last(p, aboard_four_pixels_together(p, first, last), &tables[1]);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        if (left == 0) {
            const int32_t rows = aboard_four_pixels_together(p, row, last);
            y = aboard_row_out_s8(&p->out, out, row);
            left = rows * p->out.cols;
            if (p->joined == 2) {
                aboard_four_pixels_fill_last(p, rows, &tables[1]);
            }
        }
        ABOARD_UNROLL(1)
        for (int32_t col = p->out.cols; col > 0;) {
            const int32_t more = aboard_four_pixels_more(p, x, col, waiting, offsets, columns);
            x += more * step;
            waiting += more;
            left -= more;
            col -= more;
            if (waiting < ABOARD_FOUR_PIXELS && left > 0) {
                continue;
            }
            for (int32_t i = waiting; i < ABOARD_FOUR_PIXELS && p->unit == 0; ++i) {
                aboard_mve_copy(columns + i * p->distance, columns + (waiting - 1) * p->distance, p->distance);
            }
            aboard_four_pixels(p, columns, weights, &tables[waiting < ABOARD_FOUR_PIXELS], y);
            y += waiting * p->out.pixel_stride;
            waiting = 0;
        }
    }
}

/** Copies four neighbouring windows that are no contiguous rows; the last of `pixels` stands for further ones. */
ABOARD_INLINE void aboard_four_pixels_scattered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                int32_t pixels, int8_t *to) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    ABOARD_UNROLL(2)
    for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; i += 2) {
        const aboard_mve_windows_t windows = {
            {x + ABOARD_MIN(i, pixels - 1) * step, x + ABOARD_MIN(i + 1, pixels - 1) * step},
            {to + i * p->distance, to + (i + 1) * p->distance}};
        aboard_mve_line_buffer_windows(&p->line_buffer, windows);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters; a single group, and contiguous rows of a window.
 * @param in, out     Different memory. Any views, including rolling buffers; for DIRECT at multiples of 4 bytes.
 * @param weights     For every two channels of a group [rows][chunks][taps][2][16], padded with zeros, and [2][3]
 * words: the constants of the epilogue. By `begun`, [2][4] words of biases come first, and [2][2] words of other
 * constants last.
 * @param scratch     The line buffer, four im2col columns, and one more vector; for DIRECT, four pixels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                 int8_t *out, const int8_t *weights, int8_t *scratch, int32_t first,
                                                 int32_t last) {
    if (p->source == ABOARD_FOUR_PIXELS_IM2COL) {
        aboard_four_pixels_columns(p, in, weights, NULL, scratch, out, first, last);
        return;
    }
    aboard_four_pixels_table_t table;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &table);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last;) {
        const int32_t rows =
            p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER ? 1 : aboard_four_pixels_together(p, row, last);
        const int8_t *x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        if (p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER) {
            aboard_four_pixels_line_buffer(p, x, weights, &table, y);
        } else {
            aboard_four_pixels_direct(p, x, rows * p->out.cols, weights, scratch, y);
        }
        row += rows;
    }
}

/**
 * aboard_conv2d_four_pixels_mve for IM2COL with windows that are gathered.
 *
 * @param offsets Of all units of a window from its first byte, as numbers of their own size; some may be repeated.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_gathered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                          int8_t *out, const int8_t *weights, const int8_t *offsets,
                                                          int8_t *scratch, int32_t first, int32_t last) {
    aboard_four_pixels_columns(p, in, weights, offsets, scratch, out, first, last);
}

/**
 * aboard_conv2d_four_pixels_mve for windows whose rows are not contiguous: with dilation, or of several groups.
 *
 * Windows are copied, four pixels of a group at a time. Four last pixels may overlap with pixels that are done; a row
 * of fewer than four repeats its last pixel.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_scattered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                           int8_t *out, const int8_t *weights, int8_t *scratch,
                                                           int32_t first, int32_t last) {
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t pixels = ABOARD_MIN(p->out.cols, ABOARD_FOUR_PIXELS);
    const int32_t pairs = aboard_four_pixels_channels(p) / 2;
    aboard_four_pixels_table_t table;
    aboard_four_pixels_fill(p, pixels, &table);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; ++row) {
        const int8_t *const x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        int8_t *const y = aboard_row_out_s8(&p->out, out, row);
        ABOARD_UNROLL(1)
        for (int32_t col = 0; col < p->out.cols; col += ABOARD_FOUR_PIXELS) {
            const int32_t at = ABOARD_MIN(col, p->out.cols - pixels);
            const int8_t *from = x + at * step;
            const int8_t *w = weights;
            int8_t *to = y + at * p->out.pixel_stride;
            ABOARD_UNROLL(1)
            for (int32_t group = 0; group < p->line_buffer.groups; ++group) {
                aboard_four_pixels_scattered(p, from, pixels, columns);
                aboard_four_pixels(p, columns, w, &table, to);
                from += aboard_mve_line_buffer_depth(&p->line_buffer);
                w += pairs * (2 * ABOARD_MVE_CHUNK * p->chunks + (p->begun ? 48 : 24));
                to += 2 * pairs;
            }
        }
    }
}

#endif
