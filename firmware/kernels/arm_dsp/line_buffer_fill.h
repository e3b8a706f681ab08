/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file line_buffer_fill.h
 * Line buffers: one per channel; rows of words with two neighbouring pixels as halfwords minus the input's zero point,
 * so that padding is 0.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_FILL_H
#define ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_FILL_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels copied at once. */
#define ABOARD_DSP_LINE_BUFFERS 4

/** Job of a copy; the assembly depends on the order of fields. A row of a line buffer is `lead` words (0, pixel), then
 * words of two pixels, `tail` words (pixel, 0) and words of 0. */
typedef struct {
    const int8_t *from; /**< First pixel of the first row, first of four channels. */
    int32_t row_stride;
    int32_t rows; /**< At least 1. */
    int32_t pixel_stride;
    uint32_t *to;    /**< Line buffer of the first channel. */
    int32_t buffer;  /**< Bytes from one line buffer to the next. */
    uint32_t offset; /**< Zero point of the input, negative, in both halfwords. */
    int32_t lead;    /**< 0 or 1. */
    int32_t pairs;   /**< Bytes of the words of two pixels. */
    int32_t tail;    /**< 0 or 1. */
    int32_t zeros;   /**< Bytes of the words of 0. */
} aboard_dsp_fill_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Two pixels of four channels, in `a` and `b`: words of channels 0 and 1 and of 2 and 3 of both, then a word minus the
 * zero point for each channel. Two single stores take two cycles, STRD takes three. */
#define ABOARD_DSP_TWO_PIXELS(a, b)                                    \
    "pkhbt r12, " a ", " b ", lsl #16\n pkhtb " a ", " b ", " a ", asr #16\n" \
    "sxtab16 " b ", r6, r12\n sxtab16 r12, r6, r12, ror #8\n"          \
    "str " b ", [r2], #4\n str r12, [r3], #4\n"                        \
    "sxtab16 " b ", r6, " a "\n sxtab16 " a ", r6, " a ", ror #8\n"    \
    "str " b ", [r4], #4\n str " a ", [r5], #4\n"

/** Four line buffers of a strip of rows: r0 pixel, r1 pixel stride, r2 to r5 line buffers, r6 offset, r7 end of the pairs; lr
 * three times r1. Loads directly behind one another take a cycle each, and one more. */
ABOARD_NAKED void aboard_dsp_fill_line_buffers(const aboard_dsp_fill_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r8, [r0]\n ldr r9, [r0, #8]\n"
        "push {r0, r8, r9}\n"
        "ldr r1, [r0, #12]\n ldr r2, [r0, #16]\n ldr r3, [r0, #20]\n ldr r6, [r0, #24]\n"
        "add r4, r2, r3, lsl #1\n add r5, r4, r3\n add r3, r2\n add lr, r1, r1, lsl #1\n"
        "1:\n" /* A row. */
        "ldrd r12, r0, [sp]\n"
        "ldr r8, [r12, #4]\n"
        "ldrd r9, r7, [r12, #28]\n"
        "add r8, r0\n"
        "str r8, [sp, #4]\n"
        "cmp r9, #0\n"
        "beq 2f\n"
        "ldr r9, [r0]\n add r0, r1\n"
        "sxtab16 r11, r6, r9\n sxtab16 r9, r6, r9, ror #8\n"
        "lsl r10, r11, #16\n lsl r8, r9, #16\n bfc r11, #0, #16\n bfc r9, #0, #16\n"
        "str r10, [r2], #4\n str r8, [r3], #4\n str r11, [r4], #4\n str r9, [r5], #4\n"
        "2:\n"
        "tst r7, #4\n"
        "add r7, r2\n"
        "beq 3f\n"
        "ldr r8, [r0]\n ldr r9, [r0, r1]\n add r0, r0, r1, lsl #1\n"
        ABOARD_DSP_TWO_PIXELS("r8", "r9")
        "3:\n"
        "cmp r2, r7\n"
        "beq 5f\n"
        "4:\n"
        "ldr r8, [r0]\n ldr r9, [r0, r1]\n ldr r10, [r0, r1, lsl #1]\n ldr r11, [r0, lr]\n"
        "add r0, r0, r1, lsl #2\n"
        ABOARD_DSP_TWO_PIXELS("r8", "r9")
        ABOARD_DSP_TWO_PIXELS("r10", "r11")
        "cmp r2, r7\n"
        "bne 4b\n"
        "5:\n"
        "ldr r12, [sp]\n"
        "ldrd r8, r9, [r12, #36]\n"
        "cmp r8, #0\n"
        "beq 9f\n"
        "ldr r8, [r0]\n"
        "sxtab16 r10, r6, r8\n sxtab16 r8, r6, r8, ror #8\n"
        "uxth r12, r10\n uxth r11, r8\n lsr r10, #16\n lsr r8, #16\n"
        "str r12, [r2], #4\n str r11, [r3], #4\n str r10, [r4], #4\n str r8, [r5], #4\n"
        "9:\n"
        "mov r8, #0\n"
        "cmp r9, #0\n"
        "beq 8f\n"
        "10:\n"
        "str r8, [r2], #4\n str r8, [r3], #4\n str r8, [r4], #4\n str r8, [r5], #4\n"
        "subs r9, #4\n"
        "bne 10b\n"
        "8:\n"
        "ldr r8, [sp, #8]\n"
        "subs r8, #1\n"
        "str r8, [sp, #8]\n"
        "bne 1b\n"
        "add sp, #12\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/** Copies four channels. */
ABOARD_SHARED void aboard_dsp_fill_line_buffers(const aboard_dsp_fill_t *p) {
    const int32_t words = p->lead + p->pairs / 4 + p->tail;
    const int32_t pixels = p->lead + p->pairs / 2 + p->tail;
    const int32_t zero_point = (int16_t)p->offset;
    for (int32_t channel = 0; channel < ABOARD_DSP_LINE_BUFFERS; ++channel) {
        int16_t *to = (int16_t *)(void *)p->to + channel * p->buffer / 2;
        for (int32_t row = 0; row < p->rows; ++row) {
            const int8_t *const from = p->from + row * p->row_stride + channel;
            memset(to, 0, (size_t)(4 * words + p->zeros));
            for (int32_t x = 0; x < pixels; ++x) {
                to[p->lead + x] = (int16_t)(from[x * p->pixel_stride] + zero_point);
            }
            to += 2 * words + p->zeros / 2;
        }
    }
}

#endif

#endif
