/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_stripes_channels.h
 * The instructions of packed_stripes.h: all channels of a stripe, whose pixels are packed for four channels at a time.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_CHANNELS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_CHANNELS_H

#include <stdint.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"
#include "packed_channel.h"
#include "packed_stripes_pack.h"
#include "packed_words.h"
#include "sums.h"

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

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

/** Skips the groups that are not computed: bit 0 of `at` is 1 for five or six rows, bit 1 for more. */
#define ABOARD_DEPTHWISE_STRIPES_SKIP \
    ".if %c[whole] > 1\n\t" \
    "lsls r0, %[at], #31\n\t" \
    "bmi 3f\n\t" \
    "bcc 2f\n\t" \
    ".else\n\t" \
    "tst %[at], #3\n\t" \
    "beq 2f\n\t" \
    ".endif\n\t"

/** All results of four channels. The number of channels is even in bits of the address of results. */
#define ABOARD_DEPTHWISE_STRIPES_RESULTS \
    "ldr r0, [%[table], #48]\n\t" \
    "vldrw.32 q1, [%[table], #32]\n\t" \
    "vmsr p0, r0\n\t" \
    "1:\n\t" \
    "vldrw.32 q5, [%[weights], #32]!\n\t" \
    "ldrd r0, r2, [%[weights], #-12]\n\t" \
    "vldrw.32 q4, [%[weights], #4]\n\t" \
    "vdup.32 q0, r0\n\t" \
    "vdup.32 q2, r2\n\t" \
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
    ABOARD_DEPTHWISE_STRIPES_SKIP \
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
    "bne 1b\n\t"

/** All channels, four at a time. */
#define ABOARD_DEPTHWISE_STRIPES_TEXT \
    "5:\n\t" \
    ABOARD_DEPTHWISE_STRIPES_PACK \
    ABOARD_DEPTHWISE_STRIPES_RESULTS \
    "movw r0, %[channels]\n\t" \
    "adds %[at], %[at], #4\n\t" \
    "cmp %[at], r0\n\t" \
    "blt 5b\n\t" \
    ".if %c[whole] > 1\n\t" \
    "b 5f\n\t" \
    "3:\n\t" \
    ABOARD_DEPTHWISE_STRIPES_FOUR("64]", "160 + 64", "vstrb.16", "3") \
    "b 4b\n\t" \
    "5:\n\t" \
    ".endif"

/* clang-format on */

/** Computes all channels of `rows` rows, whose first results are at `out`, a multiple of four. */
ABOARD_INLINE void aboard_depthwise_stripes_all(const aboard_depthwise_stripes_mve_t *p,
                                                aboard_depthwise_stripes_table_t *table, int32_t rows,
                                                const int8_t *records, int8_t *out) {
    /* A channel's load of weights moves there from those of the channel before. */
    const int8_t *weights = records + ABOARD_DEPTHWISE_PACKED_WEIGHTS - ABOARD_DEPTHWISE_PACKED_RECORD;
    /* The first of four channels, and which groups have results. */
    int32_t at = rows > 6 ? 2 : rows > 4;
    int32_t record;
    __asm__ volatile(
        ABOARD_DEPTHWISE_STRIPES_TEXT
        : [table] "+&r"(table), [weights] "+&r"(weights), [out] "+&r"(out), [at] "+&r"(at), [record] "=&r"(record)
        : [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift),
          [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), [zero_point] "i"(p->epilogue.zero_point),
          [low] "i"(p->epilogue.low), [high] "i"(p->epilogue.high), [whole] "i"(p->out.cols / 2),
          [even] "i"(p->out.cols % 2 == 0), [padding] "i"(p->zero_point), [before] "i"(p->pad_left),
          [pixels] "i"(p->in.cols), [apart] "i"(p->in.pixel_stride), [channels] "i"(p->in.channels),
          [strips] "i"(aboard_depthwise_stripes_strips(p)), [outputs] "i"(p->out.cols)
        : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7");
}

#else

/** Computes channel `n`, whose first result is at `out`. */
ABOARD_INLINE void aboard_depthwise_stripes_channel(const aboard_depthwise_stripes_mve_t *p,
                                                    const aboard_depthwise_stripes_table_t *table, int32_t rows,
                                                    int32_t n, const int8_t *record, int8_t *out) {
    const int32_t whole = p->out.cols / 2;
    for (int32_t at = 0; at < rows * p->out.cols; ++at) {
        const int32_t row = at / p->out.cols;
        const int32_t strip = at % p->out.cols / 2;
        const int32_t second = at % p->out.cols % 2;
        const int8_t *const x = table->strips + strip * ABOARD_DEPTHWISE_STRIPES_STRIP +
                                row * ABOARD_DEPTHWISE_STRIPES_PITCH + n % ABOARD_DEPTHWISE_STRIPES_CHANNELS * 4 +
                                second;
        const int32_t lane = strip < whole ? row / 4 * 24 + row % 4 * 2 + second : row % 4 * 2 + row / 4;
        const int32_t sum = aboard_depthwise_packed_sum(x, ABOARD_DEPTHWISE_STRIPES_PITCH,
                                                        record + ABOARD_DEPTHWISE_PACKED_WEIGHTS + 4, 3, 3);
        out[table->results[8 * strip + lane]] = aboard_depthwise_packed_rounded(&p->epilogue, record, sum);
    }
}

/** Computes all channels of `rows` rows, whose first results are at `out`, a multiple of four. */
ABOARD_INLINE void aboard_depthwise_stripes_all(const aboard_depthwise_stripes_mve_t *p,
                                                const aboard_depthwise_stripes_table_t *table, int32_t rows,
                                                const int8_t *records, int8_t *out) {
    for (int32_t n = 0; n < p->in.channels; ++n) {
        if (n % ABOARD_DEPTHWISE_STRIPES_CHANNELS == 0) {
            aboard_depthwise_stripes_pack(p, table, rows + p->taps - 1, n);
        }
        aboard_depthwise_stripes_channel(p, table, rows, n, records + n * ABOARD_DEPTHWISE_PACKED_RECORD, out + n);
    }
}

#endif

#endif
