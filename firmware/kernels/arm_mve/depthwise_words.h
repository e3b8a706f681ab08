/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_words.h
 * int8 depthwise convolution with Helium: a channel at a time, a window in one instruction.
 *
 * VMLADAVA adds up sixteen products. So that it takes a whole window, pixels of a channel are packed: a word holds four
 * neighbours along one axis, and words follow each other along the other axis. Four words are sixteen pixels, which
 * one load fetches and which hold several windows: each is a product with the weights at another place of a vector.
 *
 * A strip is such a row of words, for sixteen channels at once, since VST4 packs as many: the channels of a word's
 * neighbours are what is apart in memory. host/aboard/kernels/depthwise_words_mve.py chooses axes and form.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_WORDS_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_WORDS_H

#include <arm_mve.h>
#include <stdint.h>

#include "aboard/config.h"
#include "band.h"
#include "finish.h"
#include "sums.h"
#include "words.h"

/** Two windows across a word times two along the words: windows of up to 3x3, strides of 1. Vectors of weights are
 * [0, column, column, column], a word each; a column's last byte is 0. One line alone takes eight results along. */
#define ABOARD_DEPTHWISE_WORDS_FOUR 0
/** One window in a vector: windows of up to 4x4. Vectors of weights are [column, column, column, column]. */
#define ABOARD_DEPTHWISE_WORDS_ONE 1
/** Words follow each other along the axis of their bytes. Windows are lines of up to 13, with a stride of 1: four
 * windows in a vector. Vectors of weights are [0, 0, 0, taps..., 0]. */
#define ABOARD_DEPTHWISE_WORDS_LINE 2

/** Channels of a strip. */
#define ABOARD_DEPTHWISE_WORDS_BLOCK 16

/** One of the two axes of an image. */
typedef struct {
    int32_t inputs;     /**< Pixels. */
    int32_t outputs;    /**< Results. */
    int32_t stride;     /**< Pixels from a window to the next. */
    int32_t pad;        /**< Pixels of padding before the first. */
    int32_t in_stride;  /**< Bytes from a pixel to the next. */
    int32_t out_stride; /**< Bytes from a result to the next. */
} aboard_depthwise_words_axis_t;

/** Parameters of aboard_depthwise_words_mve. */
typedef struct {
    aboard_depthwise_words_axis_t across; /**< Of which four neighbours share a word; not in the form LINE. */
    aboard_depthwise_words_axis_t along;  /**< In which words follow each other. */
    int32_t form;                         /**< ABOARD_DEPTHWISE_WORDS_FOUR, _ONE or _LINE. */
    int32_t lines;                        /**< Results across that are computed together: 2, or 1. */
    int32_t slab;                         /**< How many times that many are staged before any is computed. */
    int32_t images;                       /**< Of the batch. */
    int32_t image_in;                     /**< Bytes from an image to the next. */
    int32_t image_out;                    /**< Likewise, of the result. */
    int32_t channels;
    int32_t words;              /**< Of a place of a strip: 16; the channels where a vector holds several pixels. */
    int32_t places;             /**< Words of a channel in a strip. */
    int32_t zero_point;         /**< Of the input: what padding holds. */
    aboard_mve_finish_t finish; /**< ABOARD_MVE_LINE or ABOARD_MVE_RIGHT, without limits. */
} aboard_depthwise_words_mve_t;

/** Four rows of pixels. */
typedef struct {
    const int8_t *from[4];
    int32_t step[4]; /**< Bytes from a vector to the next. */
} aboard_depthwise_words_rows_t;

/* Formatted by hand: one instruction a line. */
/* clang-format off */

/** Packs `count` vectors of four rows; of each only the bytes that `some` names are read, the others are 0. */
ABOARD_SHARED void aboard_depthwise_words_pack(const aboard_depthwise_words_rows_t *rows, int8_t *to, int32_t count,
                                               uint32_t some) {
    const int8_t *a = rows->from[0];
    const int8_t *b = rows->from[1];
    const int8_t *c = rows->from[2];
    const int8_t *d = rows->from[3];
    __asm__ volatile(
        "vmsr p0, %[some]\n\t"
        "dls lr, %[count]\n\t"
        "1:\n\t"
        "vpstttt\n\t"
        "vldrbt.8 q0, [%[a]]\n\t"
        "vldrbt.8 q1, [%[b]]\n\t"
        "vldrbt.8 q2, [%[c]]\n\t"
        "vldrbt.8 q3, [%[d]]\n\t"
        "add %[a], %[a], %[sa]\n\t"
        "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[b], %[b], %[sb]\n\t"
        "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[c], %[c], %[sc]\n\t"
        "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t"
        "add %[d], %[d], %[sd]\n\t"
        "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t"
        "le lr, 1b"
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [to] "+r"(to)
        : [sa] "r"(rows->step[0]), [sb] "r"(rows->step[1]), [sc] "r"(rows->step[2]), [sd] "r"(rows->step[3]),
          [count] "r"(count), [some] "r"(some)
        : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

/** All instructions for a channel of one line, or of two. */
#define ABOARD_DEPTHWISE_WORDS_RUN(text) \
    __asm__ volatile(text \
                     : [strip] "+r"(strip), [table] "+r"(table), [record] "+r"(record), [out] "+r"(out), \
                       [left] "=&r"(left) \
                     : [line] "i"(p->finish.form == ABOARD_MVE_LINE), [shift] "i"(p->finish.shift), \
                       [zero_point] "i"(p->finish.zero_point), [step] "i"(step), [groups] "i"(groups), [rest] "i"(rest), \
                       [skip_low] "i"(skip & 4095), [skip_high] "i"(skip & ~4095), [strip_bytes] "i"(strip_bytes) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/* clang-format on */

/** Bytes from a word of a channel to the next. */
ABOARD_INLINE int32_t aboard_depthwise_words_pitch(const aboard_depthwise_words_mve_t *p) {
    return 4 * p->words;
}

/** Bytes of a strip; the last vector of several pixels may reach beyond the last place. */
ABOARD_INLINE int32_t aboard_depthwise_words_strip(const aboard_depthwise_words_mve_t *p) {
    return p->places * aboard_depthwise_words_pitch(p) + 4 * (ABOARD_DEPTHWISE_WORDS_BLOCK - p->words);
}

/** Strips that `lines` lines need. */
ABOARD_INLINE int32_t aboard_depthwise_words_strips(const aboard_depthwise_words_mve_t *p, int32_t lines) {
    return p->form == ABOARD_DEPTHWISE_WORDS_ONE ? lines : 1;
}

/** Places from a vector to the next. */
ABOARD_INLINE int32_t aboard_depthwise_words_step(const aboard_depthwise_words_mve_t *p) {
    if (p->form == ABOARD_DEPTHWISE_WORDS_LINE) {
        return 1;
    }
    return p->form == ABOARD_DEPTHWISE_WORDS_FOUR ? 2 : p->along.stride;
}

/** Number of the result along that lane `lane` of a group of `lines` lines holds. */
ABOARD_INLINE int32_t aboard_depthwise_words_result(int32_t lines, int32_t lane) {
    return lane / 2 + (lines == 1 ? lane % 2 * 4 : 0);
}

/** Predicate of the lanes of a group that hold one of its first `count` results along. */
ABOARD_INLINE int32_t aboard_depthwise_words_first(int32_t lines, int32_t count) {
    int32_t some = 0;
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        if (aboard_depthwise_words_result(lines, lane) < count) {
            some |= 3 << (2 * lane);
        }
    }
    return some;
}

/** Fills the table of `lines` lines that are computed together. */
ABOARD_INLINE void aboard_depthwise_words_fill(const aboard_depthwise_words_mve_t *p, int32_t lines,
                                               aboard_depthwise_words_table_t *table) {
    const int32_t pitch = aboard_depthwise_words_pitch(p);
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        /* Loads add their step before they read. */
        table->words[i] = (uint32_t)((i - aboard_depthwise_words_step(p)) * pitch);
    }
    ABOARD_UNROLL(8)
    for (int32_t lane = 0; lane < 8; ++lane) {
        const int32_t along = aboard_depthwise_words_result(lines, lane) * p->along.out_stride;
        table->results[lane] = (uint16_t)(along + (lines == 2 ? lane % 2 * p->across.out_stride : 0));
    }
}

/** Computes a channel of `lines` lines. */
ABOARD_INLINE void aboard_depthwise_words_channel(const aboard_depthwise_words_mve_t *p, int32_t lines,
                                                  const aboard_depthwise_words_table_t *table, const int8_t *strip,
                                                  const int8_t *record, int8_t *out) {
    const int32_t results = 8 / lines;
    const int32_t groups = p->along.outputs / results;
    const int32_t rest = aboard_depthwise_words_first(lines, p->along.outputs % results);
    const int32_t step = aboard_depthwise_words_step(p) * aboard_depthwise_words_pitch(p);
    const int32_t strip_bytes = aboard_depthwise_words_strip(p);
    const int32_t skip = results * p->along.out_stride;
    int32_t left;
    if (p->form == ABOARD_DEPTHWISE_WORDS_LINE) {
        ABOARD_DEPTHWISE_WORDS_RUN(ABOARD_DEPTHWISE_WORDS_LINE_TEXT);
    } else if (p->form == ABOARD_DEPTHWISE_WORDS_FOUR && lines == 2) {
        ABOARD_DEPTHWISE_WORDS_RUN(ABOARD_DEPTHWISE_WORDS_FOUR_TEXT);
    } else if (p->form == ABOARD_DEPTHWISE_WORDS_FOUR) {
        ABOARD_DEPTHWISE_WORDS_RUN(ABOARD_DEPTHWISE_WORDS_TWO_TEXT);
    } else if (lines == 2) {
        ABOARD_DEPTHWISE_WORDS_RUN(ABOARD_DEPTHWISE_WORDS_PAIR_TEXT);
    } else {
        ABOARD_DEPTHWISE_WORDS_RUN(ABOARD_DEPTHWISE_WORDS_ONE_TEXT);
    }
}

/** Computes a block of channels of `lines` lines, which are staged. */
ABOARD_INLINE void aboard_depthwise_words_block(const aboard_depthwise_words_mve_t *p, const int8_t *strips,
                                                int32_t lines, int32_t channels, const int8_t *record,
                                                const aboard_depthwise_words_table_t *tables, int8_t *out) {
    const int32_t next = aboard_depthwise_words_strips(p, p->lines) * aboard_depthwise_words_strip(p);
    ABOARD_UNROLL(1)
    for (int32_t c = 0; c < channels; ++c) {
        const int8_t *strip = strips + 4 * c;
        int8_t *y = out + c;
        int32_t left = lines;
        ABOARD_UNROLL(1)
        for (; left >= p->lines; left -= p->lines) {
            aboard_depthwise_words_channel(p, p->lines, &tables[0], strip, record, y);
            strip += next;
            y += p->lines * p->across.out_stride;
        }
        if (p->across.outputs % p->lines != 0 && left > 0) {
            aboard_depthwise_words_channel(p, 1, &tables[1], strip, record, y);
        }
        record += ABOARD_DEPTHWISE_WORDS_RECORD;
    }
}

/** Packs a line of the form LINE: its pixels, four to a word. */
ABOARD_INLINE void aboard_depthwise_words_stage_line(const aboard_depthwise_words_mve_t *p, const int8_t *in,
                                                     uint32_t some, const int8_t *padding, int8_t *to) {
    const int32_t words = p->along.inputs / 4;
    const int32_t rest = p->along.inputs % 4;
    aboard_depthwise_words_rows_t rows;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        rows.from[i] = in + i * p->along.in_stride;
        rows.step[i] = 4 * p->along.in_stride;
    }
    if (words > 0) {
        aboard_depthwise_words_pack(&rows, to, words, some);
    }
    if (rest > 0) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            rows.from[i] = i < rest ? rows.from[i] + words * rows.step[i] : padding;
        }
        aboard_depthwise_words_pack(&rows, to + words * aboard_depthwise_words_pitch(p), 1, some);
    }
}

/** Packs the strip of which `first` is the first pixel across; such as are not there are padding. */
ABOARD_INLINE void aboard_depthwise_words_stage(const aboard_depthwise_words_mve_t *p, const int8_t *in, int32_t first,
                                                uint32_t some, const int8_t *padding, int8_t *strip) {
    const int32_t pitch = aboard_depthwise_words_pitch(p);
    const int32_t several = p->words < ABOARD_DEPTHWISE_WORDS_BLOCK;
    const int32_t pixels = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    const int32_t bytes = pixels * p->words;
    int8_t *to = strip + p->along.pad * pitch;
    aboard_depthwise_words_rows_t rows;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t there = first + i >= 0 && first + i < p->across.inputs;
        rows.from[i] = there ? in + (first + i) * p->across.in_stride : padding;
        rows.step[i] = there ? (several ? ABOARD_DEPTHWISE_WORDS_BLOCK : p->along.in_stride) : 0;
    }
    if (!several) {
        aboard_depthwise_words_pack(&rows, to, pixels, some);
        return;
    }
    if (bytes >= ABOARD_DEPTHWISE_WORDS_BLOCK) {
        aboard_depthwise_words_pack(&rows, to, bytes / ABOARD_DEPTHWISE_WORDS_BLOCK, 0xffff);
    }
    if (bytes % ABOARD_DEPTHWISE_WORDS_BLOCK != 0) {
        const int32_t whole = bytes / ABOARD_DEPTHWISE_WORDS_BLOCK;
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            rows.from[i] += whole * rows.step[i];
        }
        aboard_depthwise_words_pack(&rows, to + whole * 4 * ABOARD_DEPTHWISE_WORDS_BLOCK, 1,
                                    (1u << bytes % ABOARD_DEPTHWISE_WORDS_BLOCK) - 1);
        /* What is too much has overwritten the padding. */
        aboard_mve_fill(to + pixels * pitch, p->zero_point, (p->places - p->along.pad - pixels) * pitch);
    }
}

/** Writes the padding before and behind the pixels of all strips: it stays. */
ABOARD_INLINE void aboard_depthwise_words_pad(const aboard_depthwise_words_mve_t *p, int8_t *strips) {
    const int32_t pitch = aboard_depthwise_words_pitch(p);
    const int32_t pixels = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    const int32_t behind = p->along.pad + pixels;
    for (int32_t i = 0; i < p->slab * aboard_depthwise_words_strips(p, p->lines); ++i) {
        aboard_mve_fill(strips, p->zero_point, p->along.pad * pitch);
        aboard_mve_fill(strips + behind * pitch, p->zero_point, (p->places - behind) * pitch);
        strips += aboard_depthwise_words_strip(p);
    }
}

/** Stages a block of channels of lines `line` to `line + lines - 1`. */
ABOARD_INLINE void aboard_depthwise_words_strips_of(const aboard_depthwise_words_mve_t *p, const int8_t *in,
                                                    int32_t line, int32_t lines, uint32_t some, const int8_t *padding,
                                                    int8_t *strip) {
    const int32_t each = p->lines / aboard_depthwise_words_strips(p, p->lines);
    ABOARD_UNROLL(1)
    for (int32_t last = line + lines; line < last; line += each) {
        if (p->form == ABOARD_DEPTHWISE_WORDS_LINE) {
            const int8_t *from = in + line * p->across.stride * p->across.in_stride;
            aboard_depthwise_words_stage_line(p, from, some, padding, strip);
        } else {
            const int32_t first = line * p->across.stride - p->across.pad;
            aboard_depthwise_words_stage(p, in, first, some, padding, strip);
        }
        strip += aboard_depthwise_words_strip(p);
    }
}

/**
 * int8 depthwise convolution with as many output as input channels, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory; or the same, where a slab is a whole image. Whole tensors or slices of them.
 * @param records     [channels][ABOARD_DEPTHWISE_WORDS_RECORD], weights packed as the form needs them.
 * @param scratch     The strips of a slab, and what loads reach beyond the last.
 * @param first, last All rows of the result.
 */
ABOARD_INLINE void aboard_depthwise_words_mve(const aboard_depthwise_words_mve_t *p, const int8_t *in, int8_t *out,
                                              const int8_t *records, int8_t *scratch, int32_t first, int32_t last) {
    const int32_t slab = p->slab * p->lines;
    aboard_depthwise_words_table_t tables[2];
    int8_t padding[ABOARD_DEPTHWISE_WORDS_BLOCK];
    (void)first;
    (void)last;
    vstrbq_s8(padding, vdupq_n_s8((int8_t)p->zero_point));
    aboard_depthwise_words_fill(p, p->lines, &tables[0]);
    aboard_depthwise_words_fill(p, 1, &tables[1]);
    if (p->form != ABOARD_DEPTHWISE_WORDS_LINE) {
        aboard_depthwise_words_pad(p, scratch);
    }
    ABOARD_UNROLL(1)
    for (int32_t image = 0; image < p->images; ++image) {
        ABOARD_UNROLL(1)
        for (int32_t line = 0; line < p->across.outputs; line += slab) {
            const int32_t lines = ABOARD_MIN(slab, p->across.outputs - line);
            ABOARD_UNROLL(1)
            for (int32_t n = 0; n < p->channels; n += ABOARD_DEPTHWISE_WORDS_BLOCK) {
                const int32_t channels = ABOARD_MIN(p->channels - n, ABOARD_DEPTHWISE_WORDS_BLOCK);
                aboard_depthwise_words_strips_of(p, in + n, line, lines, (1u << channels) - 1, padding, scratch);
                aboard_depthwise_words_block(p, scratch, lines, channels, records + n * ABOARD_DEPTHWISE_WORDS_RECORD,
                                             tables, out + line * p->across.out_stride + n);
            }
        }
        in += p->image_in;
        out += p->image_out;
    }
}

#endif
