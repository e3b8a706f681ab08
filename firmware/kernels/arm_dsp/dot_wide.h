/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_wide.h
 * Like dot.h, with 16-bit weights: 20 instructions instead of 23 for eight taps of four sums. For windows of at most
 * ABOARD_DSP_WIDE_TAP_GROUPS tap groups in layers with many pixels, where wider weights cost few bytes.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_WIDE_H
#define ABOARD_KERNELS_ARM_DSP_DOT_WIDE_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Largest number of tap groups of a window. */
#define ABOARD_DSP_WIDE_TAP_GROUPS 16

#if ABOARD_DSP_ASM

/* clang-format off */
/** aboard_dsp_pair_wide for at most `most` tap groups: one is 10 instructions of 4 bytes; fewer enter in the middle. */
#define ABOARD_DSP_PAIR_WIDE(most)                                     \
    ABOARD_NAKED void aboard_dsp_pair_wide_##most(aboard_dsp_pair_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "ldm r0, {r4-r12}\n"                                       \
            "cmp r9, #0\n"                                             \
            "bne 4f\n"                                                 \
            "ldr r1, [r0, #36]\n"                                      \
            "adr.w r9, 2f\n"                                           \
            "rsb r1, r1, #" #most "\n"                                 \
            "movs r2, #40\n"                                           \
            "mla r9, r1, r2, r9\n"                                     \
            "orr r9, r9, #1\n"                                         \
            "str r9, [r0, #20]\n"                                      \
            "4:\n"                                                     \
            "push {r4-r11}\n"                                          \
            "mov lr, r12\n"                                            \
            "mov r12, r7\n"                                            \
            "1:\n"                                                     \
            "ldmia lr!, {r8, r10}\n"                                   \
            "mov r9, r8\n"                                             \
            "mov r11, r10\n"                                           \
            "ldr pc, [sp, #20]\n"                                      \
            ".balign 4\n"                                              \
            "2:\n"                                                     \
            ".rept " #most "\n"                                        \
            "ldmia r12!, {r0-r3}\n ldmia lr!, {r4-r7}\n"               \
            "smlad r8, r0, r4, r8\n smlad r9, r1, r4, r9\n"            \
            "smlad r10, r0, r5, r10\n smlad r11, r1, r5, r11\n"        \
            "smlad r8, r2, r6, r8\n smlad r9, r3, r6, r9\n"            \
            "smlad r10, r2, r7, r10\n smlad r11, r3, r7, r11\n"        \
            ".endr\n"                                                  \
            "ldmia lr!, {r0-r3}\n"                                     \
            "smmlar r8, r8, r0, r2\n smmlar r9, r9, r0, r2\n"          \
            "smmlar r10, r10, r1, r3\n smmlar r11, r11, r1, r3\n"      \
            "ssat r8, #8, r8, asr #4\n ssat r9, #8, r9, asr #4\n"      \
            "ssat r10, #8, r10, asr #4\n ssat r11, #8, r11, asr #4\n"  \
            ABOARD_DSP_PAIR_TAIL);                                     \
    }
ABOARD_DSP_PAIR_WIDE(8)
ABOARD_DSP_PAIR_WIDE(16)
/* clang-format on */

/**
 * All channels of two pixels, requantised by single roundings; `most`, 8 or 16, is a literal and at least the job's
 * number of tap groups.
 *
 * The weights of a job are, for every two channels: both biases; for each tap group the even taps of both channels,
 * then the odd ones; factors, constants.
 */
ABOARD_INLINE void aboard_dsp_pair_wide(aboard_dsp_pair_t *p, int32_t most) {
    if (most <= 8) {
        aboard_dsp_pair_wide_8(p);
    } else {
        aboard_dsp_pair_wide_16(p);
    }
}

#else

/** See above. */
ABOARD_SHARED void aboard_dsp_pair_wide(const aboard_dsp_pair_t *p, int32_t most) {
    (void)most;
    int8_t *const y[2] = {p->y0, p->y1};
    const uint32_t *w = p->weights;
    for (int32_t n = 0; y[0] + n != p->end; n += 2) {
        uint32_t sums[4] = {w[0], w[0], w[1], w[1]};
        w += 2;
        /* x: even words of both pixels, then odd ones; so are weights of both channels. */
        for (int32_t half = 0; half < 2 * p->tap_groups; ++half) {
            for (int32_t i = 0; i < 4; ++i) {
                sums[i] = aboard_dsp_mac(p->x[2 * half + i % 2], w[i / 2], sums[i]);
            }
            w += 2;
        }
        for (int32_t i = 3; i >= 0; --i) {
            const int32_t channel = i / 2;
            y[i % 2][n + channel] = aboard_dsp_single_rounding(sums[i], (int32_t)w[channel], (int32_t)w[2 + channel],
                                                               ABOARD_DSP_SINGLE_SHIFT);
        }
        w += 4;
    }
}

#endif

#endif
