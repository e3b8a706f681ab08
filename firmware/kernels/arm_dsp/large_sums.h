/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file large_sums.h
 * Sums of products of any size with the DSP extension: of four channels, and of a single one. They read int8 inputs
 * where they lie. host/aboard/kernels/arm_dsp/large_sums.py packs their weights and constants.
 *
 * The weights of four channels are SWAR-packed (dot.h). A sum of halfwords, raw = acc_0 + 256 acc_1, gives acc_1 only
 * while |acc_1| < 2^23, which 512 taps cannot pass. So a call adds at most 512 taps: it starts with raw = acc_0, and
 * then adds (raw - acc_0) / 256, what the call itself contributed, to acc_1. This is exact for every input, and costs
 * nothing in the inner loop. The weights of a single channel are plain int8.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LARGE_SUMS_H
#define ABOARD_KERNELS_ARM_DSP_LARGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels computed at once. */
#define ABOARD_DSP_LARGE_CHANNELS 4

/** Tap groups that a call adds at most: 512 taps. */
#define ABOARD_DSP_LARGE_TAP_GROUPS 128

/** Right shift of the single rounding. */
#define ABOARD_DSP_LARGE_SHIFT 4

/** Words of constants of a channel: factor, constant, and the shift where results are rounded twice. */
#define ABOARD_DSP_LARGE_CONSTANTS(single) ((single) ? 2 : 3)

#if ABOARD_DSP_ASM

/* clang-format off */
/** Tap groups of an iteration, 16 instructions of 4 bytes each; powers of two. The first iteration is entered in the
 * middle. Two LDMs of a turn could be runs of LDR instead: 4 % fewer cycles on Cortex-M4, 20 % more instructions. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_LARGE_STEPS "2"
#else
#define ABOARD_DSP_LARGE_STEPS "8"
#endif

/** Products of one word of inputs with two SWAR-packed words. */
#define ABOARD_DSP_LARGE_PRODUCTS(x, w0, w1)                           \
    "smlad r9, " x ", " w0 ", r9\n smlad r11, " x ", " w1 ", r11\n"    \
    "sxtb16 " w0 ", " w0 "\n sxtb16 " w1 ", " w1 "\n"                  \
    "smlad r8, " x ", " w0 ", r8\n smlad r10, " x ", " w1 ", r10\n"

/**
 * Adds products to the sums of four channels.
 *
 * @param weights    Four words for each tap group, see fully_connected.h.
 * @param x          Inputs, at any address.
 * @param tap_groups 1 to ABOARD_DSP_LARGE_TAP_GROUPS.
 * @param sums       Of four channels.
 * @return End of the weights.
 */
ABOARD_NAKED const uint32_t *aboard_dsp_large_four(const uint32_t *weights ABOARD_UNUSED,
                                                   const int8_t *x ABOARD_UNUSED, int32_t tap_groups ABOARD_UNUSED,
                                                   uint32_t *sums ABOARD_UNUSED) {
    /* Sums: r8 and r10 of channels 0 and 2, r9 and r11 raw; r12 x, r2 its end, lr weights. */
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "mov lr, r0\n"
        "mov r12, r1\n"
        "rsb r4, r2, #0\n"
        "and r4, r4, #" ABOARD_DSP_LARGE_STEPS "-1\n"
        "add r2, r1, r2, lsl #2\n"
        "adr.w r5, 1f\n"
        "add r5, r5, r4, lsl #6\n"
        "orr r5, r5, #1\n"
        "ldr r8, [r3]\n"
        "ldr r10, [r3, #8]\n"
        "mov r9, r8\n"
        "mov r11, r10\n"
        "bx r5\n"
        ".balign 4\n"
        "1:\n"
        ".rept " ABOARD_DSP_LARGE_STEPS "\n"
        "ldr r1, [r12], #4\n ldmia.w lr!, {r4-r7}\n"
        "sxtb16 r0, r1\n sxtb16 r1, r1, ror #8\n"
        ABOARD_DSP_LARGE_PRODUCTS("r0", "r4", "r5")
        ABOARD_DSP_LARGE_PRODUCTS("r1", "r6", "r7")
        ".endr\n"
        "cmp r12, r2\n"
        "bne.w 1b\n"
        "ldr r0, [r3, #4]\n"
        "ldr r1, [r3, #12]\n"
        "sub r9, r9, r8\n"
        "sub r11, r11, r10\n"
        "add r0, r0, r9, asr #8\n"
        "add r1, r1, r11, asr #8\n"
        "strd r8, r0, [r3]\n"
        "strd r10, r1, [r3, #8]\n"
        "mov r0, lr\n"
        "pop {r4-r11, pc}\n");
}

/** A tap group of a single channel: the sum in r3. */
#define ABOARD_DSP_LARGE_ONE_GROUP(x, w)                               \
    "sxtb16 r12, " x "\n sxtb16 lr, " w "\n"                           \
    "sxtb16 " x ", " x ", ror #8\n sxtb16 " w ", " w ", ror #8\n"      \
    "smlad r3, r12, lr, r3\n smlad r3, " x ", " w ", r3\n"

/** Two tap groups of a single channel, 60 bytes; with labels between and behind them. */
#define ABOARD_DSP_LARGE_ONE_PAIR(between, behind)                     \
    "ldr r5, [r0, #4]\n ldr.w r4, [r0], #8\n ldr r7, [r1, #4]\n ldr.w r6, [r1], #8\n" \
    ABOARD_DSP_LARGE_ONE_GROUP("r4", "r6") between ABOARD_DSP_LARGE_ONE_GROUP("r5", "r7") behind

/** The pairs of an iteration. The first iteration is entered in the middle, where flags tell: N of an odd tap group,
 * whose words are loaded before, and C of an odd pair. A layer of one channel is short, so that few copies are worth
 * their flash. */
#if defined(__OPTIMIZE_SIZE__)
#define ABOARD_DSP_LARGE_ONE_LEFT_OUT ""
#define ABOARD_DSP_LARGE_ONE_ODD "b.n 2f\n"
#define ABOARD_DSP_LARGE_ONE_EVEN ""
#define ABOARD_DSP_LARGE_ONE_PAIRS "1:\n" ABOARD_DSP_LARGE_ONE_PAIR("2:\n", "")
#elif defined(ABOARD_SPEED)
/* Eight copies, entered at 30 bytes for each tap group that is left out, and 6 more for an odd one. */
#define ABOARD_DSP_LARGE_ONE_LEFT_OUT "rsb r6, r2, #0\n and r6, r6, #15\n rsb r12, r6, r6, lsl #4\n"
#define ABOARD_DSP_LARGE_ONE_ODD "add r12, r12, #3\n"
#define ABOARD_DSP_LARGE_ONE_EVEN "adr.w lr, 1f\n add lr, lr, r12, lsl #1\n orr lr, lr, #1\n bx lr\n"
#define ABOARD_DSP_LARGE_ONE_PAIRS ".balign 4\n" "1:\n .rept 8\n" ABOARD_DSP_LARGE_ONE_PAIR("", "") ".endr\n"
#else
#define ABOARD_DSP_LARGE_ONE_LEFT_OUT ""
#define ABOARD_DSP_LARGE_ONE_ODD "bcs.n 2f\n b.n 4f\n"
#define ABOARD_DSP_LARGE_ONE_EVEN "bcs.n 3f\n"
#define ABOARD_DSP_LARGE_ONE_PAIRS "1:\n" ABOARD_DSP_LARGE_ONE_PAIR("2:\n", "3:\n") ABOARD_DSP_LARGE_ONE_PAIR("4:\n", "")
#endif

/**
 * Adds products to the sum of one channel.
 *
 * @param x          Inputs, at any address.
 * @param weights    A word of int8 for each tap group.
 * @param tap_groups At least 1.
 * @param sum        Its start.
 * @return The sum.
 */
ABOARD_NAKED uint32_t aboard_dsp_large_one(const int8_t *x ABOARD_UNUSED, const uint32_t *weights ABOARD_UNUSED,
                                           int32_t tap_groups ABOARD_UNUSED, uint32_t sum ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r7, lr}\n"
        ABOARD_DSP_LARGE_ONE_LEFT_OUT
        "lsls r4, r2, #31\n"
        "add.w r2, r0, r2, lsl #2\n"
        "bpl.n 5f\n"
        "ldr.w r5, [r0], #4\n"
        "ldmia r1!, {r7}\n"
        ABOARD_DSP_LARGE_ONE_ODD
        "5:\n"
        ABOARD_DSP_LARGE_ONE_EVEN
        ABOARD_DSP_LARGE_ONE_PAIRS
        "cmp r0, r2\n"
        "bne 1b\n"
        "mov r0, r3\n"
        "pop {r4-r7, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED const uint32_t *aboard_dsp_large_four(const uint32_t *weights, const int8_t *x, int32_t tap_groups,
                                                    uint32_t *sums) {
    uint32_t raw[2] = {sums[0], sums[2]};
    for (int32_t word = 0; word < 2 * tap_groups; ++word) {
        const uint32_t pair = aboard_dsp_even(aboard_dsp_load(x + word / 2 * 4) >> (word % 2 * 8));
        for (int32_t half = 0; half < 2; ++half) {
            sums[2 * half] = aboard_dsp_mac(pair, aboard_dsp_even(*weights), sums[2 * half]);
            raw[half] = aboard_dsp_mac(pair, *weights++, raw[half]);
        }
    }
    for (int32_t half = 0; half < 2; ++half) {
        sums[2 * half + 1] += (uint32_t)((int32_t)(raw[half] - sums[2 * half]) >> 8);
    }
    return weights;
}

/** See above. */
ABOARD_SHARED uint32_t aboard_dsp_large_one(const int8_t *x, const uint32_t *weights, int32_t tap_groups,
                                            uint32_t sum) {
    for (int32_t group = 0; group < tap_groups; ++group) {
        const uint32_t inputs = aboard_dsp_load(x + group * ABOARD_DSP_TAP_GROUP);
        sum = aboard_dsp_mac(aboard_dsp_even(inputs), aboard_dsp_even(weights[group]), sum);
        sum = aboard_dsp_mac(aboard_dsp_even(inputs >> 8), aboard_dsp_even(weights[group] >> 8), sum);
    }
    return sum;
}

#endif

/** A result from its sum and its constants. */
ABOARD_INLINE int8_t aboard_dsp_large_result(uint32_t sum, const uint32_t *c, bool single) {
    return single ? aboard_dsp_single_rounding(sum, (int32_t)c[0], (int32_t)c[1], ABOARD_DSP_LARGE_SHIFT)
                  : aboard_dsp_double_rounding(sum, (int32_t)c[0], (int32_t)c[1], c[2]);
}

/**
 * Adds the products of any number of taps to the sum of one channel.
 *
 * @param weights As for aboard_dsp_large_one; the bytes beyond the last tap are not used.
 * @param x       Inputs; none beyond the last is read.
 * @param taps    At least 1.
 * @param sum     Its start.
 * @return The sum.
 */
ABOARD_INLINE uint32_t aboard_dsp_large_channel(const uint32_t *weights, const int8_t *x, int32_t taps, uint32_t sum) {
    const int32_t whole = taps / ABOARD_DSP_TAP_GROUP;
    const int32_t rest = taps % ABOARD_DSP_TAP_GROUP;
    if (whole > 0) {
        sum = aboard_dsp_large_one(x, weights, whole, sum);
    }
    if (rest > 0) {
        int8_t last[ABOARD_DSP_TAP_GROUP];
        memcpy(last, weights + whole, sizeof(last));
        for (int32_t i = 0; i < rest; ++i) {
            sum += (uint32_t)(x[whole * ABOARD_DSP_TAP_GROUP + i] * last[i]);
        }
    }
    return sum;
}

/** Words of the weights of aboard_dsp_large_channel. */
ABOARD_INLINE int32_t aboard_dsp_large_words(int32_t taps) {
    return (taps + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP;
}

/**
 * Adds the products of any number of taps to the sums of four channels.
 *
 * @param weights As for aboard_dsp_large_four, the rest of the last tap group 0.
 * @param x       Inputs; none beyond the last is read.
 * @param taps    At least 1.
 * @param sums    Of four channels.
 * @return End of the weights.
 */
ABOARD_SHARED const uint32_t *aboard_dsp_large_taps(const uint32_t *weights, const int8_t *x, int32_t taps,
                                                    uint32_t *sums) {
    int32_t left = taps / ABOARD_DSP_TAP_GROUP;
    while (left > 0) {
        const int32_t now = ABOARD_MIN(left, ABOARD_DSP_LARGE_TAP_GROUPS);
        weights = aboard_dsp_large_four(weights, x, now, sums);
        x += now * ABOARD_DSP_TAP_GROUP;
        left -= now;
    }
    const int32_t rest = taps % ABOARD_DSP_TAP_GROUP;
    if (rest > 0) {
        int8_t last[ABOARD_DSP_TAP_GROUP] = {0, 0, 0, 0};
        for (int32_t i = 0; i < rest; ++i) {
            last[i] = x[i];
        }
        weights = aboard_dsp_large_four(weights, last, 1, sums);
    }
    return weights;
}

#endif
