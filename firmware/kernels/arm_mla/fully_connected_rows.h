/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mla/fully_connected_rows.h
 * int8 products of samples with a matrix, for Arm cores with MLA and without SIMD (Cortex-M3): all channels of a sample
 * in one call, four at once, with the inner loop of fully_connected.h and the roundings of dot.h. Channels with one
 * scale share their constants.
 */
#ifndef ABOARD_KERNELS_ARM_MLA_FULLY_CONNECTED_ROWS_H
#define ABOARD_KERNELS_ARM_MLA_FULLY_CONNECTED_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"
#include "fully_connected.h"

/** Parameters of aboard_fully_connected_mla_rows. */
typedef struct {
    int32_t inputs;          /**< Inputs of a sample, at least 1. */
    int32_t outputs;         /**< Results of a sample. */
    int32_t samples;         /**< Samples of a row. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
    int32_t each;     /**< 1: each channel has its constants; 0: those below. */
    int32_t factor;   /**< Factor of a sum. */
    int32_t constant; /**< Addend of the high half of the product. */
    int32_t shift;    /**< Right shift of a double rounding, 1 to 22. */
} aboard_fully_connected_mla_rows_t;

/** All channels of a sample; the assembly depends on the order of fields. */
typedef struct {
    const int32_t *weights; /**< For every four channels: starts of their sums; four bytes for each input; if each
                               channel has its constants, factor and constant per channel, and for a double rounding
                               the shift. */
    int8_t *y;              /**< Results. */
    int8_t *end;            /**< End of the results; their number is a multiple of 4, and at least 4. */
    const int8_t *x;        /**< Inputs. */
    const int8_t *x_end;    /**< End of the inputs. */
    int32_t constants[3];   /**< Of all channels: factor, constant, shift. */
} aboard_mla_sample_t;

#if ABOARD_MLA_ASM

/* clang-format off */
/** Products of one input, and bytes of its code. */
#define ABOARD_MLA_ONE_BYTES "36"
#define ABOARD_MLA_ONE_INPUT                                           \
    "ldrsb.w r1, [r0], #1\n"                                           \
    "ldrsb.w r3, [r2], #1\n ldrsb.w r6, [r2], #1\n ldrsb.w r7, [r2], #1\n ldrsb.w r12, [r2], #1\n" \
    "mla r8, r3, r1, r8\n mla r9, r6, r1, r9\n mla r10, r7, r1, r10\n mla r11, r12, r1, r11\n"

/** Frame: y, end, x, x_end, constants, entry of the code of one to three inputs, entry of the code of four inputs, which
 * is the results if there are fewer. Inputs from r0, weights from r2, sums in r8 to r11; at the end constants of channels
 * from r12, results to lr. */
#define ABOARD_MLA_SAMPLE_HEAD                                         \
    "push {r4-r11, lr}\n"                                              \
    "ldm r0, {r2, r5-r11}\n"                                           \
    "sub r4, r8, r7\n"                                                 \
    "and r0, r4, #3\n"                                                 \
    "rsb r0, r0, #3\n"                                                 \
    "mov r1, #" ABOARD_MLA_ONE_BYTES "\n"                              \
    "adr.w r3, 3f\n"                                                   \
    "mla r12, r0, r1, r3\n"                                            \
    "orr r12, r12, #1\n"                                               \
    "adr.w lr, 4f\n"                                                   \
    "lsrs r4, r4, #2\n"                                                \
    "beq.n 5f\n"                                                       \
    "rsb r4, r4, #0\n"                                                 \
    "and r4, r4, #3\n"                                                 \
    "mov r1, #" ABOARD_MLA_FOUR_BYTES "\n"                             \
    "adr.w r3, 2f\n"                                                   \
    "mla lr, r4, r1, r3\n"                                             \
    "5:\n"                                                             \
    "orr lr, lr, #1\n"                                                 \
    "push {r5-r12, lr}\n"                                              \
    "1:\n"                                                             \
    "ldmia.w r2!, {r8-r11}\n"                                          \
    "ldr r0, [sp, #8]\n"                                               \
    "ldr pc, [sp, #28]\n"                                              \
    ".balign 4\n"                                                      \
    "3:\n"                                                             \
    ".rept 3\n"                                                        \
    ABOARD_MLA_ONE_INPUT                                               \
    ".endr\n"                                                          \
    "ldr pc, [sp, #32]\n"                                              \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept 4\n"                                                        \
    ABOARD_MLA_FOUR_INPUTS                                             \
    ".endr\n"                                                          \
    "ldr r1, [sp, #12]\n"                                              \
    "cmp r0, r1\n"                                                     \
    "bne.w 2b\n"                                                       \
    ".balign 4\n"                                                      \
    "4:\n"                                                             \
    "mov r12, r2\n"                                                    \
    "ldr lr, [sp]\n"

/** Result of a sum by a single rounding; r0 factor, r1 constant. */
#define ABOARD_MLA_SAMPLE_SINGLE(sum)                                  \
    "smull r2, r3, " sum ", r0\n"                                      \
    "add r3, r1\n"                                                     \
    "ssat r3, #8, r3, asr #4\n"                                        \
    "strb r3, [lr], #1\n"

/** Result of a sum by a double rounding; r0 factor, r1 constant, r2 shift. */
#define ABOARD_MLA_SAMPLE_DOUBLE(sum)                                  \
    ABOARD_MLA_ROUND(sum)                                              \
    "strb " sum ", [lr], #1\n"

/** Constants of all channels. */
#define ABOARD_MLA_SAMPLE_CONSTANTS                                    \
    "ldrd r0, r1, [sp, #16]\n"                                         \
    "ldr r2, [sp, #24]\n"

/** Advances to the next block. */
#define ABOARD_MLA_SAMPLE_TAIL                                         \
    "ldr r0, [sp, #4]\n"                                               \
    "str lr, [sp]\n"                                                   \
    "mov r2, r12\n"                                                    \
    "cmp lr, r0\n"                                                     \
    "bne.w 1b\n"                                                       \
    "add sp, #36\n"                                                    \
    "pop {r4-r11, pc}\n"

/** All channels of a sample, requantised by single roundings with the same constants. */
ABOARD_NAKED void aboard_mla_sample_single(const aboard_mla_sample_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SAMPLE_HEAD
        ABOARD_MLA_SAMPLE_CONSTANTS
        ABOARD_MLA_SAMPLE_SINGLE("r8")
        ABOARD_MLA_SAMPLE_SINGLE("r9")
        ABOARD_MLA_SAMPLE_SINGLE("r10")
        ABOARD_MLA_SAMPLE_SINGLE("r11")
        ABOARD_MLA_SAMPLE_TAIL);
}

/** All channels of a sample, requantised by a double rounding with the same constants. */
ABOARD_NAKED void aboard_mla_sample_double(const aboard_mla_sample_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SAMPLE_HEAD
        ABOARD_MLA_SAMPLE_CONSTANTS
        ABOARD_MLA_SAMPLE_DOUBLE("r8")
        ABOARD_MLA_SAMPLE_DOUBLE("r9")
        ABOARD_MLA_SAMPLE_DOUBLE("r10")
        ABOARD_MLA_SAMPLE_DOUBLE("r11")
        ABOARD_MLA_SAMPLE_TAIL);
}

/** All channels of a sample, requantised by single roundings with constants of each. */
ABOARD_NAKED void aboard_mla_sample_each_single(const aboard_mla_sample_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SAMPLE_HEAD
        "ldmia r12!, {r0, r1}\n"
        ABOARD_MLA_SAMPLE_SINGLE("r8")
        "ldmia r12!, {r0, r1}\n"
        ABOARD_MLA_SAMPLE_SINGLE("r9")
        "ldmia r12!, {r0, r1}\n"
        ABOARD_MLA_SAMPLE_SINGLE("r10")
        "ldmia r12!, {r0, r1}\n"
        ABOARD_MLA_SAMPLE_SINGLE("r11")
        ABOARD_MLA_SAMPLE_TAIL);
}

/** All channels of a sample, requantised by a double rounding with constants of each. */
ABOARD_NAKED void aboard_mla_sample_each_double(const aboard_mla_sample_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SAMPLE_HEAD
        "ldmia r12!, {r0-r2}\n"
        ABOARD_MLA_SAMPLE_DOUBLE("r8")
        "ldmia r12!, {r0-r2}\n"
        ABOARD_MLA_SAMPLE_DOUBLE("r9")
        "ldmia r12!, {r0-r2}\n"
        ABOARD_MLA_SAMPLE_DOUBLE("r10")
        "ldmia r12!, {r0-r2}\n"
        ABOARD_MLA_SAMPLE_DOUBLE("r11")
        ABOARD_MLA_SAMPLE_TAIL);
}
/* clang-format on */

#else

/** All channels of a sample. */
ABOARD_INLINE void aboard_mla_sample(const aboard_mla_sample_t *p, bool each, bool single) {
    const int32_t words = !each ? 0 : single ? ABOARD_MLA_SINGLE_WORDS : ABOARD_MLA_DOUBLE_WORDS;
    const int32_t inputs = (int32_t)(p->x_end - p->x);
    const int32_t *head = p->weights;
    for (int8_t *y = p->y; y != p->end; y += ABOARD_MLA_BLOCK) {
        int32_t sums[ABOARD_MLA_BLOCK];
        const int32_t *const weights = head + ABOARD_MLA_BLOCK;
        const int32_t *const constants = weights + inputs;
        aboard_mla_four_channels(p->x, p->x_end, (const int8_t *)weights, sums);
        for (int32_t i = 0; i < ABOARD_MLA_BLOCK; ++i) {
            y[i] = aboard_mla_result(head[i] + sums[i], each ? constants + i * words : p->constants, single);
        }
        head = constants + ABOARD_MLA_BLOCK * words;
    }
}

/** All channels of a sample, requantised by single roundings with the same constants. */
ABOARD_SHARED void aboard_mla_sample_single(const aboard_mla_sample_t *p) {
    aboard_mla_sample(p, false, true);
}

/** All channels of a sample, requantised by a double rounding with the same constants. */
ABOARD_SHARED void aboard_mla_sample_double(const aboard_mla_sample_t *p) {
    aboard_mla_sample(p, false, false);
}

/** All channels of a sample, requantised by single roundings with constants of each. */
ABOARD_SHARED void aboard_mla_sample_each_single(const aboard_mla_sample_t *p) {
    aboard_mla_sample(p, true, true);
}

/** All channels of a sample, requantised by a double rounding with constants of each. */
ABOARD_SHARED void aboard_mla_sample_each_double(const aboard_mla_sample_t *p) {
    aboard_mla_sample(p, true, false);
}

#endif

/** One of the functions above. Calls by name, so that tools see what parameters that are read at run time link. */
ABOARD_INLINE void aboard_mla_sample_of(const aboard_fully_connected_mla_rows_t *p, const aboard_mla_sample_t *job) {
    if (p->each && p->single_rounding) {
        aboard_mla_sample_each_single(job);
    } else if (p->each) {
        aboard_mla_sample_each_double(job);
    } else if (p->single_rounding) {
        aboard_mla_sample_single(job);
    } else {
        aboard_mla_sample_double(job);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Packed, see aboard_mla_sample_t.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_mla_rows(const aboard_fully_connected_mla_rows_t *p, const int8_t *in,
                                                   int8_t *out, const int32_t *weights, int32_t first, int32_t last) {
    const int32_t words = !p->each ? 0 : p->single_rounding ? ABOARD_MLA_SINGLE_WORDS : ABOARD_MLA_DOUBLE_WORDS;
    const int32_t block = ABOARD_MLA_BLOCK + p->inputs + ABOARD_MLA_BLOCK * words;
    const int32_t rest = p->outputs % ABOARD_MLA_BLOCK;
    for (int32_t n = first * p->samples; n < last * p->samples; ++n) {
        const int8_t *const x = in + n * p->inputs;
        int8_t *const y = out + n * p->outputs;
        aboard_mla_sample_t job = {
            weights, y, y + p->outputs - rest, x, x + p->inputs, {p->factor, p->constant, p->shift}};
        if (p->outputs >= ABOARD_MLA_BLOCK) {
            aboard_mla_sample_of(p, &job);
        }
        if (rest > 0) {
            int8_t results[ABOARD_MLA_BLOCK];
            int8_t *const to = job.end;
            job.y = results;
            job.end = results + ABOARD_MLA_BLOCK;
            job.weights += p->outputs / ABOARD_MLA_BLOCK * block;
            aboard_mla_sample_of(p, &job);
            memcpy(to, results, (size_t)rest);
        }
        for (int32_t i = 0; p->clamped && i < p->outputs; ++i) {
            y[i] = (int8_t)ABOARD_MIN(ABOARD_MAX(y[i], p->low), p->high);
        }
    }
}

#endif
