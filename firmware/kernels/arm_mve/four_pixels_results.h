/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels_results.h
 * The instructions of four_pixels.h around its sums: groups of channels, and results of eight sums at a time.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_RESULTS_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_RESULTS_H

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Reads the table. Of words it becomes addresses, which the stores advance by four bytes before they write. */
#define ABOARD_MVE_FOUR_PIXELS_TABLE \
    ".if %c[words]\n\t" \
    "vldrw.32 q7, [%[x2]]\n\t" \
    "vadd.i32 q7, q7, %[out]\n\t" \
    ".else\n\t" \
    "vldrh.16 q7, [%[x2]]\n\t" \
    ".endif\n\t"

/** For every two channels, or for the first and the second two of every four: `sums`, and then results, those of the second
 * channel through `second`. */
#define ABOARD_MVE_FOUR_PIXELS(sums, second) \
    "movw %[left], #(%c[pairs] >> %c[words])\n\t" \
    "1:\n\t" \
    ".set aboard_second, 0\n\t" \
    ".rept 1 + %c[words]\n\t" \
    ".if %c[begun]\n\t" \
    "ldm %[w]!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t" \
    ".endif\n\t" \
    sums \
    ABOARD_MVE_FOUR_PIXELS_EPILOGUE(second) \
    ".set aboard_second, 1\n\t" \
    ".endr\n\t" \
    "subs %[left], %[left], #1\n\t" \
    "bne 1b"

/** A number of more than 16 bits, if it is one, in `left`. */
#define ABOARD_MVE_FOUR_PIXELS_NUMBER(name) \
    "movw %[left], #(%c[" name "] & 0xffff)\n\t" \
    ".if %c[" name "] > 0xffff\n\t" \
    "movt %[left], #(%c[" name "] >> 16)\n\t" \
    ".endif\n\t"

/** All channels of four pixels, which `group` computes; by `grouped`, of all groups, whose number comes after the
 * table and is counted by `x2`. */
#define ABOARD_MVE_FOUR_PIXELS_GROUPS(group) \
    ABOARD_MVE_FOUR_PIXELS_TABLE \
    ".if %c[grouped]\n\t" \
    "ldr %[x2], [%[x2], #16]\n\t" \
    "3:\n\t" \
    ".endif\n\t" \
    group "\n\t" \
    ".if %c[grouped]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_NUMBER("stream") \
    "sub %[w], %[w], %[left]\n\t" \
    "addw %[x], %[x], #4 * %c[distance]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_NUMBER("skip") \
    ".if %c[words]\n\t" \
    "vadd.i32 q7, q7, %[left]\n\t" \
    ".else\n\t" \
    "add %[out], %[out], %[left]\n\t" \
    ".endif\n\t" \
    "subs %[x2], %[x2], #1\n\t" \
    "bne 3b\n\t" \
    ".endif"

/** The second rounding: a product with the factor in `shift`; or a right shift with ties away from zero: a negative number
 * is reduced by one before halves are rounded up. VQDMLAH adds the high half of 2 * x * 1, which is -1 or 0. A shift of 0
 * reduces nothing, unless `ends` has 1 for all channels. */
#define ABOARD_MVE_FOUR_PIXELS_AWAY(x, shift, one) \
    ".if %c[form] == 3\n\t" \
    "vqrdmulh.s32 " x ", " x ", " shift "\n\t" \
    ".else\n\t" \
    ".if %c[ends] == 0\n\t" \
    "lsr " one ", " shift ", #31\n\t" \
    ".endif\n\t" \
    "vqdmlah.s32 " x ", " x ", " one "\n\t" \
    "vrshl.s32 " x ", " shift "\n\t" \
    ".endif\n\t"

/** To the results of the next two channels. The last two of an odd number begin with the channel before them, which is
 * computed again: the step before them is one byte. */
#define ABOARD_MVE_FOUR_PIXELS_ON \
    ".if %c[odd]\n\t" \
    "cmp %[left], #3\n\t" \
    "adc %[out], %[out], #1\n\t" \
    ".else\n\t" \
    "add %[out], %[out], #2\n\t" \
    ".endif\n\t"

/** Writes eight results; or the even bytes of sixteen into a register that is free, and after the odd ones all of them. */
#define ABOARD_MVE_FOUR_PIXELS_STORE \
    ".if %c[words] == 0\n\t" \
    "vqmovnb.s16 q4, q4\n\t" \
    "vstrb.16 q4, [%[out], q7]\n\t" \
    ABOARD_MVE_FOUR_PIXELS_ON \
    ".elseif aboard_second\n\t" \
    "vqmovnt.s16 q%c[held], q4\n\t" \
    "vstrw.32 q%c[held], [q7, #4]!\n\t" \
    ".else\n\t" \
    "vqmovnb.s16 q%c[held], q4\n\t" \
    ".endif\n\t"

/** Converts sums to results. */
#define ABOARD_MVE_FOUR_PIXELS_EPILOGUE(second) \
    "vmov q4[2], q4[0], r0, r4\n\t" \
    "vmov q4[3], q4[1], r2, r6\n\t" \
    "vmov " second "[2], " second "[0], r8, r12\n\t" \
    "vmov " second "[3], " second "[1], r10, lr\n\t" \
    ABOARD_MVE_FOUR_PIXELS_SCALED(second)

/** Converts gathered sums to results. Constants of both channels follow their weights; by `begun`, sums have the bias
 * already. */
#define ABOARD_MVE_FOUR_PIXELS_SCALED(second) \
    ".if %c[begun] && %c[ends]\n\t" \
    "ldm %[w]!, {r2, r4, r8, r10, r12, lr}\n\t" \
    ".elseif %c[begun]\n\t" \
    "ldm %[w]!, {r2, r4, r8, r10}\n\t" \
    ".elseif %c[ends]\n\t" \
    "ldm %[w]!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t" \
    ".else\n\t" \
    "ldm %[w]!, {r0, r2, r4, r6, r8, r10}\n\t" \
    ".endif\n\t" \
    ".if %c[begun] == 0\n\t" \
    "vadd.i32 q4, q4, r0\n\t" \
    "vadd.i32 " second ", " second ", r6\n\t" \
    ".endif\n\t" \
    "vqrdmulh.s32 q4, q4, r2\n\t" \
    "vqrdmulh.s32 " second ", " second ", r8\n\t" \
    ".if %c[form] == 0\n\t" \
    "vadd.i32 q4, q4, r4\n\t" \
    "vadd.i32 " second ", " second ", r10\n\t" \
    "vqrshrnb.s32 q4, q4, %[shift]\n\t" \
    "vqrshrnt.s32 q4, " second ", %[shift]\n\t" \
    ".else\n\t" \
    ABOARD_MVE_FOUR_PIXELS_AWAY("q4", "r4", "r12") \
    ABOARD_MVE_FOUR_PIXELS_AWAY(second, "r10", "r12") \
    "vqmovnb.s32 q4, q4\n\t" \
    "vqmovnt.s32 q4, " second "\n\t" \
    ".if %c[ends]\n\t" \
    "vqadd.s16 q4, q4, lr\n\t" \
    ".else\n\t" \
    "mov r6, %[zero_point]\n\t" \
    "vqadd.s16 q4, q4, r6\n\t" \
    ".endif\n\t" \
    ".endif\n\t" \
    ABOARD_MVE_FOUR_PIXELS_STORE

/* clang-format on */

#endif
