/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pairs_in_registers.h
 * Two pixels in registers for all channels of the result, with the DSP extension: the loop over pairs of pixels and
 * over channels, and the parts of a channel, for kernels that say how pixels come into registers.
 *
 * A channel is a run of words: bias, words of two taps as halfwords, and what rounds its results: factor and constant,
 * and for a double rounding the shift.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_PAIRS_IN_REGISTERS_H
#define ABOARD_KERNELS_ARM_DSP_PAIRS_IN_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Words of a channel besides its taps. */
#define ABOARD_DSP_PAIRS_AROUND(single) ((single) ? 3 : 4)

/** Channels of an iteration. */
#define ABOARD_DSP_PAIRS_ONCE 4

/** Bytes of code of the channels that the first iteration leaves out, if one has `code` of them. */
#define ABOARD_DSP_PAIRS_SKIPPED(channels, code)                                                                       \
    ((ABOARD_DSP_PAIRS_ONCE - (channels) % ABOARD_DSP_PAIRS_ONCE) % ABOARD_DSP_PAIRS_ONCE * (code))

#if ABOARD_DSP_ASM

/* clang-format off */
/** A result by a single rounding. */
#define ABOARD_DSP_PAIRS_SINGLE(sum, factor, constant)                  \
    "smmlar " sum ", " sum ", " factor ", " constant "\n ssat " sum ", #8, " sum ", asr #4\n"

/** A result by two roundings: its product and the rest. */
#define ABOARD_DSP_PAIRS_PRODUCT(sum, factor, free)                     \
    "add.w " free ", " sum ", " sum ", asr #31\n smmlar " sum ", " sum ", " factor ", " free "\n"
#define ABOARD_DSP_PAIRS_ROUNDED(sum, constant, shift)                  \
    "add.w " sum ", " sum ", " constant "\n asr.w " sum ", " sum ", " shift "\n ssat " sum ", #8, " sum "\n"

/** Both results by two roundings, from three words at lr through two registers. */
#define ABOARD_DSP_PAIRS_DOUBLE(first, second, u, v)                    \
    "ldr.w " u ", [lr], #4\n"                                          \
    ABOARD_DSP_PAIRS_PRODUCT(first, u, v) ABOARD_DSP_PAIRS_PRODUCT(second, u, v) \
    "ldmia.w lr!, {" u ", " v "}\n"                                    \
    ABOARD_DSP_PAIRS_ROUNDED(first, u, v) ABOARD_DSP_PAIRS_ROUNDED(second, u, v)

/** Products of a word of taps: words of both pixels, their sums. */
#define ABOARD_DSP_PAIRS_TAPS(word, first, second, sum, other)          \
    "smlad " other ", " second ", " word ", " other "\n smlad " sum ", " first ", " word ", " sum "\n"

/** Likewise of the first word, behind the bias in `sum`. */
#define ABOARD_DSP_PAIRS_BEGUN(word, first, second, sum, other)         \
    "smlad " other ", " second ", " word ", " sum "\n smlad " sum ", " first ", " word ", " sum "\n"

/** Weights in lr, the first pixel's results from r12 on. `pixels` loads the next pair and goes on at the channel where the first
 * iteration begins; `channel` has instructions of four bytes alone; `finished` compares lr with the end of the weights.
 * Frame: the job of nine words, of which the first is advanced by `pixels` until it equals the eighth; in its last field the
 * address where the first iteration begins. */
#define ABOARD_DSP_PAIRS_FUNCTION(name, job, pixels, channel, finished) \
    ABOARD_NAKED void name(const job *p ABOARD_UNUSED) {                \
        __asm__ volatile(                                               \
            "push {r4-r11, lr}\n"                                       \
            "ldm r0, {r0-r8}\n"                                         \
            "adr.w r9, 2f\n"                                            \
            "add r8, r9\n orr r8, r8, #1\n"                             \
            "push {r0-r8}\n"                                            \
            "1:\n"                                                      \
            pixels                                                      \
            ".balign 4\n"                                               \
            "2:\n"                                                      \
            ".rept 4\n"                                                 \
            channel                                                     \
            ".endr\n"                                                   \
            finished                                                    \
            "bne.w 2b\n"                                                \
            "ldr r1, [sp]\n ldr r2, [sp, #28]\n"                        \
            "cmp r1, r2\n"                                              \
            "bne.w 1b\n"                                                \
            "add sp, #36\n"                                             \
            "pop {r4-r11, pc}\n");                                      \
    }
/* clang-format on */

#else

/** Result of a channel whose words begin at `w`, from `count` words of a pixel. */
ABOARD_INLINE int8_t aboard_dsp_pairs_result(const uint32_t *pixel, int32_t count, const uint32_t *w, bool single) {
    uint32_t sum = *w++;
    for (int32_t i = 0; i < count; ++i) {
        sum = aboard_dsp_mac(pixel[i], *w++, sum);
    }
    return single ? aboard_dsp_single_rounding(sum, (int32_t)w[0], (int32_t)w[1], ABOARD_DSP_SINGLE_SHIFT)
                  : aboard_dsp_double_rounding(sum, (int32_t)w[0], (int32_t)w[1], w[2]);
}

#endif

#endif
