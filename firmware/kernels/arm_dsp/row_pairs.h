/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file row_pairs.h
 * Windows of 3x3, one pixel apart, with a pixel of padding on both sides: two rows of results at once, with the DSP
 * extension. host/aboard/kernels/arm_dsp/depthwise_conv2d.py packs the weights.
 *
 * The four rows of the input are copied as two words for each pixel of a channel: the pixels of the first two rows, and
 * those of the last two. With the weights (w0, w1) and (w1, w2) of a column, two instructions are a column's part of a
 * result of either row. Four sums wait for the next column; weights of a channel stay in registers for all columns.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_ROW_PAIRS_H
#define ABOARD_KERNELS_ARM_DSP_ROW_PAIRS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "line_buffer.h"

/** Words of scratch for each pixel of a row: two of each of four channels. */
#define ABOARD_DSP_ROW_PAIR_WORDS 8

/** Job for two rows of results of all channels; the assembly depends on the order of fields. */
typedef struct {
    const int8_t *rows[4]; /**< Rows of the input; those outside the image are any row inside. */
    int32_t pixel_stride;  /**< Of the input. */
    uint32_t offset;       /**< Zero point of the input, negative, in both halfwords. */
    uint32_t *x;           /**< Scratch: for each pixel ABOARD_DSP_ROW_PAIR_WORDS. */
    int32_t cols;          /**< At least 2. */
    uint32_t outside;      /**< Bit r: row r is outside the image. */
    const uint32_t
        *weights;        /**< Of each channel: columns of int8 weights (w0, w1, w1, w2), then as in line_buffer.h. */
    const uint32_t *end; /**< End of the weights. */
    int8_t *y0;          /**< First row of the results. */
    int8_t *y1;          /**< Second row; y0 if there is none. */
    int32_t y_stride;    /**< Bytes from a pixel of the results to the next. */
    int32_t lead;        /**< Pixels of padding on the left, 0 or 1. */
    int32_t last; /**< Of windows two pixels apart: 1 if the last column of the last window is inside the image. */
} aboard_dsp_row_pairs_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Words of the pixels `a` and `b` of two rows, four channels; r5 offset, r6 end of the column's words, `at` of the first. */
#define ABOARD_DSP_ROW_PAIR_COPY(a, b, at)                             \
    "pkhbt r7, " a ", " b ", lsl #16\n pkhtb " a ", " b ", " a ", asr #16\n" \
    "sxtab16 " b ", r5, r7\n sxtab16 r7, r5, r7, ror #8\n"             \
    "str " b ", [r6, #" at "]\n str r7, [r6, #" at "+8]\n"             \
    "sxtab16 " b ", r5, " a "\n sxtab16 " a ", r5, " a ", ror #8\n"    \
    "str " b ", [r6, #" at "+16]\n str " a ", [r6, #" at "+24]\n"

/** Copies four channels: r0 to r3 rows, r4 pixel stride, r12 offset of the pixel, lr its end. Then clears rows outside. */
#define ABOARD_DSP_ROW_PAIR_FILL                                       \
    "ldr r12, [sp, #32]\n"                                             \
    "ldm r12, {r0-r6}\n"                                               \
    "ldr r7, [r12, #28]\n ldr r12, [sp, #44]\n"                        \
    "add r8, r12, #4\n str r8, [sp, #44]\n"                            \
    "strd r6, r6, [sp, #20]\n"                                         \
    "mla lr, r7, r4, r12\n"                                            \
    "3:\n"                                                             \
    "ldr r8, [r0, r12]\n ldr r9, [r1, r12]\n ldr r10, [r2, r12]\n ldr r11, [r3, r12]\n" \
    "add r12, r4\n add r6, #32\n"                                      \
    ABOARD_DSP_ROW_PAIR_COPY("r8", "r9", "-32")                        \
    ABOARD_DSP_ROW_PAIR_COPY("r10", "r11", "-28")                      \
    "cmp r12, lr\n"                                                    \
    "bne 3b\n"                                                         \
    "ldr r0, [sp, #40]\n"                                              \
    "cbz r0, 6f\n"                                                     \
    "ldr r1, [sp, #20]\n ldr r2, [sp, #36]\n"                          \
    "movs r3, #0\n"                                                    \
    "4:\n"                                                             \
    "lsrs r0, #1\n"                                                    \
    "bcc 7f\n"                                                         \
    "mov r4, r1\n add r5, r1, r2\n"                                    \
    "5:\n"                                                             \
    "strh r3, [r4]\n strh r3, [r4, #8]\n strh r3, [r4, #16]\n strh r3, [r4, #24]\n" \
    "add r4, #32\n"                                                    \
    "cmp r4, r5\n"                                                     \
    "bls 5b\n"                                                         \
    "7:\n"                                                             \
    "adds r1, #2\n"                                                    \
    "cmp r0, #0\n"                                                     \
    "bne 4b\n"                                                         \
    "6:\n"

/** A column's part of the results a and b of the two rows, which begin as i: weights (w0, w1) in u, (w1, w2) in v. */
#define ABOARD_DSP_ROW_PAIR_ADD(a, b, i, j, u, v)                      \
    "smlatb " b ", r0, " u ", " j "\n smlad " b ", r1, " v ", " b "\n"  \
    "smlad " a ", r0, " u ", " i "\n smlabt " a ", r1, " v ", " a "\n"
#define ABOARD_DSP_ROW_PAIR_RIGHT(a, b) ABOARD_DSP_ROW_PAIR_ADD(a, b, a, b, "r6", "r7")
#define ABOARD_DSP_ROW_PAIR_MIDDLE(a, b) ABOARD_DSP_ROW_PAIR_ADD(a, b, a, b, "r4", "r5")

/** Loads the words of a column. */
#define ABOARD_DSP_ROW_PAIR_NEXT "ldr r0, [r12], #32\n ldr r1, [r12, #-28]\n"

/** The first column, with the bias in r9: a part of r10 and r11 by the weights u and v, of r8 and r9 by s and t. */
#define ABOARD_DSP_ROW_PAIR_FIRST(u, v, s, t)                          \
    ABOARD_DSP_ROW_PAIR_NEXT                                           \
    ABOARD_DSP_ROW_PAIR_ADD("r10", "r11", "r9", "r9", u, v)            \
    "smlad r8, r0, " s ", r9\n smlabt r8, r1, " t ", r8\n"             \
    "smlatb r9, r0, " s ", r9\n smlad r9, r1, " t ", r9\n"

/** A column: the right one of results a and b, which are stored, the middle one of c and d, and the left one of the next,
 * in the registers of a and b. `also` loads a register into b before. */
#define ABOARD_DSP_ROW_PAIR_COLUMN(a, b, c, d, results, also, then)    \
    ABOARD_DSP_ROW_PAIR_NEXT                                           \
    ABOARD_DSP_ROW_PAIR_RIGHT(a, b)                                    \
    ABOARD_DSP_ROW_PAIR_MIDDLE(c, d)                                   \
    results(a, b)                                                      \
    "strb " a ", [lr], #32\n strb " b ", [lr, #-28]\n"                 \
    "ldr r0, [r12, #-32]\n ldr r1, [r12, #-28]\n ldr " a ", [sp]\n" also \
    then                                                               \
    ABOARD_DSP_ROW_PAIR_ADD(a, b, a, a, "r2", "r3")

/** The last column: the right one of a and b, the middle one of c and d. r12 and lr move on to the next channel, but for the
 * bytes of a row up to the last column. */
#define ABOARD_DSP_ROW_PAIR_LAST(a, b, c, d, results)                  \
    "ldr r0, [r12], #8\n ldr r1, [r12, #-4]\n"                         \
    ABOARD_DSP_ROW_PAIR_RIGHT(a, b)                                    \
    ABOARD_DSP_ROW_PAIR_MIDDLE(c, d)                                   \
    results(a, b)                                                      \
    results(c, d)                                                      \
    "strb " b ", [lr, #4]\n strb " c ", [lr, #32]\n strb " d ", [lr, #36]\n strb " a ", [lr], #33\n"

/** Requantisation of two results by a single rounding, by an unshifted one, and by two. */
#define ABOARD_DSP_ROW_PAIR_ONCE(a, b, shift)                          \
    "ldr r0, [sp, #4]\n ldr r1, [sp, #8]\n"                            \
    "smmlar " a ", " a ", r0, r1\n smmlar " b ", " b ", r0, r1\n"      \
    "ssat " a ", #8, " a shift "\n ssat " b ", #8, " b shift "\n"
#define ABOARD_DSP_ROW_PAIR_SINGLE(a, b) ABOARD_DSP_ROW_PAIR_ONCE(a, b, ", asr #2")
#define ABOARD_DSP_ROW_PAIR_UNSHIFTED(a, b) ABOARD_DSP_ROW_PAIR_ONCE(a, b, "")
#define ABOARD_DSP_ROW_PAIR_DOUBLE(a, b)                               \
    "ldr r0, [sp, #4]\n"                                               \
    "add r1, " a ", " a ", asr #31\n smmlar " a ", " a ", r0, r1\n"    \
    "add r1, " b ", " b ", asr #31\n smmlar " b ", " b ", r0, r1\n"    \
    "ldr r0, [sp, #8]\n ldr r1, [sp, #12]\n"                           \
    "add " a ", r0\n asr " a ", r1\n ssat " a ", #8, " a "\n"          \
    "add " b ", r0\n asr " b ", r1\n ssat " b ", #8, " b "\n"

/** Results of a channel: r2 to r7 weights, r8 to r11 sums, r12 x, lr the results, which take the place of the words of the
 * first channel: a word of four channels for each row. */
#define ABOARD_DSP_ROW_PAIR_CHANNEL(words, shift, results)             \
    "ldr r12, [sp, #20]\n ldr r3, [sp, #36]\n"                         \
    "mov lr, r12\n"                                                    \
    "8:\n"                                                             \
    "ldr r2, [sp, #28]\n"                                              \
    "ldm r2!, " words                                                  \
    shift                                                              \
    "str r9, [sp]\n str r10, [sp, #4]\n str r11, [sp, #8]\n str r2, [sp, #28]\n" \
    "add r4, r12, r3\n str r4, [sp, #16]\n"                            \
    "lsls r7, r3, #26\n"                                               \
    "sxtb16 r2, r0\n sxtb16 r3, r0, ror #8\n"                          \
    "sxtb16 r4, r1\n sxtb16 r5, r1, ror #8\n"                          \
    "sxtb16 r6, r8\n sxtb16 r7, r8, ror #8\n"                          \
    "bpl 1f\n"                                                         \
    ABOARD_DSP_ROW_PAIR_FIRST("r4", "r5", "r2", "r3")                  \
    "ldr r0, [sp, #16]\n"                                              \
    "cmp r12, r0\n"                                                    \
    "bne 2f\n"                                                         \
    "b 9f\n"                                                           \
    "1:\n"                                                             \
    ABOARD_DSP_ROW_PAIR_FIRST("r2", "r3", "r4", "r5")                  \
    "b 10f\n"                                                          \
    "2:\n"                                                             \
    ABOARD_DSP_ROW_PAIR_COLUMN("r10", "r11", "r8", "r9", results, "", "") \
    "10:\n"                                                            \
    ABOARD_DSP_ROW_PAIR_COLUMN("r8", "r9", "r10", "r11", results, "ldr r9, [sp, #16]\n", "cmp r12, r9\n") \
    "bne 2b\n"                                                         \
    "9:\n"                                                             \
    ABOARD_DSP_ROW_PAIR_LAST("r10", "r11", "r8", "r9", results)        \
    "ldr r3, [sp, #36]\n"                                              \
    "sub r12, r12, r3\n sub lr, lr, r3\n"                              \
    "lsls r0, lr, #30\n"                                               \
    "bne.w 8b\n"

/** Stores the words of results: r1 words, r2 and r3 rows, r4 distance of pixels, r5 pixels. */
#define ABOARD_DSP_ROW_PAIR_STORE                                      \
    "ldr r0, [sp, #32]\n"                                              \
    "ldr r1, [r0, #24]\n ldr r5, [r0, #28]\n ldr r2, [r0, #44]\n ldr r3, [r0, #48]\n ldr r4, [r0, #52]\n" \
    "add r6, r2, #4\n str r6, [r0, #44]\n add r6, r3, #4\n str r6, [r0, #48]\n" \
    "lsrs r5, r5, #1\n"                                                \
    "bcc 11f\n"                                                        \
    "ldr r6, [r1], #32\n ldr r7, [r1, #-28]\n"                         \
    "str r7, [r3]\n str r6, [r2]\n"                                    \
    "add r3, r4\n add r2, r4\n"                                        \
    "11:\n"                                                            \
    "ldr r6, [r1], #64\n ldr r7, [r1, #-60]\n ldr r8, [r1, #-32]\n ldr r9, [r1, #-28]\n" \
    "str r7, [r3]\n str r6, [r2]\n str r9, [r3, r4]\n str r8, [r2, r4]\n" \
    "add r3, r3, r4, lsl #1\n add r2, r2, r4, lsl #1\n"                \
    "subs r5, #1\n"                                                    \
    "bne 11b\n"

/** A function that computes rows of results of all channels, `set_up` first, and four channels at once by `fill`,
 * `channel` and `store`. */
#define ABOARD_DSP_ROW_FUNCTION(name, set_up, fill, channel, store)    \
    ABOARD_NAKED void aboard_dsp_row_##name(aboard_dsp_row_pairs_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "sub sp, #52\n"                                            \
            "ldr r1, [r0, #28]\n ldr r2, [r0, #32]\n ldr r3, [r0, #36]\n" \
            set_up                                                     \
            "12:\n"                                                    \
            fill channel store                                         \
            "ldr r1, [r0, #40]\n ldr r2, [sp, #28]\n"                  \
            "cmp r1, r2\n"                                             \
            "bne.w 12b\n"                                              \
            "add sp, #52\n"                                            \
            "pop {r4-r11, pc}\n");                                     \
    }

/** The forms with a single, an unshifted and a double rounding. `channel` takes the registers of its words, how their shift is kept,
 * and the requantisation. */
#define ABOARD_DSP_ROW_FUNCTIONS(name, set_up, fill, channel, store, once, plain, twice) \
    ABOARD_DSP_ROW_FUNCTION(name##unshifted, set_up, fill, channel("{r0, r1, r8-r11}\n", "", plain), store) \
    ABOARD_DSP_ROW_FUNCTION(name##single, set_up, fill, channel("{r0, r1, r8-r11}\n", "", once), store) \
    ABOARD_DSP_ROW_FUNCTION(name##double, set_up, fill, channel("{r0, r1, r8-r11}\n", "ldr r4, [r2], #4\n str r4, [sp, #12]\n", twice), store)

/** All forms. Frame: bias, factor, constant, shift of the channel, x of the last column; x, results and words of the next
 * channel; job, bytes of a row of x up to the last column, rows outside, offset of the next four channels. */
#define ABOARD_DSP_ROW_PAIRS_SET_UP \
    "subs r1, #1\n lsls r1, r1, #5\n movs r4, #0\n" \
    "str r3, [sp, #28]\n str r0, [sp, #32]\n str r1, [sp, #36]\n str r2, [sp, #40]\n str r4, [sp, #44]\n"

ABOARD_DSP_ROW_FUNCTIONS(pairs_, ABOARD_DSP_ROW_PAIRS_SET_UP, ABOARD_DSP_ROW_PAIR_FILL, ABOARD_DSP_ROW_PAIR_CHANNEL,
                         ABOARD_DSP_ROW_PAIR_STORE, ABOARD_DSP_ROW_PAIR_SINGLE, ABOARD_DSP_ROW_PAIR_UNSHIFTED,
                         ABOARD_DSP_ROW_PAIR_DOUBLE)
/* clang-format on */

/** Computes two rows of results; `single` is as in aboard_dsp_rows. Changes the job. */
ABOARD_INLINE void aboard_dsp_row_pairs(aboard_dsp_row_pairs_t *p, int32_t single) {
    ABOARD_DSP_FORM(row_pairs_, single);
}

#else

/** Sum of a window of a channel; `row` is 0 or 1. */
ABOARD_INLINE uint32_t aboard_dsp_row_pairs_sum(const aboard_dsp_row_pairs_t *p, const uint32_t *words, int32_t channel,
                                                int32_t row, int32_t col, int32_t stride) {
    const int32_t cols = stride == 1 ? p->cols : 2 * p->cols - p->lead + p->last;
    uint32_t sum = words[3];
    for (int32_t tap = 0; tap < 9; ++tap) {
        const int32_t r = row + tap / 3;
        const int32_t x = col * stride + tap % 3 - p->lead;
        if ((p->outside >> r & 1u) == 0 && x >= 0 && x < cols) {
            const int32_t pixel = p->rows[r][x * p->pixel_stride + channel] + (int16_t)p->offset;
            sum += (uint32_t)(pixel * aboard_dsp_line_buffer_weight(words, tap % 3, tap / 3));
        }
    }
    return sum;
}

/** Computes `rows` rows of results. Those of four channels are stored when all of them are known. */
ABOARD_SHARED void aboard_dsp_row_pairs_rows(aboard_dsp_row_pairs_t *p, int32_t single, int32_t rows, int32_t stride) {
    const int32_t size = ABOARD_DSP_LINE_BUFFER_WORDS(single);
    const int32_t channels = (int32_t)(p->end - p->weights) / size;
    int8_t *const y[2] = {p->y0, p->y1};
    int8_t *const found = (int8_t *)p->x;
    for (int32_t first = 0; first < channels; first += ABOARD_DSP_LINE_BUFFERS) {
        for (int32_t i = 0; i < rows * p->cols * ABOARD_DSP_LINE_BUFFERS; ++i) {
            const int32_t pixel = i / ABOARD_DSP_LINE_BUFFERS;
            const int32_t channel = first + i % ABOARD_DSP_LINE_BUFFERS;
            const uint32_t *const words = p->weights + channel * size;
            const uint32_t sum = aboard_dsp_row_pairs_sum(p, words, channel, pixel / p->cols, pixel % p->cols, stride);
            found[i] = aboard_dsp_line_buffer_result(words, sum, single);
        }
        /* The first row last: it is the result if both are the same row. */
        for (int32_t i = rows * p->cols * ABOARD_DSP_LINE_BUFFERS - 1; i >= 0; --i) {
            const int32_t pixel = i / ABOARD_DSP_LINE_BUFFERS;
            const int32_t channel = first + i % ABOARD_DSP_LINE_BUFFERS;
            y[pixel / p->cols][pixel % p->cols * p->y_stride + channel] = found[i];
        }
    }
}

/** See above. */
ABOARD_INLINE void aboard_dsp_row_pairs(aboard_dsp_row_pairs_t *p, int32_t single) {
    aboard_dsp_row_pairs_rows(p, single, 2, 1);
}

#endif

#endif
