/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_epilogue.h
 * The kinds of sums and results of packed_words.h: how eight sums begin, and how they become results.
 *
 * Operands are those of packed_words.h. The kinds:
 * - FULL: a single rounding, four vectors of weights, which take all registers. Addresses of results are read for each
 *   group. Sums begin with the bias, which an instruction loads into all eight.
 * - SPARE: the same with one or two vectors of weights.
 * - RIGHT: two roundings, the second one a shift or a product. Constants are read once the sums are gathered, and
 *   `table` is the number of further channels above the zero point.
 * - PARTS: a single rounding for windows of several vectors, with constants as for RIGHT.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_EPILOGUE_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_EPILOGUE_H

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Addresses of the results. */
#define ABOARD_DEPTHWISE_PACKED_RESULTS(vector) "vldrh.16 " vector ", [%[table], #32]\n\t"

/** A right shift with ties away from zero: a negative number loses one before halves are rounded up. VQDMLAH adds the high
 * half of 2 * x * factor, which is -1 or 0 if the factor is small. */
#define ABOARD_DEPTHWISE_PACKED_AWAY(x, factor, shift) \
    "vqdmlah.s32 " x ", " x ", " factor "\n\t" \
    "vrshl.s32 " x ", " shift "\n\t"

/** Raises or lowers results in q0 to a limit. */
#define ABOARD_DEPTHWISE_PACKED_LIMIT(op, limit) \
    "mov r2, " limit "\n\t" \
    "vdup.8 q3, r2\n\t" \
    op ".s8 q0, q0, q3\n\t"

/** Moves the sums into q0 and q3. */
#define ABOARD_DEPTHWISE_PACKED_GATHER \
    "vmov q0[2], q0[0], r0, r4\n\t" \
    "vmov q0[3], q0[1], r2, r6\n\t" \
    "vmov q3[2], q3[0], r8, r12\n\t" \
    "vmov q3[3], q3[1], r10, lr\n\t"

/** Sums with their bias times the multiplier; the third constant is in r4. */
#define ABOARD_DEPTHWISE_PACKED_SCALED \
    ABOARD_DEPTHWISE_PACKED_GATHER \
    "ldmdb %[record], {r0, r2, r4}\n\t" \
    "vadd.i32 q0, q0, r0\n\t" \
    "vadd.i32 q3, q3, r0\n\t" \
    "vqrdmulh.s32 q0, q0, r2\n\t" \
    "vqrdmulh.s32 q3, q3, r2\n\t"

/** Narrows scaled sums of a single rounding to 16 bits. */
#define ABOARD_DEPTHWISE_PACKED_SINGLE \
    "vqrshrnb.s32 q0, q0, %[shift]\n\t" \
    "vqrshrnt.s32 q0, q3, %[shift]\n\t"

/** Narrows 16 bits to eight, within the limits. */
#define ABOARD_DEPTHWISE_PACKED_NARROW \
    "vqmovnb.s16 q0, q0\n\t" \
    ".if %c[low] > -128\n\t" \
    ABOARD_DEPTHWISE_PACKED_LIMIT("vmax", "%[low]") \
    ".endif\n\t" \
    ".if %c[high] < 127\n\t" \
    ABOARD_DEPTHWISE_PACKED_LIMIT("vmin", "%[high]") \
    ".endif\n\t"

/** A single rounding, with the multiplier in each lane of `factor`. */
#define ABOARD_DEPTHWISE_PACKED_SINGLE_EPILOGUE(factor) \
    ABOARD_DEPTHWISE_PACKED_GATHER \
    "vqrdmlash.s32 q0, " factor ", %[record]\n\t" \
    "vqrdmlash.s32 q3, " factor ", %[record]\n\t" \
    ABOARD_DEPTHWISE_PACKED_SINGLE \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** Converts sums in r0 to r6 and in r8 to lr to results. */
#define ABOARD_DEPTHWISE_PACKED_FULL_EPILOGUE \
    ABOARD_DEPTHWISE_PACKED_SINGLE_EPILOGUE("q2") \
    ABOARD_DEPTHWISE_PACKED_RESULTS("q3")

#define ABOARD_DEPTHWISE_PACKED_SPARE_EPILOGUE ABOARD_DEPTHWISE_PACKED_SINGLE_EPILOGUE("q6")

/** The shift is the lowest byte of r4, which is 8 bits without a sign: a small factor. Sums above 23 bits need a 1. */
#define ABOARD_DEPTHWISE_PACKED_RIGHT_EPILOGUE \
    ABOARD_DEPTHWISE_PACKED_SCALED \
    ".if %c[products]\n\t" \
    "vqrdmulh.s32 q0, q0, r4\n\t" \
    "vqrdmulh.s32 q3, q3, r4\n\t" \
    ".elseif %c[wide]\n\t" \
    "ubfx r6, r4, #7, #1\n\t" \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0", "r6", "r4") \
    ABOARD_DEPTHWISE_PACKED_AWAY("q3", "r6", "r4") \
    ".else\n\t" \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0", "r4", "r4") \
    ABOARD_DEPTHWISE_PACKED_AWAY("q3", "r4", "r4") \
    ".endif\n\t" \
    "vqmovnb.s32 q0, q0\n\t" \
    "vqmovnt.s32 q0, q3\n\t" \
    "vqadd.s16 q0, q0, %[table]\n\t" \
    ABOARD_DEPTHWISE_PACKED_NARROW

#define ABOARD_DEPTHWISE_PACKED_PARTS_EPILOGUE \
    ABOARD_DEPTHWISE_PACKED_SCALED \
    "vadd.i32 q0, q0, r4\n\t" \
    "vadd.i32 q3, q3, r4\n\t" \
    ABOARD_DEPTHWISE_PACKED_SINGLE \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** Vector of the addresses of results. */
#define ABOARD_DEPTHWISE_PACKED_FULL_AT "q3"
#define ABOARD_DEPTHWISE_PACKED_SPARE_AT "q2"
#define ABOARD_DEPTHWISE_PACKED_RIGHT_AT "q2"
#define ABOARD_DEPTHWISE_PACKED_PARTS_AT "q2"

/** What stays for all channels. */
#define ABOARD_DEPTHWISE_PACKED_FULL_KEPT
#define ABOARD_DEPTHWISE_PACKED_SPARE_KEPT ABOARD_DEPTHWISE_PACKED_RESULTS("q2")
#define ABOARD_DEPTHWISE_PACKED_RIGHT_KEPT \
    ABOARD_DEPTHWISE_PACKED_RESULTS("q2") \
    "ldr %[table], [%[table], #68]\n\t"
#define ABOARD_DEPTHWISE_PACKED_PARTS_KEPT ABOARD_DEPTHWISE_PACKED_RIGHT_KEPT

/** Constants of a channel: the third one is in `record` until the next channel. */
#define ABOARD_DEPTHWISE_PACKED_CONSTANTS(factor) \
    "ldrd r0, r2, [%[record], #-12]\n\t" \
    "str %[record], [%[table], #64]\n\t" \
    "ldr %[record], [%[record], #-4]\n\t" \
    "vdup.32 q0, r0\n\t" \
    "vstrw.32 q0, [%[table]]\n\t" \
    "vstrw.32 q0, [%[table], #16]\n\t" \
    "vdup.32 " factor ", r2\n\t"

#define ABOARD_DEPTHWISE_PACKED_FULL_CONSTANTS ABOARD_DEPTHWISE_PACKED_CONSTANTS("q2")
#define ABOARD_DEPTHWISE_PACKED_SPARE_CONSTANTS ABOARD_DEPTHWISE_PACKED_CONSTANTS("q6")
#define ABOARD_DEPTHWISE_PACKED_RIGHT_CONSTANTS
#define ABOARD_DEPTHWISE_PACKED_PARTS_CONSTANTS

/** The next channel, if this is not the last one. */
#define ABOARD_DEPTHWISE_PACKED_FULL_NEXT \
    "ldrd %[record], r0, [%[table], #64]\n\t" \
    "cmp %[record], r0\n\t" \
    "bne 4b"
#define ABOARD_DEPTHWISE_PACKED_SPARE_NEXT ABOARD_DEPTHWISE_PACKED_FULL_NEXT
#define ABOARD_DEPTHWISE_PACKED_RIGHT_NEXT \
    "subs %[table], %[table], #65536\n\t" \
    "bhs 4b"
#define ABOARD_DEPTHWISE_PACKED_PARTS_NEXT ABOARD_DEPTHWISE_PACKED_RIGHT_NEXT

/** Beginning of eight sums. */
#define ABOARD_DEPTHWISE_PACKED_FULL_BEGIN "ldm %[table], {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
#define ABOARD_DEPTHWISE_PACKED_SPARE_BEGIN ABOARD_DEPTHWISE_PACKED_FULL_BEGIN
#define ABOARD_DEPTHWISE_PACKED_RIGHT_BEGIN

/** A sum that has begun, or begins with the product. */
#define ABOARD_DEPTHWISE_PACKED_FULL_SUM(sum, weights) "vmladava.s8 " sum ", q0, " weights "\n\t"
#define ABOARD_DEPTHWISE_PACKED_SPARE_SUM(sum, weights) ABOARD_DEPTHWISE_PACKED_FULL_SUM(sum, weights)
#define ABOARD_DEPTHWISE_PACKED_RIGHT_SUM(sum, weights) "vmladav.s8 " sum ", q0, " weights "\n\t"

/* clang-format on */

#endif
