/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_packed.h
 * int8 depthwise convolution with Helium: a channel at a time, a window in one instruction.
 *
 * VMLADAVA sums sixteen products. So that it covers a whole window, pixels of a channel are packed: a word contains
 * four neighbours along one axis, and words follow each other along the other axis. Four words are sixteen pixels,
 * which one load reads and which contain several windows: each is a product with the weights at another place of a
 * vector. Windows of more than 4x4 taps are several vectors, whose products are summed.
 *
 * A strip is such a row of words for sixteen channels at once, because VST4 packs as many.
 * host/aboard/kernels/arm_mve/depthwise_packed.py chooses axes and form.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_PACKED_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_PACKED_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "line_buffer.h"
#include "packed_channel.h"
#include "packed_columns.h"
#include "packed_image.h"
#include "packed_layer.h"

/** The tables of two lines, of one, and of two that are the last and the first row of a rolling buffer. */
typedef struct {
    aboard_depthwise_packed_table_t *lines;
    aboard_depthwise_packed_table_t *single;
    aboard_depthwise_packed_table_t *wrapped;
} aboard_depthwise_packed_tables_t;

/** Computes `channels` channels of the result of lines `line` to `line + lines - 1`, whose strips are packed. */
ABOARD_INLINE void aboard_depthwise_packed_lines(const aboard_depthwise_packed_mve_t *p, const int8_t *strip,
                                                 int32_t line, int32_t lines, int32_t channels, const int8_t *record,
                                                 const aboard_depthwise_packed_tables_t *tables, int8_t *out) {
    const int32_t next = aboard_depthwise_packed_strips(p, p->lines) * aboard_depthwise_packed_strip(p);
    const int32_t passes = aboard_depthwise_packed_passes(p);
    int32_t left = lines;
    ABOARD_UNROLL(1)
    for (; left >= p->lines; left -= passes * p->lines) {
        const int32_t wraps = aboard_depthwise_packed_wraps(p, line);
        aboard_depthwise_packed_channels(p, passes, p->lines, channels, wraps ? tables->wrapped : tables->lines, strip,
                                         record, aboard_depthwise_packed_out(p, out, line + wraps));
        strip += passes * next;
        line += passes * p->lines;
    }
    if (aboard_depthwise_packed_single(p) && left > 0) {
        aboard_depthwise_packed_channels(p, 1, 1, channels, tables->single, strip, record,
                                         aboard_depthwise_packed_out(p, out, line));
    }
}

/** Computes a block of channels of the input for `lines` lines from `line` on, whose strips are packed. */
ABOARD_INLINE void aboard_depthwise_packed_block(const aboard_depthwise_packed_mve_t *p, const int8_t *strips,
                                                 int32_t line, int32_t lines, int32_t channels, const int8_t *record,
                                                 const aboard_depthwise_packed_tables_t *tables, int8_t *out) {
    if (p->multiplier == 1) {
        aboard_depthwise_packed_lines(p, strips, line, lines, channels, record, tables, out);
        return;
    }
    ABOARD_UNROLL(1)
    for (int32_t c = 0; c < channels; ++c) {
        aboard_depthwise_packed_lines(p, strips + 4 * c, line, lines, p->multiplier, record, tables, out);
        record += p->multiplier * aboard_depthwise_packed_record(p);
        out += p->multiplier;
    }
}

/** Packs a line of the form ONE_AXIS: its pixels, four to a word. */
ABOARD_INLINE void aboard_depthwise_packed_fill_strips_line(const aboard_depthwise_packed_mve_t *p, const int8_t *in,
                                                            uint32_t some, const int8_t *padding, int8_t *to) {
    if (p->near) {
        aboard_depthwise_packed_pack_line(p, in, some, to);
        return;
    }
    const int32_t words = p->along.inputs / 4;
    const int32_t rest = p->along.inputs % 4;
    aboard_depthwise_packed_rows_t rows;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        rows.from[i] = in + i * p->along.in_stride;
        rows.step[i] = 4 * p->along.in_stride;
    }
    if (words > 0) {
        aboard_depthwise_packed_pack(&rows, to, words, some);
    }
    if (rest > 0) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            rows.from[i] = i < rest ? rows.from[i] + words * rows.step[i] : padding;
        }
        aboard_depthwise_packed_pack(&rows, to + words * aboard_depthwise_packed_pitch(p), 1, some);
    }
}

/** Packs the strip whose first pixel across is `first`; missing pixels are padding. */
ABOARD_INLINE void aboard_depthwise_packed_fill_strips(const aboard_depthwise_packed_mve_t *p, const int8_t *in,
                                                       int32_t first, uint32_t some, const int8_t *padding,
                                                       int8_t *strip) {
    const int32_t pitch = aboard_depthwise_packed_pitch(p);
    const int32_t few = p->words == ABOARD_DEPTHWISE_PACKED_FEW && p->channels > p->words;
    const int32_t several = p->words < ABOARD_DEPTHWISE_PACKED_BLOCK && !few;
    const int32_t pixels = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    const int32_t bytes = pixels * p->words;
    int8_t *to = strip + p->along.pad * pitch;
    const int32_t step = several ? ABOARD_DEPTHWISE_PACKED_BLOCK : p->along.in_stride;
    const int32_t rest = several ? bytes % ABOARD_DEPTHWISE_PACKED_BLOCK : p->channels % ABOARD_DEPTHWISE_PACKED_BLOCK;
    if (!p->stripes && !few && rest == 0 && step <= ABOARD_DEPTHWISE_PACKED_MOST_STEP && first >= 0 &&
        first + 3 * p->across.dilation < p->across.inputs) {
        aboard_depthwise_packed_pack_steps(aboard_depthwise_packed_in(p, in, first),
                                           p->across.dilation * p->across.in_stride, step, to,
                                           several ? bytes / ABOARD_DEPTHWISE_PACKED_BLOCK : pixels);
        return;
    }
    aboard_depthwise_packed_rows_t rows;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t pixel = first + i * p->across.dilation;
        const int32_t there = pixel >= 0 && pixel < p->across.inputs;
        rows.from[i] = there ? aboard_depthwise_packed_in(p, in, pixel) : padding;
        rows.step[i] = there ? step : 0;
    }
    if (few) {
        aboard_depthwise_packed_pack_few(&rows, to, pixels);
        return;
    }
    if (!several) {
        aboard_depthwise_packed_pack(&rows, to, pixels, some);
        return;
    }
    if (bytes >= ABOARD_DEPTHWISE_PACKED_BLOCK) {
        aboard_depthwise_packed_pack(&rows, to, bytes / ABOARD_DEPTHWISE_PACKED_BLOCK, 0xffff);
    }
    if (bytes % ABOARD_DEPTHWISE_PACKED_BLOCK != 0) {
        const int32_t whole = bytes / ABOARD_DEPTHWISE_PACKED_BLOCK;
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            rows.from[i] += whole * rows.step[i];
        }
        aboard_depthwise_packed_pack(&rows, to + whole * 4 * ABOARD_DEPTHWISE_PACKED_BLOCK, 1,
                                     (1u << bytes % ABOARD_DEPTHWISE_PACKED_BLOCK) - 1);
        /* Excess bytes have overwritten the padding. */
        aboard_mve_fill(to + pixels * pitch, p->zero_point, (p->places - p->along.pad - pixels) * pitch);
    }
}

/** Writes the padding before and behind the pixels of all strips, once. */
ABOARD_INLINE void aboard_depthwise_packed_pad(const aboard_depthwise_packed_mve_t *p, int8_t *strips) {
    const int32_t pitch = aboard_depthwise_packed_pitch(p);
    const int32_t pixels = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    const int32_t behind = p->along.pad + pixels;
    for (int32_t i = 0; i < p->slab * aboard_depthwise_packed_strips(p, p->lines); ++i) {
        aboard_mve_fill(strips, p->zero_point, p->along.pad * pitch);
        aboard_mve_fill(strips + behind * pitch, p->zero_point, (p->places - behind) * pitch);
        strips += aboard_depthwise_packed_strip(p);
    }
}

/** Packs a block of channels of lines `line` to `line + lines - 1`. */
ABOARD_INLINE void aboard_depthwise_packed_strips_of(const aboard_depthwise_packed_mve_t *p, const int8_t *in,
                                                     int32_t line, int32_t lines, uint32_t some, const int8_t *padding,
                                                     int8_t *strip) {
    const int32_t each = p->form == ABOARD_DEPTHWISE_PACKED_FOUR ? p->lines : 1;
    if (p->columns) {
        aboard_depthwise_packed_columns(p, in, strip);
        return;
    }
    ABOARD_UNROLL(1)
    for (int32_t last = line + lines; line < last; line += each) {
        if (p->form == ABOARD_DEPTHWISE_PACKED_ONE_AXIS) {
            const int8_t *from = aboard_depthwise_packed_in(p, in, line * p->across.stride);
            aboard_depthwise_packed_fill_strips_line(p, from, some, padding, strip);
            strip += aboard_depthwise_packed_strip(p);
            continue;
        }
        int32_t first = line * p->across.stride - p->across.pad;
        ABOARD_UNROLL(1)
        for (int32_t part = 0; part < p->across.parts; ++part) {
            aboard_depthwise_packed_fill_strips(p, in, first, some, padding, strip);
            strip += aboard_depthwise_packed_strip(p);
            first += 4 * p->across.dilation;
        }
    }
}

/** Computes all channels of images whose lines share groups of results. */
ABOARD_INLINE void aboard_depthwise_packed_images(const aboard_depthwise_packed_mve_t *p, const int8_t *in, int8_t *out,
                                                  const int8_t *records, int8_t *scratch) {
    aboard_depthwise_packed_image_table_t table;
    /* Loads that gather read words. */
    uint32_t words[ABOARD_DEPTHWISE_PACKED_BLOCK / 4];
    const int8_t *const padding = (const int8_t *)words;
    memset(words, p->zero_point, sizeof(words));
    aboard_depthwise_packed_image_fill(p, &table);
    aboard_depthwise_packed_pad(p, scratch);
    ABOARD_UNROLL(1)
    for (int32_t image = 0; image < p->images; ++image) {
        const int8_t *record = records;
        ABOARD_UNROLL(1)
        for (int32_t n = 0; n < p->channels; n += p->words) {
            const int32_t channels = ABOARD_MIN(p->channels - n, p->words);
            int8_t *y = out + n * p->multiplier;
            aboard_depthwise_packed_strips_of(p, in + n, 0, p->across.outputs, (1u << channels) - 1, padding, scratch);
            const int32_t runs = p->multiplier == 1 ? 1 : channels;
            const int32_t results = channels * p->multiplier / runs;
            ABOARD_UNROLL(1)
            for (int32_t run = 0; run < runs; ++run) {
                aboard_depthwise_packed_image(p, results, &table, scratch + 4 * run, record, y);
                record += results * ABOARD_DEPTHWISE_PACKED_RECORD;
                y += results;
            }
        }
        in += p->image_in;
        out += p->image_out;
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory; or the same, if a slab is a whole image. Whole tensors or slices of tensors; for
 *                    stripes any views of one image, including rolling buffers.
 * @param records     [channels of the result][aboard_depthwise_packed_record], weights packed for the form.
 * @param scratch     The strips of a slab, and the bytes that loads read beyond the last.
 * @param first, last All rows of the result; for stripes, the rows [first, last) that are computed.
 */
ABOARD_INLINE void aboard_depthwise_packed_mve(const aboard_depthwise_packed_mve_t *p, const int8_t *in, int8_t *out,
                                               const int8_t *records, int8_t *scratch, int32_t first, int32_t last) {
    if (p->shared) {
        aboard_depthwise_packed_images(p, in, out, records, scratch);
        return;
    }
#if ABOARD_MVE_ASM
    if (p->column && p->near && p->multiplier == 1) {
        ABOARD_UNROLL(1)
        for (int32_t image = 0; image < p->images; ++image) {
            aboard_depthwise_packed_one_column(p, 1, p->channels, in, scratch, records, out);
            in += p->image_in;
            out += p->image_out;
        }
        return;
    }
#endif
    const int32_t slab = p->slab * p->lines;
    const int32_t begin = p->stripes ? first : 0;
    const int32_t end = p->stripes ? last : p->across.outputs;
    aboard_depthwise_packed_table_t table;
    aboard_depthwise_packed_table_t single;
    aboard_depthwise_packed_table_t wrapped;
    /* Without stripes the third table takes no room on the stack. */
    const aboard_depthwise_packed_tables_t tables = {&table, &single, p->stripes ? &wrapped : &table};
    uint32_t words[ABOARD_DEPTHWISE_PACKED_BLOCK / 4];
    const int8_t *const padding = (const int8_t *)words;
    memset(words, p->zero_point, sizeof(words));
    aboard_depthwise_packed_fill(p, p->lines, 0, p->across.out_stride, &table);
    aboard_depthwise_packed_fill(p, 1, 0, 0, &single);
    if (p->stripes) {
        aboard_depthwise_packed_fill(p, p->lines, (p->out.buffer_rows - 1) * p->out.row_stride, 0, &wrapped);
    }
    if (p->form != ABOARD_DEPTHWISE_PACKED_ONE_AXIS) {
        aboard_depthwise_packed_pad(p, scratch);
    }
    ABOARD_UNROLL(1)
    for (int32_t image = 0; image < p->images; ++image) {
        ABOARD_UNROLL(1)
        for (int32_t line = begin; line < end; line += slab) {
            const int32_t lines = ABOARD_MIN(slab, end - line);
            ABOARD_UNROLL(1)
            for (int32_t n = 0; n < p->channels; n += p->words) {
                const int32_t channels = ABOARD_MIN(p->channels - n, p->words);
                aboard_depthwise_packed_strips_of(p, in + n, line, lines, (1u << channels) - 1, padding, scratch);
                aboard_depthwise_packed_block(p, scratch, line, lines, channels,
                                              records + n * p->multiplier * aboard_depthwise_packed_record(p), &tables,
                                              out + n * p->multiplier);
            }
        }
        in += p->image_in;
        out += p->image_out;
    }
}

/** aboard_depthwise_packed_mve for windows of several parts, whose cost differs. */
ABOARD_INLINE void aboard_depthwise_packed_mve_parts(const aboard_depthwise_packed_mve_t *p, const int8_t *in,
                                                     int8_t *out, const int8_t *records, int8_t *scratch, int32_t first,
                                                     int32_t last) {
    aboard_depthwise_packed_mve(p, in, out, records, scratch, first, last);
}

#endif
