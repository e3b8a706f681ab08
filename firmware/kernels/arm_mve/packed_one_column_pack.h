/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_one_column_pack.h
 * The packing of packed_one_column.h, which names the registers: pixels of a block of channels, four to a word.
 *
 * Sixteen channels are loaded pixel by pixel. Four channels, for less scratch, are loaded as every fourth of sixteen
 * pixels: of at least thirteen, the last sixteen first, then those before, so that no load passes the last pixel.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_ONE_COLUMN_PACK_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_ONE_COLUMN_PACK_H

#include "helium.h"
#include "packed_words.h"

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** A literal of 32 bits. */
#define ABOARD_ONE_COLUMN_LITERAL(to, value) \
    "movw " to ", #(" value ") & 0xffff\n\t" \
    ".if (" value ") >> 16\n\t" \
    "movt " to ", #(" value ") >> 16\n\t" \
    ".endif\n\t"

/** Loads a pixel; if channels are no whole blocks, those that are left. */
#define ABOARD_ONE_COLUMN_PIXEL(vector) \
    ".if %c[last]\n\t" \
    "vpst\n\t" \
    "vldrwt.u32 " vector ", [r4], %[apart]\n\t" \
    ".else\n\t" \
    "vldrw.u32 " vector ", [r4], %[apart]\n\t" \
    ".endif\n\t"

#define ABOARD_ONE_COLUMN_FOUR_PIXELS(t) \
    "vldrw" t ".u32 q4, [r4], %[apart]\n\t" \
    "vldrw" t ".u32 q5, [r4], %[apart]\n\t" \
    "vldrw" t ".u32 q6, [r4], %[apart]\n\t" \
    "vldrw" t ".u32 q7, [r4], %[apart]\n\t"

#define ABOARD_ONE_COLUMN_WORDS \
    "vst40.8 {q4, q5, q6, q7}, [r6]\n\t" \
    "vst41.8 {q4, q5, q6, q7}, [r6]\n\t" \
    "vst42.8 {q4, q5, q6, q7}, [r6]\n\t" \
    "vst43.8 {q4, q5, q6, q7}, [r6]!\n\t"

/** The first of the last sixteen pixels, if the last word is filled up. */
#define ABOARD_ONE_COLUMN_FROM "(4 * %c[words] + (%c[bytes] + 3) / 4 * 4 - 16)"

/** Loads every fourth pixel of four channels, from pixel `number` of a group of sixteen on; behind the last pixel none. */
#define ABOARD_ONE_COLUMN_EVERY_FOURTH(vector, at, number) \
    ".if %c[bytes] && %c[bytes] <= " number "\n\t" \
    "vpst\n\t" \
    "vldrwt.u32 " vector ", [" at ", q0]\n\t" \
    ".else\n\t" \
    "vldrw.u32 " vector ", [" at ", q0]\n\t" \
    ".endif\n\t"

/** Packs the last sixteen pixels of four channels; r2 is the distance of pixels, q0 are the offsets of every fourth. */
#define ABOARD_ONE_COLUMN_LAST_PIXELS \
    ABOARD_ONE_COLUMN_LITERAL("r0", ABOARD_ONE_COLUMN_FROM " * %c[apart]") \
    "add r0, r0, r4\n\t" \
    ".if %c[bytes]\n\t" \
    "movs r8, #3\n\t" \
    "vctp.32 r8\n\t" \
    ".endif\n\t" \
    "vldrw.u32 q4, [r0, q0]\n\t" \
    "add r0, r0, r2\n\t" \
    ABOARD_ONE_COLUMN_EVERY_FOURTH("q5", "r0", "1") \
    "add r0, r0, r2\n\t" \
    ABOARD_ONE_COLUMN_EVERY_FOURTH("q6", "r0", "2") \
    "add r0, r0, r2\n\t" \
    ABOARD_ONE_COLUMN_EVERY_FOURTH("q7", "r0", "3") \
    "add r8, r6, #4 * " ABOARD_ONE_COLUMN_FROM "\n\t" \
    "vst40.8 {q4, q5, q6, q7}, [r8]\n\t" \
    "vst41.8 {q4, q5, q6, q7}, [r8]\n\t" \
    "vst42.8 {q4, q5, q6, q7}, [r8]\n\t" \
    "vst43.8 {q4, q5, q6, q7}, [r8]\n\t" \
    ".if %c[bytes]\n\t" \
    ABOARD_DEPTHWISE_PACKED_REST \
    ".endif\n\t"

/** Packs the pixels of a block of four channels, sixteen to four words of each: the last sixteen, then those before. */
#define ABOARD_ONE_COLUMN_PACK_FEW \
    "ldrd r4, r6, [sp]\n\t" \
    "adds r0, r4, #4\n\t" \
    "str r0, [sp]\n\t" \
    "movw r2, %[apart]\n\t" \
    "movs r0, #0\n\t" \
    "vidup.u32 q0, r0, #4\n\t" \
    "vmul.i32 q0, q0, r2\n\t" \
    ABOARD_ONE_COLUMN_LAST_PIXELS \
    ".if " ABOARD_ONE_COLUMN_FROM " > 0\n\t" \
    "movs r0, #(" ABOARD_ONE_COLUMN_FROM " + 15) / 16\n\t" \
    "dls lr, r0\n\t" \
    "1:\n\t" \
    "vldrw.u32 q4, [r4, q0]\n\t" \
    "add r0, r4, r2\n\t" \
    "vldrw.u32 q5, [r0, q0]\n\t" \
    "add r0, r0, r2\n\t" \
    "vldrw.u32 q6, [r0, q0]\n\t" \
    "add r0, r0, r2\n\t" \
    "vldrw.u32 q7, [r0, q0]\n\t" \
    "add r4, r4, r2, lsl #4\n\t" \
    ABOARD_ONE_COLUMN_WORDS \
    "le lr, 1b\n\t" \
    ".endif\n\t"

/** Packs the pixels of a block of channels, four to a word. */
#define ABOARD_ONE_COLUMN_PACK \
    "ldrd r4, r6, [sp]\n\t" \
    ".if %c[blocks] > 1\n\t" \
    "add r0, r4, #16\n\t" \
    "str r0, [sp]\n\t" \
    ".endif\n\t" \
    ".if %c[last]\n\t" \
    "vctp.8 r2\n\t" \
    ".endif\n\t" \
    ".if %c[words]\n\t" \
    "movw lr, %[words]\n\t" \
    "dls lr, lr\n\t" \
    "1:\n\t" \
    ".if %c[last]\n\t" \
    "vpstttt\n\t" \
    ABOARD_ONE_COLUMN_FOUR_PIXELS("t") \
    ".else\n\t" \
    ABOARD_ONE_COLUMN_FOUR_PIXELS("") \
    ".endif\n\t" \
    ABOARD_ONE_COLUMN_WORDS \
    "le lr, 1b\n\t" \
    ".endif\n\t" \
    ".if %c[bytes]\n\t" \
    ABOARD_ONE_COLUMN_PIXEL("q4") \
    ".if %c[bytes] > 1\n\t" \
    ABOARD_ONE_COLUMN_PIXEL("q5") \
    ".endif\n\t" \
    ".if %c[bytes] > 2\n\t" \
    ABOARD_ONE_COLUMN_PIXEL("q6") \
    ".endif\n\t" \
    ABOARD_ONE_COLUMN_WORDS \
    ".endif\n\t"

/* clang-format on */

#endif

#endif
