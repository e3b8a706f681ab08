/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_words.h
 * The instructions of depthwise_packed.h: windows of channels with pixels packed in words, eight results at a time.
 *
 * One statement computes all channels of a block. Operands are in registers with odd numbers, because the even ones
 * hold sums: `strip`, `table`, `record` and `out` are addresses, `left` counts. Between groups
 * of results the registers of sums are free. Literals are `step`, `groups`, `rest`, `skip`, `strip_bytes`,
 * `next_channel` and `next_result` (from the end of a channel to the next), and `shift`, `low` and `high`
 * of the epilogue. All vector registers are used: q1 and q5 for addresses, q2 for the addresses of results or the
 * multiplier, q4 to q7 for weights, q6 for a multiplier, q0 and q3 for words and sums.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_WORDS_H

#include <stdint.h>

#include "packed_epilogue.h"

/** Bytes of a channel's record: the constants of the epilogue, a vector of weights, and a word of 0. */
#define ABOARD_DEPTHWISE_PACKED_RECORD 32

/** Bytes from a record to its weights. */
#define ABOARD_DEPTHWISE_PACKED_WEIGHTS 12

/** Eight copies of a channel's bias; offsets of the eight results of a group, and of the words of a load from its first
 * word; room for the address of a channel's weights, and `last` of aboard_depthwise_packed_begin. */
typedef struct {
    int32_t bias[8];
    uint16_t results[8];
    uint32_t words[4];
    const int8_t *record;
    uint32_t last;
} aboard_depthwise_packed_table_t;

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Addresses of the first words. */
#define ABOARD_DEPTHWISE_PACKED_START \
    "vldrw.32 q1, [%[table], #48]\n\t" \
    "vadd.i32 q1, q1, %[strip]\n\t"

/** Four words, one step after the last ones. */
#define ABOARD_DEPTHWISE_PACKED_LOAD(at) "vldrw.u32 q0, [" at ", %[step]]!\n\t"

/** Adds or subtracts a distance, which is in r0. */
#define ABOARD_DEPTHWISE_PACKED_BY(op, to, distance) \
    "movw r0, #(" distance ") & 0xffff\n\t" \
    ".if (" distance ") >> 16\n\t" \
    "movt r0, #(" distance ") >> 16\n\t" \
    ".endif\n\t" \
    op " " to ", " to ", r0\n\t"

/** Moves an address or a vector of addresses by a signed distance. */
#define ABOARD_DEPTHWISE_PACKED_MOVE(kind, to, distance) \
    ".if (" distance ") > 0\n\t" \
    ABOARD_DEPTHWISE_PACKED_##kind("add", to, "(" distance ")") \
    ".elseif (" distance ") < 0\n\t" \
    ABOARD_DEPTHWISE_PACKED_##kind("sub", to, "-(" distance ")") \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_PACKED_ADDRESSES(op, to, distance) ABOARD_DEPTHWISE_PACKED_BY("v" op ".i32", to, distance)

#define ABOARD_DEPTHWISE_PACKED_ADDRESS(op, to, distance) \
    ".if (" distance ") < 4096\n\t" \
    op "w " to ", " to ", #(" distance ")\n\t" \
    ".else\n\t" \
    ABOARD_DEPTHWISE_PACKED_BY(op, to, distance) \
    ".endif\n\t"

/** Writes a whole group of results. */
#define ABOARD_DEPTHWISE_PACKED_STORED(at) "vstrb.16 q0, [%[out], " at "]\n\t"

/** The predicate of a last group, for all channels: the results that `rest` has. */
#define ABOARD_DEPTHWISE_PACKED_REST \
    ".if %c[rest]\n\t" \
    "movw r0, %[rest]\n\t" \
    "vmsr p0, r0\n\t" \
    ".endif\n\t"

/** Writes the results of a last group. */
#define ABOARD_DEPTHWISE_PACKED_STORED_REST(at) \
    "vpst\n\t" \
    "vstrbt.16 q0, [%[out], " at "]\n\t"

/** `skip` bytes further to the results of the next group. */
#define ABOARD_DEPTHWISE_PACKED_SKIP(skip) \
    "addw %[out], %[out], #(" skip ") & 4095\n\t" \
    ".if (" skip ") & ~4095\n\t" \
    "add %[out], %[out], #(" skip ") & ~4095\n\t" \
    ".endif\n\t"

/** A whole group of results, at the addresses `at`, and on to the next. */
#define ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    group \
    ABOARD_DEPTHWISE_PACKED_STORED(at) \
    ABOARD_DEPTHWISE_PACKED_SKIP(skip)

/** Whole groups in a loop, by `pairs` two at a time. An odd number of groups begins with the second of two. */
#define ABOARD_DEPTHWISE_PACKED_WHOLE(group, at, groups, skip) \
    ".if " groups "\n\t" \
    ".if " groups " > 1\n\t" \
    "mov %[left], #(" groups " + %c[pairs]) >> %c[pairs]\n\t" \
    ".if %c[pairs] && (" groups ") & 1\n\t" \
    "b 3f\n\t" \
    ".endif\n\t" \
    "1:\n\t" \
    ".if %c[pairs]\n\t" \
    ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    "3:\n\t" \
    ".endif\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_GROUP(group, at, skip) \
    ".if " groups " > 1\n\t" \
    "subs %[left], %[left], #1\n\t" \
    "bne 1b\n\t" \
    ".endif\n\t" \
    ".endif\n\t"

/** All groups of a line: whole groups, and a last group whose results are given by `rest`. */
#define ABOARD_DEPTHWISE_PACKED_ALL(group, at) \
    ABOARD_DEPTHWISE_PACKED_WHOLE(group, at, "%c[groups]", "%c[skip]") \
    ".if %c[rest]\n\t" \
    group \
    ABOARD_DEPTHWISE_PACKED_STORED_REST(at) \
    ".endif\n\t"

/** All groups of `passes` lines; `words` moves the addresses of words. */
#define ABOARD_DEPTHWISE_PACKED_LINES(groups, words) \
    ".if %c[passes] > 1\n\t" \
    "movw %[strip], %[passes]\n\t" \
    "2:\n\t" \
    ".endif\n\t" \
    groups \
    ".if %c[passes] > 1\n\t" \
    words("%c[next_strip]") \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESS, "%[out]", "%c[next_out]") \
    "subs %[strip], %[strip], #1\n\t" \
    "bne 2b\n\t" \
    ".endif\n\t"

/** Moves the addresses of words: in q1, and for two strips in q5. */
#define ABOARD_DEPTHWISE_PACKED_Q1(distance) ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESSES, "q1", distance)
#define ABOARD_DEPTHWISE_PACKED_Q1_Q5(distance) \
    ABOARD_DEPTHWISE_PACKED_Q1(distance) \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESSES, "q5", distance)

/** All channels; `weights` of the next one move `record` there. */
#define ABOARD_DEPTHWISE_PACKED_CHANNELS(kind, weights, lines, words) \
    ABOARD_DEPTHWISE_PACKED_##kind##_KEPT \
    "4:\n\t" \
    weights \
    ABOARD_DEPTHWISE_PACKED_##kind##_CONSTANTS \
    lines \
    words("%c[next_channel]") \
    ABOARD_DEPTHWISE_PACKED_MOVE(ADDRESS, "%[out]", "%c[next_result]") \
    ABOARD_DEPTHWISE_PACKED_##kind##_NEXT

/** All channels with windows of one vector. */
#define ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, weights, sums, words) \
    ABOARD_DEPTHWISE_PACKED_REST \
    ABOARD_DEPTHWISE_PACKED_CHANNELS(kind, weights, \
        ABOARD_DEPTHWISE_PACKED_LINES(ABOARD_DEPTHWISE_PACKED_ALL( \
            ABOARD_DEPTHWISE_PACKED_##kind##_BEGIN sums ABOARD_DEPTHWISE_PACKED_##kind##_EPILOGUE, \
            ABOARD_DEPTHWISE_PACKED_##kind##_AT), words), words)

/** Weights for two lines. */
#define ABOARD_DEPTHWISE_PACKED_FOUR_WEIGHTS \
    ABOARD_DEPTHWISE_PACKED_TWO_WEIGHTS \
    "vshl.i32 q6, q4, #8\n\t" \
    "vshl.i32 q7, q5, #8\n\t"

#define ABOARD_DEPTHWISE_PACKED_FOUR_SUMS(kind) \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r0", "q4") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r2", "q5") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r8", "q6") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r10", "q7") \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r4", "q4") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r6", "q5") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("r12", "q6") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM("lr", "q7")

#define ABOARD_DEPTHWISE_PACKED_FOUR_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, ABOARD_DEPTHWISE_PACKED_FOUR_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_FOUR_SUMS(kind), ABOARD_DEPTHWISE_PACKED_Q1)

#define ABOARD_DEPTHWISE_PACKED_TWO_WEIGHTS \
    "vldrw.32 q5, [%[record], #32]!\n\t" \
    "vldrw.32 q4, [%[record], #4]\n\t"

#define ABOARD_DEPTHWISE_PACKED_TWO_SUMS(kind, first, second) \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(first, "q4") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(second, "q5")

/** Eight results of one line. */
#define ABOARD_DEPTHWISE_PACKED_TWO_ALL(kind) \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS(kind, "r0", "r2") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS(kind, "r4", "r6") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS(kind, "r8", "r10") \
    ABOARD_DEPTHWISE_PACKED_TWO_SUMS(kind, "r12", "lr")

#define ABOARD_DEPTHWISE_PACKED_TWO_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, ABOARD_DEPTHWISE_PACKED_TWO_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_TWO_ALL(kind), ABOARD_DEPTHWISE_PACKED_Q1)

#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS_WEIGHTS \
    "vldrw.32 q7, [%[record], #32]!\n\t" \
    "vldrb.8 q6, [%[record], #1]\n\t" \
    "vldrb.8 q5, [%[record], #2]\n\t" \
    "vldrb.8 q4, [%[record], #3]\n\t"

#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS_SUMS(kind, first, second, third, fourth) \
    ABOARD_DEPTHWISE_PACKED_LOAD("q1") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(first, "q4") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(second, "q5") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(third, "q6") \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(fourth, "q7")

#define ABOARD_DEPTHWISE_PACKED_ONE_AXIS_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, ABOARD_DEPTHWISE_PACKED_ONE_AXIS_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_ONE_AXIS_SUMS(kind, "r0", "r2", "r4", "r6") \
        ABOARD_DEPTHWISE_PACKED_ONE_AXIS_SUMS(kind, "r8", "r10", "r12", "lr"), ABOARD_DEPTHWISE_PACKED_Q1)

#define ABOARD_DEPTHWISE_PACKED_ONE_WEIGHTS "vldrw.32 q4, [%[record], #32]!\n\t"

#define ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, at, sum) \
    ABOARD_DEPTHWISE_PACKED_LOAD(at) \
    ABOARD_DEPTHWISE_PACKED_##kind##_SUM(sum, "q4")

#define ABOARD_DEPTHWISE_PACKED_ONE_SUMS(kind, second) \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, "q1", "r0") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, "q1", "r2") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, "q1", "r4") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, "q1", "r6") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, second, "r8") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, second, "r10") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, second, "r12") \
    ABOARD_DEPTHWISE_PACKED_ONE_SUM(kind, second, "lr")

/** For two strips, the second stored after the first. */
#define ABOARD_DEPTHWISE_PACKED_PAIR_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    "movw %[left], %[strip_bytes]\n\t" \
    "vadd.i32 q5, q1, %[left]\n\t" \
    ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, ABOARD_DEPTHWISE_PACKED_ONE_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_ONE_SUMS(kind, "q5"), ABOARD_DEPTHWISE_PACKED_Q1_Q5)

#define ABOARD_DEPTHWISE_PACKED_ONE_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_WINDOWS(kind, ABOARD_DEPTHWISE_PACKED_ONE_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_ONE_SUMS(kind, "q1"), ABOARD_DEPTHWISE_PACKED_Q1)

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

#define ABOARD_DEPTHWISE_PACKED_PARTS_VECTOR(number, weights) \
    ".if %c[parts] > " number "\n\t" \
    "vldrw.32 " weights ", [%[record], #16 * " number "]\n\t" \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS \
    "vldrw.32 q4, [%[record], #16 * %c[parts] + 16]!\n\t" \
    ABOARD_DEPTHWISE_PACKED_PARTS_VECTOR("1", "q5") \
    ABOARD_DEPTHWISE_PACKED_PARTS_VECTOR("2", "q6") \
    ABOARD_DEPTHWISE_PACKED_PARTS_VECTOR("3", "q7")

/** Instructions of a part. */
#define ABOARD_DEPTHWISE_PACKED_PART_LENGTH 19

/** Windows of several vectors: `parts`, of which `columns` follow each other along; `jump` bytes from one to the next. */
#define ABOARD_DEPTHWISE_PACKED_PARTS_TEXT(kind) \
    ABOARD_DEPTHWISE_PACKED_START \
    ABOARD_DEPTHWISE_PACKED_REST \
    ABOARD_DEPTHWISE_PACKED_CHANNELS(kind, ABOARD_DEPTHWISE_PACKED_PARTS_WEIGHTS, \
        ABOARD_DEPTHWISE_PACKED_ALL(ABOARD_DEPTHWISE_PACKED_PARTS_SUMS ABOARD_DEPTHWISE_PACKED_##kind##_EPILOGUE, "q2"), \
        ABOARD_DEPTHWISE_PACKED_Q1)

/* clang-format on */

#endif
