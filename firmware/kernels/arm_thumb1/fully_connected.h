/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_thumb1/fully_connected.h
 * Matrix product of int8 on cores with MULS alone: a word holds a weight of four channels, and two of them at a time,
 * w_0 + 2^16 w_2 and w_1 + 2^16 w_3, are multiplied by an input. Sums are emptied every two taps, as in sums.h.
 */
#ifndef ABOARD_KERNELS_ARM_THUMB1_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_THUMB1_FULLY_CONNECTED_H

#include <stdint.h>

#include "../portable/fully_connected.h"
#include "aboard/config.h"
#include "results.h"
#include "sums.h"

#if ABOARD_THUMB1 && ABOARD_GNU && defined(__thumb__)

/* clang-format off */
/** Two taps of four channels. r0: inputs; r2: weights; r3: mask of two bytes; r12: takes off what was added to both. The
 * sum of two channels goes into r8 (r10) whole, and its second half into r9 (r11); lr as in sums.h. */
#define ABOARD_THUMB1_TWO_INPUTS(first, second)                                \
    "ldmia r2!, {r1, r5}\n"                                                    \
    "ldrb r7, [r0, #" first "]\n sxtb r7, r7\n"                                \
    "lsrs r4, r1, #8\n ands r1, r3\n ands r4, r3\n add r1, r12\n add r4, r12\n"\
    "muls r1, r7\n muls r4, r7\n"                                              \
    "ldrb r7, [r0, #" second "]\n sxtb r7, r7\n"                               \
    "lsrs r6, r5, #8\n ands r5, r3\n ands r6, r3\n add r5, r12\n add r6, r12\n"\
    "muls r5, r7\n muls r6, r7\n adds r1, r1, r5\n adds r4, r4, r6\n"          \
    "add r8, r1\n add r1, lr\n asrs r1, r1, #16\n add r9, r1\n"                \
    "add r10, r4\n add r4, lr\n asrs r4, r4, #16\n add r11, r4\n"

/**
 * Sums of four channels.
 *
 * @param x       Inputs.
 * @param end     Their end; their number is a multiple of ABOARD_THUMB1_TAPS, and not 0.
 * @param weights A word for each input: a byte per channel, with 128 added.
 * @param sums    Four sums.
 * @return End of the weights.
 */
ABOARD_NAKED const uint32_t *aboard_thumb1_product(const int8_t *x ABOARD_UNUSED, const int8_t *end ABOARD_UNUSED,
                                                   const uint32_t *weights ABOARD_UNUSED,
                                                   int32_t *sums ABOARD_UNUSED) {
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n"
        "push {r4-r7}\n"
        "push {r1, r3}\n"
        "movs r3, #255\n lsls r5, r3, #16\n orrs r3, r5\n"
        "movs r5, #128\n lsls r6, r5, #16\n adds r6, r6, r5\n rsbs r6, r6, #0\n mov r12, r6\n"
        "lsls r5, r5, #8\n mov lr, r5\n"
        "movs r1, #0\n mov r8, r1\n mov r9, r1\n mov r10, r1\n mov r11, r1\n"
        "1:\n"
        ABOARD_THUMB1_TWO_INPUTS("0", "1")
        ABOARD_THUMB1_TWO_INPUTS("2", "3")
        "adds r0, #4\n ldr r5, [sp]\n cmp r0, r5\n"
        "bne 1b\n"
        "movs r0, r2\n"
        "pop {r1, r2}\n"
        "mov r4, r8\n mov r5, r9\n lsls r6, r5, #16\n subs r4, r4, r6\n str r4, [r2]\n str r5, [r2, #8]\n"
        "mov r4, r10\n mov r5, r11\n lsls r6, r5, #16\n subs r4, r4, r6\n str r4, [r2, #4]\n str r5, [r2, #12]\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}
/* clang-format on */

#else

/** What the assembly computes. */
ABOARD_SHARED const uint32_t *aboard_thumb1_product(const int8_t *x, const int8_t *end, const uint32_t *weights,
                                                    int32_t *sums) {
    uint32_t whole[2] = {0, 0};
    int32_t second[2] = {0, 0};
    for (; x != end; x += 2) {
        const int32_t a = x[0];
        const int32_t b = x[1];
        for (int32_t i = 0; i < 2; ++i) {
            const uint32_t first = ((weights[0] >> (8 * i)) & 0x00ff00ffu) - 0x00800080u;
            const uint32_t next = ((weights[1] >> (8 * i)) & 0x00ff00ffu) - 0x00800080u;
            const uint32_t sum = first * (uint32_t)a + next * (uint32_t)b;
            whole[i] += sum;
            second[i] += (int32_t)(sum + 0x8000u) >> 16;
        }
        weights += 2;
    }
    for (int32_t i = 0; i < 2; ++i) {
        sums[i] = (int32_t)(whole[i] - ((uint32_t)second[i] << 16));
        sums[2 + i] = second[i];
    }
    return weights;
}

#endif

/**
 * int8 product, results equal to TFLite's reference kernel. Not inlined: one copy serves all layers of a model.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs / 4][inputs] words as for aboard_thumb1_product; the last block is padded with zeros. Two
 * weights of successive inputs, the first at an even place, have at most 255 as sum of their absolute values.
 * @param constants   ABOARD_EPILOGUE_BLOCK words per block of four channels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_SHARED void aboard_fully_connected_thumb1(const aboard_fully_connected_s8_t *p, const int8_t *in, int8_t *out,
                                                 const uint32_t *weights, const int32_t *constants, int32_t first,
                                                 int32_t last) {
    const int32_t whole = p->inputs / ABOARD_THUMB1_TAPS * ABOARD_THUMB1_TAPS;
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int8_t *const y = out + sample * p->outputs;
        const uint32_t *w = weights;
        const int32_t *c = constants;
        for (int32_t n = 0; n < p->outputs; n += 4) {
            int32_t sums[4] = {0, 0, 0, 0};
            if (whole > 0) {
                w = aboard_thumb1_product(x, x + whole, w, sums);
            }
            for (int32_t k = whole; k < p->inputs; ++k) {
                for (int32_t i = 0; i < 4; ++i) {
                    sums[i] += ((int32_t)((*w >> (8 * i)) & 0xff) - 128) * x[k];
                }
                ++w;
            }
            aboard_thumb1_results(&p->epilogue, sums, c, y + n, p->outputs - n);
            c += ABOARD_EPILOGUE_BLOCK;
        }
    }
}

#endif
