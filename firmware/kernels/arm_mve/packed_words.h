/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_words.h
 * The instructions of depthwise_packed.h: windows of a channel with pixels packed in words, eight results at a time.
 *
 * Operands are in registers with odd numbers, because the even ones hold sums: `strip`, `table`, `record` and `out` are
 * addresses, `left` counts. Literals are `step`, `groups`, `rest`, `skip`, `strip_bytes`, and `single`, `shift`,
 * `zero_point`, `low` and `high` of the epilogue. All vector registers are used: q1 and q5 for addresses, q2 for the
 * addresses of results or the multiplier, q4 to q7 for weights, q6 for a multiplier, q0 and q3 for words and sums. Sums
 * begin with the bias, which an instruction loads into all eight.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H

#include <stdint.h>

/** Bytes of a channel's record: a vector of weights, a word of 0, and the constants of the epilogue. */
#define ABOARD_DEPTHWISE_PACKED_RECORD 32

/** Eight copies of a channel's bias; offsets of the eight results of a group, and of the words of a load from its first
 * word. */
typedef struct {
    int32_t bias[8];
    uint16_t results[8];
    uint32_t words[4];
} aboard_depthwise_packed_table_t;

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Addresses of the first words. */
#define ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q1, [%[table], #48]\n\t" \
    "vadd.i32 q1, q1, %[strip]\n\t"

/** Addresses of the results. */
#define ABOARD_DEPTHWISE_PACKED_RESULTS(vector) "vldrh.16 " vector ", [%[table], #32]\n\t"

/** Constants of the epilogue: the bias goes to `table`, the multiplier into `factor`, the third into `record`. */
#define ABOARD_DEPTHWISE_PACKED_CONSTANTS(factor) \
    "ldrd %[left], %[strip], [%[record], #20]\n\t" \
    "ldr %[record], [%[record], #28]\n\t" \
    "vdup.32 q0, %[left]\n\t" \
    "vstrw.32 q0, [%[table]]\n\t" \
    "vstrw.32 q0, [%[table], #16]\n\t" \
    "vdup.32 " factor ", %[strip]\n\t"

/** Sums begin with the bias. */
#define ABOARD_DEPTHWISE_PACKED_BEGIN "ldm %[table], {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"

/** Four words, one step after the last ones. */
#define ABOARD_DEPTHWISE_PACKED_LOAD(at) "vldrw.u32 q0, [" at ", %[step]]!\n\t"

#define ABOARD_DEPTHWISE_PACKED_SUM(sum, weights) "vmladava.s8 " sum ", q0, " weights "\n\t"

/** A right shift with ties away from zero: a negative number loses one before halves are rounded up. VQDMLAH adds the high
 * half of 2 * x * r0, which is -1 or 0 if r0 is 1. */
#define ABOARD_DEPTHWISE_PACKED_AWAY(x, third) \
    "vqdmlah.s32 " x ", " x ", r0\n\t" \
    "vrshl.s32 " x ", " third "\n\t"

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

/** Narrows scaled sums of a single rounding to 16 bits. */
#define ABOARD_DEPTHWISE_PACKED_SINGLE \
    "vqrshrnb.s32 q0, q0, %[shift]\n\t" \
    "vqrshrnt.s32 q0, q3, %[shift]\n\t"

/** The same for two roundings: the second shift, and the zero point. */
#define ABOARD_DEPTHWISE_PACKED_RIGHT(third) \
    "lsr r0, " third ", #31\n\t" \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0", third) \
    ABOARD_DEPTHWISE_PACKED_AWAY("q3", third) \
    "mov r2, %[zero_point]\n\t" \
    "vqmovnb.s32 q0, q0\n\t" \
    "vqmovnt.s32 q0, q3\n\t" \
    "vqadd.s16 q0, q0, r2\n\t"

/** Narrows 16 bits to eight, within the limits. */
#define ABOARD_DEPTHWISE_PACKED_NARROW \
    "vqmovnb.s16 q0, q0\n\t" \
    ".if %c[low] > -128\n\t" \
    ABOARD_DEPTHWISE_PACKED_LIMIT("vmax", "%[low]") \
    ".endif\n\t" \
    ".if %c[high] < 127\n\t" \
    ABOARD_DEPTHWISE_PACKED_LIMIT("vmin", "%[high]") \
    ".endif\n\t"

/** Converts sums in r0 to r6 and in r8 to lr, with their bias, to results. The multiplier is in each lane of
 * `factor`, and for two roundings also in `right`. */
#define ABOARD_DEPTHWISE_PACKED_EPILOGUE(factor, right) \
    ABOARD_DEPTHWISE_PACKED_GATHER \
    ".if %c[single]\n\t" \
    "vqrdmlash.s32 q0, " factor ", %[record]\n\t" \
    "vqrdmlash.s32 q3, " factor ", %[record]\n\t" \
    ABOARD_DEPTHWISE_PACKED_SINGLE \
    ".else\n\t" \
    "vqrdmulh.s32 q0, q0, " right "\n\t" \
    "vqrdmulh.s32 q3, q3, " right "\n\t" \
    ABOARD_DEPTHWISE_PACKED_RIGHT("%[record]") \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** The same for windows of several vectors, whose sums lack the bias, with constants in `strip`, `table` and r4. */
#define ABOARD_DEPTHWISE_PACKED_PARTS_EPILOGUE \
    ABOARD_DEPTHWISE_PACKED_GATHER \
    "ldrd %[strip], %[table], [%[record], #16 * %c[parts]]\n\t" \
    "ldr r4, [%[record], #16 * %c[parts] + 8]\n\t" \
    "vadd.i32 q0, q0, %[strip]\n\t" \
    "vadd.i32 q3, q3, %[strip]\n\t" \
    "vqrdmulh.s32 q0, q0, %[table]\n\t" \
    "vqrdmulh.s32 q3, q3, %[table]\n\t" \
    ".if %c[single]\n\t" \
    "vadd.i32 q0, q0, r4\n\t" \
    "vadd.i32 q3, q3, r4\n\t" \
    ABOARD_DEPTHWISE_PACKED_SINGLE \
    ".else\n\t" \
    ABOARD_DEPTHWISE_PACKED_RIGHT("r4") \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** A whole group of results, at the addresses `at`, and `skip` bytes further to the next. */
#define ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    group \
    "vstrb.16 q0, [%[out], " at "]\n\t" \
    "addw %[out], %[out], #(" skip ") & 4095\n\t" \
    ".if (" skip ") & ~4095\n\t" \
    "add %[out], %[out], #(" skip ") & ~4095\n\t" \
    ".endif\n\t"

/** Whole groups in a loop, by `pairs` two at a time. An odd number of groups begins with the second of two. */
#define ABOARD_DEPTHWISE_PACKED_WHOLE(group, at, groups, skip) \
    ".if " groups "\n\t" \
    "mov %[left], #(" groups " + %c[pairs]) >> %c[pairs]\n\t" \
    ".if %c[pairs] && (" groups ") & 1\n\t" \
    "b 3f\n\t" \
    ".endif\n\t" \
    "1:\n\t" \
    ".if %c[pairs]\n\t" \
    ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    "3:\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    "subs %[left], %[left], #1\n\t" \
    "bne 1b\n\t" \
    ".endif\n\t"

/** All groups of a line: whole groups, and a last group whose results are given by `rest`. */
#define ABOARD_DEPTHWISE_PACKED_ALL(group, at) \
    ABOARD_DEPTHWISE_PACKED_WHOLE(group, at, "%c[groups]", "%c[skip]") \
    ".if %c[rest]\n\t" \
    "movw %[left], %[rest]\n\t" \
    group \
    "vmsr p0, %[left]\n\t" \
    "vpst\n\t" \
    "vstrbt.16 q0, [%[out], " at "]\n\t" \
    ".endif\n\t"

/** A signed distance in `left`. */
#define ABOARD_DEPTHWISE_PACKED_DISTANCE(name) \
    "movw %[left], #(%c[" name "] & 0xffff)\n\t" \
    ".if (%c[" name "]) & ~0xffff\n\t" \
    "movt %[left], #((%c[" name "] >> 16) & 0xffff)\n\t" \
    ".endif\n\t"

/** All groups of `passes` lines; `next` moves further addresses by `left` to the next one. */
#define ABOARD_DEPTHWISE_PACKED_LINES(groups, next) \
    ".if %c[passes] > 1\n\t" \
    "movw %[strip], %[passes]\n\t" \
    "2:\n\t" \
    ".endif\n\t" \
    groups \
    ".if %c[passes] > 1\n\t" \
    ABOARD_DEPTHWISE_PACKED_DISTANCE("next_strip") \
    "vadd.i32 q1, q1, %[left]\n\t" \
    next \
    ABOARD_DEPTHWISE_PACKED_DISTANCE("next_out") \
    "add %[out], %[out], %[left]\n\t" \
    "subs %[strip], %[strip], #1\n\t" \
    "bne 2b\n\t" \
    ".endif"

/** Four vectors of weights take all registers. With a single rounding, whose instruction takes the multiplier from a vector,
 * addresses of results are read for each group; else the multiplier stays in `strip`, of a single line. */
#define ABOARD_DEPTHWISE_PACKED_FULL(sums) \
    ".if %c[single] == 0\n\t" \
    ABOARD_DEPTHWISE_PACKED_RESULTS("q2") \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_LINES(ABOARD_DEPTHWISE_PACKED_ALL(ABOARD_DEPTHWISE_PACKED_BEGIN sums \
        ABOARD_DEPTHWISE_PACKED_EPILOGUE("q2", "%[strip]") \
        ".if %c[single]\n\t" ABOARD_DEPTHWISE_PACKED_RESULTS("q3") ".endif\n\t", "q%c[at]"), "")

/** One or two vectors of weights. */
#define ABOARD_DEPTHWISE_PACKED_GROUPS(sums, next) \
    ABOARD_DEPTHWISE_PACKED_RESULTS("q2") \
    ABOARD_DEPTHWISE_PACKED_LINES(ABOARD_DEPTHWISE_PACKED_ALL(ABOARD_DEPTHWISE_PACKED_BEGIN sums \
        ABOARD_DEPTHWISE_PACKED_EPILOGUE("q6", "q6"), "q2"), next)

/** First addresses, weights and constants for two lines. */
#define ABOARD_DEPTHWISE_PACKED_FOUR_BEGIN \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record], #4]\n\t" \
    "vldrw.32 q5, [%[record]]\n\t" \
    "vshl.i32 q6, q4, #8\n\t" \
    "vshl.i32 q7, q5, #8\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS("q2")

#define ABOARD_DEPTHWISE_PACKED_FOUR_SUMS \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_SUM("r0", "q4") \
    ABOARD_DEPTHWISE_PACKED_SUM("r2", "q5") \
    ABOARD_DEPTHWISE_PACKED_SUM("r8", "q6") \
    ABOARD_DEPTHWISE_PACKED_SUM("r10", "q7") \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_SUM("r4", "q4") \
    ABOARD_DEPTHWISE_PACKED_SUM("r6", "q5") \
    ABOARD_DEPTHWISE_PACKED_SUM("r12", "q6") \
    ABOARD_DEPTHWISE_PACKED_SUM("lr", "q7")

#define ABOARD_DEPTHWISE_PACKED_FOUR_TEXT \
    ABOARD_DEPTHWISE_PACKED_FOUR_BEGIN \
    ABOARD_DEPTHWISE_PACKED_FULL(ABOARD_DEPTHWISE_PACKED_FOUR_SUMS)

#define ABOARD_DEPTHWISE_PACKED_TWO_SUMS(first, second) \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_SUM(first, "q4") \
    ABOARD_DEPTHWISE_PACKED_SUM(second, "q5")

/** Eight results of one line. */
#define ABOARD_DEPTHWISE_PACKED_TWO_ALL \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r0", "r2") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r4", "r6") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r8", "r10") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS("r12", "lr")

#define ABOARD_DEPTHWISE_PACKED_TWO_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record], #4]\n\t" \
    "vldrw.32 q5, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS("q6") \
    ABOARD_DEPTHWISE_PACKED_GROUPS(ABOARD_DEPTHWISE_PACKED_TWO_ALL, "")

#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrb.8 q4, [%[record], #3]\n\t" \
    "vldrb.8 q5, [%[record], #2]\n\t" \
    "vldrb.8 q6, [%[record], #1]\n\t" \
    "vldrw.32 q7, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS("q2") \
    ABOARD_DEPTHWISE_PACKED_FULL( \
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
    ABOARD_DEPTHWISE_PACKED_CONSTANTS("q6") \
    ABOARD_DEPTHWISE_PACKED_GROUPS(ABOARD_DEPTHWISE_PACKED_ONE_SUMS("q5"), "vadd.i32 q5, q5, %[left]\n\t")

#define ABOARD_DEPTHWISE_PACKED_ONE_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q4, [%[record]]\n\t" \
    ABOARD_DEPTHWISE_PACKED_CONSTANTS("q6") \
    ABOARD_DEPTHWISE_PACKED_GROUPS(ABOARD_DEPTHWISE_PACKED_ONE_SUMS("q1"), "")

/** Part of a window: eight loads and products. */
#define ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, sum) \
    "vldrw.u32 q0, [q3, %[step]]!\n\t" \
    op ".s8 " sum ", q0, " weights "\n\t"

#define ABOARD_DEPTHWISE_PACKED_PART(op, weights) \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r0") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r2") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r4") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r6") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r8") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r10") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "r12") \
    ABOARD_DEPTHWISE_PACKED_PART_SUM(op, weights, "lr")

/** Part `number` of the windows: q3 becomes the addresses of its first words. */
#define ABOARD_DEPTHWISE_PACKED_PART_AT(number, op, weights) \
    "movw %[strip], #(" number " / %c[columns] * %c[strip_bytes]" \
    " + (" number " - " number " / %c[columns] * %c[columns]) * %c[jump])\n\t" \
    "vadd.i32 q3, q1, %[strip]\n\t" \
    ABOARD_DEPTHWISE_PACKED_PART(op, weights)

#define ABOARD_DEPTHWISE_PACKED_PART_KEPT(number, op, weights) \
    ".if %c[parts] > " number "\n\t" \
    ABOARD_DEPTHWISE_PACKED_PART_AT(number, op, weights) \
    ".endif\n\t"

/** All parts: the weights of three parts stay in registers, and those of a fourth if it is the last. */
#define ABOARD_DEPTHWISE_PACKED_PARTS_SUMS \
    ABOARD_DEPTHWISE_PACKED_PART_KEPT("0", "vmladav", "q4") \
    ABOARD_DEPTHWISE_PACKED_PART_KEPT("1", "vmladava", "q5") \
    ABOARD_DEPTHWISE_PACKED_PART_KEPT("2", "vmladava", "q6") \
    ".if %c[parts] == 4\n\t" \
    ABOARD_DEPTHWISE_PACKED_PART_AT("3", "vmladava", "q7") \
    ".endif\n\t" \
    ".if %c[parts] > 4\n\t" \
    ".set aboard_part, 3\n\t" \
    ".rept %c[parts] - 3\n\t" \
    "vldrw.32 q7, [%[record], #16 * aboard_part]\n\t" \
    ABOARD_DEPTHWISE_PACKED_PART_AT("aboard_part", "vmladava", "q7") \
    ".set aboard_part, aboard_part + 1\n\t" \
    ".endr\n\t" \
    ".endif\n\t" \
    "movw %[strip], #8 * %c[step]\n\t" \
    "vadd.i32 q1, q1, %[strip]\n\t"

#define ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS(number, weights) \
    ".if %c[parts] > " number "\n\t" \
    "vldrw.32 " weights ", [%[record], #16 * " number "]\n\t" \
    ".endif\n\t"

/** Instructions of a part. */
#define ABOARD_DEPTHWISE_PACKED_PART_LENGTH 19

/** Windows of several vectors: `parts`, of which `columns` follow each other along; `jump` bytes from one to the next. */
#define ABOARD_DEPTHWISE_PACKED_PARTS_TEXT \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS("0", "q4") \
    ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS("1", "q5") \
    ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS("2", "q6") \
    ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS("3", "q7") \
    ABOARD_DEPTHWISE_PACKED_RESULTS("q2") \
    ABOARD_DEPTHWISE_PACKED_ALL(ABOARD_DEPTHWISE_PACKED_PARTS_SUMS ABOARD_DEPTHWISE_PACKED_PARTS_EPILOGUE, "q2")

/* clang-format on */

#endif
