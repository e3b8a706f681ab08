/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_stripes_channels.h
 * The work of packed_stripes.h for four channels: packing the pixels of a stripe, and computing its results.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_CHANNELS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_CHANNELS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "helium.h"
#include "packed_channel.h"
#include "packed_columns.h"
#include "packed_words.h"
#include "sums.h"

/** Rows of a stripe at most, rows that it reads, and channels that are packed at once. */
#define ABOARD_DEPTHWISE_STRIPES_ROWS 8
#define ABOARD_DEPTHWISE_STRIPES_PLACES 10
#define ABOARD_DEPTHWISE_STRIPES_CHANNELS 4

/** Bytes from a row of a strip to the next, and bytes of a strip: the rows of windows of up to three. Literals of
 * instructions below. */
#define ABOARD_DEPTHWISE_STRIPES_PITCH 16
#define ABOARD_DEPTHWISE_STRIPES_STRIP 160

/** Parameters of aboard_depthwise_stripes_mve. */
typedef struct {
    aboard_view_t in;   /**< A multiple of four channels; columns with padding before them are at most seven. */
    aboard_view_t out;  /**< At most six columns. */
    int32_t taps;       /**< Rows of a window: up to 3; as many columns or fewer. */
    int32_t pad_top;    /**< Rows of padding before the image. */
    int32_t pad_left;   /**< Columns of padding before the image. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY. */
} aboard_depthwise_stripes_mve_t;

/** What the instructions for four channels read: offsets in them are literals. */
typedef struct {
    int32_t bias[8];         /**< Eight copies of a channel's bias. */
    const int8_t *words[4];  /**< First words of the first strip, less four bytes. */
    uint32_t last;           /**< Predicate of the last group of results. */
    int32_t more;            /**< More than 1: a stripe has more than six rows; 1: five or six, which two strips share a
                                  group for; less: up to four. */
    uint16_t results[6 * 8]; /**< Offsets of results: groups of the first four rows of each strip, and of the others. */
} aboard_depthwise_stripes_table_t;

/** The rows of a stripe. */
typedef struct {
    const int8_t *from[ABOARD_DEPTHWISE_STRIPES_PLACES + 2]; /**< Addresses, at least four. */
    int8_t *kept[4];                                         /**< Where rows of the last four are kept. */
    uint32_t kept_lanes;                                     /**< Predicate of those that are. */
    int32_t whole;                                           /**< Vectors of four rows. */
    int32_t back;   /**< Bytes of the addresses that a further vector, of the last four rows, has from those; or 0. */
    int32_t count;  /**< Rows, with padding. */
    int32_t before; /**< Rows before this one are padding. */
    int32_t behind; /**< So are this one and those behind it. */
} aboard_depthwise_stripes_rows_t;

/** Strips of two columns; the last one may have a single column. */
ABOARD_INLINE int32_t aboard_depthwise_stripes_strips(const aboard_depthwise_stripes_mve_t *p) {
    return (p->out.cols + 1) / 2;
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** A predicate for `count` columns from `number` on. */
#define ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, count, then) \
    ".if (" number " - %c[before]) %% 4 == 0 && %c[before] + %c[pixels] - " number count "\n\t" \
    then "\n\t" \
    ".endif\n\t"

/** Column `number` of four rows of four channels is kept for the rows of the predicate. */
#define ABOARD_DEPTHWISE_STRIPES_KEEP(number) \
    ".if " number " >= %c[before] && " number " < %c[before] + %c[pixels]\n\t" \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 1", "vpst") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 2", "vpstt") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " == 3", "vpsttt") \
    ABOARD_DEPTHWISE_STRIPES_PREDICATE(number, " >= 4", "vpstttt") \
    "vstrwt.32 q" number ", [q7, #(" number " - %c[before]) * %c[apart]]\n\t" \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_STRIPES_PACK \
    ABOARD_DEPTHWISE_PACKED_PADDING("0") \
    ABOARD_DEPTHWISE_PACKED_PADDING("1") \
    ABOARD_DEPTHWISE_PACKED_PADDING("2") \
    ABOARD_DEPTHWISE_PACKED_PADDING("3") \
    ABOARD_DEPTHWISE_PACKED_PADDING("4") \
    ABOARD_DEPTHWISE_PACKED_PADDING("5") \
    ABOARD_DEPTHWISE_PACKED_PADDING("6") \
    ".if %c[strips] > 1\n\t" \
    "add %[b], %[a], #160\n\t" \
    ".endif\n\t" \
    ".if %c[strips] > 2\n\t" \
    "add %[c], %[a], #320\n\t" \
    ".endif\n\t" \
    "dls lr, %[whole]\n\t" \
    "1:\n\t" \
    "vldrw.32 q7, [%[rows]], #16\n\t" \
    "vadd.i32 q7, q7, %[channel]\n\t" \
    ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PIXELS) \
    ".if %c[outputs] == 6\n\t" \
    "vdup.8 q7, %[padding]\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_WORD("0", "%[a]", "{q0, q1, q2, q3}") \
    ABOARD_DEPTHWISE_PACKED_WORD("1", "%[b]", "{q2, q3, q4, q5}") \
    ABOARD_DEPTHWISE_PACKED_WORD("2", "%[c]", "{q4, q5, q6, q7}") \
    "le lr, 1b\n\t" \
    "cbz %[back], 2f\n\t" \
    "sub %[rows], %[rows], %[back]\n\t" \
    "sub %[a], %[a], %[back], lsl #2\n\t" \
    "sub %[b], %[b], %[back], lsl #2\n\t" \
    "sub %[c], %[c], %[back], lsl #2\n\t" \
    "movs %[back], #0\n\t" \
    "mov lr, #1\n\t" \
    "b 1b\n\t" \
    "2:\n\t" \
    "vldrw.32 q7, [%[kept_at]]\n\t" \
    "vadd.i32 q7, q7, %[channel]\n\t" \
    "vmsr p0, %[kept]\n\t" \
    ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_STRIPES_KEEP)

/** Eight results: of two rows of two columns each from the words that `load` and `next` read. */
#define ABOARD_DEPTHWISE_STRIPES_FOUR(load, next, store, slot) \
    ABOARD_DEPTHWISE_PACKED_FULL_BEGIN \
    "vldrw.u32 q0, [q1, #" load "\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r0", "q4") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r2", "q5") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r8", "q6") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r10", "q7") \
    "vldrw.u32 q0, [q1, #" next "]\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r4", "q4") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r6", "q5") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("r12", "q6") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM("lr", "q7") \
    ABOARD_DEPTHWISE_STRIPES_END(store, slot)

#define ABOARD_DEPTHWISE_STRIPES_TWO(at, first, second) \
    "vldrw.u32 q0, [q1, #" at "]\n\t" \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(first, "q4") \
    ABOARD_DEPTHWISE_PACKED_FULL_SUM(second, "q5")

/** Eight results of a single column. */
#define ABOARD_DEPTHWISE_STRIPES_SINGLE(at, store, slot) \
    ABOARD_DEPTHWISE_PACKED_FULL_BEGIN \
    ABOARD_DEPTHWISE_STRIPES_TWO(at, "r0", "r2") \
    ABOARD_DEPTHWISE_STRIPES_TWO(at " + 32", "r4", "r6") \
    ABOARD_DEPTHWISE_STRIPES_TWO(at " + 64", "r8", "r10") \
    ABOARD_DEPTHWISE_STRIPES_TWO(at " + 96", "r12", "lr") \
    ABOARD_DEPTHWISE_STRIPES_END(store, slot)

/** Two roundings of sums with their bias. `record` is the factor of the second product; or its lowest byte is the second
 * shift, and a shift to the right lowers negative sums. */
#define ABOARD_DEPTHWISE_STRIPES_RIGHT \
    ABOARD_DEPTHWISE_PACKED_GATHER \
    "vqrdmulh.s32 q0, q0, q2\n\t" \
    "vqrdmulh.s32 q3, q3, q2\n\t" \
    ".if %c[products]\n\t" \
    "vqrdmulh.s32 q0, q0, %[record]\n\t" \
    "vqrdmulh.s32 q3, q3, %[record]\n\t" \
    ".else\n\t" \
    "ubfx r0, %[record], #7, #1\n\t" \
    "vqdmlah.s32 q0, q0, r0\n\t" \
    "vqdmlah.s32 q3, q3, r0\n\t" \
    "vrshl.s32 q0, %[record]\n\t" \
    "vrshl.s32 q3, %[record]\n\t" \
    ".endif\n\t" \
    "mov r2, %[zero_point]\n\t" \
    "vqmovnb.s32 q0, q0\n\t" \
    "vqmovnt.s32 q0, q3\n\t" \
    "vqadd.s16 q0, q0, r2\n\t" \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** Scales and stores eight results, whose offsets are number `slot`. */
#define ABOARD_DEPTHWISE_STRIPES_END(store, slot) \
    ".if %c[single]\n\t" \
    ABOARD_DEPTHWISE_PACKED_SINGLE_EPILOGUE("q2") \
    ".else\n\t" \
    ABOARD_DEPTHWISE_STRIPES_RIGHT \
    ".endif\n\t" \
    "vldrh.16 q3, [%[table], #56 + 16 * (" slot ")]\n\t" \
    store " q0, [%[out], q3]\n\t"

/** A group of the first four rows of strip `number`, unless it is the last group; and one of the other rows. */
#define ABOARD_DEPTHWISE_STRIPES_FIRST(number, load) \
    ".if %c[whole] - %c[even] > " number "\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FOUR(load, "160 * " number " + 32", "vstrb.16", number) \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_STRIPES_OTHER(number) \
    ".if %c[whole] > " number "\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FOUR("160 * " number " + 64]", "160 * " number " + 96", "vstrb.16", "3 + " number) \
    ".endif\n\t"

/** All results of four channels. The number of channels is even in bits of the address of results. */
#define ABOARD_DEPTHWISE_STRIPES_TEXT \
    "ldr %[left], [%[table], #48]\n\t" \
    "vldrw.32 q1, [%[table], #32]\n\t" \
    "vmsr p0, %[left]\n\t" \
    "1:\n\t" \
    "vldrw.32 q5, [%[weights], #32]!\n\t" \
    "ldrd %[left], %[record], [%[weights], #-12]\n\t" \
    "vldrw.32 q4, [%[weights], #4]\n\t" \
    "vdup.32 q0, %[left]\n\t" \
    "vdup.32 q2, %[record]\n\t" \
    "ldr %[record], [%[weights], #-4]\n\t" \
    "vstrw.32 q0, [%[table]]\n\t" \
    "vshl.i32 q6, q4, #8\n\t" \
    "vstrw.32 q0, [%[table], #16]\n\t" \
    "vshl.i32 q7, q5, #8\n\t" \
    ".if %c[whole] <= %c[even]\n\t" \
    "vldrw.u32 q0, [q1, #4]!\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FIRST("0", "4]!") \
    ABOARD_DEPTHWISE_STRIPES_FIRST("1", "160]") \
    ABOARD_DEPTHWISE_STRIPES_FIRST("2", "320]") \
    ".if %c[whole]\n\t" \
    "ldr %[left], [%[table], #52]\n\t" \
    "cmp %[left], #1\n\t" \
    "blt 2f\n\t" \
    ".if %c[whole] > 1\n\t" \
    "beq 3f\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_STRIPES_OTHER("0") \
    ABOARD_DEPTHWISE_STRIPES_OTHER("1") \
    "4:\n\t" \
    ABOARD_DEPTHWISE_STRIPES_OTHER("2") \
    "2:\n\t" \
    ".endif\n\t" \
    ".if %c[even]\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FOUR("160 * (%c[whole] - 1)]", "160 * (%c[whole] - 1) + 32", "vpst\n\tvstrbt.16", "%c[whole] - 1") \
    ".else\n\t" \
    ABOARD_DEPTHWISE_STRIPES_SINGLE("160 * %c[whole]", "vpst\n\tvstrbt.16", "%c[whole]") \
    ".endif\n\t" \
    "adds %[out], %[out], #1\n\t" \
    "tst %[out], #3\n\t" \
    "bne 1b\n\t" \
    ".if %c[whole] > 1\n\t" \
    "b 5f\n\t" \
    "3:\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FOUR("64]", "160 + 64", "vstrb.16", "3") \
    "b 4b\n\t" \
    "5:\n\t" \
    ".endif"

/* clang-format on */

/** Packs all rows of a stripe for four channels from `n` on, and keeps those that the next stripe reads again. */
ABOARD_INLINE void aboard_depthwise_stripes_pack(const aboard_depthwise_stripes_mve_t *p,
                                                 const aboard_depthwise_stripes_rows_t *rows, int32_t n,
                                                 int8_t *strips) {
    const int8_t *const *from = rows->from;
    int32_t back = rows->back;
    int8_t *b;
    int8_t *c;
    __asm__ volatile(
        ABOARD_DEPTHWISE_STRIPES_PACK
        : [rows] "+r"(from), [a] "+r"(strips), [b] "=&r"(b), [c] "=&r"(c), [back] "+l"(back)
        : [channel] "r"(n), [padding] "r"(p->zero_point), [kept] "r"(rows->kept_lanes), [kept_at] "r"(rows->kept),
          [whole] "r"(rows->whole), [before] "i"(p->pad_left), [pixels] "i"(p->in.cols),
          [apart] "i"(p->in.pixel_stride), [strips] "i"(aboard_depthwise_stripes_strips(p)), [outputs] "i"(p->out.cols)
        : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", ABOARD_MVE_PREDICATE "cc", "memory");
}

/** Writes padding of four channels to a row of all strips. */
ABOARD_INLINE void aboard_depthwise_stripes_pad(const aboard_depthwise_stripes_mve_t *p, int8_t *to) {
    __asm__ volatile("vdup.8 q0, %[padding]\n\t"
                     "vstrw.32 q0, [%[to]]\n\t"
                     ".if %c[strips] > 1\n\t"
                     "vstrw.32 q0, [%[to], #160]\n\t"
                     ".endif\n\t"
                     ".if %c[strips] > 2\n\t"
                     "vstrw.32 q0, [%[to], #320]\n\t"
                     ".endif"
                     :
                     : [to] "r"(to), [padding] "r"(p->zero_point), [strips] "i"(aboard_depthwise_stripes_strips(p))
                     : "q0", "memory");
}

/** Computes four channels of `rows` rows, whose first results are at `out`, a multiple of four; advances both. */
ABOARD_INLINE void aboard_depthwise_stripes_channels(const aboard_depthwise_stripes_mve_t *p,
                                                     aboard_depthwise_stripes_table_t *table, int32_t rows,
                                                     const int8_t **records, int8_t **results) {
    /* A channel's load of weights moves there from those of the channel before. */
    const int8_t *weights = *records + ABOARD_DEPTHWISE_PACKED_WEIGHTS - ABOARD_DEPTHWISE_PACKED_RECORD;
    int8_t *out = *results;
    int32_t left;
    int32_t record;
    (void)rows;
    __asm__ volatile(
        ABOARD_DEPTHWISE_STRIPES_TEXT
        : [table] "+r"(table), [weights] "+r"(weights), [out] "+r"(out), [record] "=&r"(record), [left] "=&r"(left)
        : [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift),
          [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), [zero_point] "i"(p->epilogue.zero_point),
          [low] "i"(p->epilogue.low), [high] "i"(p->epilogue.high), [whole] "i"(p->out.cols / 2),
          [even] "i"(p->out.cols % 2 == 0)
        : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7");
    *records = weights + ABOARD_DEPTHWISE_PACKED_RECORD - ABOARD_DEPTHWISE_PACKED_WEIGHTS;
    *results = out;
}

#else

/** Packs all rows of a stripe for four channels from `n` on, and keeps those that the next stripe reads again. */
ABOARD_INLINE void aboard_depthwise_stripes_pack(const aboard_depthwise_stripes_mve_t *p,
                                                 const aboard_depthwise_stripes_rows_t *rows, int32_t n,
                                                 int8_t *strips) {
    for (int32_t place = 0; place < ABOARD_MAX(rows->count, 4); ++place) {
        for (int32_t at = 0; at < aboard_depthwise_stripes_strips(p) * 16; ++at) {
            const int32_t col = at / 16 * 2 + at % 4 - p->pad_left;
            const int32_t there = col >= 0 && col < p->in.cols;
            const int8_t *const x = rows->from[place] + n + at / 4 % 4;
            strips[at / 16 * ABOARD_DEPTHWISE_STRIPES_STRIP + place * ABOARD_DEPTHWISE_STRIPES_PITCH + at % 16] =
                (int8_t)(there ? x[col * p->in.pixel_stride] : p->zero_point);
        }
    }
    for (int32_t lane = 0; lane < 4; ++lane) {
        const int8_t *const from = rows->from[ABOARD_MAX(rows->count, 4) - 4 + lane] + n;
        for (int32_t col = 0; col < p->in.cols && (rows->kept_lanes >> 4 * lane & 1); ++col) {
            /* A row that was kept before moves to a lower place, which was read. */
            memcpy(rows->kept[lane] + n + col * p->in.pixel_stride, from + col * p->in.pixel_stride, 4);
        }
    }
}

/** Writes padding of four channels to a row of all strips. */
ABOARD_INLINE void aboard_depthwise_stripes_pad(const aboard_depthwise_stripes_mve_t *p, int8_t *to) {
    for (int32_t strip = 0; strip < aboard_depthwise_stripes_strips(p); ++strip) {
        memset(to + strip * ABOARD_DEPTHWISE_STRIPES_STRIP, p->zero_point, ABOARD_DEPTHWISE_STRIPES_PITCH);
    }
}

/** Computes four channels of `rows` rows, whose first results are at `out`, a multiple of four; advances both. */
ABOARD_INLINE void aboard_depthwise_stripes_channels(const aboard_depthwise_stripes_mve_t *p,
                                                     const aboard_depthwise_stripes_table_t *table, int32_t rows,
                                                     const int8_t **records, int8_t **results) {
    const int32_t whole = p->out.cols / 2;
    for (int32_t channel = 0; channel < ABOARD_DEPTHWISE_STRIPES_CHANNELS; ++channel) {
        for (int32_t at = 0; at < rows * p->out.cols; ++at) {
            const int32_t row = at / p->out.cols;
            const int32_t strip = at % p->out.cols / 2;
            const int32_t second = at % p->out.cols % 2;
            const int8_t *const x = table->words[0] + 4 + strip * ABOARD_DEPTHWISE_STRIPES_STRIP +
                                    row * ABOARD_DEPTHWISE_STRIPES_PITCH + 4 * channel + second;
            const int32_t lane = strip < whole ? row / 4 * 24 + row % 4 * 2 + second : row % 4 * 2 + row / 4;
            const int32_t sum = aboard_depthwise_packed_sum(x, ABOARD_DEPTHWISE_STRIPES_PITCH,
                                                            *records + ABOARD_DEPTHWISE_PACKED_WEIGHTS + 4, 3, 3);
            (*results)[table->results[8 * strip + lane]] = aboard_depthwise_packed_rounded(&p->epilogue, *records, sum);
        }
        *records += ABOARD_DEPTHWISE_PACKED_RECORD;
        ++*results;
    }
}

#endif

#endif
