/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_words.h
 * The instructions of depthwise_packed.h: windows of a channel with pixels packed in words, eight results at a time.
 *
 * Operands are in registers with odd numbers, because the even ones hold sums: `strip`, `table`, `record` and `out` are
 * addresses, `left` counts. Literals are `step`, `groups`, `rest`, `skip_low`, `skip_high`, `strip_bytes`, and
 * `single`, `shift` and `zero_point` of the epilogue. All vector registers are used: q1 and q5 for addresses, q2 for
 * the addresses of results, q4 to q7 for weights, q0 and q3 for words and sums.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H

#include <stdint.h>

/** Bytes of a channel's record: a vector of weights, a word of 0, and the constants of the epilogue. */
#define ABOARD_DEPTHWISE_PACKED_RECORD 32

/** Offsets of the words of a load from its first word, and of the eight results of a group. */
typedef struct {
    uint32_t words[4];
    uint16_t results[8];
} aboard_depthwise_packed_table_t;

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Addresses of the first words and of the results. */
#define ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q1, [%[table]]\n\t" \
    "vadd.i32 q1, q1, %[strip]\n\t" \
    "vldrh.16 q2, [%[table], #16]\n\t"

/** Constants of the epilogue in the registers of addresses: bias in `strip`, multiplier in `table`, the third in `record`. */
#define ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    "ldrd %[strip], %[table], [%[record], #20]\n\t" \
    "ldr %[record], [%[record], #28]\n\t"

/** Four words, one step after the last ones. */
#define ABOARD_DEPTHWISE_PACKED_LOAD(at) "vldrw.u32 q0, [" at ", %[step]]!\n\t"

#define ABOARD_DEPTHWISE_PACKED_SUM(sum, weights) "vmladav.s8 " sum ", q0, " weights "\n\t"

/** A right shift with ties away from zero: a negative number loses one, in r0, before halves are
 * rounded up. */
#define ABOARD_DEPTHWISE_PACKED_AWAY(x) \
    "vpt.s32 lt, " x ", zr\n\t" \
    "vaddt.i32 " x ", " x ", r0\n\t" \
    "vrshl.s32 " x ", %[record]\n\t"

/** Converts sums in r0 to r6 and in r8 to lr to results. */
#define ABOARD_DEPTHWISE_PACKED_EPILOGUE \
    "vmov q0[2], q0[0], r0, r4\n\t" \
    "vmov q0[3], q0[1], r2, r6\n\t" \
    "vmov q3[2], q3[0], r8, r12\n\t" \
    "vmov q3[3], q3[1], r10, lr\n\t" \
    "vadd.i32 q0, q0, %[strip]\n\t" \
    "vadd.i32 q3, q3, %[strip]\n\t" \
    "vqrdmulh.s32 q0, q0, %[table]\n\t" \
    "vqrdmulh.s32 q3, q3, %[table]\n\t" \
    ".if %c[single]\n\t" \
    "vadd.i32 q0, q0, %[record]\n\t" \
    "vadd.i32 q3, q3, %[record]\n\t" \
    "vqrshrnb.s32 q0, q0, %[shift]\n\t" \
    "vqrshrnt.s32 q0, q3, %[shift]\n\t" \
    ".else\n\t" \
    "asr r0, %[record], #31\n\t" \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0") \
    ABOARD_DEPTHWISE_PACKED_AWAY("q3") \
    "mov r2, %[zero_point]\n\t" \
    "vqmovnb.s32 q0, q0\n\t" \
    "vqmovnt.s32 q0, q3\n\t" \
    "vqadd.s16 q0, q0, r2\n\t" \
    ".endif\n\t" \
    "vqmovnb.s16 q0, q0\n\t"

/** All groups of a line: whole groups in a loop, and a last group whose results are given by `rest`. */
#define ABOARD_DEPTHWISE_PACKED_GROUPS(sums) \
    ".if %c[groups]\n\t" \
    "mov %[left], %[groups]\n\t" \
    "1:\n\t" \
    sums \
    ABOARD_DEPTHWISE_PACKED_EPILOGUE \
    "vstrb.16 q0, [%[out], q2]\n\t" \
    "addw %[out], %[out], %[skip_low]\n\t" \
    ".if %c[skip_high]\n\t" \
    "add %[out], %[out], %[skip_high]\n\t" \
    ".endif\n\t" \
    "subs %[left], %[left], #1\n\t" \
    "bne 1b\n\t" \
    ".endif\n\t" \
    ".if %c[rest]\n\t" \
    "movw %[left], %[rest]\n\t" \
    sums \
    ABOARD_DEPTHWISE_PACKED_EPILOGUE \
    "vmsr p0, %[left]\n\t" \
    "vpst\n\t" \
    "vstrbt.16 q0, [%[out], q2]\n\t" \
    ".endif"

#define ABOARD_DEPTHWISE_PACKED_FOUR_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record], #4]\n\t" \
    "vldrw.32 q5, [%[record]]\n\t" \
    "vshl.i32 q6, q4, #8\n\t" \
    "vshl.i32 q7, q5, #8\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    ABOARD_DEPTHWISE_PACKED_GROUPS( \
        ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
        ABOARD_DEPTHWISE_PACKED_SUM("r0", "q4") \
        ABOARD_DEPTHWISE_PACKED_SUM("r2", "q5") \
        ABOARD_DEPTHWISE_PACKED_SUM("r8", "q6") \
        ABOARD_DEPTHWISE_PACKED_SUM("r10", "q7") \
        ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
        ABOARD_DEPTHWISE_PACKED_SUM("r4", "q4") \
        ABOARD_DEPTHWISE_PACKED_SUM("r6", "q5") \
        ABOARD_DEPTHWISE_PACKED_SUM("r12", "q6") \
        ABOARD_DEPTHWISE_PACKED_SUM("lr", "q7"))

#define ABOARD_DEPTHWISE_PACKED_TWO_SUMS(first, second) \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_SUM(first, "q4") \
    ABOARD_DEPTHWISE_PACKED_SUM(second, "q5")

#define ABOARD_DEPTHWISE_PACKED_TWO_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record], #4]\n\t" \
    "vldrw.32 q5, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    ABOARD_DEPTHWISE_PACKED_GROUPS( \
        ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r0", "r2") \
        ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r4", "r6") \
        ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r8", "r10") \
        ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r12", "lr"))

#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrb.8 q4, [%[record], #3]\n\t" \
    "vldrb.8 q5, [%[record], #2]\n\t" \
    "vldrb.8 q6, [%[record], #1]\n\t" \
    "vldrw.32 q7, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    ABOARD_DEPTHWISE_PACKED_GROUPS( \
        ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
        ABOARD_DEPTHWISE_PACKED_SUM("r0", "q4") \
        ABOARD_DEPTHWISE_PACKED_SUM("r2", "q5") \
        ABOARD_DEPTHWISE_PACKED_SUM("r4", "q6") \
        ABOARD_DEPTHWISE_PACKED_SUM("r6", "q7") \
        ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
        ABOARD_DEPTHWISE_PACKED_SUM("r8", "q4") \
        ABOARD_DEPTHWISE_PACKED_SUM("r10", "q5") \
        ABOARD_DEPTHWISE_PACKED_SUM("r12", "q6") \
        ABOARD_DEPTHWISE_PACKED_SUM("lr", "q7"))

#define ABOARD_DEPTHWISE_PACKED_ONE_SUM(at, sum) \
    ABOARD_DEPTHWISE_PACKED_LOAD(at) \
    ABOARD_DEPTHWISE_PACKED_SUM(sum, "q4")

#define ABOARD_DEPTHWISE_PACKED_ONE_SUMS(second) \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM("q1", "r0") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM("q1", "r2") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM("q1", "r4") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM("q1", "r6") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(second, "r8") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(second, "r10") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(second, "r12") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(second, "lr")

/** For two strips, the second stored after the first. */
#define ABOARD_DEPTHWISE_PACKED_PAIR_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "movw %[left], %[strip_bytes]\n\t" \
    "vadd.i32 q5, q1, %[left]\n\t" \
    "vldrw.32 q4, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    ABOARD_DEPTHWISE_PACKED_GROUPS(ABOARD_DEPTHWISE_PACKED_ONE_SUMS("q5"))

#define ABOARD_DEPTHWISE_PACKED_ONE_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS \
    ABOARD_DEPTHWISE_PACKED_GROUPS(ABOARD_DEPTHWISE_PACKED_ONE_SUMS("q1"))

/* clang-format on */

#endif
