/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fully_connected.h
 * int8 products of samples with a matrix with SMLAL: four channels of a sample at once, two products an instruction.
 *
 * A word holds the weights of four channels for one tap: bytes w_0 + 128, w_1, w_2 + 128, w_3. Its first and last byte
 * are w_0 + 128 + 2^24 w_3, whose products with inputs add up to acc_0 + 128 sum(x) + 2^24 acc_3 in 64 bits; the same
 * for the word rotated by half gives the other two. 128 sum(x) is subtracted once for each sample, and |acc_0| < 2^23,
 * which the host proves. Constants of the requantisation are the same for all channels, or follow the weights of each
 * block.
 */
#ifndef ABOARD_KERNELS_ARM_SMLAL_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_SMLAL_FULLY_CONNECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Parameters of aboard_fully_connected_smlal. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;          /**< Values of a sample, at least 2. */
    int32_t outputs;         /**< Results of a sample. */
    int32_t samples;         /**< Samples per row of the result. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t constants[3];    /**< Factor, constant and shift of all channels. */
    int32_t low;
    int32_t high;
} aboard_fully_connected_smlal_t;

/** Bits of the first of two sums, words of a block before its weights, and right shift of the single rounding. */
#define ABOARD_SMLAL_MATRIX_BITS 24
#define ABOARD_SMLAL_MATRIX_HEAD_WORDS 4
#define ABOARD_SMLAL_MATRIX_SHIFT 2

/** Words of constants after the weights of a block: factor and constant per channel, and for double rounding the shift.
 */
#define ABOARD_SMLAL_MATRIX_EACH(single) ((single) ? 8 : 12)

/** Channels of one sample; the assembly depends on the order of fields. */
typedef struct {
    int8_t *y;
    const int8_t *x;
    int32_t offset;           /**< 128 times the sum of the inputs. */
    const int8_t *x_end;      /**< End of the inputs; their number is at least 2. */
    int8_t *y_end;            /**< End of the results; their number is a multiple of 4, and at least 4. */
    const int32_t *constants; /**< Factor, constant, shift; not read by the functions `each`. */
    const uint32_t
        *weights; /**< For every four channels: starts of the sums of the first and the fourth, of the third
                   * and the second, 64 bits each; one word per input; for the functions `each` also the constants. */
} aboard_smlal_matrix_t;

#if ABOARD_SMLAL_ASM

/* clang-format off */
/** Pairs of inputs in an iteration; each is 11 instructions of 4 bytes. */
#define ABOARD_SMLAL_MATRIX_STEPS "8"

/** Products of one input with a word of weights. */
#define ABOARD_SMLAL_MATRIX_TAP(x, word)                               \
    "and r7, r8, " word "\n smlal r0, r1, " x ", r7\n"                 \
    "and " word ", r8, " word ", ror #16\n smlal r2, r3, " x ", " word "\n"

/** Frame: job, entry of the iterations. Sums in r0 to r3, mask in r8, inputs in r9, weights in r10, first entry in r12. */
#define ABOARD_SMLAL_MATRIX_HEAD                                       \
    "push {r4-r11, lr}\n"                                              \
    "ldrd r9, r10, [r0, #20]\n"                                        \
    "ldr r1, [r0, #4]\n ldr r11, [r0, #12]\n"                          \
    "mov r8, #0xff\n orr r8, r8, #0xff000000\n"                        \
    "sub r2, r11, r1\n"                                                \
    "lsr r3, r2, #1\n"                                                 \
    "rsb r3, r3, #0\n"                                                 \
    "and r3, r3, #" ABOARD_SMLAL_MATRIX_STEPS "-1\n"                   \
    "mov r4, #44\n"                                                    \
    "adr.w r5, 2f\n adr.w r12, 3f\n"                                   \
    "mla r5, r3, r4, r5\n"                                             \
    "orr r5, r5, #1\n orr r12, r12, #1\n"                              \
    "tst r2, #1\n"                                                     \
    "it eq\n"                                                          \
    "moveq r12, r5\n"                                                  \
    "sub sp, #12\n"                                                    \
    "strd r0, r5, [sp]\n"                                              \
    "1:\n"                                                             \
    "ldmia r10!, {r0-r3}\n"                                            \
    "ldr r7, [sp]\n"                                                   \
    "ldrd r9, r4, [r7, #4]\n"                                          \
    "asr r5, r4, #31\n"                                                \
    "subs r0, r0, r4\n sbc r1, r1, r5\n"                               \
    "subs r2, r2, r4\n sbc r3, r3, r5\n"                               \
    "bx r12\n"                                                         \
    ".balign 4\n"                                                      \
    "3:\n"                                                             \
    "ldr r4, [r10], #4\n ldrsb r6, [r9], #1\n"                         \
    ABOARD_SMLAL_MATRIX_TAP("r6", "r4")                                \
    "ldr pc, [sp, #4]\n"                                               \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_SMLAL_MATRIX_STEPS "\n"                            \
    "ldrd r4, r5, [r10], #8\n"                                         \
    "ldrsb r6, [r9], #1\n ldrsb lr, [r9], #1\n"                        \
    ABOARD_SMLAL_MATRIX_TAP("r6", "r4")                                \
    ABOARD_SMLAL_MATRIX_TAP("lr", "r5")                                \
    ".endr\n"                                                          \
    "cmp r9, r11\n"                                                    \
    "bne.w 2b\n"

/** Four sums from two of 64 bits: in order in r9, r3, r2, r1. Then y in r0 and the job in r7. */
#define ABOARD_SMLAL_MATRIX_SPLIT                                      \
    "sbfx r9, r0, #0, #24\n"                                           \
    "lsr r0, r0, #24\n orr r1, r0, r1, lsl #8\n sub r1, r1, r9, asr #31\n" \
    "sbfx r4, r2, #0, #24\n"                                           \
    "lsr r2, r2, #24\n orr r3, r2, r3, lsl #8\n sub r3, r3, r4, asr #31\n" \
    "mov r2, r4\n"                                                     \
    "ldr r7, [sp]\n"                                                   \
    "ldr r0, [r7]\n"

/** Constants in r4 to r6: of all channels, and of the next one. */
#define ABOARD_SMLAL_MATRIX_CONSTANTS "ldr r6, [r7, #20]\n ldm r6, {r4-r6}\n"
#define ABOARD_SMLAL_MATRIX_NEXT_SINGLE "ldmia r10!, {r4, r5}\n"
#define ABOARD_SMLAL_MATRIX_NEXT_ROUND "ldmia r10!, {r4-r6}\n"

/** A result by the single rounding, from sum to sum. */
#define ABOARD_SMLAL_MATRIX_SINGLE(sum)                                  \
    "smull lr, " sum ", " sum ", r4\n add " sum ", r5\n ssat " sum ", #8, " sum ", asr #2\n"

/** A result by a double rounding, from sum to sum; r7 is lost. */
#define ABOARD_SMLAL_MATRIX_ROUND(sum)                                 \
    "mov lr, #0x80000000\n"                                            \
    "add r7, " sum ", " sum ", asr #31\n add r7, r5\n"                 \
    "smlal lr, r7, " sum ", r4\n"                                      \
    "asr r7, r6\n ssat " sum ", #8, r7\n"

/** Stores the results; advances to the next block. */
#define ABOARD_SMLAL_MATRIX_TAIL                                       \
    "strb r3, [r0, #1]\n strb r2, [r0, #2]\n strb r1, [r0, #3]\n strb r9, [r0], #4\n" \
    "ldr r7, [sp]\n"                                                   \
    "str r0, [r7]\n"                                                   \
    "ldr r4, [r7, #16]\n"                                              \
    "cmp r0, r4\n"                                                     \
    "bne.w 1b\n"                                                       \
    "add sp, #12\n"                                                    \
    "pop {r4-r11, pc}\n"

/** All channels of a sample: `once` before and `next` before each result load constants. */
#define ABOARD_SMLAL_MATRIX_FUNCTION(name, result, once, next)         \
    ABOARD_NAKED void name(aboard_smlal_matrix_t *p ABOARD_UNUSED) {   \
        __asm__ volatile(                                              \
            ABOARD_SMLAL_MATRIX_HEAD ABOARD_SMLAL_MATRIX_SPLIT once    \
            next result("r9") next result("r3") next result("r2") next result("r1") \
            ABOARD_SMLAL_MATRIX_TAIL);                                 \
    }

ABOARD_SMLAL_MATRIX_FUNCTION(aboard_smlal_matrix_single, ABOARD_SMLAL_MATRIX_SINGLE, ABOARD_SMLAL_MATRIX_CONSTANTS, "")
ABOARD_SMLAL_MATRIX_FUNCTION(aboard_smlal_matrix_any, ABOARD_SMLAL_MATRIX_ROUND, ABOARD_SMLAL_MATRIX_CONSTANTS, "")
ABOARD_SMLAL_MATRIX_FUNCTION(aboard_smlal_matrix_single_each, ABOARD_SMLAL_MATRIX_SINGLE, "", ABOARD_SMLAL_MATRIX_NEXT_SINGLE)
ABOARD_SMLAL_MATRIX_FUNCTION(aboard_smlal_matrix_any_each, ABOARD_SMLAL_MATRIX_ROUND, "", ABOARD_SMLAL_MATRIX_NEXT_ROUND)
/* clang-format on */

#else

/** Sums of the first and fourth channel of a block, or of the third and second with an iteration of 16 bits. */
ABOARD_INLINE void aboard_smlal_matrix_sums(const aboard_smlal_matrix_t *p, const uint32_t *head,
                                            const uint32_t *weights, uint32_t rotated, int32_t *sums) {
    int64_t sum = (int64_t)((uint64_t)head[1] << 32 | head[0]) - p->offset;
    for (int32_t k = 0; p->x + k != p->x_end; ++k) {
        const uint32_t word = weights[k] << rotated | (uint32_t)((uint64_t)weights[k] >> (32 - rotated));
        sum += (int64_t)p->x[k] * (int32_t)(word & 0xff0000ffu);
    }
    sums[0] = (int32_t)((uint32_t)sum << (32 - ABOARD_SMLAL_MATRIX_BITS)) >> (32 - ABOARD_SMLAL_MATRIX_BITS);
    sums[1] = (int32_t)((sum - sums[0]) >> ABOARD_SMLAL_MATRIX_BITS);
}

/** All channels of a sample. */
ABOARD_INLINE void aboard_smlal_matrix(aboard_smlal_matrix_t *p, bool single, bool each) {
    const uint32_t *head = p->weights;
    for (; p->y != p->y_end; p->y += ABOARD_SMLAL_BLOCK) {
        const uint32_t *const weights = head + ABOARD_SMLAL_MATRIX_HEAD_WORDS;
        const uint32_t *const behind = weights + (p->x_end - p->x);
        int32_t ends[2];
        int32_t middle[2];
        aboard_smlal_matrix_sums(p, head, weights, 0, ends);
        aboard_smlal_matrix_sums(p, head + 2, weights, 16, middle);
        const int32_t sums[ABOARD_SMLAL_BLOCK] = {ends[0], middle[1], middle[0], ends[1]};
        for (int32_t i = 0; i < ABOARD_SMLAL_BLOCK; ++i) {
            const int32_t words = ABOARD_SMLAL_MATRIX_EACH(single) / ABOARD_SMLAL_BLOCK;
            const int32_t *const constants = each ? (const int32_t *)behind + i * words : p->constants;
            p->y[i] = single ? aboard_smlal_single_rounding(sums[i], constants, ABOARD_SMLAL_MATRIX_SHIFT)
                             : aboard_smlal_double_rounding(sums[i], constants);
        }
        head = behind + (each ? ABOARD_SMLAL_MATRIX_EACH(single) : 0);
    }
}

#define aboard_smlal_matrix_single(p) aboard_smlal_matrix(p, true, false)
#define aboard_smlal_matrix_any(p) aboard_smlal_matrix(p, false, false)
#define aboard_smlal_matrix_single_each(p) aboard_smlal_matrix(p, true, true)
#define aboard_smlal_matrix_any_each(p) aboard_smlal_matrix(p, false, true)

#endif

/** Results of `channels` channels of a sample, a multiple of four; `job` has the other parameters. */
ABOARD_INLINE void aboard_fully_connected_smlal_some(const aboard_fully_connected_smlal_t *p,
                                                     const aboard_smlal_matrix_t *job, const uint32_t *weights,
                                                     int8_t *y, int32_t channels, bool each) {
    aboard_smlal_matrix_t some = *job;
    some.weights = weights;
    some.y = y;
    some.y_end = y + channels;
    if (each && p->single_rounding) {
        aboard_smlal_matrix_single_each(&some);
    } else if (each) {
        aboard_smlal_matrix_any_each(&some);
    } else if (p->single_rounding) {
        aboard_smlal_matrix_single(&some);
    } else {
        aboard_smlal_matrix_any(&some);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel; see aboard_fully_connected_smlal and, with a scale per
 * channel, aboard_fully_connected_smlal_each.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Packed, see aboard_smlal_matrix_t; the last block padded.
 * @param first, last Rows [first, last) of the result are computed.
 * @param each        1: constants of each channel follow the weights of its block; 0: all channels use the parameters'.
 */
ABOARD_INLINE void aboard_fully_connected_smlal_any(const aboard_fully_connected_smlal_t *p, const int8_t *in,
                                                    int8_t *out, const uint32_t *weights, int32_t first, int32_t last,
                                                    bool each) {
    const int32_t whole = p->outputs / ABOARD_SMLAL_BLOCK * ABOARD_SMLAL_BLOCK;
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int8_t *const y = out + sample * p->outputs;
        int32_t sum = 0;
        ABOARD_UNROLL(4)
        for (int32_t k = 0; k < p->inputs; ++k) {
            sum += x[k];
        }
        const aboard_smlal_matrix_t job = {NULL, x, 128 * sum, x + p->inputs, NULL, p->constants, NULL};
        if (whole > 0) {
            aboard_fully_connected_smlal_some(p, &job, weights, y, whole, each);
        }
        if (whole < p->outputs) {
            int8_t last_block[ABOARD_SMLAL_BLOCK];
            const int32_t constants = each ? ABOARD_SMLAL_MATRIX_EACH(p->single_rounding) : 0;
            const int32_t block = ABOARD_SMLAL_MATRIX_HEAD_WORDS + p->inputs + constants;
            const uint32_t *const behind = weights + whole / ABOARD_SMLAL_BLOCK * block;
            aboard_fully_connected_smlal_some(p, &job, behind, last_block, ABOARD_SMLAL_BLOCK, each);
            memcpy(y + whole, last_block, (size_t)(p->outputs - whole));
        }
        for (int32_t n = 0; p->clamped && n < p->outputs; ++n) {
            y[n] = (int8_t)ABOARD_MIN(ABOARD_MAX(y[n], p->low), p->high);
        }
    }
}

/** One scale for all channels. Not inlined: one copy serves all layers of a model. */
ABOARD_SHARED void aboard_fully_connected_smlal(const aboard_fully_connected_smlal_t *p, const int8_t *in, int8_t *out,
                                                const uint32_t *weights, int32_t first, int32_t last) {
    aboard_fully_connected_smlal_any(p, in, out, weights, first, last, false);
}

/** A scale per channel. Not inlined either. */
ABOARD_SHARED void aboard_fully_connected_smlal_each(const aboard_fully_connected_smlal_t *p, const int8_t *in,
                                                     int8_t *out, const uint32_t *weights, int32_t first,
                                                     int32_t last) {
    aboard_fully_connected_smlal_any(p, in, out, weights, first, last, true);
}

#endif
