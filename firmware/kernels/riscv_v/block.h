/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file riscv_v/block.h
 * Blocks of sixteen channels with the vector extension of RISC-V (Zve32x, vectors of 128 bits or more): sums of
 * products of int8 in 32 bits, and results of int8. host/aboard/kernels/riscv_v/block.py packs weights and constants.
 *
 * Channels are the lanes of a vector. A weight of sixteen channels is widened to int16 once and multiplied with the
 * input of up to four pixels. Inputs are read where they lie: a table has the place of each pixel's window row by row,
 * tap by tap, and places outside the image are those of a pixel of padding.
 *
 * The assembly names all registers itself, so that it needs no compiler that knows vectors. It uses no register that a
 * function must keep. An equal function in C documents the computation, and serves other compilers.
 */
#ifndef ABOARD_KERNELS_RISCV_V_BLOCK_H
#define ABOARD_KERNELS_RISCV_V_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_RISCV_V_ASM
#if defined(__riscv) && __riscv_xlen == 32 && defined(__GNUC__)
#define ABOARD_RISCV_V_ASM 1
#else
#define ABOARD_RISCV_V_ASM 0
#endif
#endif

/** Channels of a block. */
#define ABOARD_RISCV_V_BLOCK 16
/** Pixels that are computed at once, at most. */
#define ABOARD_RISCV_V_PIXELS 4
/** Right shift of the single rounding; the same for every layer, because it is part of the instruction. */
#define ABOARD_RISCV_V_SINGLE_SHIFT 4

/** Place of a pixel: its address in assembly; in C its distance from the input, so that a place has 32 bits anywhere.
 */
typedef int32_t aboard_riscv_v_place_t;
/** Place of padding in C. */
#define ABOARD_RISCV_V_PADDING INT32_MIN

/** A block of channels of up to four pixels; the assembly depends on the order of fields. */
typedef struct {
    const aboard_riscv_v_place_t *places; /**< Four for each position of a window. */
    int32_t positions;                    /**< Positions of a window, at least 1. */
    int32_t
        depth; /**< Convolution: channels at a position, at least 1. Depthwise: offset of the block's first channel. */
    const int8_t *weights; /**< Sixteen channels for each tap. */
    const int32_t
        *constants;   /**< Of sixteen channels each: starts of sums, factors, addends; shifts (double rounding). */
    int32_t channels; /**< Channels of the block, 1 to 16. */
    int32_t low;      /**< Smallest result. */
    int32_t high;     /**< Largest result. */
    int8_t *y[ABOARD_RISCV_V_PIXELS]; /**< Results; pixels may be the same. */
    const int8_t *in;                 /**< C only: the input that places count from. */
    const int8_t *padding;            /**< C only: a pixel of padding. */
} aboard_riscv_v_job_t;

#if ABOARD_RISCV_V_ASM

/** The place of a pixel, or of padding if `pixel` is NULL. */
ABOARD_INLINE aboard_riscv_v_place_t aboard_riscv_v_place(const int8_t *in ABOARD_UNUSED, const int8_t *pixel,
                                                          const int8_t *padding) {
    return (aboard_riscv_v_place_t)(uintptr_t)(pixel == NULL ? padding : pixel);
}

/* clang-format off */
/** Registers: a0 job, a1 weights, a2 places, a3 positions left, a4 depth, a5 channels, t5 constants; v8, v12, v16 and v20
 * sums of the four pixels. Elements have 32 bits in four registers and 16 bits in two. */
#define ABOARD_RISCV_V_HEAD                                            \
    ".option push\n .option arch, +zve32x\n"                           \
    "lw a2, 0(a0)\n lw a3, 4(a0)\n lw a4, 8(a0)\n lw a1, 12(a0)\n"     \
    "lw t5, 16(a0)\n lw a5, 20(a0)\n"                                  \
    "vsetvli zero, a5, e32, m4, ta, ma\n"                              \
    "vle32.v v8, (t5)\n"

#define ABOARD_RISCV_V_WIDE "vsetvli zero, a5, e16, m2, ta, ma\n"

/** Starts of the sums of the other three pixels. */
#define ABOARD_RISCV_V_FOUR_STARTS "vmv.v.v v12, v8\n vmv.v.v v16, v8\n vmv.v.v v20, v8\n"

/** The weights of a tap, widened, in v4. */
#define ABOARD_RISCV_V_WEIGHTS "vle8.v v2, (a1)\n addi a1, a1, 16\n vsext.vf2 v4, v2\n"

/** Products of one tap of four pixels at a6, a7, t4 and t6. */
#define ABOARD_RISCV_V_TAP4(at)                                        \
    ABOARD_RISCV_V_WEIGHTS                                             \
    "lb t0, " at "(a6)\n lb t1, " at "(a7)\n"                          \
    "lb t2, " at "(t4)\n lb t3, " at "(t6)\n"                          \
    "vwmacc.vx v8, t0, v4\n vwmacc.vx v12, t1, v4\n"                   \
    "vwmacc.vx v16, t2, v4\n vwmacc.vx v20, t3, v4\n"

/** Sums of four pixels: position by position, four taps an iteration and one by one. */
#define ABOARD_RISCV_V_SUMS4                                           \
    ABOARD_RISCV_V_FOUR_STARTS                                         \
    ABOARD_RISCV_V_WIDE                                                \
    "1:\n"                                                             \
    "lw a6, 0(a2)\n lw a7, 4(a2)\n lw t4, 8(a2)\n lw t6, 12(a2)\n"     \
    "addi a2, a2, 16\n"                                                \
    "srli t5, a4, 2\n"                                                 \
    "beqz t5, 3f\n"                                                    \
    "2:\n"                                                             \
    ABOARD_RISCV_V_TAP4("0") ABOARD_RISCV_V_TAP4("1")                  \
    ABOARD_RISCV_V_TAP4("2") ABOARD_RISCV_V_TAP4("3")                  \
    "addi a6, a6, 4\n addi a7, a7, 4\n addi t4, t4, 4\n addi t6, t6, 4\n" \
    "addi t5, t5, -1\n"                                                \
    "bnez t5, 2b\n"                                                    \
    "3:\n"                                                             \
    "andi t5, a4, 3\n"                                                 \
    "beqz t5, 5f\n"                                                    \
    "4:\n"                                                             \
    ABOARD_RISCV_V_TAP4("0")                                           \
    "addi a6, a6, 1\n addi a7, a7, 1\n addi t4, t4, 1\n addi t6, t6, 1\n" \
    "addi t5, t5, -1\n"                                                \
    "bnez t5, 4b\n"                                                    \
    "5:\n"                                                             \
    "addi a3, a3, -1\n"                                                \
    "bnez a3, 1b\n"

/** Products of one tap of the pixel at a6. */
#define ABOARD_RISCV_V_TAP1(at)                                        \
    ABOARD_RISCV_V_WEIGHTS                                             \
    "lb t0, " at "(a6)\n"                                              \
    "vwmacc.vx v8, t0, v4\n"

/** Sums of one pixel. */
#define ABOARD_RISCV_V_SUMS1                                           \
    ABOARD_RISCV_V_WIDE                                                \
    "1:\n"                                                             \
    "lw a6, 0(a2)\n"                                                   \
    "addi a2, a2, 16\n"                                                \
    "srli t5, a4, 2\n"                                                 \
    "beqz t5, 3f\n"                                                    \
    "2:\n"                                                             \
    ABOARD_RISCV_V_TAP1("0") ABOARD_RISCV_V_TAP1("1")                  \
    ABOARD_RISCV_V_TAP1("2") ABOARD_RISCV_V_TAP1("3")                  \
    "addi a6, a6, 4\n"                                                 \
    "addi t5, t5, -1\n"                                                \
    "bnez t5, 2b\n"                                                    \
    "3:\n"                                                             \
    "andi t5, a4, 3\n"                                                 \
    "beqz t5, 5f\n"                                                    \
    "4:\n"                                                             \
    ABOARD_RISCV_V_TAP1("0")                                           \
    "addi a6, a6, 1\n"                                                 \
    "addi t5, t5, -1\n"                                                \
    "bnez t5, 4b\n"                                                    \
    "5:\n"                                                             \
    "addi a3, a3, -1\n"                                                \
    "bnez a3, 1b\n"

/** Products of a position's channels of one pixel, whose place is in the table at `at`. */
#define ABOARD_RISCV_V_LANES(at, sums)                                 \
    "lw t0, " at "(a2)\n add t0, t0, a4\n"                             \
    "vle8.v v2, (t0)\n vsext.vf2 v6, v2\n"                             \
    "vwmacc.vv " sums ", v6, v4\n"

/** Sums of the channels of four pixels, each by weights of its own. */
#define ABOARD_RISCV_V_SUMS_EACH                                       \
    ABOARD_RISCV_V_FOUR_STARTS                                         \
    ABOARD_RISCV_V_WIDE                                                \
    "1:\n"                                                             \
    ABOARD_RISCV_V_WEIGHTS                                             \
    ABOARD_RISCV_V_LANES("0", "v8") ABOARD_RISCV_V_LANES("4", "v12")   \
    ABOARD_RISCV_V_LANES("8", "v16") ABOARD_RISCV_V_LANES("12", "v20") \
    "addi a2, a2, 16\n"                                                \
    "addi a3, a3, -1\n"                                                \
    "bnez a3, 1b\n"

/** Constants of the epilogue: t5 their address, v24 factors, v28 addends, v4 shifts; t0 and t1 the limits. */
#define ABOARD_RISCV_V_CONSTANTS                                       \
    "lw t5, 16(a0)\n lw t0, 24(a0)\n lw t1, 28(a0)\n"                  \
    "vsetvli zero, a5, e32, m4, ta, ma\n"                              \
    "addi t5, t5, 64\n vle32.v v24, (t5)\n"                            \
    "addi t5, t5, 64\n vle32.v v28, (t5)\n"

#define ABOARD_RISCV_V_SHIFTS "addi t2, t5, 64\n vle32.v v4, (t2)\n"

/** Scaled sums by a single rounding. */
#define ABOARD_RISCV_V_SINGLE(x)                                       \
    "vmulh.vv " x ", " x ", v24\n"                                     \
    "vadd.vv " x ", " x ", v28\n"                                      \
    "vsra.vi " x ", " x ", 4\n"

/** Scaled sums by a double rounding: the factor is twice the multiplier less 2^32. */
#define ABOARD_RISCV_V_DOUBLE(x)                                       \
    "vsra.vi v0, " x ", 31\n vadd.vv v0, v0, " x "\n"                  \
    "vmul.vv v28, " x ", v24\n vsrl.vi v28, v28, 31\n"                 \
    "vadd.vv v0, v0, v28\n"                                            \
    "vmulh.vv " x ", " x ", v24\n vadd.vv " x ", " x ", v0\n"          \
    "vle32.v v28, (t5)\n vadd.vv " x ", " x ", v28\n"                  \
    "vsra.vv " x ", " x ", v4\n"

/** Writes scaled sums as int8 to the result at offset `at` of the job. */
#define ABOARD_RISCV_V_STORE(x, at)                                    \
    "vmax.vx " x ", " x ", t0\n vmin.vx " x ", " x ", t1\n"            \
    "lw t3, " at "(a0)\n"                                              \
    "vsetvli zero, a5, e16, m2, ta, ma\n vnsra.wi " x ", " x ", 0\n"   \
    "vsetvli zero, a5, e8, m1, ta, ma\n vnsra.wi " x ", " x ", 0\n"    \
    "vse8.v " x ", (t3)\n"

#define ABOARD_RISCV_V_AGAIN "vsetvli zero, a5, e32, m4, ta, ma\n"

#define ABOARD_RISCV_V_RESULTS4(scaled)                                \
    scaled("v8") ABOARD_RISCV_V_STORE("v8", "32") ABOARD_RISCV_V_AGAIN \
    scaled("v12") ABOARD_RISCV_V_STORE("v12", "36") ABOARD_RISCV_V_AGAIN \
    scaled("v16") ABOARD_RISCV_V_STORE("v16", "40") ABOARD_RISCV_V_AGAIN \
    scaled("v20") ABOARD_RISCV_V_STORE("v20", "44")

#define ABOARD_RISCV_V_TAIL "ret\n .option pop\n"

/** A function of a job: its sums, and its results by single or double roundings. */
#define ABOARD_RISCV_V_FUNCTION(name, sums, shifts, results)           \
    ABOARD_NAKED void name(const aboard_riscv_v_job_t *job ABOARD_UNUSED) { \
        __asm__ volatile(ABOARD_RISCV_V_HEAD sums ABOARD_RISCV_V_CONSTANTS shifts results ABOARD_RISCV_V_TAIL); \
    }
/* clang-format on */

ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_four_single, ABOARD_RISCV_V_SUMS4, "",
                        ABOARD_RISCV_V_RESULTS4(ABOARD_RISCV_V_SINGLE))
ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_four_double, ABOARD_RISCV_V_SUMS4, ABOARD_RISCV_V_SHIFTS,
                        ABOARD_RISCV_V_RESULTS4(ABOARD_RISCV_V_DOUBLE))
ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_one_single, ABOARD_RISCV_V_SUMS1, "",
                        ABOARD_RISCV_V_SINGLE("v8") ABOARD_RISCV_V_STORE("v8", "32"))
ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_one_double, ABOARD_RISCV_V_SUMS1, ABOARD_RISCV_V_SHIFTS,
                        ABOARD_RISCV_V_DOUBLE("v8") ABOARD_RISCV_V_STORE("v8", "32"))
ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_each_single, ABOARD_RISCV_V_SUMS_EACH, "",
                        ABOARD_RISCV_V_RESULTS4(ABOARD_RISCV_V_SINGLE))
ABOARD_RISCV_V_FUNCTION(aboard_riscv_v_each_double, ABOARD_RISCV_V_SUMS_EACH, ABOARD_RISCV_V_SHIFTS,
                        ABOARD_RISCV_V_RESULTS4(ABOARD_RISCV_V_DOUBLE))

#else

/** The place of a pixel, or of padding if `pixel` is NULL. */
ABOARD_INLINE aboard_riscv_v_place_t aboard_riscv_v_place(const int8_t *in, const int8_t *pixel,
                                                          const int8_t *padding ABOARD_UNUSED) {
    return pixel == NULL ? ABOARD_RISCV_V_PADDING : (aboard_riscv_v_place_t)(pixel - in);
}

/** Result of a sum by the constants of its channel. */
ABOARD_INLINE int8_t aboard_riscv_v_result(const aboard_riscv_v_job_t *job, int32_t sum, int32_t lane, bool single) {
    const int32_t *const c = job->constants + lane;
    const int64_t product = (int64_t)sum * c[ABOARD_RISCV_V_BLOCK];
    int32_t x;
    if (single) {
        x = ((int32_t)(product >> 32) + c[2 * ABOARD_RISCV_V_BLOCK]) >> ABOARD_RISCV_V_SINGLE_SHIFT;
    } else {
        const int32_t high = (int32_t)((product + INT64_C(0x80000000)) >> 32);
        x = (high + sum + (sum >> 31) + c[2 * ABOARD_RISCV_V_BLOCK]) >> c[3 * ABOARD_RISCV_V_BLOCK];
    }
    return (int8_t)ABOARD_MIN(ABOARD_MAX(x, job->low), job->high);
}

/** The block of some pixels. */
ABOARD_INLINE void aboard_riscv_v_pixels(const aboard_riscv_v_job_t *job, int32_t pixels, bool each, bool single) {
    const int32_t depth = each ? 1 : job->depth;
    for (int32_t j = 0; j < pixels; ++j) {
        for (int32_t lane = 0; lane < job->channels; ++lane) {
            const int8_t *w = job->weights + lane;
            int32_t sum = job->constants[lane];
            for (int32_t i = 0; i < job->positions; ++i) {
                const aboard_riscv_v_place_t place = job->places[ABOARD_RISCV_V_PIXELS * i + j];
                const int8_t *x = place == ABOARD_RISCV_V_PADDING ? job->padding : job->in + place;
                for (int32_t k = 0; k < depth; ++k) {
                    sum += (int32_t)x[each ? job->depth + lane : k] * *w;
                    w += ABOARD_RISCV_V_BLOCK;
                }
            }
            job->y[j][lane] = aboard_riscv_v_result(job, sum, lane, single);
        }
    }
}

ABOARD_SHARED void aboard_riscv_v_four_single(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, ABOARD_RISCV_V_PIXELS, false, true);
}

ABOARD_SHARED void aboard_riscv_v_four_double(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, ABOARD_RISCV_V_PIXELS, false, false);
}

ABOARD_SHARED void aboard_riscv_v_one_single(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, 1, false, true);
}

ABOARD_SHARED void aboard_riscv_v_one_double(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, 1, false, false);
}

ABOARD_SHARED void aboard_riscv_v_each_single(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, ABOARD_RISCV_V_PIXELS, true, true);
}

ABOARD_SHARED void aboard_riscv_v_each_double(const aboard_riscv_v_job_t *job) {
    aboard_riscv_v_pixels(job, ABOARD_RISCV_V_PIXELS, true, false);
}

#endif

#endif
