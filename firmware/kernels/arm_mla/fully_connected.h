/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mla/fully_connected.h
 * int8 products of samples with a matrix, for Arm cores with MLA and without SIMD (Cortex-M3): four channels of a
 * sample at once.
 *
 * A load that follows another takes one cycle, a load by itself two. So the loads of inputs and weights stand in runs
 * of five to eight, as many as there are registers: 3.4 cycles a product, where loads among products take 4.4.
 */
#ifndef ABOARD_KERNELS_ARM_MLA_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_MLA_FULLY_CONNECTED_H

#include <stdint.h>

#include "../portable/epilogue.h"
#include "../portable/fully_connected.h"
#include "aboard/config.h"
#include "dot.h"

#if ABOARD_MLA_ASM

/* clang-format off */
/** Bytes of code of four inputs: ABOARD_MLA_FOUR_INPUTS. */
#define ABOARD_MLA_FOUR_BYTES "144"

/** Products of four inputs. Inputs from r0, weights from r2, sums in r8 to r11; all other registers are lost. */
#define ABOARD_MLA_FOUR_INPUTS                                         \
    "ldrsb.w r1, [r0], #1\n ldrsb.w r3, [r0], #1\n"                    \
    "ldrsb.w r4, [r2], #1\n ldrsb.w r5, [r2], #1\n ldrsb.w r6, [r2], #1\n" \
    "ldrsb.w r7, [r2], #1\n ldrsb.w r12, [r2], #1\n ldrsb.w lr, [r2], #1\n" \
    "mla r8, r4, r1, r8\n mla r9, r5, r1, r9\n mla r10, r6, r1, r10\n" \
    "mla r11, r7, r1, r11\n mla r8, r12, r3, r8\n mla r9, lr, r3, r9\n" \
    "ldrsb.w r4, [r2], #1\n ldrsb.w r5, [r2], #1\n"                    \
    "ldrsb.w r1, [r0], #1\n ldrsb.w r6, [r0], #1\n"                    \
    "ldrsb.w r7, [r2], #1\n ldrsb.w r12, [r2], #1\n ldrsb.w lr, [r2], #1\n" \
    "mla r10, r4, r3, r10\n mla r11, r5, r3, r11\n"                    \
    "mla r8, r7, r1, r8\n mla r9, r12, r1, r9\n mla r10, lr, r1, r10\n" \
    "ldrsb.w r3, [r2], #1\n ldrsb.w r4, [r2], #1\n ldrsb.w r5, [r2], #1\n" \
    "ldrsb.w r7, [r2], #1\n ldrsb.w r12, [r2], #1\n"                   \
    "mla r11, r3, r1, r11\n mla r8, r4, r6, r8\n mla r9, r5, r6, r9\n" \
    "mla r10, r7, r6, r10\n mla r11, r12, r6, r11\n"

/**
 * Sums of products of four channels.
 *
 * @param x, end  Inputs.
 * @param weights Four weights per input.
 * @param sums    Results, without a bias.
 * @return End of the weights.
 */
ABOARD_NAKED const int8_t *aboard_mla_four_channels(const int8_t *x ABOARD_UNUSED, const int8_t *end ABOARD_UNUSED,
                                                    const int8_t *weights ABOARD_UNUSED, int32_t *sums ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r1, r3-r11, lr}\n"
        "mov.w r8, #0\n mov.w r9, #0\n mov.w r10, #0\n mov.w r11, #0\n"
        "sub r4, r1, r0\n"
        "ands r5, r4, #3\n"
        "beq.n 3f\n"
        "1:\n"
        "ldrsb.w r1, [r0], #1\n"
        "ldrsb.w r3, [r2], #1\n ldrsb.w r6, [r2], #1\n ldrsb.w r7, [r2], #1\n ldrsb.w r12, [r2], #1\n"
        "mla r8, r3, r1, r8\n mla r9, r6, r1, r9\n mla r10, r7, r1, r10\n mla r11, r12, r1, r11\n"
        "subs r5, #1\n"
        "bne.n 1b\n"
        "3:\n"
        "lsrs r4, r4, #2\n"
        "beq.w 4f\n"
        /* The first iteration is entered in the middle if it has fewer than four times four inputs. */
        "rsb r4, r4, #0\n"
        "and r4, r4, #3\n"
        "mov r5, #" ABOARD_MLA_FOUR_BYTES "\n"
        "adr.w r6, 2f\n"
        "mla r4, r4, r5, r6\n"
        "orr r4, r4, #1\n"
        "bx r4\n"
        ".balign 4\n"
        "2:\n"
        ".rept 4\n"
        ABOARD_MLA_FOUR_INPUTS
        ".endr\n"
        "ldr r1, [sp]\n"
        "cmp r0, r1\n"
        "bne.w 2b\n"
        "4:\n"
        "ldr r3, [sp, #4]\n"
        "stm r3, {r8-r11}\n"
        "mov r0, r2\n"
        "add sp, #8\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/** As the assembly. */
ABOARD_SHARED const int8_t *aboard_mla_four_channels(const int8_t *x, const int8_t *end, const int8_t *weights,
                                                     int32_t *sums) {
    for (int32_t i = 0; i < ABOARD_MLA_BLOCK; ++i) {
        sums[i] = 0;
    }
    for (; x != end; weights += ABOARD_MLA_BLOCK) {
        for (int32_t i = 0; i < ABOARD_MLA_BLOCK; ++i) {
            sums[i] += weights[i] * *x;
        }
        ++x;
    }
    return weights;
}

#endif

/**
 * int8 product, results equal to TFLite's reference kernel. Not inlined: one copy serves all layers of a model.
 *
 * @param p           Parameters, as in portable C.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs / 4][inputs][4], the last block padded with zeros.
 * @param constants   ABOARD_EPILOGUE_BLOCK words per block of four channels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_SHARED void aboard_fully_connected_mla(const aboard_fully_connected_s8_t *p, const int8_t *in, int8_t *out,
                                              const int8_t *weights, const int32_t *constants, int32_t first,
                                              int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int8_t *const y = out + sample * p->outputs;
        const int8_t *w = weights;
        const int32_t *c = constants;
        for (int32_t n = 0; n < p->outputs; n += ABOARD_MLA_BLOCK) {
            int32_t sums[ABOARD_MLA_BLOCK];
            w = aboard_mla_four_channels(x, x + p->inputs, w, sums);
            aboard_epilogue_block(&p->epilogue, sums, c, y + n, p->outputs - n);
            c += ABOARD_EPILOGUE_BLOCK;
        }
    }
}

#endif
