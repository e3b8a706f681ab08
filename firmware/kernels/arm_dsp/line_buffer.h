/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file line_buffer.h
 * Windows of 3x3 over one channel in a line buffer, with the DSP extension: up to six results of a row at once.
 * host/aboard/kernels/arm_dsp/depthwise_conv2d.py chooses the blocks and packs the weights.
 *
 * With the weights (w0, w1) and (w1, w2) of a row, two instructions compute the row's part of a result, for windows
 * that begin with the first or the second pixel of a word.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_H
#define ABOARD_KERNELS_ARM_DSP_LINE_BUFFER_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "line_buffer_fill.h"
#include "rounding_forms.h"

/** Words of a channel: three rows of int8 weights (w0, w1, w1, w2), from which two SXTB16 extract both pairs; bias,
 * factor, constant; then the right shift for double rounding. */
#define ABOARD_DSP_LINE_BUFFER_WORDS(single) ((single) ? 6 : 7)

/** Job for four channels; the assembly depends on the order of fields. */
typedef struct {
    const uint32_t *weights; /**< ABOARD_DSP_LINE_BUFFER_WORDS of each channel. */
    const uint32_t *x;       /**< First word of the first window. */
    int8_t *y;               /**< First result. */
    int32_t pixel_stride;    /**< Of the results. */
    int32_t row_stride;      /**< Of the results. */
    int32_t pitch;           /**< Bytes of a row of the line buffer. */
    int32_t
        reach; /**< Bytes in the line buffer from the start of the first row's windows to the end of the last row's. */
    int32_t blocks; /**< Blocks of a row; not of narrow rows. */
    int32_t buffer; /**< Bytes from a line buffer to the next; not of narrow rows. */
} aboard_dsp_rows_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Part of a result of a row whose window begins with the first, or the second, pixel of x0. */
#define ABOARD_DSP_FIRST(a, sum, x0, x1) "smlad " a ", " x0 ", r10, " sum "\n smlabt " a ", " x1 ", r11, " a "\n"
#define ABOARD_DSP_SECOND(a, sum, x0, x1) "smlatb " a ", " x0 ", r10, " sum "\n smlad " a ", " x1 ", r11, " a "\n"

/** One row of the windows of a block: single loads directly behind one another take one cycle each and one more, which LDM
 * and LDRD would pay twice. The last result's register holds the bias before the first row. */
#define ABOARD_DSP_PAIRS(row) "ldr r10, [sp, #" row "*8]\n ldr r11, [sp, #" row "*8+4]\n"
#define ABOARD_DSP_LOAD_2 "ldr r6, [r12]\n ldr r7, [r12, #4]\n"
#define ABOARD_DSP_LOAD_3 ABOARD_DSP_LOAD_2 "ldr r8, [r12, #8]\n"
#define ABOARD_DSP_LOAD_4 ABOARD_DSP_LOAD_3 "ldr r9, [r12, #12]\n"
#define ABOARD_DSP_LOAD_5 ABOARD_DSP_LOAD_4 "ldr r5, [r12, #16]\n"
#define ABOARD_DSP_ROW_6(row, a0, a1, a2, a3, a4)                      \
    ABOARD_DSP_LOAD_4 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_SECOND("r1", a1, "r6", "r7") \
    ABOARD_DSP_FIRST("r2", a2, "r7", "r8") ABOARD_DSP_SECOND("r3", a3, "r7", "r8") \
    ABOARD_DSP_FIRST("r4", a4, "r8", "r9") ABOARD_DSP_SECOND("r5", "r5", "r8", "r9")
#define ABOARD_DSP_ROW_5(row, a0, a1, a2, a3)                          \
    ABOARD_DSP_LOAD_4 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_SECOND("r1", a1, "r6", "r7") \
    ABOARD_DSP_FIRST("r2", a2, "r7", "r8") ABOARD_DSP_SECOND("r3", a3, "r7", "r8") \
    ABOARD_DSP_FIRST("r4", "r4", "r8", "r9")
#define ABOARD_DSP_ROW_4(row, a0, a1, a2)                              \
    ABOARD_DSP_LOAD_3 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_SECOND("r1", a1, "r6", "r7") \
    ABOARD_DSP_FIRST("r2", a2, "r7", "r8") ABOARD_DSP_SECOND("r3", "r3", "r7", "r8")
#define ABOARD_DSP_ROW_3(row, a0, a1)                                  \
    ABOARD_DSP_LOAD_3 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_SECOND("r1", a1, "r6", "r7") \
    ABOARD_DSP_FIRST("r2", "r2", "r7", "r8")
#define ABOARD_DSP_ROW_2(row, a0)                                      \
    ABOARD_DSP_LOAD_2 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_SECOND("r1", "r1", "r6", "r7")
#define ABOARD_DSP_ROW_1(row)                                          \
    ABOARD_DSP_LOAD_2 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", "r0", "r6", "r7")
#define ABOARD_DSP_ROWS_6 ABOARD_DSP_ROW_6("0", "r5", "r5", "r5", "r5", "r5") ABOARD_DSP_DOWN \
    ABOARD_DSP_ROW_6("1", "r0", "r1", "r2", "r3", "r4") ABOARD_DSP_DOWN ABOARD_DSP_ROW_6("2", "r0", "r1", "r2", "r3", "r4")
#define ABOARD_DSP_ROWS_5 ABOARD_DSP_ROW_5("0", "r4", "r4", "r4", "r4") ABOARD_DSP_DOWN \
    ABOARD_DSP_ROW_5("1", "r0", "r1", "r2", "r3") ABOARD_DSP_DOWN ABOARD_DSP_ROW_5("2", "r0", "r1", "r2", "r3")
#define ABOARD_DSP_ROWS_4 ABOARD_DSP_ROW_4("0", "r3", "r3", "r3") ABOARD_DSP_DOWN \
    ABOARD_DSP_ROW_4("1", "r0", "r1", "r2") ABOARD_DSP_DOWN ABOARD_DSP_ROW_4("2", "r0", "r1", "r2")
#define ABOARD_DSP_ROWS_3 ABOARD_DSP_ROW_3("0", "r2", "r2") ABOARD_DSP_DOWN \
    ABOARD_DSP_ROW_3("1", "r0", "r1") ABOARD_DSP_DOWN ABOARD_DSP_ROW_3("2", "r0", "r1")
#define ABOARD_DSP_ROWS_2 ABOARD_DSP_ROW_2("0", "r1") ABOARD_DSP_DOWN \
    ABOARD_DSP_ROW_2("1", "r0") ABOARD_DSP_DOWN ABOARD_DSP_ROW_2("2", "r0")
#define ABOARD_DSP_ROWS_1 ABOARD_DSP_ROW_1("0") ABOARD_DSP_DOWN ABOARD_DSP_ROW_1("1") ABOARD_DSP_DOWN ABOARD_DSP_ROW_1("2")
#define ABOARD_DSP_DOWN "add r12, lr\n"

/** The parts of a block that depend on its number of results, in r0 up; r8 result, r9 pixel stride, r10 three times r9. */
#define ABOARD_DSP_EACH_1(each) each("r0")
#define ABOARD_DSP_EACH_2(each) ABOARD_DSP_EACH_1(each) each("r1")
#define ABOARD_DSP_EACH_3(each) ABOARD_DSP_EACH_2(each) each("r2")
#define ABOARD_DSP_EACH_4(each) ABOARD_DSP_EACH_3(each) each("r3")
#define ABOARD_DSP_EACH_5(each) ABOARD_DSP_EACH_4(each) each("r4")
#define ABOARD_DSP_EACH_6(each) ABOARD_DSP_EACH_5(each) each("r5")
#define ABOARD_DSP_STORE_1 "strb r0, [r8]\n"
#define ABOARD_DSP_STORE_2 ABOARD_DSP_STORE_1 "strb r1, [r8, r9]\n"
#define ABOARD_DSP_STORE_3 ABOARD_DSP_STORE_2 "strb r2, [r8, r9, lsl #1]\n"
#define ABOARD_DSP_STORE_4 ABOARD_DSP_STORE_3 "strb r3, [r8, r10]\n"
#define ABOARD_DSP_STORE_5 ABOARD_DSP_STORE_4 "strb r4, [r8, r9, lsl #2]\n"
#define ABOARD_DSP_STORE_6 ABOARD_DSP_STORE_5 "add r0, r8, r10\n strb r5, [r0, r9, lsl #1]\n"

/** Requantisation of a result: factor in r6, constant in r7. */
#define ABOARD_DSP_EACH_SINGLE(a) "smmlar " a ", " a ", r6, r7\n ssat " a ", #8, " a ", asr #2\n"
#define ABOARD_DSP_EACH_UNSHIFTED(a) "smmlar " a ", " a ", r6, r7\n ssat " a ", #8, " a "\n"
#define ABOARD_DSP_EACH_ANY(a)                                         \
    "add lr, " a ", " a ", asr #31\n smmlar " a ", " a ", r6, lr\n"     \
    "add " a ", r7\n asr " a ", r11\n ssat " a ", #8, " a "\n"

/** Words of a channel, and the use of the shift, in both forms of results. */
#define ABOARD_DSP_WORDS_SINGLE "{r1-r6}\n"
#define ABOARD_DSP_WORDS_ANY "{r1-r7}\n str r7, [sp, #72]\n"

/** Frame: weights (6), bias, factor, constant, result, pixel stride, three times that, row stride, end of x, x and
 * result of the block, blocks left, pitch, shift; words of the next channel, of the one behind the last, x and result of
 * the next, distance of line buffers, reach, blocks. Then r12 is x and lr the pitch. */
#define ABOARD_DSP_ROWS_HEAD(words, bytes)                             \
    "push {r4-r11, lr}\n"                                              \
    "sub sp, #104\n"                                                   \
    "ldm r0, {r0-r8}\n"                                                \
    "add r9, r3, r3, lsl #1\n"                                         \
    "str r3, [sp, #40]\n strd r9, r4, [sp, #44]\n str r5, [sp, #68]\n" \
    "add r9, r0, #" bytes "\n"                                         \
    "str r9, [sp, #80]\n strd r1, r2, [sp, #84]\n"                     \
    "strd r8, r6, [sp, #92]\n str r7, [sp, #100]\n"                    \
    "2:\n"                                                             \
    "ldm r0!, " words                                                  \
    "str r0, [sp, #76]\n"                                              \
    "strd r4, r5, [sp, #24]\n str r6, [sp, #32]\n"                     \
    "sxtb16 r4, r1\n sxtb16 r5, r1, ror #8\n"                          \
    "sxtb16 r6, r2\n sxtb16 r7, r2, ror #8\n"                          \
    "sxtb16 r8, r3\n sxtb16 r9, r3, ror #8\n"                          \
    "stm sp, {r4-r9}\n"                                                \
    "add r4, sp, #84\n"                                                \
    "ldm r4, {r4-r8}\n"                                                \
    "add r9, r4, r7\n"                                                 \
    "strd r9, r4, [sp, #52]\n strd r5, r8, [sp, #60]\n str r5, [sp, #36]\n" \
    "mov r12, r4\n"                                                    \
    "add r4, r6\n add r5, #1\n"                                        \
    "strd r4, r5, [sp, #84]\n"                                         \
    "ldr lr, [sp, #68]\n"

/** The next row of a block, then the next block, then the next channel; `on` bytes of x and `right` of the result further. */
#define ABOARD_DSP_ROWS_TAIL(on, right)                                \
    "add r8, r11\n"                                                    \
    "str r8, [sp, #36]\n"                                              \
    "ldr r6, [sp, #52]\n"                                              \
    "cmp r12, r6\n"                                                    \
    "bne 1b\n"                                                         \
    "ldrd r0, r1, [sp, #56]\n"                                         \
    "ldr r2, [sp, #64]\n"                                              \
    "add r0, #" on "\n add r6, #" on "\n"                              \
    right                                                              \
    "subs r2, #1\n"                                                    \
    "strd r6, r0, [sp, #52]\n strd r1, r2, [sp, #60]\n str r1, [sp, #36]\n" \
    "mov r12, r0\n"                                                    \
    "bne 1b\n"                                                         \
    "ldrd r0, r1, [sp, #76]\n"                                         \
    "cmp r0, r1\n"                                                     \
    "bne 2b\n"                                                         \
    "add sp, #104\n"                                                   \
    "pop {r4-r11, pc}\n"

/** Factor, constant, result, pixel stride and three times that. */
#define ABOARD_DSP_PARAMETERS                                          \
    "ldr r6, [sp, #28]\n ldr r7, [sp, #32]\n ldr r8, [sp, #36]\n ldr r9, [sp, #40]\n ldr r10, [sp, #44]\n"

/** The forms of a block of `count` results, whose last register is `sum`; `back` leads to the next row of x. */
#define ABOARD_DSP_ROWS_ONCE(name, form, each, count, sum, back, on, right) \
    ABOARD_NAKED void aboard_dsp_rows_##name##_##form(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_ROWS_HEAD(ABOARD_DSP_WORDS_SINGLE, "96")          \
            "1:\n ldr " sum ", [sp, #24]\n"                            \
            ABOARD_DSP_ROWS_##name back                                \
            "add r6, sp, #28\n ldm r6, {r6-r11}\n"                     \
            ABOARD_DSP_EACH_##count(each)                              \
            ABOARD_DSP_STORE_##count                                   \
            ABOARD_DSP_ROWS_TAIL(on, right));                          \
    }
#define ABOARD_DSP_ROWS(name, count, sum, back, on, right)             \
    ABOARD_DSP_ROWS_ONCE(name, single, ABOARD_DSP_EACH_SINGLE, count, sum, back, on, right) \
    ABOARD_DSP_ROWS_ONCE(name, unshifted, ABOARD_DSP_EACH_UNSHIFTED, count, sum, back, on, right) \
    ABOARD_NAKED void aboard_dsp_rows_##name##_double(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_ROWS_HEAD(ABOARD_DSP_WORDS_ANY, "112")          \
            "1:\n ldr " sum ", [sp, #24]\n"                            \
            ABOARD_DSP_ROWS_##name back                                \
            ABOARD_DSP_PARAMETERS "ldr r11, [sp, #72]\n"                  \
            ABOARD_DSP_EACH_##count(ABOARD_DSP_EACH_ANY)               \
            ABOARD_DSP_STORE_##count                                   \
            "ldr r11, [sp, #48]\n ldr lr, [sp, #68]\n"                 \
            ABOARD_DSP_ROWS_TAIL(on, right));                          \
    }

ABOARD_DSP_ROWS(6, 6, "r5", "sub r12, lr\n", "12", "add r1, r1, r10, lsl #1\n")
ABOARD_DSP_ROWS(5, 5, "r4", "sub r12, lr\n", "12", "")
ABOARD_DSP_ROWS(4, 4, "r3", "sub r12, lr\n", "8", "add r1, r1, r9, lsl #2\n")
ABOARD_DSP_ROWS(3, 3, "r2", "sub r12, lr\n", "8", "")
ABOARD_DSP_ROWS(2, 2, "r1", "sub r12, lr\n", "4", "add r1, r1, r9, lsl #1\n")
ABOARD_DSP_ROWS(1, 1, "r0", "sub r12, lr\n", "4", "")

/** One row of the windows of a block that are two pixels apart. */
#define ABOARD_DSP_APART_4(row, a0, a1, a2, a3)                        \
    ABOARD_DSP_LOAD_5 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_FIRST("r1", a1, "r7", "r8") \
    ABOARD_DSP_FIRST("r2", a2, "r8", "r9") ABOARD_DSP_FIRST("r3", a3, "r9", "r5")
#define ABOARD_DSP_APART_3(row, a0, a1, a2, a3)                        \
    ABOARD_DSP_LOAD_4 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_FIRST("r1", a1, "r7", "r8") \
    ABOARD_DSP_FIRST("r2", a2, "r8", "r9")
#define ABOARD_DSP_APART_2(row, a0, a1, a2, a3)                        \
    ABOARD_DSP_LOAD_3 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7") ABOARD_DSP_FIRST("r1", a1, "r7", "r8")
#define ABOARD_DSP_APART_1(row, a0, a1, a2, a3)                        \
    ABOARD_DSP_LOAD_2 ABOARD_DSP_PAIRS(row)                              \
    ABOARD_DSP_FIRST("r0", a0, "r6", "r7")

/** Requantisation of such a result: factor in r5, constant in r6; for two roundings the shift in lr, and r4 is lost. */
#define ABOARD_DSP_APART_SINGLE(a) "smmlar " a ", " a ", r5, r6\n ssat " a ", #8, " a ", asr #2\n"
#define ABOARD_DSP_APART_UNSHIFTED(a) "smmlar " a ", " a ", r5, r6\n ssat " a ", #8, " a "\n"
#define ABOARD_DSP_APART_ANY(a)                                        \
    "add r4, " a ", " a ", asr #31\n smmlar " a ", " a ", r5, r4\n"     \
    "add " a ", r6\n asr " a ", lr\n ssat " a ", #8, " a "\n"

/** Stores results: r7 the first, which becomes that of the next block; r8 pixel stride, r9 three times that. */
#define ABOARD_DSP_APART_PUT_1 "strb r0, [r7]\n add r7, r8\n"
#define ABOARD_DSP_APART_PUT_2 "strb r0, [r7]\n strb r1, [r7, r8]\n add r7, r7, r8, lsl #1\n"
#define ABOARD_DSP_APART_PUT_3 "strb r0, [r7]\n strb r1, [r7, r8]\n strb r2, [r7, r8, lsl #1]\n add r7, r9\n"
#define ABOARD_DSP_APART_PUT_4                                         \
    "strb r0, [r7]\n strb r1, [r7, r8]\n strb r2, [r7, r8, lsl #1]\n strb r3, [r7, r9]\n add r7, r7, r8, lsl #2\n"

/** Frame: weights (6), factor, constant, result, pixel stride, three times that, end of the row's x, from the last row
 * of a block to the first of the next, shift, bias, row stride, pitch; x and result of the row, end of x; words of the
 * next channel, of the one behind the last, x and result of the next, distance of line buffers, reach, bytes of a row's
 * blocks. Then r4 is the bias, r12 x and lr the pitch. */
#define ABOARD_DSP_APART_HEAD(words, bytes, on)                        \
    "push {r4-r11, lr}\n"                                              \
    "sub sp, #108\n"                                                   \
    "ldm r0, {r0-r8}\n"                                                \
    "add r9, r3, r3, lsl #1\n"                                         \
    "strd r3, r9, [sp, #36]\n strd r4, r5, [sp, #60]\n"                \
    "mov r9, #" on "\n"                                                \
    "mul r7, r9\n str r7, [sp, #104]\n"                                \
    "sub r9, r9, r5, lsl #1\n str r9, [sp, #48]\n"                     \
    "add r9, r0, #" bytes "\n str r9, [sp, #84]\n"                     \
    "strd r1, r2, [sp, #88]\n strd r8, r6, [sp, #96]\n"                \
    "mov lr, r5\n"                                                     \
    "2:\n"                                                             \
    "ldm r0!, " words                                                  \
    "str r0, [sp, #80]\n strd r5, r6, [sp, #24]\n"                     \
    "sxtb16 r7, r1\n sxtb16 r8, r1, ror #8\n"                          \
    "sxtb16 r9, r2\n sxtb16 r10, r2, ror #8\n"                         \
    "sxtb16 r11, r3\n sxtb16 r12, r3, ror #8\n"                        \
    "stm sp, {r7-r12}\n"                                               \
    "add r5, sp, #88\n"                                                \
    "ldm r5, {r0-r3, r6}\n"                                            \
    "add r5, r0, r3\n str r5, [sp, #76]\n"                             \
    "add r5, r1, #1\n add r2, r0\n strd r2, r5, [sp, #88]\n"           \
    "3:\n"                                                             \
    "strd r0, r1, [sp, #68]\n str r1, [sp, #32]\n"                     \
    "add r6, r0\n str r6, [sp, #44]\n"                                 \
    "mov r12, r0\n"                                                    \
    "1:\n"

/** The next block of a row, then the next row, then the next channel. */
#define ABOARD_DSP_APART_TAIL                                          \
    "str r7, [sp, #32]\n"                                              \
    "add r12, r11\n"                                                   \
    "cmp r12, r10\n"                                                   \
    "bne 1b\n"                                                         \
    "ldrd r0, r1, [sp, #68]\n ldr r2, [sp, #60]\n"                     \
    "ldr r3, [sp, #76]\n ldr r6, [sp, #104]\n"                         \
    "add r0, r0, lr, lsl #1\n add r1, r2\n"                            \
    "cmp r0, r3\n"                                                     \
    "bne 3b\n"                                                         \
    "ldrd r0, r1, [sp, #80]\n"                                         \
    "cmp r0, r1\n"                                                     \
    "bne 2b\n"                                                         \
    "add sp, #108\n"                                                   \
    "pop {r4-r11, pc}\n"

#define ABOARD_DSP_APART_SUMS(count)                                   \
    ABOARD_DSP_APART_##count("0", "r4", "r4", "r4", "r4") ABOARD_DSP_DOWN \
    ABOARD_DSP_APART_##count("1", "r0", "r1", "r2", "r3") ABOARD_DSP_DOWN \
    ABOARD_DSP_APART_##count("2", "r0", "r1", "r2", "r3")              \
    "ldr r5, [sp, #24]\n ldr r6, [sp, #28]\n ldr r7, [sp, #32]\n ldr r8, [sp, #36]\n" \
    "ldr r9, [sp, #40]\n ldr r10, [sp, #44]\n ldr r11, [sp, #48]\n"

/** The forms of blocks of `count` results whose windows are two pixels apart, `on` bytes of x from block to block. */
#define ABOARD_DSP_APART_ONCE(count, form, each, on)                   \
    ABOARD_NAKED void aboard_dsp_apart_##count##_##form(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_APART_HEAD("{r1-r6}\n", "96", on)               \
            ABOARD_DSP_APART_SUMS(count)                               \
            ABOARD_DSP_EACH_##count(each)                              \
            ABOARD_DSP_APART_PUT_##count                               \
            ABOARD_DSP_APART_TAIL);                                    \
    }
#define ABOARD_DSP_APART(count, on)                                    \
    ABOARD_DSP_APART_ONCE(count, single, ABOARD_DSP_APART_SINGLE, on)  \
    ABOARD_DSP_APART_ONCE(count, unshifted, ABOARD_DSP_APART_UNSHIFTED, on) \
    ABOARD_NAKED void aboard_dsp_apart_##count##_double(const aboard_dsp_rows_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            ABOARD_DSP_APART_HEAD("{r1-r7}\n strd r7, r4, [sp, #52]\n", "112", on) \
            ABOARD_DSP_APART_SUMS(count)                               \
            "ldr lr, [sp, #52]\n"                                      \
            ABOARD_DSP_EACH_##count(ABOARD_DSP_APART_ANY)              \
            ABOARD_DSP_APART_PUT_##count                               \
            "ldr r4, [sp, #56]\n ldr lr, [sp, #64]\n"                  \
            ABOARD_DSP_APART_TAIL);                                    \
    }

ABOARD_DSP_APART(4, "16")
ABOARD_DSP_APART(3, "12")
ABOARD_DSP_APART(2, "8")
ABOARD_DSP_APART(1, "4")
/* clang-format on */

/** Calls one of the functions above; `count` and `stride` are literals if the call is inlined. */
#define ABOARD_DSP_ROWS_CASE(number, name)                                                                             \
    case number:                                                                                                       \
        ABOARD_DSP_FORM(name##_, single);                                                                              \
        break;

/**
 * Results of four channels: blocks of `count` results, row after row.
 *
 * @param p      The job.
 * @param count  1 to 6 with a stride of 1, where only an even number may have several blocks; 1 to 4 with 2.
 * @param stride Stride of windows in both directions, 1 or 2.
 * @param single 1: results by a single rounding; 2: by an unshifted one; 0: by a double rounding.
 */
ABOARD_INLINE void aboard_dsp_rows(const aboard_dsp_rows_t *p, int32_t count, int32_t stride, int32_t single) {
    switch (10 * stride + count) {
        ABOARD_DSP_ROWS_CASE(16, rows_6)
        ABOARD_DSP_ROWS_CASE(15, rows_5)
        ABOARD_DSP_ROWS_CASE(14, rows_4)
        ABOARD_DSP_ROWS_CASE(13, rows_3)
        ABOARD_DSP_ROWS_CASE(12, rows_2)
        ABOARD_DSP_ROWS_CASE(11, rows_1)
        ABOARD_DSP_ROWS_CASE(24, apart_4)
        ABOARD_DSP_ROWS_CASE(23, apart_3)
        ABOARD_DSP_ROWS_CASE(22, apart_2)
        ABOARD_DSP_ROWS_CASE(21, apart_1)
    default:
        break;
    }
}

#else

/** A result from its sum. */
ABOARD_INLINE int8_t aboard_dsp_line_buffer_result(const uint32_t *words, uint32_t sum, int32_t single) {
    const int32_t factor = (int32_t)words[4];
    const int32_t constant = (int32_t)words[5];
    const int32_t shift = single == 2 ? 0 : ABOARD_DSP_LINE_BUFFER_SHIFT;
    return single ? aboard_dsp_single_rounding(sum, factor, constant, shift)
                  : aboard_dsp_double_rounding(sum, factor, constant, words[6]);
}

/** Weight of a tap of a channel. */
ABOARD_INLINE int8_t aboard_dsp_line_buffer_weight(const uint32_t *words, int32_t ky, int32_t kx) {
    return ((const int8_t *)words)[4 * ky + kx + kx / 2];
}

/** Results of one channel. */
ABOARD_SHARED void aboard_dsp_rows_of_channel(const aboard_dsp_rows_t *p, int32_t count, int32_t stride,
                                              int32_t single) {
    for (int32_t at = 0; at < p->reach; at += stride * p->pitch) {
        int8_t *const y = p->y + at / (stride * p->pitch) * p->row_stride;
        for (int32_t i = 0; i < count * p->blocks; ++i) {
            uint32_t sum = p->weights[3];
            for (int32_t tap = 0; tap < 9; ++tap) {
                const int16_t *const x = (const int16_t *)(const void *)p->x + (at + tap / 3 * p->pitch) / 2;
                sum +=
                    (uint32_t)(x[i * stride + tap % 3] * aboard_dsp_line_buffer_weight(p->weights, tap / 3, tap % 3));
            }
            y[i * p->pixel_stride] = aboard_dsp_line_buffer_result(p->weights, sum, single);
        }
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_rows(const aboard_dsp_rows_t *p, int32_t count, int32_t stride, int32_t single) {
    aboard_dsp_rows_t channel = *p;
    for (int32_t i = 0; i < ABOARD_DSP_LINE_BUFFERS; ++i) {
        aboard_dsp_rows_of_channel(&channel, count, stride, single);
        channel.weights += ABOARD_DSP_LINE_BUFFER_WORDS(single);
        channel.x += p->buffer / 4;
        ++channel.y;
    }
}

#endif

#endif
