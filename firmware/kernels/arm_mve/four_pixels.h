/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels.h
 * The instructions of conv2d_four_pixels.h: four pixels times two channels at a time, sixteen taps per product.
 *
 * Eight products need four loads of pixels and two of weights, fewer if windows of neighbouring pixels overlap. Sums
 * are in the even general registers; operands are in odd ones: `x` is the window of the first pixel, `w` a stream of
 * weights and constants, `out` the result, `x2` first a table of the addresses of eight results, and then the window of
 * the third pixel or a count of rows or of groups, as is `left`. q0 to q3 hold pixels, q4 weights and then sums, q6
 * another pixel or results, q7 the table; q5 weights and then sums, or for windows the first chunk of the first pixel.
 *
 * Literals: `pairs` of channels, of which the last two overlap if their number is `odd`, `chunks`, `distance` (bytes
 * from one pixel to the next), `back` of the last chunk, and `form` (0: a single rounding, 3: two products), `shift`,
 * `zero_point` and `ends` of the epilogue; `near` is 1 if the offset of a load reaches the fourth pixel, and `grouped`
 * if there is a loop over groups of four pixels, whose weights are `stream` bytes, and whose results are `skip` bytes
 * apart; for gathered windows `step` (bytes from one to the next) and `groups` of channels; for windows also `taps`,
 * `phases`, `rows` and `advance` (bytes from one row to the next).
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_H

#include "four_pixels_results.h"

/* Formatted by hand: one instruction per line. */
/* clang-format off */

#define ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
    "vldrw.32 q4, [%[w]], #16\n\t" \
    "vldrw.32 q5, [%[w]], #16\n\t"

/** Three pixels times both channels. */
#define ABOARD_MVE_FOUR_PIXELS_THREE(op, a, b, c) \
    op ".s8 r0, " a ", q4\n\t" \
    op ".s8 r8, " a ", q5\n\t" \
    op ".s8 r2, " b ", q4\n\t" \
    op ".s8 r10, " b ", q5\n\t" \
    op ".s8 r4, " c ", q4\n\t" \
    op ".s8 r12, " c ", q5\n\t"

/** Four pixels times both channels. */
#define ABOARD_MVE_FOUR_PIXELS_TAP(op, a, b, c, d) \
    ABOARD_MVE_FOUR_PIXELS_THREE(op, a, b, c) \
    op ".s8 r6, " d ", q4\n\t" \
    op ".s8 lr, " d ", q5\n\t"

/** A chunk of a pixel times both channels. */
#define ABOARD_MVE_FOUR_PIXELS_ONE(op, load, x, first, second) \
    load " q6, [" x "]\n\t" \
    op ".s8 " first ", q6, q4\n\t" \
    op ".s8 " second ", q6, q5\n\t"

#define ABOARD_MVE_FOUR_PIXELS_AT "16 * aboard_chunk"

/** Where chunk `aboard_chunk` of a run begins: the last one is `back` bytes earlier, so that it ends with the run. */
#define ABOARD_MVE_FOUR_PIXELS_CHUNK \
    ".set aboard_at, 16 * aboard_chunk\n\t" \
    ".if aboard_chunk == %c[chunks] - 1\n\t" \
    ".set aboard_at, 16 * aboard_chunk - %c[back]\n\t" \
    ".endif\n\t"

/** `text`, an instruction or more, with the address of the third pixel as base and offset: from `x` if that is near. */
#define ABOARD_MVE_FOUR_PIXELS_THIRD(text, load) \
    ".if %c[near]\n\t" \
    text(load, "%[x], #2 * %c[distance] + ") \
    ".else\n\t" \
    text(load, "%[x2], #") \
    ".endif\n\t"

/** A further chunk of a pixel that is in memory. */
#define ABOARD_MVE_FOUR_PIXELS_MORE(load, x, first, second) \
    ABOARD_MVE_FOUR_PIXELS_ONE("vmladava", load, x "aboard_at", first, second)

/** Reads the fourth pixel again. */
#define ABOARD_MVE_FOUR_PIXELS_AGAIN(load, x) load " q6, [" x "%c[distance]]\n\t"

/** A further chunk of the third and of the fourth pixel. */
#define ABOARD_MVE_FOUR_PIXELS_MORE_TWO(load, x) \
    ABOARD_MVE_FOUR_PIXELS_MORE(load, x, "r4", "r12") \
    ABOARD_MVE_FOUR_PIXELS_MORE(load, x "%c[distance] + ", "r6", "lr")

/** The first chunk: of four pixels in registers, or of three if the fourth register holds results. */
#define ABOARD_MVE_FOUR_PIXELS_FIRST(op, load) \
    ".if %c[held] == 3\n\t" \
    ABOARD_MVE_FOUR_PIXELS_THREE(op, "q0", "q1", "q2") \
    ABOARD_MVE_FOUR_PIXELS_THIRD(ABOARD_MVE_FOUR_PIXELS_AGAIN, load) \
    op ".s8 r6, q6, q4\n\t" \
    op ".s8 lr, q6, q5\n\t" \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TAP(op, "q0", "q1", "q2", "q3") \
    ".endif\n\t"

/** Sums of a single run of chunks for each pixel, whose first chunks are in registers. */
#define ABOARD_MVE_FOUR_PIXELS_RUN_SUMS(load) \
    ABOARD_MVE_FOUR_PIXELS( \
        ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
        ".if %c[begun]\n\t" \
        ABOARD_MVE_FOUR_PIXELS_FIRST("vmladava", load) \
        ".else\n\t" \
        ABOARD_MVE_FOUR_PIXELS_FIRST("vmladav", load) \
        ".endif\n\t" \
        ".set aboard_chunk, 1\n\t" \
        ".rept %c[chunks] - 1\n\t" \
        ABOARD_MVE_FOUR_PIXELS_CHUNK \
        ABOARD_MVE_FOUR_PIXELS_WEIGHTS \
        ABOARD_MVE_FOUR_PIXELS_MORE(load, "%[x], #", "r0", "r8") \
        ABOARD_MVE_FOUR_PIXELS_MORE(load, "%[x], #%c[distance] + ", "r2", "r10") \
        ABOARD_MVE_FOUR_PIXELS_THIRD(ABOARD_MVE_FOUR_PIXELS_MORE_TWO, load) \
        ".set aboard_chunk, aboard_chunk + 1\n\t" \
        ".endr\n\t", \
        "q5")

/** The first chunks of the third and of the fourth pixel. */
#define ABOARD_MVE_FOUR_PIXELS_LAST_TWO(load, x) \
    load " q2, [" x "0]\n\t" \
    load " q3, [" x "%c[distance]]\n\t"

/** Pixels in memory: `load` is for the unit that all of them are at multiples of. */
#define ABOARD_MVE_FOUR_PIXELS_RUN(load) \
    ABOARD_MVE_FOUR_PIXELS_GROUPS( \
        load " q0, [%[x]]\n\t" \
        load " q1, [%[x], %[distance]]\n\t" \
        ".if %c[near] == 0\n\t" \
        "addw %[x2], %[x], #2 * %c[distance]\n\t" \
        ".endif\n\t" \
        ABOARD_MVE_FOUR_PIXELS_THIRD(ABOARD_MVE_FOUR_PIXELS_LAST_TWO, load) \
        ABOARD_MVE_FOUR_PIXELS_RUN_SUMS(load))

/** Offsets of the units of a chunk, from before the weights, or from `lr` if there are several groups. */
#define ABOARD_MVE_FOUR_PIXELS_OFFSETS \
    ".if %c[groups] > 1\n\t" \
    "vldrw.32 q4, [lr], #16\n\t" \
    ".else\n\t" \
    "vldrw.32 q4, [%[w]], #16\n\t" \
    ".endif\n\t"

/** A chunk of two windows into im2col columns, through registers that are free. */
#define ABOARD_MVE_FOUR_PIXELS_GATHER(load, a, b, x) \
    load " q5, [" a ", q4]\n\t" \
    load " q6, [" b ", q4]\n\t" \
    "vstrw.32 q5, [" x "16 * aboard_chunk]\n\t" \
    "vstrw.32 q6, [" x "%c[distance] + 16 * aboard_chunk]\n\t"

#define ABOARD_MVE_FOUR_PIXELS_GATHER_LAST_TWO(load, x) ABOARD_MVE_FOUR_PIXELS_GATHER(load, "r4", "r6", x)

#define ABOARD_MVE_FOUR_PIXELS_STORE_FOURTH(load, x) "vstrw.32 q3, [" x "%c[distance]]\n\t"

/** Windows from `x` on, gathered in units: first chunks into their registers, others into im2col columns. The addresses
 * of the columns and of the offsets come after the table. */
#define ABOARD_MVE_FOUR_PIXELS_GATHERED(load) \
    "mov r0, %[x]\n\t" \
    "ldr %[x], [%[x2], #20]\n\t" \
    ".if %c[groups] > 1\n\t" \
    "ldr lr, [%[x2], #24]\n\t" \
    ".endif\n\t" \
    ABOARD_MVE_FOUR_PIXELS_TABLE \
    "addw r2, r0, %[step]\n\t" \
    "addw r4, r2, %[step]\n\t" \
    "addw r6, r4, %[step]\n\t" \
    ".if %c[near] == 0\n\t" \
    "addw %[x2], %[x], #2 * %c[distance]\n\t" \
    ".endif\n\t" \
    ABOARD_MVE_FOUR_PIXELS_OFFSETS \
    load " q0, [r0, q4]\n\t" \
    load " q1, [r2, q4]\n\t" \
    load " q2, [r4, q4]\n\t" \
    load " q3, [r6, q4]\n\t" \
    ".if %c[held] == 3\n\t" \
    ABOARD_MVE_FOUR_PIXELS_THIRD(ABOARD_MVE_FOUR_PIXELS_STORE_FOURTH, load) \
    ".endif\n\t" \
    ".set aboard_chunk, 1\n\t" \
    ".rept %c[chunks] - 1\n\t" \
    ABOARD_MVE_FOUR_PIXELS_OFFSETS \
    ABOARD_MVE_FOUR_PIXELS_GATHER(load, "r0", "r2", "%[x], #") \
    ABOARD_MVE_FOUR_PIXELS_THIRD(ABOARD_MVE_FOUR_PIXELS_GATHER_LAST_TWO, load) \
    ".set aboard_chunk, aboard_chunk + 1\n\t" \
    ".endr\n\t" \
    ABOARD_MVE_FOUR_PIXELS_RUN_SUMS("vldrw.32")

/** Weights of a channel times a tap of four pixels. */
#define ABOARD_MVE_FOUR_PIXELS_CHANNEL(op, a, b, c, d, first, second, third, fourth) \
    "vldrw.32 q4, [%[w]], #16\n\t" \
    op ".s8 " first ", " a ", q4\n\t" \
    op ".s8 " second ", " b ", q4\n\t" \
    op ".s8 " third ", " c ", q4\n\t" \
    op ".s8 " fourth ", " d ", q4\n\t"

#define ABOARD_MVE_FOUR_PIXELS_CHANNELS(op, a, b, c, d) \
    ABOARD_MVE_FOUR_PIXELS_CHANNEL(op, a, b, c, d, "r0", "r2", "r4", "r6") \
    ABOARD_MVE_FOUR_PIXELS_CHANNEL(op, a, b, c, d, "r8", "r10", "r12", "lr")

/** A tap of windows; the very first one begins the sums. */
#define ABOARD_MVE_FOUR_PIXELS_NEXT(a, b, c, d) \
    ".if aboard_fresh\n\t" \
    ABOARD_MVE_FOUR_PIXELS_CHANNELS("vmladav", a, b, c, d) \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_CHANNELS("vmladava", a, b, c, d) \
    ".endif\n\t" \
    ".set aboard_fresh, 0\n\t"

/** A chunk of pixel `number`, counted from the first window. */
#define ABOARD_MVE_FOUR_PIXELS_PIXEL(x, number) \
    "vldrw.32 " x ", [%[x], #" number " * %c[distance] + " ABOARD_MVE_FOUR_PIXELS_AT "]\n\t"

/** A further tap: windows are one pixel further, of which three are already loaded. */
#define ABOARD_MVE_FOUR_PIXELS_SLIDE(tap, number, a, b, c, d) \
    ".if aboard_taps > " tap "\n\t" \
    ABOARD_MVE_FOUR_PIXELS_PIXEL(d, number) \
    ABOARD_MVE_FOUR_PIXELS_NEXT(a, b, c, d) \
    ".endif\n\t"

/** A row of the windows. Windows with a stride share every second pixel, or every third: of each phase, the taps that are
 * as far apart as windows follow each other. By `aboard_kept`, the very first chunk is in q5, as for all channels. */
#define ABOARD_MVE_FOUR_PIXELS_ROW \
    ".set aboard_chunk, 0\n\t" \
    ".rept %c[chunks] * %c[phases]\n\t" \
    ".set aboard_taps, (%c[taps] + %c[phases] - 1 - aboard_chunk / %c[chunks]) / %c[phases]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_PIXEL("q1", "1") \
    ABOARD_MVE_FOUR_PIXELS_PIXEL("q2", "2") \
    ABOARD_MVE_FOUR_PIXELS_PIXEL("q3", "3") \
    ".if aboard_kept\n\t" \
    ABOARD_MVE_FOUR_PIXELS_NEXT("q5", "q1", "q2", "q3") \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_PIXEL("q0", "0") \
    ABOARD_MVE_FOUR_PIXELS_NEXT("q0", "q1", "q2", "q3") \
    ".endif\n\t" \
    ".set aboard_kept, 0\n\t" \
    ABOARD_MVE_FOUR_PIXELS_SLIDE("1", "4", "q1", "q2", "q3", "q0") \
    ABOARD_MVE_FOUR_PIXELS_SLIDE("2", "5", "q2", "q3", "q0", "q1") \
    ABOARD_MVE_FOUR_PIXELS_SLIDE("3", "6", "q3", "q0", "q1", "q2") \
    ABOARD_MVE_FOUR_PIXELS_SLIDE("4", "7", "q0", "q1", "q2", "q3") \
    ".set aboard_chunk, aboard_chunk + 1\n\t" \
    ".endr\n\t"

/** Instructions of a chunk of a phase apart from its taps, of a tap, of a further chunk of a run, of one that is gathered
 * and of an epilogue; lines of the text of a row. */
#define ABOARD_MVE_FOUR_PIXELS_CHUNK_LENGTH 3
#define ABOARD_MVE_FOUR_PIXELS_TAP_LENGTH 11
#define ABOARD_MVE_FOUR_PIXELS_RUN_LENGTH 14
#define ABOARD_MVE_FOUR_PIXELS_GATHER_LENGTH 9
#define ABOARD_MVE_FOUR_PIXELS_EPILOGUE_LENGTH 26
#define ABOARD_MVE_FOUR_PIXELS_ROW_LINES 100

/** Steps back by as many rows, in one instruction if possible. */
#define ABOARD_MVE_FOUR_PIXELS_BACK(rows) \
    ".if %c[advance] * (" rows ") < 4096\n\t" \
    "subw %[x], %[x], #%c[advance] * (" rows ")\n\t" \
    ".else\n\t" \
    ".rept " rows "\n\t" \
    "subw %[x], %[x], %[advance]\n\t" \
    ".endr\n\t" \
    ".endif\n\t"

/** Rows of windows one after the other, without a loop. */
#define ABOARD_MVE_FOUR_PIXELS_WINDOWS \
    ABOARD_MVE_FOUR_PIXELS_GROUPS("vldrw.32 q5, [%[x]]\n\t" ABOARD_MVE_FOUR_PIXELS( \
        ".set aboard_fresh, 1 - %c[begun]\n\t" \
        ".set aboard_kept, 1\n\t" \
        ".rept %c[rows] - 1\n\t" \
        ABOARD_MVE_FOUR_PIXELS_ROW \
        "addw %[x], %[x], %[advance]\n\t" \
        ".endr\n\t" \
        ABOARD_MVE_FOUR_PIXELS_ROW \
        ABOARD_MVE_FOUR_PIXELS_BACK("%c[rows] - 1"), \
        "q0"))

/** Rows of windows in a loop, which `x2` counts. */
#define ABOARD_MVE_FOUR_PIXELS_LOOPED \
    ABOARD_MVE_FOUR_PIXELS_TABLE \
    ABOARD_MVE_FOUR_PIXELS( \
        ".set aboard_fresh, 0\n\t" \
        ".set aboard_kept, 0\n\t" \
        ".if %c[begun] == 0\n\t" \
        "mov r0, #0\n\tmov r2, #0\n\tmov r4, #0\n\tmov r6, #0\n\t" \
        "mov r8, #0\n\tmov r10, #0\n\tmov r12, #0\n\tmov lr, #0\n\t" \
        ".endif\n\t" \
        "mov %[x2], %[rows]\n\t" \
        "2:\n\t" \
        ABOARD_MVE_FOUR_PIXELS_ROW \
        "addw %[x], %[x], %[advance]\n\t" \
        "subs %[x2], %[x2], #1\n\t" \
        "bne 2b\n\t" \
        ABOARD_MVE_FOUR_PIXELS_BACK("%c[rows]"), \
        "q0")

/* clang-format on */

#endif
