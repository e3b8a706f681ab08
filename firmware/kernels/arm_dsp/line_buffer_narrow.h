/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file line_buffer_narrow.h
 * Windows of 3x3 over whole rows of up to six pixels with one pixel of padding on both sides. Line buffers are as in
 * line_buffer.h without padding, whose products are left out; one call computes four channels.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_NARROW_H
#define ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_NARROW_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "line_buffer.h"

#if ABOARD_DSP_ASM

/* clang-format off */
/** Four line buffers of rows of five pixels: r0 pixel, r1 pixel stride, r2 to r5 line buffers, r6 offset; row stride and end of the
 * first line buffer on the stack. */
ABOARD_NAKED void aboard_dsp_fill_five(const aboard_dsp_fill_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldmia r0, {r0-r6}\n"
        /* From here: r0 pixel, r1 row stride, r2 rows, r3 pixel stride, r4 line buffer of the first, r5 distance, r6. */
        "add r2, r2, r2, lsl #1\n add r2, r4, r2, lsl #2\n"
        "push {r1, r2}\n"
        "mov r1, r3\n mov r2, r4\n add r3, r2, r5\n add r4, r2, r5, lsl #1\n add r5, r4, r5\n"
        "1:\n"
        "add r10, r0, r1\n"
        "ldr r7, [r0]\n ldr r8, [r0, r1]\n ldr r9, [r0, r1, lsl #1]\n ldr r11, [r0, r1, lsl #2]\n"
        "ldr r10, [r10, r1, lsl #1]\n"
        "sxtab16 r12, r6, r11\n sxtab16 lr, r6, r11, ror #8\n"
        "pkhbt r11, r7, r8, lsl #16\n pkhtb r7, r8, r7, asr #16\n"
        "pkhtb r8, r10, r9, asr #16\n pkhbt r9, r9, r10, lsl #16\n"
        "sxtab16 r10, r6, r11\n str r10, [r2], #4\n sxtab16 r10, r6, r9\n str r10, [r2], #4\n str r12, [r2], #4\n"
        "sxtab16 r10, r6, r11, ror #8\n sxtab16 r11, r6, r9, ror #8\n str r10, [r3], #4\n str r11, [r3], #4\n str lr, [r3], #4\n"
        "lsr r12, #16\n sxtab16 r10, r6, r7\n sxtab16 r11, r6, r8\n str r10, [r4], #4\n str r11, [r4], #4\n str r12, [r4], #4\n"
        "lsr lr, #16\n sxtab16 r7, r6, r7, ror #8\n sxtab16 r8, r6, r8, ror #8\n"
        "str r7, [r5], #4\n str r8, [r5], #4\n str lr, [r5], #4\n"
        "ldrd r7, r8, [sp]\n"
        "add r0, r7\n"
        "cmp r2, r8\n"
        "bne 1b\n"
        "add sp, #8\n"
        "pop {r4-r11, pc}\n");
}

/** Results of a narrow row: r6 to r8 pixels, r10 (w0, w1), r11 (w1, w2). The row's first, one whose window begins with
 * the first or the second pixel of x0, and the last in both cases. */
#define ABOARD_DSP_LEFT(a, sum, x0) "smlad " a ", " x0 ", r11, " sum "\n"
#define ABOARD_DSP_RIGHT_EVEN(a, sum, x0) "smlad " a ", " x0 ", r10, " sum "\n"
#define ABOARD_DSP_RIGHT_ODD(a, sum, x0, x1) "smlatb " a ", " x0 ", r10, " sum "\n smlabt " a ", " x1 ", r10, " a "\n"
#define ABOARD_DSP_ONLY(a, sum, x0) "smlabt " a ", " x0 ", r10, " sum "\n"

/** One row of the windows of a narrow row: its one to three words, and its weights, by single loads (line_buffer.h). */
#define ABOARD_DSP_WORDS_1(row) "ldr r6, [r12, #" row "*4]\n" ABOARD_DSP_PAIRS(row)
#define ABOARD_DSP_WORDS_2(row) "ldr r6, [r12, #" row "*8]\n ldr r7, [r12, #" row "*8+4]\n" ABOARD_DSP_PAIRS(row)
#define ABOARD_DSP_WORDS_3(row)                                        \
    "ldr r6, [r12, #" row "*12]\n ldr r7, [r12, #" row "*12+4]\n ldr r8, [r12, #" row "*12+8]\n" ABOARD_DSP_PAIRS(row)
#define ABOARD_DSP_NARROW_1(row, a0, a1, a2, a3, a4, a5)               \
    "ldr r6, [r12, #" row "*4]\n ldr r10, [sp, #" row "*8]\n" ABOARD_DSP_ONLY("r0", a0, "r6")
#define ABOARD_DSP_NARROW_2(row, a0, a1, a2, a3, a4, a5)               \
    ABOARD_DSP_WORDS_1(row)                                            \
    ABOARD_DSP_LEFT("r0", a0, "r6") ABOARD_DSP_RIGHT_EVEN("r1", a1, "r6")
#define ABOARD_DSP_NARROW_3(row, a0, a1, a2, a3, a4, a5)               \
    ABOARD_DSP_WORDS_2(row)                                            \
    ABOARD_DSP_LEFT("r0", a0, "r6") ABOARD_DSP_FIRST("r1", a1, "r6", "r7") \
    ABOARD_DSP_RIGHT_ODD("r2", a2, "r6", "r7")
#define ABOARD_DSP_NARROW_4(row, a0, a1, a2, a3, a4, a5)               \
    ABOARD_DSP_WORDS_2(row)                                            \
    ABOARD_DSP_LEFT("r0", a0, "r6") ABOARD_DSP_FIRST("r1", a1, "r6", "r7") \
    ABOARD_DSP_SECOND("r2", a2, "r6", "r7") ABOARD_DSP_RIGHT_EVEN("r3", a3, "r7")
#define ABOARD_DSP_NARROW_5(row, a0, a1, a2, a3, a4, a5)               \
    ABOARD_DSP_WORDS_3(row)                                            \
    ABOARD_DSP_LEFT("r0", a0, "r6") ABOARD_DSP_FIRST("r1", a1, "r6", "r7") \
    ABOARD_DSP_SECOND("r2", a2, "r6", "r7") ABOARD_DSP_FIRST("r3", a3, "r7", "r8") \
    ABOARD_DSP_RIGHT_ODD("r4", a4, "r7", "r8")
#define ABOARD_DSP_NARROW_6(row, a0, a1, a2, a3, a4, a5)               \
    ABOARD_DSP_WORDS_3(row)                                            \
    ABOARD_DSP_LEFT("r0", a0, "r6") ABOARD_DSP_FIRST("r1", a1, "r6", "r7") \
    ABOARD_DSP_SECOND("r2", a2, "r6", "r7") ABOARD_DSP_FIRST("r3", a3, "r7", "r8") \
    ABOARD_DSP_SECOND("r4", a4, "r7", "r8") ABOARD_DSP_RIGHT_EVEN("r5", a5, "r8")

/** Stores the results of a narrow row: r9 result, r8 pixel stride, r10 three times that. */
#define ABOARD_DSP_PUT_1 "strb r0, [r9]\n"
#define ABOARD_DSP_PUT_2 ABOARD_DSP_PUT_1 "strb r1, [r9, r8]\n"
#define ABOARD_DSP_PUT_3 ABOARD_DSP_PUT_2 "strb r2, [r9, r8, lsl #1]\n"
#define ABOARD_DSP_PUT_4 ABOARD_DSP_PUT_3 "strb r3, [r9, r10]\n"
#define ABOARD_DSP_PUT_5 ABOARD_DSP_PUT_4 "strb r4, [r9, r8, lsl #2]\n"
#define ABOARD_DSP_PUT_6 ABOARD_DSP_PUT_5 "add r0, r9, r10\n strb r5, [r0, r8, lsl #1]\n"

/** Pixel stride, three times that, row stride of the results. */
#define ABOARD_DSP_NARROW_PLACES "ldr r8, [sp, #32]\n ldr r10, [sp, #36]\n ldr r11, [sp, #40]\n"

/** Two roundings: factor in r6, constant in r7, shift in r8. */
#define ABOARD_DSP_NARROW_ANY(a)                                       \
    "add r10, " a ", " a ", asr #31\n smmlar " a ", " a ", r6, r10\n"   \
    "add " a ", r7\n asr " a ", r8\n ssat " a ", #8, " a "\n"

/** Frame: weights (6), factor, constant, pixel stride, three times that, row stride, shift, end of x, words of the next
 * channel, of the one behind the last, result of the next channel, reach. Then r12 is x, r9 the result, lr the bias. */
#define ABOARD_DSP_NARROW_HEAD(words, bytes, shift)                    \
    "push {r4-r11, lr}\n"                                              \
    "sub sp, #68\n"                                                    \
    "ldm r0, {r0-r6}\n"                                                \
    "add r7, r3, r3, lsl #1\n"                                         \
    "strd r3, r7, [sp, #32]\n str r4, [sp, #40]\n"                     \
    "add r7, r0, #" bytes "\n"                                         \
    "strd r7, r2, [sp, #56]\n str r6, [sp, #64]\n"                     \
    "mov r12, r1\n"                                                    \
    "1:\n"                                                             \
    "ldm r0!, " words                                                  \
    shift                                                              \
    "mov lr, r4\n strd r5, r6, [sp, #24]\n str r0, [sp, #52]\n"        \
    "sxtb16 r4, r1\n sxtb16 r5, r1, ror #8\n"                          \
    "sxtb16 r6, r2\n sxtb16 r7, r2, ror #8\n"                          \
    "sxtb16 r8, r3\n sxtb16 r10, r3, ror #8\n"                         \
    "stm sp, {r4-r8, r10}\n"                                           \
    "ldrd r9, r0, [sp, #60]\n"                                         \
    "add r1, r9, #1\n add r0, r12\n"                                   \
    "str r1, [sp, #60]\n str r0, [sp, #48]\n"                          \
    "2:\n"

/** The next row, which is `pitch` bytes of x further, then the next channel. */
#define ABOARD_DSP_NARROW_TAIL(pitch)                                  \
    "ldr r6, [sp, #48]\n"                                              \
    "add r9, r11\n add r12, #" pitch "\n"                              \
    "cmp r12, r6\n"                                                    \
    "bne 2b\n"                                                         \
    "ldrd r0, r1, [sp, #52]\n"                                         \
    "add r12, #2*" pitch "\n"                                          \
    "cmp r0, r1\n"                                                     \
    "bne 1b\n"                                                         \
    "add sp, #68\n"                                                    \
    "pop {r4-r11, pc}\n"

#define ABOARD_DSP_NARROW_SUMS(cols)                                   \
    ABOARD_DSP_NARROW_##cols("0", "lr", "lr", "lr", "lr", "lr", "lr")  \
    ABOARD_DSP_NARROW_##cols("1", "r0", "r1", "r2", "r3", "r4", "r5")  \
    ABOARD_DSP_NARROW_##cols("2", "r0", "r1", "r2", "r3", "r4", "r5")

/** The forms of rows of `cols` pixels. */
#define ABOARD_DSP_NARROW_ONCE(cols, form, each, pitch)                \
    ABOARD_NAKED void aboard_dsp_narrow_##cols##_##form(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_NARROW_HEAD("{r1-r6}\n", "96", "")              \
            ABOARD_DSP_NARROW_SUMS(cols)                               \
            "ldr r6, [sp, #24]\n ldr r7, [sp, #28]\n" ABOARD_DSP_NARROW_PLACES \
            ABOARD_DSP_EACH_##cols(each)                               \
            ABOARD_DSP_PUT_##cols                                      \
            ABOARD_DSP_NARROW_TAIL(pitch));                              \
    }
#define ABOARD_DSP_NARROW(cols, pitch)                                 \
    ABOARD_DSP_NARROW_ONCE(cols, single, ABOARD_DSP_EACH_SINGLE, pitch) \
    ABOARD_DSP_NARROW_ONCE(cols, unshifted, ABOARD_DSP_EACH_UNSHIFTED, pitch) \
    ABOARD_NAKED void aboard_dsp_narrow_##cols##_double(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_NARROW_HEAD("{r1-r7}\n", "112", "str r7, [sp, #44]\n") \
            ABOARD_DSP_NARROW_SUMS(cols)                               \
            "ldr r6, [sp, #24]\n ldr r7, [sp, #28]\n ldr r8, [sp, #44]\n" \
            ABOARD_DSP_EACH_##cols(ABOARD_DSP_NARROW_ANY)              \
            ABOARD_DSP_NARROW_PLACES                                   \
            ABOARD_DSP_PUT_##cols                                      \
            ABOARD_DSP_NARROW_TAIL(pitch));                              \
    }

ABOARD_DSP_NARROW(6, "12")
ABOARD_DSP_NARROW(5, "12")
ABOARD_DSP_NARROW(4, "8")
ABOARD_DSP_NARROW(3, "8")
ABOARD_DSP_NARROW(2, "4")
ABOARD_DSP_NARROW(1, "4")
/* clang-format on */

/** Copies narrow rows; `cols` is a literal; see aboard_dsp_fill_line_buffers. */
ABOARD_INLINE void aboard_dsp_fill_narrow(const aboard_dsp_fill_t *p, int32_t cols) {
    if (cols == 5) {
        aboard_dsp_fill_five(p);
    } else {
        aboard_dsp_fill_line_buffers(p);
    }
}

/**
 * Results of four channels: narrow rows, which are whole rows with a pixel of padding on both sides.
 *
 * @param p    What to compute; `x` is the first row of the first line buffer. A line buffer is two rows more than
 * results.
 * @param cols 1 to 6.
 * @param single As in aboard_dsp_rows.
 */
ABOARD_INLINE void aboard_dsp_narrow(const aboard_dsp_rows_t *p, int32_t cols, int32_t single) {
    switch (cols) {
        ABOARD_DSP_ROWS_CASE(6, narrow_6)
        ABOARD_DSP_ROWS_CASE(5, narrow_5)
        ABOARD_DSP_ROWS_CASE(4, narrow_4)
        ABOARD_DSP_ROWS_CASE(3, narrow_3)
        ABOARD_DSP_ROWS_CASE(2, narrow_2)
        ABOARD_DSP_ROWS_CASE(1, narrow_1)
    default:
        break;
    }
}

#else

/** See above. */
ABOARD_INLINE void aboard_dsp_fill_narrow(const aboard_dsp_fill_t *p, int32_t cols) {
    (void)cols;
    aboard_dsp_fill_line_buffers(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_narrow(const aboard_dsp_rows_t *p, int32_t cols, int32_t single) {
    const uint32_t *words = p->weights;
    const int16_t *buffer = (const int16_t *)(const void *)p->x;
    for (int32_t channel = 0; channel < ABOARD_DSP_LINE_BUFFERS; ++channel) {
        for (int32_t row = 0; row < p->reach / p->pitch; ++row) {
            for (int32_t col = 0; col < cols; ++col) {
                uint32_t sum = words[3];
                for (int32_t tap = 0; tap < 9; ++tap) {
                    const int32_t x = col + tap % 3 - 1;
                    if (x >= 0 && x < cols) {
                        const int16_t pixel = buffer[(row + tap / 3) * p->pitch / 2 + x];
                        sum += (uint32_t)(pixel * aboard_dsp_line_buffer_weight(words, tap / 3, tap % 3));
                    }
                }
                p->y[row * p->row_stride + col * p->pixel_stride + channel] =
                    aboard_dsp_line_buffer_result(words, sum, single);
            }
        }
        words += ABOARD_DSP_LINE_BUFFER_WORDS(single);
        buffer += (p->reach + 2 * p->pitch) / 2;
    }
}

#endif

#endif
