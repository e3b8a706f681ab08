/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_layer.h
 * Parameters of depthwise_packed.h, and the layout of strips in scratch.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_LAYER_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_LAYER_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "packed_words.h"

/** Two windows across a word times two along the words: windows of up to 3x3, strides of 1. Vectors of weights are
 * [0, column, column, column], a word each; a column's last byte is 0. One line alone takes eight results along. */
#define ABOARD_DEPTHWISE_PACKED_FOUR 0
/** One window in a vector: windows of up to 4x4. Vectors of weights are [column, column, column, column]. */
#define ABOARD_DEPTHWISE_PACKED_ONE 1
/** Words follow each other along the axis of their bytes. Windows are lines of up to 13, with a stride of 1: four
 * windows in a vector. Vectors of weights are [0, 0, 0, taps..., 0]. */
#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS 2
/** A window is several vectors: parts of 4x4 taps, each with a vector of weights as in ONE. Any larger window. */
#define ABOARD_DEPTHWISE_PACKED_PARTS 3

/** Channels of a strip: of most, and of those for less scratch. */
#define ABOARD_DEPTHWISE_PACKED_BLOCK 16
#define ABOARD_DEPTHWISE_PACKED_FEW 4

/** Largest distance of vectors that a load advances its address by. */
#define ABOARD_DEPTHWISE_PACKED_MOST_STEP 127

/** One of the two axes of an image. */
typedef struct {
    int32_t inputs;     /**< Pixels. */
    int32_t outputs;    /**< Results. */
    int32_t stride;     /**< Pixels from one window to the next. */
    int32_t dilation;   /**< Pixels from one tap to the next; 1 in the forms FOUR and ONE_AXIS. */
    int32_t parts;      /**< Parts of a window in the form PARTS, else 1. */
    int32_t pad;        /**< Pixels of padding before the first pixel. */
    int32_t in_stride;  /**< Bytes from a pixel to the next. */
    int32_t out_stride; /**< Bytes from a result to the next. */
} aboard_depthwise_packed_axis_t;

/** Parameters of aboard_depthwise_packed_mve. */
typedef struct {
    aboard_depthwise_packed_axis_t across; /**< Axis whose neighbours share a word; unused in ONE_AXIS. */
    aboard_depthwise_packed_axis_t along;  /**< Axis of consecutive words. */
    int32_t form;                          /**< ABOARD_DEPTHWISE_PACKED_FOUR, _ONE, _ONE_AXIS or _PARTS. */
    int32_t lines;                         /**< Lines of results across that are computed together: 2, or 1. */
    int32_t slab;     /**< Number of such groups of lines that are packed before any is computed. */
    int32_t shared;   /**< 1: all lines of a channel are one run of instructions, which share groups of results; form
                           FOUR with a single rounding, in a slab of the whole image. */
    int32_t columns;  /**< 1: lines across are few, and are packed together, see packed_columns.h. */
    int32_t near;     /**< 1: form ONE_AXIS, pixels along are aligned, and a load can advance to the next. */
    int32_t column;   /**< 1: form ONE_AXIS of whole images with at most four groups of results, which are one after the
                           other without a loop. */
    int32_t pairs;    /**< 1: two groups of results in a loop, for speed; 0 in the form PARTS. */
    int32_t stripes;  /**< 1: lines are rows, and a call computes some of them; 0: a call computes all lines. */
    aboard_view_t in; /**< For stripes: any view of one image. */
    aboard_view_t out;  /**< For stripes: any view of one image. */
    int32_t images;     /**< Number of images in the batch. */
    int32_t image_in;   /**< Bytes from one image of the input to the next. */
    int32_t image_out;  /**< Bytes from one image of the result to the next. */
    int32_t channels;   /**< Channels of the input. */
    int32_t multiplier; /**< Channels of the result for each channel of the input. */
    int32_t words;      /**< Words per place of a strip, one of each channel that is packed at once: 16; the number of
                             channels if a vector contains several pixels; 4 for less scratch, where there are more
                             channels, a multiple of 4, and all distances in the input are multiples of 4 bytes. */
    int32_t places;     /**< Words of a channel in a strip. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
    int32_t wide;       /**< 1: sums of two roundings may have more than 23 bits and a sign. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY, and without limits. */
} aboard_depthwise_packed_mve_t;

/** Four rows of pixels. */
typedef struct {
    const int8_t *from[4];
    int32_t step[4]; /**< Bytes from a vector to the next. */
} aboard_depthwise_packed_rows_t;

/** Address of the first pixel of the line across whose number is `pixel`. */
ABOARD_INLINE const int8_t *aboard_depthwise_packed_in(const aboard_depthwise_packed_mve_t *p, const int8_t *in,
                                                       int32_t pixel) {
    return p->stripes ? aboard_row_s8(&p->in, in, pixel) : in + pixel * p->across.in_stride;
}

/** Address of the first result of line `line`. */
ABOARD_INLINE int8_t *aboard_depthwise_packed_out(const aboard_depthwise_packed_mve_t *p, int8_t *out, int32_t line) {
    return p->stripes ? aboard_row_out_s8(&p->out, out, line) : out + line * p->across.out_stride;
}

/** True if lines `line` and `line + 1` are the last and the first row of a rolling buffer. */
ABOARD_INLINE int32_t aboard_depthwise_packed_wraps(const aboard_depthwise_packed_mve_t *p, int32_t line) {
    return p->stripes && p->lines == 2 && aboard_rows_together(&p->out, line, 2) < 2;
}

/** True if a call may compute fewer lines than `lines` at its end. */
ABOARD_INLINE int32_t aboard_depthwise_packed_single(const aboard_depthwise_packed_mve_t *p) {
    return p->lines == 2 && (p->stripes || p->across.outputs % 2 != 0);
}

/** Groups of lines that one run of instructions computes: all of an image that is packed as a whole. */
ABOARD_INLINE int32_t aboard_depthwise_packed_passes(const aboard_depthwise_packed_mve_t *p) {
    const int32_t all = p->across.outputs / p->lines;
    return p->form != ABOARD_DEPTHWISE_PACKED_PARTS && !p->stripes && p->slab >= all ? ABOARD_MAX(all, 1) : 1;
}

/** Bytes from a word of a channel to the next. */
ABOARD_INLINE int32_t aboard_depthwise_packed_pitch(const aboard_depthwise_packed_mve_t *p) {
    return 4 * p->words;
}

/** Bytes of a strip; the last vector of several pixels may exceed the last place. */
ABOARD_INLINE int32_t aboard_depthwise_packed_strip(const aboard_depthwise_packed_mve_t *p) {
    const int32_t excess = p->columns ? 0 : 4 * (ABOARD_DEPTHWISE_PACKED_BLOCK - p->words);
    return p->places * aboard_depthwise_packed_pitch(p) + excess;
}

/** Strips that `lines` lines need. */
ABOARD_INLINE int32_t aboard_depthwise_packed_strips(const aboard_depthwise_packed_mve_t *p, int32_t lines) {
    return p->form == ABOARD_DEPTHWISE_PACKED_ONE ? lines : p->across.parts;
}

/** Parts of a window: vectors of weights in a record. */
ABOARD_INLINE int32_t aboard_depthwise_packed_parts(const aboard_depthwise_packed_mve_t *p) {
    return p->across.parts * p->along.parts;
}

/** Bytes of a record. */
ABOARD_INLINE int32_t aboard_depthwise_packed_record(const aboard_depthwise_packed_mve_t *p) {
    return p->form == ABOARD_DEPTHWISE_PACKED_PARTS ? 16 * (aboard_depthwise_packed_parts(p) + 1)
                                                    : ABOARD_DEPTHWISE_PACKED_RECORD;
}

/** Bytes from a record to its weights, behind the constants. */
ABOARD_INLINE int32_t aboard_depthwise_packed_weights(const aboard_depthwise_packed_mve_t *p) {
    return p->form == ABOARD_DEPTHWISE_PACKED_PARTS ? 16 : ABOARD_DEPTHWISE_PACKED_WEIGHTS;
}

/** Bytes from the words of a channel of the result to those of the next, if one run of instructions computes both. */
ABOARD_INLINE int32_t aboard_depthwise_packed_word(const aboard_depthwise_packed_mve_t *p) {
    return p->multiplier == 1 ? 4 : 0;
}

/** Places from a vector to the next. */
ABOARD_INLINE int32_t aboard_depthwise_packed_step(const aboard_depthwise_packed_mve_t *p) {
    if (p->form == ABOARD_DEPTHWISE_PACKED_ONE_AXIS) {
        return 1;
    }
    return p->form == ABOARD_DEPTHWISE_PACKED_FOUR ? 2 : p->along.stride;
}

/** Index along of the result in lane `lane` of a group of `lines` lines. */
ABOARD_INLINE int32_t aboard_depthwise_packed_result(int32_t lines, int32_t lane) {
    return lane / 2 + (lines == 1 ? lane % 2 * 4 : 0);
}

/** Predicate of the lanes of a group with one of its first `count` results along. */
ABOARD_INLINE int32_t aboard_depthwise_packed_first(int32_t lines, int32_t count) {
    /* Two bits per lane. Without a loop, which -Og would not reduce to a literal. */
    if (lines == 2) {
        return (1 << 4 * count) - 1;
    }
    const int32_t even = (1 << 4 * ABOARD_MIN(count, 4)) - 1;
    const int32_t odd = (1 << 4 * ABOARD_MAX(count - 4, 0)) - 1;
    return (even & 0x3333) | (odd & 0xcccc);
}

/**
 * Fills the table of `lines` lines that are computed together.
 *
 * @param p     Parameters.
 * @param lines 1 or 2.
 * @param even, odd Bytes from the address of the results to the first and to the second line.
 * @param table Receives the offsets.
 */
ABOARD_INLINE void aboard_depthwise_packed_fill(const aboard_depthwise_packed_mve_t *p, int32_t lines, int32_t even,
                                                int32_t odd, aboard_depthwise_packed_table_t *table) {
    const int32_t pitch = aboard_depthwise_packed_pitch(p);
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        /* Loads add their step before they read. */
        table->words[i] = (uint32_t)((i * p->along.dilation - aboard_depthwise_packed_step(p)) * pitch);
    }
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        const int32_t along = aboard_depthwise_packed_result(lines, lane) * p->along.out_stride;
        table->results[lane] = (uint16_t)(along + (lines == 2 && lane % 2 != 0 ? odd : even));
    }
}

#endif
