/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/four_channels.h
 * Sums of products of int8 for four channels with the DSP extension, of any weights and of 32 bits. SWAR-packed weights
 * (dot.h) take less instructions, but neither -128 nor sums of more than 24 bits.
 * host/aboard/kernels/arm_dsp/four_channels.py packs the weights.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_FOUR_CHANNELS_H
#define ABOARD_KERNELS_ARM_DSP_FOUR_CHANNELS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels, and words of weights of a tap group. */
#define ABOARD_DSP_FOUR 4

#if ABOARD_DSP_ASM

/* clang-format off */
/** Products of a tap group: inputs in r12 and lr. */
#define ABOARD_DSP_FOUR_PRODUCTS(weights, sum)                            \
    "sxtb16 r3, " weights "\n smlad " sum ", r12, r3, " sum "\n"          \
    "sxtb16 " weights ", " weights ", ror #8\n smlad " sum ", lr, " weights ", " sum "\n"

/**
 * Sums of four channels; they wrap.
 *
 * @param weights For the four channels: their biases, then four words per tap group, one for each channel.
 * @param x       Inputs, two words for each tap group (aboard_fully_connected_dsp_widen).
 * @param x_end   End of the inputs; at least one tap group.
 * @param sums    Four sums.
 * @return End of the weights.
 */
ABOARD_NAKED const uint32_t *aboard_dsp_four_sums(const uint32_t *weights ABOARD_UNUSED,
                                                  const uint32_t *x ABOARD_UNUSED, const uint32_t *x_end ABOARD_UNUSED,
                                                  int32_t *sums ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "ldmia r0!, {r8-r11}\n"
        "sub r3, r2, r1\n"
        "tst r3, #8\n"
        "bne.n 2f\n"
        ".balign 4\n"
        "1:\n"
        "ldrd r12, lr, [r1], #8\n ldmia r0!, {r4-r7}\n"
        ABOARD_DSP_FOUR_PRODUCTS("r4", "r8") ABOARD_DSP_FOUR_PRODUCTS("r5", "r9")
        ABOARD_DSP_FOUR_PRODUCTS("r6", "r10") ABOARD_DSP_FOUR_PRODUCTS("r7", "r11")
        "2:\n"
        "ldrd r12, lr, [r1], #8\n ldmia r0!, {r4-r7}\n"
        ABOARD_DSP_FOUR_PRODUCTS("r4", "r8") ABOARD_DSP_FOUR_PRODUCTS("r5", "r9")
        ABOARD_DSP_FOUR_PRODUCTS("r6", "r10") ABOARD_DSP_FOUR_PRODUCTS("r7", "r11")
        "cmp r1, r2\n"
        "bne.n 1b\n"
        "pop {r3}\n"
        "stmia r3, {r8-r11}\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED const uint32_t *aboard_dsp_four_sums(const uint32_t *weights, const uint32_t *x, const uint32_t *x_end,
                                                   int32_t *sums) {
    uint32_t totals[ABOARD_DSP_FOUR];
    memcpy(totals, weights, sizeof(totals));
    weights += ABOARD_DSP_FOUR;
    for (; x != x_end; x += 2) {
        for (int32_t i = 0; i < ABOARD_DSP_FOUR; ++i) {
            const uint32_t word = *weights++;
            totals[i] = aboard_dsp_mac(x[0], aboard_dsp_even(word), totals[i]);
            totals[i] = aboard_dsp_mac(x[1], aboard_dsp_odd(word), totals[i]);
        }
    }
    memcpy(sums, totals, sizeof(totals));
    return weights;
}

#endif

/** acc plus the products of two words of four int8; wraps. */
ABOARD_INLINE uint32_t aboard_dsp_products_of_four(uint32_t x, uint32_t w, uint32_t acc) {
    const uint32_t x_even = aboard_dsp_even(x), x_odd = aboard_dsp_odd(x);
    const uint32_t w_even = aboard_dsp_even(w), w_odd = aboard_dsp_odd(w);
#if ABOARD_DSP_ASM
    __asm__("smlad %0, %1, %2, %0\n\tsmlad %0, %3, %4, %0"
            : "+&r"(acc)
            : "r"(x_even), "r"(w_even), "r"(x_odd), "r"(w_odd));
    return acc;
#else
    return aboard_dsp_mac(x_odd, w_odd, aboard_dsp_mac(x_even, w_even, acc));
#endif
}

/** A double rounding by any scale; host/aboard/kernels/arm_dsp/four_channels.py computes the fields. */
typedef struct {
    int32_t left;   /**< Left shift of the sum before the product. */
    int32_t factor; /**< Twice the multiplier, less 2^32, so that the product lacks the sum itself. */
    int32_t sign;   /**< -1: a negative number is reduced by one before halves are rounded up; 0: no right shift. */
    int32_t half;   /**< Half of 2^right; 0 without right shift. */
    int32_t right;  /**< Right shift of the product. */
} aboard_dsp_scale_t;

/** x rescaled as by aboard_requantize, not saturated. |x| * 2^left is less than 2^31, and half plus its product with
 * the multiplier over 2^31 is less than 2^31 - 2^16. */
ABOARD_INLINE int32_t aboard_dsp_rescale(int32_t x, const aboard_dsp_scale_t *s) {
    const int32_t shifted = (int32_t)((uint32_t)x << s->left);
    const int32_t reduced = shifted + ((shifted >> 31) & s->sign);
#if ABOARD_DSP_ASM
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(shifted), "r"(s->factor), "r"(reduced));
#else
    const int64_t product = (int64_t)shifted * s->factor + (int64_t)reduced * (INT64_C(1) << 32);
    const int32_t high = (int32_t)((product + INT64_C(0x80000000)) >> 32);
#endif
    return (high + s->half) >> s->right;
}

/**
 * Four numbers rescaled to int8, in place: each is rescaled, `before` is added, the result is saturated to int8, and
 * `after` is added.
 *
 * @param x      Four numbers in the limits of aboard_dsp_rescale.
 * @param s      The scale.
 * @param before Added before the saturation; an absolute value of at most 128.
 * @param after  Added after it.
 */
ABOARD_SHARED void aboard_dsp_rescale_four(int32_t *x, const aboard_dsp_scale_t *s, int32_t before, int32_t after) {
    const aboard_dsp_scale_t scale = *s;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < ABOARD_DSP_FOUR; ++i) {
        x[i] = aboard_dsp_saturate(aboard_dsp_rescale(x[i], &scale) + before) + after;
    }
}

#endif
