/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_blocks.h
 * Sums of products with the DSP extension: four channels for two pixels at once.
 * host/aboard/kernels/arm_dsp/conv2d_blocks.py packs their weights.
 *
 * Sums and SWAR-packed weights are those of dot.h; operands are loaded otherwise. A step is two taps: two words of
 * inputs and two words of weights. Cortex-M4 executes n single loads at immediate offsets in n + 1 cycles, whatever
 * their base registers, if they follow each other directly; LDM of inputs and LDM of weights would each pay its own
 * start. Eight sums, four operands and two pointers are all 14 registers: SXTB16 extracts the weights of the even
 * channels into the register of the SWAR-packed word, after the odd channels have used it. A step is 15 cycles for 16
 * products.
 *
 * The first step of a block is outside the loop: its loads and those of the biases are one run, and its sums need no
 * copies of the biases. If windows are single pixels, all pixels are one call, which copies the words of the next two
 * itself: a call for each two pixels would take 100 cycles more.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_BLOCKS_H
#define ABOARD_KERNELS_ARM_DSP_DOT_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "block_sums.h"
#include "dot.h"

/** Pixels at equal distances whose windows are themselves. The assembly depends on the order of fields, and advances
 * `from` and `to`. */
typedef struct {
    const int8_t *from; /**< First pixel, at any address. */
    const int8_t *end;  /**< End: `from_stride` after the last pixel, of which there may be an odd number. */
    int32_t from_stride;
    int8_t *to; /**< Results of the first pixel. */
    int32_t to_stride;
    int32_t channels; /**< Of the results, without the rest; a multiple of ABOARD_DSP_BLOCK. */
    uint32_t *x;      /**< Place for the words of two pixels. */
    int32_t taps;     /**< A multiple of ABOARD_DSP_TAP_GROUP, at least that. */
} aboard_dsp_block_pixels_t;

/**
 * All channels of two pixels, or of many; the assembly depends on the order of fields.
 *
 * The results of the second pixel are written first, and may be those of the first.
 */
typedef struct {
    int8_t *y0;
    int32_t apart;                     /**< Bytes from y0 to the results of the second pixel. */
    int8_t *end;                       /**< End of the results of y0 in whole blocks. */
    int32_t left_out;                  /**< ABOARD_DSP_BLOCK_LEFT_OUT. */
    const uint32_t *x;                 /**< ABOARD_DSP_PAIR_WORDS for each tap group. */
    const uint32_t *weights;           /**< See aboard_dsp_block_single. */
    const uint32_t *x_end;             /**< End of the inputs. */
    aboard_dsp_block_pixels_t *pixels; /**< NULL, or all pixels, from which y0, apart and end are set for each two. */
    int32_t rest; /**< Channels behind the whole blocks, 0 to 3: the last four of all are a block too, which computes
                     some of them again. */
} aboard_dsp_block_t;

/** Steps of an iteration, a power of two. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_BLOCK_STEPS 8
#else
#define ABOARD_DSP_BLOCK_STEPS 16
#endif

/** Bytes of weights of the steps that the first iteration leaves out, beyond the first step, which is made before it.
 */
#define ABOARD_DSP_BLOCK_LEFT_OUT(taps)                                                                                \
    (8 * ((ABOARD_DSP_BLOCK_STEPS - (taps) / 2 % ABOARD_DSP_BLOCK_STEPS) % ABOARD_DSP_BLOCK_STEPS))

#if ABOARD_DSP_ASM

/* clang-format off */
/** Byte offsets of the steps of an iteration but the first and the last, that of the last, and the bytes of an iteration.
 * Short loads reach offsets up to 124, so that a step is 48 bytes of code. Inputs are at offsets from the word before them: then
 * the last load of an iteration advances their pointer. That of weights is advanced by the first load of the next iteration. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_BLOCK_OFFSETS "8, 16, 24, 32, 40, 48"
#define ABOARD_DSP_BLOCK_LAST "56"
#define ABOARD_DSP_BLOCK_BYTES "64"
#else
#define ABOARD_DSP_BLOCK_OFFSETS "8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112"
#define ABOARD_DSP_BLOCK_LAST "120"
#define ABOARD_DSP_BLOCK_BYTES "128"
#endif

/** Products of a step: weights of channels 0 and 1 in r2, of channels 2 and 3 in r3; inputs of y0 in a and of y1 in b. */
#define ABOARD_DSP_BLOCK_PRODUCTS(a, b)                                 \
    "smlad r8, " a ", r2, r8\n smlad r9, " b ", r2, r9\n"               \
    "smlad r12, " a ", r3, r12\n smlad lr, " b ", r3, lr\n"             \
    "sxtb16 r2, r2\n sxtb16 r3, r3\n"                                   \
    "smlad r6, " a ", r2, r6\n smlad r7, " b ", r2, r7\n"               \
    "smlad r10, " a ", r3, r10\n smlad r11, " b ", r3, r11\n"

/** The sums of the odd channels, 256 times. */
#define ABOARD_DSP_BLOCK_ODD                                            \
    "sub r8, r8, r6\n sub r9, r9, r7\n sub r12, r12, r10\n sub lr, lr, r11\n"

/** A step of the loop: two taps. */
#define ABOARD_DSP_BLOCK_STEP(at)                                       \
    "ldr.n r0, [r4, #" at "+4]\n ldr.n r1, [r4, #" at "+8]\n"           \
    "ldr.n r2, [r5, #" at "]\n ldr.n r3, [r5, #" at "+4]\n"             \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")

/** Loads of the first step and the biases, one run, and r5 moves to the first step's weights: those of channels 2 and 3 in w. */
#define ABOARD_DSP_BLOCK_LOADS(w)                                       \
    "ldr r6, [r5, #16]\n ldr r8, [r5, #20]\n ldr r10, [r5, #24]\n ldr r12, [r5, #28]\n"\
    "ldr r2, [r5, #32]!\n ldr r0, [r4, #4]\n ldr r1, [r4, #8]\n ldr " w ", [r5, #4]\n"

/** Products of the first step: the sums of both pixels begin with one register for each bias. */
#define ABOARD_DSP_BLOCK_FIRST(w)                                       \
    "smlad r9, r1, r2, r8\n smlad r8, r0, r2, r8\n"                     \
    "smlad lr, r1, " w ", r12\n smlad r12, r0, " w ", r12\n"            \
    "sxtb16 r2, r2\n sxtb16 r3, " w "\n"                                \
    "smlad r7, r1, r2, r6\n smlad r6, r0, r2, r6\n"                     \
    "smlad r11, r1, r3, r10\n smlad r10, r0, r3, r10\n"

/** Frame: y0, y1 - y0, end of y0, bytes of weights that are left out, r4 of the first step, 16 bytes before the
 * weights, r4 behind the last step, pixels, second step, rest: negative while its block is computed. */
#define ABOARD_DSP_BLOCK_HEAD                                           \
    "push {r4-r11, lr}\n"                                               \
    "ldr r9, [r0, #32]\n"                                              \
    "ldm r0, {r0-r7}\n"                                                \
    "subs r4, #4\n subs r5, #16\n subs r6, #4\n"                        \
    "adr.w r8, 3f\n"                                                   \
    "add r10, r3, r3, lsl #1\n"                                        \
    "add r8, r8, r10, lsl #1\n"                                        \
    "orr r8, r8, #1\n"                                                 \
    "push {r0-r9}\n"                                                   \
    "cmp r7, #0\n"                                                     \
    "beq.w 1f\n"                                                       \
    "b.w 8f\n"                                                         \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    "ldr r2, [r5, #" ABOARD_DSP_BLOCK_BYTES "]!\n ldr r0, [r4, #4]\n ldr r1, [r4, #8]\n ldr r3, [r5, #4]\n"\
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    "3:\n"                                                             \
    ".irp at, " ABOARD_DSP_BLOCK_OFFSETS "\n"                           \
    ABOARD_DSP_BLOCK_STEP("\\at")                                       \
    ".endr\n"                                                          \
    "ldr.n r0, [r4, #" ABOARD_DSP_BLOCK_LAST "+4]\n ldr.w r1, [r4, #" ABOARD_DSP_BLOCK_LAST "+8]!\n" \
    "ldr.n r2, [r5, #" ABOARD_DSP_BLOCK_LAST "]\n ldr.n r3, [r5, #" ABOARD_DSP_BLOCK_LAST "+4]\n" \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    "ldr r0, [sp, #24]\n"                                              \
    "cmp r4, r0\n"                                                     \
    "bne.w 2b\n"                                                       \
    ABOARD_DSP_BLOCK_ODD

/** Stores the results, those of the second pixel first; begins the next block, or the next pixels, or returns. */
#define ABOARD_DSP_BLOCK_TAIL                                           \
    ABOARD_DSP_BLOCK_STORES("r0-r4")                                    \
    "beq 7f\n"                                                         \
    "1:\n"                                                             \
    "cbnz r3, 4f\n"                                                    \
    ABOARD_DSP_BLOCK_LOADS("r3")                                        \
    ABOARD_DSP_BLOCK_FIRST("r3")                                        \
    "b.w 3b\n"                                                         \
    "4:\n"                                                             \
    ABOARD_DSP_BLOCK_LOADS("r11")                                       \
    "subs r5, r5, r3\n subs r4, r4, r3\n"                              \
    ABOARD_DSP_BLOCK_FIRST("r11")                                       \
    "ldr pc, [sp, #32]\n"                                              \
    "10:\n"                                                            \
    "negs r7, r7\n"                                                    \
    "str r7, [sp, #36]\n"                                              \
    "bpl 11f\n"                                                        \
    "subs r2, r2, r7\n"                                                \
    "subs r0, r2, #4\n"                                                \
    "str r0, [sp]\n str r2, [sp, #8]\n"                               \
    "b 1b\n"                                                           \
    "7:\n"                                                             \
    "ldr r7, [sp, #36]\n"                                              \
    "cmp r7, #0\n"                                                     \
    "bne 10b\n"                                                        \
    "11:\n"                                                            \
    "ldr r7, [sp, #28]\n"                                              \
    "cbnz r7, 8f\n"                                                     \
    "6:\n"                                                              \
    "add sp, #40\n"                                                     \
    "pop {r4-r11, pc}\n"                                                \
    "8:\n"                                                              \
    ABOARD_DSP_BLOCK_PIXELS                                             \
    "ldr r3, [sp, #12]\n ldr r4, [sp, #16]\n ldr r5, [sp, #20]\n"       \
    "b 1b\n"

/** Words of a tap group of both pixels, which begin at r0 and r8, to r6. */
#define ABOARD_DSP_BLOCK_TAP_GROUP                                      \
    "ldr r1, [r0], #4\n ldr r2, [r8], #4\n"                            \
    "sxtb16 r3, r1\n sxtb16 r4, r2\n sxtb16 r1, r1, ror #8\n sxtb16 r2, r2, ror #8\n" \
    "str r4, [r6, #4]\n str r1, [r6, #8]\n str r2, [r6, #12]\n str r3, [r6], #16\n"

/** Two tap groups, whose loads are one run. */
#define ABOARD_DSP_BLOCK_TAP_GROUPS                                     \
    "ldr r3, [r0, #4]\n ldr r1, [r0], #8\n ldr r4, [r8, #4]\n ldr r2, [r8], #8\n" \
    "sxtb16 r5, r1\n sxtb16 r11, r2\n sxtb16 r1, r1, ror #8\n sxtb16 r2, r2, ror #8\n" \
    "str r11, [r6, #4]\n str r1, [r6, #8]\n str r2, [r6, #12]\n str r5, [r6], #16\n" \
    "sxtb16 r5, r3\n sxtb16 r11, r4\n sxtb16 r3, r3, ror #8\n sxtb16 r4, r4, ror #8\n" \
    "str r11, [r6, #4]\n str r3, [r6, #8]\n str r4, [r6, #12]\n str r5, [r6], #16\n"

/** The next two of the pixels in r7, or to 6 if there are none: writes their words and the frame's first three words. A last single
 * pixel is computed twice. */
#define ABOARD_DSP_BLOCK_PIXELS                                         \
    "mov r9, r7\n"                                                     \
    "ldm r9, {r0-r7}\n"                                                \
    "cmp r0, r1\n"                                                     \
    "beq 6b\n"                                                         \
    "add r8, r0, r2\n add r10, r8, r2\n add r11, r3, r4, lsl #1\n"     \
    "cmp r8, r1\n"                                                     \
    "ittt eq\n"                                                        \
    "moveq r10, r8\n moveq r8, r0\n moveq r4, #0\n"                    \
    "str r10, [r9]\n str r11, [r9, #12]\n"                             \
    "add r5, r3\n"                                                     \
    "stm sp, {r3-r5}\n"                                                \
    "ands r10, r7, #8\n"                                               \
    "lsls r1, r7, #29\n"                                               \
    "add r7, r0\n"                                                     \
    "bpl 5f\n"                                                         \
    ABOARD_DSP_BLOCK_TAP_GROUP                                          \
    "cmp r0, r7\n"                                                     \
    "beq 9f\n"                                                         \
    "5:\n"                                                             \
    "cmp r10, #0\n"                                                    \
    "bne 4f\n"                                                         \
    "5:\n"                                                             \
    ABOARD_DSP_BLOCK_TAP_GROUPS                                         \
    "4:\n"                                                             \
    ABOARD_DSP_BLOCK_TAP_GROUPS                                         \
    "cmp r0, r7\n"                                                     \
    "bne 5b\n"                                                         \
    "9:\n"

/** Stores the results, those of y1 first, and advances y0; equal if it was the last block. `loaded` are r0 to r2 and what
 * the next block needs of the frame. */
#define ABOARD_DSP_BLOCK_STORES(loaded)                                 \
    "ldm sp, {" loaded "}\n"                                            \
    "add r1, r1, r0\n"                                                  \
    "strb r7, [r1]\n strb r9, [r1, #1]\n strb r11, [r1, #2]\n strb lr, [r1, #3]\n" \
    "strb r8, [r0, #1]\n strb r10, [r0, #2]\n strb r12, [r0, #3]\n strb r6, [r0], #4\n" \
    "str r0, [sp]\n"                                                    \
    "cmp r0, r2\n"

/** Results of two channels by single roundings, constants in r0 to r3: even sums a0 and a1, 256 times the odd ones in b0 and b1. */
#define ABOARD_DSP_BLOCK_SINGLE(a0, a1, b0, b1)                         \
    "smmlar " a0 ", " a0 ", r0, r2\n smmlar " a1 ", " a1 ", r0, r2\n"   \
    "smmla " b0 ", " b0 ", r1, r3\n smmla " b1 ", " b1 ", r1, r3\n"     \
    "ssat " a0 ", #8, " a0 ", asr #4\n ssat " a1 ", #8, " a1 ", asr #4\n" \
    "ssat " b0 ", #8, " b0 ", asr #12\n ssat " b1 ", #8, " b1 ", asr #12\n"

/** Loads the four constants that lie `at` bytes behind r5, which moves there. */
#define ABOARD_DSP_BLOCK_CONSTANTS(at)                                  \
    "ldr r0, [r5, #" at "]!\n ldr r1, [r5, #4]\n ldr r2, [r5, #8]\n ldr r3, [r5, #12]\n"

/** aboard_dsp_double_rounding of r: factor r0, constant r1, shift r2. */
#define ABOARD_DSP_BLOCK_ANY(r)                                         \
    "add r3, " r ", " r ", asr #31\n"                                   \
    "smmlar " r ", " r ", r0, r3\n"                                     \
    "add " r ", r1\n"                                                   \
    "asr " r ", r2\n"                                                   \
    "ssat " r ", #8, " r "\n"

/** Like ABOARD_DSP_BLOCK_SINGLE, by double roundings, from five constants at r5, the last two loaded by `last`; ASR uses the
 * low byte of r2. */
#define ABOARD_DSP_BLOCK_DOUBLE(a0, a1, b0, b1, last)                   \
    "ldmia r5!, {r0-r2}\n"                                              \
    ABOARD_DSP_BLOCK_ANY(a0) ABOARD_DSP_BLOCK_ANY(a1)                   \
    last                                                                \
    "lsrs r2, r2, #8\n"                                                 \
    "asr " b0 ", #8\n asr " b1 ", #8\n"                                 \
    ABOARD_DSP_BLOCK_ANY(b0) ABOARD_DSP_BLOCK_ANY(b1)

/**
 * All channels of two pixels, or of many, requantised by single roundings.
 *
 * @param p The job. Weights are, for each block: bias and raw
 *          bias of channels 0 and 1, and of 2 and 3; for each step the SWAR-packed word of channels 0 and 1, and that of 2
 *          and 3; the constants of channels 0 and 1, and of 2 and 3, as in dot.h.
 */
ABOARD_NAKED void aboard_dsp_block_single(const aboard_dsp_block_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_BLOCK_HEAD
        ABOARD_DSP_BLOCK_CONSTANTS(ABOARD_DSP_BLOCK_BYTES)
        ABOARD_DSP_BLOCK_SINGLE("r6", "r7", "r8", "r9")
        ABOARD_DSP_BLOCK_CONSTANTS("16")
        ABOARD_DSP_BLOCK_SINGLE("r10", "r11", "r12", "lr")
        ABOARD_DSP_BLOCK_TAIL);
}

/** Like aboard_dsp_block_single, requantised by double roundings: the constants of two channels are factor and constant of
 * the even channel, both shifts, the odd one's in bits 8 to 15, and factor and constant of the odd channel. */
ABOARD_NAKED void aboard_dsp_block_double(const aboard_dsp_block_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_BLOCK_HEAD
        "adds r5, #" ABOARD_DSP_BLOCK_BYTES "\n"
        ABOARD_DSP_BLOCK_DOUBLE("r6", "r7", "r8", "r9", "ldmia r5!, {r0, r1}\n")
        ABOARD_DSP_BLOCK_DOUBLE("r10", "r11", "r12", "lr", "ldrd r0, r1, [r5], #-8\n")
        ABOARD_DSP_BLOCK_TAIL);
}
/* clang-format on */

#else

/** All channels of the pixels of a job. */
ABOARD_INLINE void aboard_dsp_block_job(const aboard_dsp_block_t *job, aboard_dsp_block_results_t store) {
    aboard_dsp_pair_t pair = {job->y0,      job->y0 + job->apart,
                              job->end,     job->x,
                              job->x_end,   {0, 0, 0},
                              job->weights, (int32_t)(job->x_end - job->x) / ABOARD_DSP_PAIR_WORDS};
    aboard_dsp_block_pixels_t *const p = job->pixels;
    if (!p) {
        aboard_dsp_blocks(&pair, aboard_dsp_block_sums, store, job->rest);
        return;
    }
    for (; p->from != p->end; p->from += p->from_stride, p->to += p->to_stride) {
        const int8_t *const first = p->from;
        pair.y0 = pair.y1 = p->to;
        pair.end = p->to + p->channels;
        if (p->from + p->from_stride != p->end) {
            p->from += p->from_stride;
            p->to += p->to_stride;
            pair.y1 = p->to;
        }
        aboard_dsp_fill_pair(p->x, first, p->from, p->taps);
        aboard_dsp_blocks(&pair, aboard_dsp_block_sums, store, job->rest);
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_block_single(const aboard_dsp_block_t *p) {
    aboard_dsp_block_job(p, aboard_dsp_block_single_results);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_block_double(const aboard_dsp_block_t *p) {
    aboard_dsp_block_job(p, aboard_dsp_block_double_results);
}

#endif

#endif
