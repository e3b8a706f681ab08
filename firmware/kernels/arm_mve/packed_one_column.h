/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_one_column.h
 * Columns of depthwise_packed.h: all groups of results of a channel one after the other, without a loop.
 *
 * Four sums are moved to a vector before the next four begin. Four registers of sums are therefore enough: of the other
 * even ones three hold the constants of a channel, and lr counts channels. Each group of results has an address of its
 * own, and all advance together to the next channel: 1 is added to the vector of their offsets.
 *
 * All registers are named, because more than five values live in odd ones. Those that a build may reserve are saved and
 * restored: r7 and r11 may be its frame pointer, and r9 the base of its data.
 * - r1 is the address of the weights before those of a channel.
 * - r11 has the zero point of the result in its lower half, and the number of further channels in its upper half.
 * - r9, r5, r3 and r7 are the addresses of up to four groups of results. With fewer groups r7 is 1.
 * - r9 and r11 begin in r0 and r2. r3 and r5 begin as the addresses of the pixels and of the strip, which the stack
 *   keeps for the blocks of channels.
 * - r8, r10 and r12 are the constants of a channel, r0, r2, r4 and r6 sums.
 * - q1 has the addresses of words, q2 the offsets of results, q4 to q7 weights, or pixels that are packed.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_ONE_COLUMN_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_ONE_COLUMN_H

#include <stdint.h>

#include "aboard/config.h"
#include "helium.h"
#include "length.h"
#include "packed_layer.h"
#include "packed_one_column_pack.h"
#include "packed_words.h"
#include "sums.h"

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** The address of the results of group `number`. */
#define ABOARD_ONE_COLUMN_RESULTS(to, number) \
    ".if %c[all] > " number "\n\t" \
    ".if " number " * %c[skip] < 4096\n\t" \
    "addw " to ", r9, #" number " * %c[skip]\n\t" \
    ".else\n\t" \
    ABOARD_ONE_COLUMN_LITERAL(to, number " * %c[skip]") \
    "add " to ", " to ", r9\n\t" \
    ".endif\n\t" \
    ".endif\n\t"

/** Addresses of words, and offsets and addresses of results. The lower halves of q2 are for the results 0 to 3 of a
 * group, the upper ones for 4 to 7: a word is its number times `pixel` in both halves, and 4 * `pixel` in the upper. */
#define ABOARD_ONE_COLUMN_START \
    "push {r3, r5, r7, r9, r11}\n\t" \
    "mov r9, r0\n\t" \
    "mov r11, r2\n\t" \
    "movs r0, #0\n\t" \
    "vidup.u32 q2, r0, #1\n\t" \
    "vshl.i32 q1, q2, #4 + %c[block] / 8\n\t" \
    "sub r2, r5, %[next_channel]\n\t" \
    "vadd.i32 q1, q1, r2\n\t" \
    ABOARD_ONE_COLUMN_LITERAL("r2", "%c[pixel] * 65537") \
    "lsl r4, r2, #18\n\t" \
    "vmul.i32 q2, q2, r2\n\t" \
    "vadd.i32 q2, q2, r4\n\t" \
    ABOARD_ONE_COLUMN_RESULTS("r5", "1") \
    ABOARD_ONE_COLUMN_RESULTS("r3", "2") \
    ABOARD_ONE_COLUMN_RESULTS("r7", "3") \
    ".if %c[all] < 4\n\t" \
    "movs r7, #1\n\t" \
    ".endif\n\t" \
    ".if %c[last] == 0\n\t" \
    ABOARD_DEPTHWISE_PACKED_REST \
    ".endif\n\t"

#define ABOARD_ONE_COLUMN_END "pop {r3, r5, r7, r9, r11}"

/** Stores a group after its loads. */
#define ABOARD_ONE_COLUMN_STORE_AT(t, at) "vstrb" t ".16 q0, [" at ", q2]\n\t"
#define ABOARD_ONE_COLUMN_STORE(t) \
    ".if aboard_load <= 2\n\t" \
    ABOARD_ONE_COLUMN_STORE_AT(t, "r9") \
    ".elseif aboard_load <= 4\n\t" \
    ABOARD_ONE_COLUMN_STORE_AT(t, "r5") \
    ".elseif aboard_load <= 6\n\t" \
    ABOARD_ONE_COLUMN_STORE_AT(t, "r3") \
    ".else\n\t" \
    ABOARD_ONE_COLUMN_STORE_AT(t, "r7") \
    ".endif\n\t"

/** Four sums, of the words of the next channel, or as far from its first words as loads of the channel before. */
#define ABOARD_ONE_COLUMN_SUMS \
    ".if aboard_load\n\t" \
    "vldrw.u32 q0, [q1, #4 * %c[block] * aboard_load]\n\t" \
    ".else\n\t" \
    "vldrw.u32 q0, [q1, %[next_channel]]!\n\t" \
    ".endif\n\t" \
    ".set aboard_load, aboard_load + 1\n\t" \
    "vmladav.s8 r0, q0, q4\n\t" \
    "vmladav.s8 r2, q0, q5\n\t" \
    "vmladav.s8 r4, q0, q6\n\t" \
    "vmladav.s8 r6, q0, q7\n\t"

/** Of eight sums, or of four alone: what the first four need beside. */
#define ABOARD_ONE_COLUMN_BOTH(first) first
#define ABOARD_ONE_COLUMN_ALONE(first)

/** The second rounding, as in packed_epilogue.h, and the zero point; or the constant of a single rounding. To 16 bits:
 * the first four results in the lower halves of words. */
#define ABOARD_ONE_COLUMN_ROUNDED(with, first) \
    ".if %c[single]\n\t" \
    with("vadd.i32 q3, q3, r12\n\t") \
    "vadd.i32 q0, q0, r12\n\t" \
    with("vqrshrnt.s32 q0, q0, %[shift]\n\t") \
    "vqrshrnb.s32 q0, " first ", %[shift]\n\t" \
    ".else\n\t" \
    ".if %c[products]\n\t" \
    with("vqrdmulh.s32 q3, q3, r12\n\t") \
    "vqrdmulh.s32 q0, q0, r12\n\t" \
    ".elseif %c[wide]\n\t" \
    "ubfx r0, r12, #7, #1\n\t" \
    with(ABOARD_DEPTHWISE_PACKED_AWAY("q3", "r0", "r12")) \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0", "r0", "r12") \
    ".else\n\t" \
    with(ABOARD_DEPTHWISE_PACKED_AWAY("q3", "r12", "r12")) \
    ABOARD_DEPTHWISE_PACKED_AWAY("q0", "r12", "r12") \
    ".endif\n\t" \
    with("vqmovnt.s32 q0, q0\n\t") \
    "vqmovnb.s32 q0, " first "\n\t" \
    "vqadd.s16 q0, q0, r11\n\t" \
    ".endif\n\t"

/** Eight results: the first four in q3, the others in q0. Instructions of both alternate, because some take long. */
#define ABOARD_ONE_COLUMN_EIGHT \
    ABOARD_ONE_COLUMN_SUMS \
    "vmov q3[2], q3[0], r0, r4\n\t" \
    "vmov q3[3], q3[1], r2, r6\n\t" \
    ABOARD_ONE_COLUMN_SUMS \
    "vadd.i32 q3, q3, r8\n\t" \
    "vmov q0[2], q0[0], r0, r4\n\t" \
    "vqrdmulh.s32 q3, q3, r10\n\t" \
    "vmov q0[3], q0[1], r2, r6\n\t" \
    "vadd.i32 q0, q0, r8\n\t" \
    "vqrdmulh.s32 q0, q0, r10\n\t" \
    ABOARD_ONE_COLUMN_ROUNDED(ABOARD_ONE_COLUMN_BOTH, "q3") \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** Four results in q0. */
#define ABOARD_ONE_COLUMN_HALF \
    ABOARD_ONE_COLUMN_SUMS \
    "vmov q0[2], q0[0], r0, r4\n\t" \
    "vmov q0[3], q0[1], r2, r6\n\t" \
    "vadd.i32 q0, q0, r8\n\t" \
    "vqrdmulh.s32 q0, q0, r10\n\t" \
    ABOARD_ONE_COLUMN_ROUNDED(ABOARD_ONE_COLUMN_ALONE, "q0") \
    ABOARD_DEPTHWISE_PACKED_NARROW

/** As many channels as lr says; `results` - 4 * aboard_load are left to the last group. */
#define ABOARD_ONE_COLUMN_CHANNELS \
    "4:\n\t" \
    "vldrw.32 q7, [r1, #32]!\n\t" \
    "vldrb.8 q6, [r1, #1]\n\t" \
    "vldrb.8 q5, [r1, #2]\n\t" \
    "vldrb.8 q4, [r1, #3]\n\t" \
    "ldmdb r1, {r8, r10, r12}\n\t" \
    ".set aboard_load, 0\n\t" \
    ".rept %c[groups]\n\t" \
    ABOARD_ONE_COLUMN_EIGHT \
    ABOARD_ONE_COLUMN_STORE("") \
    ".endr\n\t" \
    ".if %c[rest]\n\t" \
    ".if %c[results] - 4 * aboard_load > 4\n\t" \
    ABOARD_ONE_COLUMN_EIGHT \
    ".else\n\t" \
    ABOARD_ONE_COLUMN_HALF \
    ".endif\n\t" \
    "vpst\n\t" \
    ABOARD_ONE_COLUMN_STORE("t") \
    ".endif\n\t" \
    ".if %c[all] < 4\n\t" \
    "vadd.i16 q2, q2, r7\n\t" \
    ".else\n\t" \
    "movs r0, #1\n\t" \
    "vadd.i16 q2, q2, r0\n\t" \
    ".endif\n\t" \
    "le lr, 4b\n\t"

/** Channels whose pixels are packed. */
#define ABOARD_ONE_COLUMN_PACKED_TEXT \
    ABOARD_ONE_COLUMN_START \
    "lsr r2, r11, #16\n\t" \
    "adds r2, #1\n\t" \
    "dls lr, r2\n\t" \
    ABOARD_ONE_COLUMN_CHANNELS \
    ABOARD_ONE_COLUMN_END

/** All `blocks` of sixteen or four channels, with their packing; `last` channels in the last block if it is not whole. */
#define ABOARD_ONE_COLUMN_BLOCKS_TEXT \
    ABOARD_ONE_COLUMN_START \
    "5:\n\t" \
    ".if %c[last]\n\t" \
    "lsr r2, r11, #16\n\t" \
    "adds r2, #1\n\t" \
    ".endif\n\t" \
    ".if %c[block] < 16\n\t" \
    ABOARD_ONE_COLUMN_PACK_FEW \
    ".else\n\t" \
    ABOARD_ONE_COLUMN_PACK \
    ".endif\n\t" \
    ".if %c[last]\n\t" \
    ".if %c[blocks] > 1\n\t" \
    "cmp r2, #16\n\t" \
    "it hi\n\t" \
    "movhi r2, #16\n\t" \
    ".endif\n\t" \
    ABOARD_DEPTHWISE_PACKED_REST \
    ".else\n\t" \
    "movs r2, %[block]\n\t" \
    ".endif\n\t" \
    "dls lr, r2\n\t" \
    ABOARD_ONE_COLUMN_CHANNELS \
    ".if %c[blocks] > 1\n\t" \
    "movs r0, #4 * %c[block]\n\t" \
    "vsub.i32 q1, q1, r0\n\t" \
    "subs r11, r11, #%c[block] << 16\n\t" \
    "bhs 5b\n\t" \
    ".endif\n\t" \
    ABOARD_ONE_COLUMN_END

/** Instructions of a group. */
#define ABOARD_ONE_COLUMN_LENGTH 34

/** One of the texts for the register variables of aboard_depthwise_packed_one_column. */
#define ABOARD_ONE_COLUMN_RUN(text, length) \
    __asm__ volatile(text length \
                     : "+&r"(record_at), "+&r"(x_at), "+&r"(out_at), "+&r"(count) \
                     : "r"(strip_at), \
                       [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift), \
                       [low] "i"(p->epilogue.low), [high] "i"(p->epilogue.high), [wide] "i"(p->wide), \
                       [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), \
                       [next_channel] "i"(aboard_depthwise_packed_word(p)), \
                       [pixel] "i"(p->along.out_stride), [skip] "i"(8 * p->along.out_stride), \
                       [results] "i"(p->along.outputs), [groups] "i"(p->along.outputs / 8), [all] "i"(all), \
                       [rest] "i"(aboard_depthwise_packed_first(1, p->along.outputs % 8)), \
                       [apart] "i"(p->along.in_stride), \
                       [words] "i"(p->along.inputs / 4), [bytes] "i"(p->along.inputs % 4), \
                       [blocks] "i"(blocks), [last] "i"(last), [block] "i"(p->words) \
                     : "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", \
                       ABOARD_MVE_PREDICATE "cc", "memory")

#define ABOARD_ONE_COLUMN_RUN_PACKED(length) ABOARD_ONE_COLUMN_RUN(ABOARD_ONE_COLUMN_PACKED_TEXT, length)
#define ABOARD_ONE_COLUMN_RUN_BLOCKS(length) ABOARD_ONE_COLUMN_RUN(ABOARD_ONE_COLUMN_BLOCKS_TEXT, length)

/* clang-format on */

/**
 * Computes channels of a column.
 *
 * @param p        Parameters.
 * @param packs    1: packs the pixels of all blocks of channels; 0: the pixels of these channels are packed.
 * @param channels Number of channels.
 * @param x        The first pixel, if `packs`.
 * @param strip    Room for the words of a block, or its words.
 * @param record   Record of the first channel.
 * @param out      First result.
 */
ABOARD_INLINE void aboard_depthwise_packed_one_column(const aboard_depthwise_packed_mve_t *p, int32_t packs,
                                                      int32_t channels, const int8_t *x, const int8_t *strip,
                                                      const int8_t *record, int8_t *out) {
    const int32_t all = (p->along.outputs + 7) / 8;
    const int32_t blocks = packs ? (p->channels + p->words - 1) / p->words : 1;
    const int32_t last = packs ? p->channels % p->words : 0;
    /* Loads add the bytes of a record before they read; before the first record there is no object to point to. */
    const uintptr_t before = (uintptr_t)record + ABOARD_DEPTHWISE_PACKED_WEIGHTS - ABOARD_DEPTHWISE_PACKED_RECORD;
    const uint32_t further = (uint32_t)(channels - 1) << 16 | (uint16_t)p->epilogue.zero_point;
    register uintptr_t record_at __asm__("r1") = before;
    register const int8_t *x_at __asm__("r3") = x;
    register const int8_t *strip_at __asm__("r5") = strip;
    register int8_t *out_at __asm__("r0") = out;
    register uint32_t count __asm__("r2") = further;
    if (packs) {
        ABOARD_MVE_SIZED(ABOARD_ONE_COLUMN_LENGTH * (all - 1), ABOARD_ONE_COLUMN_RUN_BLOCKS);
    } else {
        ABOARD_MVE_SIZED(ABOARD_ONE_COLUMN_LENGTH * (all - 1), ABOARD_ONE_COLUMN_RUN_PACKED);
    }
}

#endif

#endif
