/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels_layer.h
 * Parameters of conv2d_four_pixels.h, and the computation of all channels of four pixels.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_LAYER_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_LAYER_H

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

/** Windows of one run of bytes are read in place. */
#define ABOARD_FOUR_PIXELS_DIRECT 0
/** Windows are read from the line buffer; a row of the result has four pixels or more. */
#define ABOARD_FOUR_PIXELS_LINE_BUFFER 1
/** Windows are copied, each into an im2col column. */
#define ABOARD_FOUR_PIXELS_IM2COL 2

/** Windows are gathered in bytes whose offsets have 16 bits. */
#define ABOARD_FOUR_PIXELS_FAR 3

/** Pixels computed at once. */
#define ABOARD_FOUR_PIXELS 4

/** Largest offset of a load of words; of halfwords and bytes it is a half and a fourth. */
#define ABOARD_FOUR_PIXELS_MOST_OFFSET 508

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
    int32_t taps;     /**< Pixels of a window's row if neighbouring windows share loads, else 1; at most 5 by phase. */
    int32_t phases;   /**< Pixels from one window to the next if they share loads, else 1. */
    int32_t chunks;   /**< Chunks of a tap. */
    int32_t distance; /**< Bytes from one window to the next, a multiple of 4. */
    int32_t unit;     /**< For IM2COL, bytes of a unit that windows are gathered in: 1, 2 or 4, or
                           ABOARD_FOUR_PIXELS_FAR; 0: rows are copied. For DIRECT, bytes that all pixels are at
                           multiples of: 1, 2 or 4. */
    int32_t words;    /**< 1: four channels of a pixel are written as a word: results are at multiples of 4 bytes, and
                           of every four channels the first and the third come before the others. */
    int32_t begun;    /**< 1: before the weights of two channels come eight words that their sums begin with. */
    int32_t ends;     /**< 1: after the constants of two channels come two words, 1 and the zero point of the result:
                           ABOARD_MVE_RIGHT, and all channels have shifts below 0. */
    int32_t back;     /**< For DIRECT, bytes that the last chunk begins before the end of the one before it, so that it
                           ends with the window: its first weights are 0. 0: it may exceed the window. */
    int32_t last;     /**< For DIRECT, pixels of the last group of each call: 1 to 3, which have instructions of their
                           own, or 4; no load exceeds a window. 0: any number of last pixels, which are copied. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY, and without limits. */
} aboard_conv2d_four_pixels_mve_t;

/** Addresses of the results of two channels of four pixels, or of the four bytes before words of four channels. With
 * fewer than four last pixels, the last one is repeated. */
typedef struct {
    union {
        uint16_t results[8];
        uint32_t words[4];
    } at;
    int32_t groups; /**< Groups of four pixels to compute. */
} aboard_four_pixels_table_t;

/** A table, and the addresses of four im2col columns and of the offsets of units, which are loaded: gcc at -Os has no
 * registers for them. */
typedef struct {
    aboard_four_pixels_table_t table;
    int8_t *columns;
    const int8_t *offsets;
} aboard_four_pixels_gather_t;

/** Channels of the result in a group. */
ABOARD_INLINE int32_t aboard_four_pixels_channels(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->out.channels / p->line_buffer.groups;
}

/** Pairs of channels of a group; with an odd number of channels the last two pairs have one in common. */
ABOARD_INLINE int32_t aboard_four_pixels_pairs(const aboard_conv2d_four_pixels_mve_t *p) {
    return (aboard_four_pixels_channels(p) + 1) / 2;
}

/** Fills a table for `count` pixels. */
ABOARD_INLINE void aboard_four_pixels_fill(const aboard_conv2d_four_pixels_mve_t *p, int32_t count,
                                           aboard_four_pixels_table_t *table) {
    if (p->words) {
        ABOARD_UNROLL(4)
        for (int32_t lane = 0; lane < 4; ++lane) {
            table->at.words[lane] = (uint32_t)(ABOARD_MIN(lane, count - 1) * p->out.pixel_stride - 4);
        }
        return;
    }
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        /* A single channel is computed twice. */
        const int32_t channel = ABOARD_MIN(lane % 2, aboard_four_pixels_channels(p) - 1);
        table->at.results[lane] = (uint16_t)(ABOARD_MIN(lane / 2, count - 1) * p->out.pixel_stride + channel);
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

/** Bytes of the constants of two channels. */
ABOARD_INLINE int32_t aboard_four_pixels_constants(const aboard_conv2d_four_pixels_mve_t *p) {
    return (p->begun ? 48 : 24) + (p->ends ? 8 : 0);
}

/** Bytes of the weights and the constants of a group of channels. */
ABOARD_INLINE int32_t aboard_four_pixels_stream(const aboard_conv2d_four_pixels_mve_t *p) {
    const int32_t weights = 2 * ABOARD_MVE_CHUNK * p->rows * p->chunks * p->taps;
    return aboard_four_pixels_pairs(p) * (weights + aboard_four_pixels_constants(p));
}

/** Bytes by which the instructions advance the address of results for the channels of a group. */
ABOARD_INLINE int32_t aboard_four_pixels_advance(const aboard_conv2d_four_pixels_mve_t *p) {
    const int32_t channels = aboard_four_pixels_channels(p);
    return channels % 2 == 0 ? channels : ABOARD_MAX(channels - 1, 1);
}

/** Bytes that loads of pixels are at multiples of. */
ABOARD_INLINE int32_t aboard_four_pixels_load(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->source == ABOARD_FOUR_PIXELS_DIRECT ? p->unit : 4;
}

/** True if the offset of a load reaches all chunks of the fourth pixel of a run. */
ABOARD_INLINE int32_t aboard_four_pixels_near(const aboard_conv2d_four_pixels_mve_t *p) {
    return (ABOARD_FOUR_PIXELS - 1) * p->distance + (p->chunks - 1) * ABOARD_MVE_CHUNK <=
           ABOARD_FOUR_PIXELS_MOST_OFFSET * aboard_four_pixels_load(p) / 4;
}

/** True if windows in a line buffer need no loop over their rows. */
ABOARD_INLINE int32_t aboard_four_pixels_unrolled(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->rows * p->chunks * p->taps <= ABOARD_FOUR_PIXELS_UNROLLED;
}

/** True if a register is left to count groups of four pixels: neither for rows nor for the third pixel, nor are windows
 * copied for each group. */
ABOARD_INLINE int32_t aboard_four_pixels_grouped(const aboard_conv2d_four_pixels_mve_t *p) {
    const int32_t windows = p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER && aboard_four_pixels_unrolled(p);
    return windows || (p->source == ABOARD_FOUR_PIXELS_DIRECT && aboard_four_pixels_near(p));
}

#if ABOARD_MVE_ASM

/* Formatted by hand: lists of operands. */
/* clang-format off */

#define ABOARD_FOUR_PIXELS_ASM(text, own, length) \
    __asm__ volatile(text length \
                     : [x] "+&r"(x), [x2] "+&r"(table), [w] "+&r"(w), [out] "+&r"(out), [left] "=&r"(left) \
                     : [pairs] "i"(aboard_four_pixels_pairs(p)), [odd] "i"(aboard_four_pixels_channels(p) % 2), \
                       [chunks] "i"(p->chunks), [distance] "i"(p->distance), [words] "i"(p->words), \
                       [begun] "i"(p->begun), [ends] "i"(p->ends), [held] "i"(held), [form] "i"(p->epilogue.form), \
                       [shift] "i"(p->epilogue.shift), [zero_point] "i"(p->epilogue.zero_point), [back] "i"(p->back), \
                       [near] "i"(aboard_four_pixels_near(p)), own \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/** Operands for windows in memory. */
#define ABOARD_FOUR_PIXELS_IN_MEMORY \
    [taps] "i"(p->taps), [phases] "i"(p->phases), [rows] "i"(p->rows), [advance] "i"(advance), \
    [grouped] "i"(aboard_four_pixels_grouped(p)), [stream] "i"(aboard_four_pixels_stream(p)), \
    [skip] "i"(ABOARD_FOUR_PIXELS * p->out.pixel_stride - aboard_four_pixels_advance(p))

/** Operands for windows that are gathered. */
#define ABOARD_FOUR_PIXELS_UNITS [step] "i"(step), [groups] "i"(p->line_buffer.groups)

#define ABOARD_FOUR_PIXELS_FROM_MEMORY(text, length) ABOARD_FOUR_PIXELS_ASM(text, ABOARD_FOUR_PIXELS_IN_MEMORY, length)
#define ABOARD_FOUR_PIXELS_IN_UNITS(load, length) \
    ABOARD_FOUR_PIXELS_ASM(ABOARD_MVE_FOUR_PIXELS_GATHERED(load), ABOARD_FOUR_PIXELS_UNITS, length)

/* clang-format on */

#define ABOARD_FOUR_PIXELS_RUN(length) ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_RUN("vldrw.32"), length)
#define ABOARD_FOUR_PIXELS_RUN_OF_HALVES(length)                                                                       \
    ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_RUN("vldrh.16"), length)
#define ABOARD_FOUR_PIXELS_RUN_OF_BYTES(length)                                                                        \
    ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_RUN("vldrb.8"), length)
#define ABOARD_FOUR_PIXELS_WINDOWS(length) ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_WINDOWS, length)
#define ABOARD_FOUR_PIXELS_LOOPED(length) ABOARD_FOUR_PIXELS_FROM_MEMORY(ABOARD_MVE_FOUR_PIXELS_LOOPED, length)
#define ABOARD_FOUR_PIXELS_BYTES(length) ABOARD_FOUR_PIXELS_IN_UNITS("vldrb.u8", length)
#define ABOARD_FOUR_PIXELS_HALVES(length) ABOARD_FOUR_PIXELS_IN_UNITS("vldrh.u16", length)
#define ABOARD_FOUR_PIXELS_WORDS(length) ABOARD_FOUR_PIXELS_IN_UNITS("vldrw.u32", length)

/** The register that holds results: the one of further chunks of a run, or that of the fourth pixel. */
ABOARD_INLINE int32_t aboard_four_pixels_held(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER || p->chunks == 1 || !p->words ? 6 : 3;
}

/** Instructions that repeat in a run, beside those of its text. */
ABOARD_INLINE int32_t aboard_four_pixels_repeated(const aboard_conv2d_four_pixels_mve_t *p) {
    const int32_t run = ABOARD_MVE_FOUR_PIXELS_RUN_LENGTH * (p->chunks - 2);
    return (1 + p->words) * run + p->words * ABOARD_MVE_FOUR_PIXELS_EPILOGUE_LENGTH;
}

/** Computes all channels of four pixels, whose first window is at `x`; or of the groups of the table, if the
 * instructions have a loop over groups. */
ABOARD_INLINE void aboard_four_pixels(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                      const aboard_four_pixels_table_t *table, int8_t *out) {
    const int32_t advance =
        p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER ? aboard_mve_line_buffer_stride(&p->line_buffer) : 0;
    const int32_t row =
        p->chunks * (ABOARD_MVE_FOUR_PIXELS_CHUNK_LENGTH * p->phases + ABOARD_MVE_FOUR_PIXELS_TAP_LENGTH * p->taps);
    const int32_t held = aboard_four_pixels_held(p);
    const int32_t copies = 1 + p->words;
    const int32_t epilogues = p->words * ABOARD_MVE_FOUR_PIXELS_EPILOGUE_LENGTH;
    int32_t left;
    if (aboard_four_pixels_load(p) == 1) {
        ABOARD_MVE_SIZED(aboard_four_pixels_repeated(p), ABOARD_FOUR_PIXELS_RUN_OF_BYTES);
    } else if (aboard_four_pixels_load(p) == 2) {
        ABOARD_MVE_SIZED(aboard_four_pixels_repeated(p), ABOARD_FOUR_PIXELS_RUN_OF_HALVES);
    } else if (p->source != ABOARD_FOUR_PIXELS_LINE_BUFFER) {
        ABOARD_MVE_SIZED(aboard_four_pixels_repeated(p), ABOARD_FOUR_PIXELS_RUN);
    } else if (aboard_four_pixels_unrolled(p)) {
        ABOARD_MVE_SIZED(copies * p->rows * (row + 2) - 2 * ABOARD_MVE_FOUR_PIXELS_ROW_LINES + epilogues,
                         ABOARD_FOUR_PIXELS_WINDOWS);
    } else {
        ABOARD_MVE_SIZED(copies * (row + p->rows) - ABOARD_MVE_FOUR_PIXELS_ROW_LINES + epilogues,
                         ABOARD_FOUR_PIXELS_LOOPED);
    }
}

/** Computes all channels of a group of four pixels, whose windows are gathered from `x` on in units; if there is one
 * group, offsets are at `w`, and before the weights. */
ABOARD_INLINE void aboard_four_pixels_gathered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                               const int8_t *w, const aboard_four_pixels_gather_t *gather,
                                               int8_t *out) {
    const aboard_four_pixels_table_t *table = &gather->table;
    const int32_t held = aboard_four_pixels_held(p);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t repeated = aboard_four_pixels_repeated(p) + ABOARD_MVE_FOUR_PIXELS_GATHER_LENGTH * (p->chunks - 2);
    int32_t left;
    if (p->unit == 1) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_BYTES);
    } else if (p->unit == 2) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_HALVES);
    } else {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_WORDS);
    }
}

#else

/** Adds a row of windows from `x` on, of which the last of `pixels` stands for further ones, to the sums of two
 * channels, and returns the weights behind those of the row. */
ABOARD_INLINE const int8_t *aboard_four_pixels_row(const aboard_conv2d_four_pixels_mve_t *p, int32_t pixels,
                                                   const int8_t *x, const int8_t *w, int32_t *sums) {
    for (int32_t chunk = 0; chunk < p->chunks * p->phases; ++chunk) {
        const int32_t taps = (p->taps + p->phases - 1 - chunk / p->chunks) / p->phases;
        const int32_t at = chunk * ABOARD_MVE_CHUNK - (chunk == p->chunks - 1 ? p->back : 0);
        for (int32_t tap = 0; tap < taps; ++tap) {
            for (int32_t lane = 0; lane < 8; ++lane) {
                const int8_t *const from = x + (ABOARD_MIN(lane / 2, pixels - 1) + tap) * p->distance + at;
                sums[lane] += aboard_mve_chunk(from, w + lane % 2 * ABOARD_MVE_CHUNK);
            }
            w += 2 * ABOARD_MVE_CHUNK;
        }
    }
    return w;
}

/** Computes all channels of at most four pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels_of(const aboard_conv2d_four_pixels_mve_t *p, int32_t pixels, const int8_t *x,
                                         const int8_t *w, const aboard_four_pixels_table_t *table, int8_t *out) {
    const int32_t advance =
        p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER ? aboard_mve_line_buffer_stride(&p->line_buffer) : 0;
    for (int32_t pair = 0; pair < aboard_four_pixels_pairs(p); ++pair) {
        const int32_t n = ABOARD_MAX(ABOARD_MIN(2 * pair, aboard_four_pixels_channels(p) - 2), 0);
        int32_t sums[8] = {0};
        int32_t begin[8] = {0};
        int32_t constants[2][3];
        if (p->begun) {
            memcpy(begin, w, sizeof(begin));
            w += sizeof(begin);
        }
        for (int32_t row = 0; row < p->rows; ++row) {
            w = aboard_four_pixels_row(p, pixels, x + row * advance, w, sums);
        }
        for (int32_t channel = 0; channel < 2; ++channel) {
            const size_t bytes = p->begun ? 8 : 12;
            constants[channel][0] = begin[4 * channel];
            memcpy(constants[channel] + p->begun, w, bytes);
            w += bytes;
        }
        w += p->ends ? 8 : 0;
        for (int32_t lane = 0; lane < 8; ++lane) {
            const int32_t *const c = constants[lane % 2];
            /* With words, lanes are channels 0 and 2, and then 1 and 3. */
            int8_t *const to = p->words ? out + (int32_t)table->at.words[lane / 2] + 4 + n - n % 4 / 2 + lane % 2 * 2
                                        : out + n + table->at.results[lane];
            *to = aboard_mve_result(&p->epilogue, sums[lane], c[0], 0, c[1], c[2]);
        }
    }
}

/** Computes all channels of four pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                      const aboard_four_pixels_table_t *table, int8_t *out) {
    aboard_four_pixels_of(p, ABOARD_FOUR_PIXELS, x, w, table, out);
}

#endif

/** Computes all channels of `count` groups of four pixels, whose first window is at `x`. */
ABOARD_INLINE void aboard_four_pixels_groups(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, const int8_t *w,
                                             aboard_four_pixels_table_t *table, int8_t *out, int32_t count) {
    if (ABOARD_MVE_ASM && aboard_four_pixels_grouped(p)) {
        /* Not an operand: gcc finds no register for it in some layers. */
        table->groups = count;
        aboard_four_pixels(p, x, w, table, out);
        return;
    }
    ABOARD_UNROLL(1)
    for (; count > 0; --count) {
        aboard_four_pixels(p, x, w, table, out);
        x += ABOARD_FOUR_PIXELS * p->distance;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride;
    }
}

#endif
