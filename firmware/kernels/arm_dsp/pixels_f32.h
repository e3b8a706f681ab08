/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/pixels_f32.h
 * Sums of products of float32 on Cortex-M4, M7 and M33: four pixels, or one, times four channels.
 *
 * On Cortex-M4 VMLA and VFMA take three cycles, VMUL and VADD together two. Four products come before their four sums,
 * so that no instruction waits for the one before it. Products and sums are rounded one after another, in the order of
 * portable/conv2d_f32.h: results equal those of portable C that is compiled without fused products.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_PIXELS_F32_H
#define ABOARD_KERNELS_ARM_DSP_PIXELS_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/pixels_f32.h"
#include "aboard/config.h"
#include "dot.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_DSP_FLOAT_ASM
#if ABOARD_DSP_ASM && defined(__ARM_FP)
#define ABOARD_DSP_FLOAT_ASM ((__ARM_FP & 4) != 0)
#else
#define ABOARD_DSP_FLOAT_ASM 0
#endif
#endif

#if ABOARD_DSP_FLOAT_ASM

/* clang-format off */
/** Products of `x` with weights in four registers, added to four sums; s12 to s15 are free. */
#define ABOARD_DSP_F32_ADD(x, w0, w1, w2, w3, a, b, c, d)                                                       \
    "vmul.f32 s12, " x ", " w0 "\n vmul.f32 s13, " x ", " w1 "\n"                                               \
    "vmul.f32 s14, " x ", " w2 "\n vmul.f32 s15, " x ", " w3 "\n"                                               \
    "vadd.f32 " a ", " a ", s12\n vadd.f32 " b ", " b ", s13\n"                                                 \
    "vadd.f32 " c ", " c ", s14\n vadd.f32 " d ", " d ", s15\n"

/** A tap of four pixels. */
#define ABOARD_DSP_F32_TAP(x0, x1, x2, x3)                                                                      \
    "vldmia r4!, {s8-s11}\n"                                                                                    \
    ABOARD_DSP_F32_ADD(x0, "s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19")                                \
    ABOARD_DSP_F32_ADD(x1, "s8", "s9", "s10", "s11", "s20", "s21", "s22", "s23")                                \
    ABOARD_DSP_F32_ADD(x2, "s8", "s9", "s10", "s11", "s24", "s25", "s26", "s27")                                \
    ABOARD_DSP_F32_ADD(x3, "s8", "s9", "s10", "s11", "s28", "s29", "s30", "s31")

/** Four results of a pixel: with the biases in s8 to s11. */
#define ABOARD_DSP_F32_BIAS(a, b, c, d)                                                                         \
    "vadd.f32 " a ", " a ", s8\n vadd.f32 " b ", " b ", s9\n"                                                   \
    "vadd.f32 " c ", " c ", s10\n vadd.f32 " d ", " d ", s11\n"

/** A result, replaced by the limit in s8 if the condition holds; it never holds for NaN. */
#define ABOARD_DSP_F32_LIMIT(a, condition)                                                                      \
    "vcmp.f32 " a ", s8\n vmrs APSR_nzcv, fpscr\n it " condition "\n vmov" condition ".f32 " a ", s8\n"
#define ABOARD_DSP_F32_LIMIT_4(a, b, c, d, condition)                                                           \
    ABOARD_DSP_F32_LIMIT(a, condition) ABOARD_DSP_F32_LIMIT(b, condition)                                       \
    ABOARD_DSP_F32_LIMIT(c, condition) ABOARD_DSP_F32_LIMIT(d, condition)
#define ABOARD_DSP_F32_LIMIT_16(condition)                                                                      \
    ABOARD_DSP_F32_LIMIT_4("s16", "s17", "s18", "s19", condition)                                               \
    ABOARD_DSP_F32_LIMIT_4("s20", "s21", "s22", "s23", condition)                                               \
    ABOARD_DSP_F32_LIMIT_4("s24", "s25", "s26", "s27", condition)                                               \
    ABOARD_DSP_F32_LIMIT_4("s28", "s29", "s30", "s31", condition)

/** Results of the sums of four pixels: biases at r8, offset of the results in r9, job in r10. */
#define ABOARD_DSP_F32_RESULTS_16                                                                               \
    "vldmia r8!, {s8-s11}\n"                                                                                    \
    ABOARD_DSP_F32_BIAS("s16", "s17", "s18", "s19") ABOARD_DSP_F32_BIAS("s20", "s21", "s22", "s23")             \
    ABOARD_DSP_F32_BIAS("s24", "s25", "s26", "s27") ABOARD_DSP_F32_BIAS("s28", "s29", "s30", "s31")             \
    "ldr r6, [r10, #40]\n"                                                                                      \
    "cmp r6, #1\n"                                                                                              \
    "blt.w 9f\n"                                                                                                \
    "vldr s8, [r10, #44]\n"                                                                                     \
    ABOARD_DSP_F32_LIMIT_16("mi")                                                                               \
    "cmp r6, #1\n"                                                                                              \
    "beq.w 9f\n"                                                                                                \
    "vldr s8, [r10, #48]\n"                                                                                     \
    ABOARD_DSP_F32_LIMIT_16("gt")                                                                               \
    "9:\n"                                                                                                      \
    "add r6, r10, #12\n"                                                                                        \
    "ldmia r6, {r0-r3}\n"                                                                                       \
    "add r0, r9\n add r1, r9\n add r2, r9\n add r3, r9\n"                                                       \
    "vstmia r0, {s16-s19}\n vstmia r1, {s20-s23}\n vstmia r2, {s24-s27}\n vstmia r3, {s28-s31}\n"

/** Results of the sums in s0 to s3, stored from r2 on. */
#define ABOARD_DSP_F32_RESULTS_4                                                                                \
    "vldmia r8!, {s8-s11}\n"                                                                                    \
    ABOARD_DSP_F32_BIAS("s0", "s1", "s2", "s3")                                                                 \
    "ldr r6, [r10, #40]\n"                                                                                      \
    "cmp r6, #1\n"                                                                                              \
    "blt.n 9f\n"                                                                                                \
    "vldr s8, [r10, #44]\n"                                                                                     \
    ABOARD_DSP_F32_LIMIT_4("s0", "s1", "s2", "s3", "mi")                                                        \
    "cmp r6, #1\n"                                                                                              \
    "beq.n 9f\n"                                                                                                \
    "vldr s8, [r10, #48]\n"                                                                                     \
    ABOARD_DSP_F32_LIMIT_4("s0", "s1", "s2", "s3", "gt")                                                        \
    "9:\n"                                                                                                      \
    "vstmia r2!, {s0-s3}\n"

/** Four pixels in r0 to r3, weights in r4, table in r5, taps left in r6, positions left in r7, biases in r8, offset of
 * the results in r9, job in r10, depth in r11, channels left in lr. */
ABOARD_NAKED void aboard_dsp_pixels_f32_four(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {s16-s31}\n"
        "mov r10, r0\n"
        "ldr r4, [r10, #4]\n ldr r8, [r10, #8]\n ldr r11, [r10, #32]\n ldr lr, [r10, #36]\n"
        "mov r9, #0\n"
        "1:\n"
        "mov r6, #0\n"
        "vmov d8, r6, r6\n vmov d9, r6, r6\n vmov d10, r6, r6\n vmov d11, r6, r6\n"
        "vmov d12, r6, r6\n vmov d13, r6, r6\n vmov d14, r6, r6\n vmov d15, r6, r6\n"
        "ldr r5, [r10]\n ldr r7, [r10, #28]\n"
        "2:\n"
        "ldmia r5!, {r0-r3}\n"
        "lsrs r6, r11, #2\n"
        "beq.w 4f\n"
        "3:\n"
        ".rept 2\n"
        "vldmia r0!, {s0-s1}\n vldmia r1!, {s2-s3}\n vldmia r2!, {s4-s5}\n vldmia r3!, {s6-s7}\n"
        ABOARD_DSP_F32_TAP("s0", "s2", "s4", "s6")
        ABOARD_DSP_F32_TAP("s1", "s3", "s5", "s7")
        ".endr\n"
        "subs r6, #1\n"
        "bne.w 3b\n"
        "4:\n"
        "ands r6, r11, #3\n"
        "beq.w 6f\n"
        "5:\n"
        "vldmia r0!, {s0}\n vldmia r1!, {s2}\n vldmia r2!, {s4}\n vldmia r3!, {s6}\n"
        ABOARD_DSP_F32_TAP("s0", "s2", "s4", "s6")
        "subs r6, #1\n"
        "bne.w 5b\n"
        "6:\n"
        "subs r7, #1\n"
        "bne.w 2b\n"
        ABOARD_DSP_F32_RESULTS_16
        "add r9, #16\n"
        "subs lr, #4\n"
        "bne.w 1b\n"
        "vpop {s16-s31}\n"
        "pop {r4-r11, pc}\n");
}

/** One pixel in r0, its results in r2; other registers as above. Sums in s0 to s3. */
ABOARD_NAKED void aboard_dsp_pixels_f32_one(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r10, lr}\n"
        "vpush {s16-s31}\n"
        "mov r10, r0\n"
        "ldrd r4, r8, [r10, #4]\n ldr r2, [r10, #12]\n ldrd r3, r1, [r10, #32]\n"
        "1:\n"
        "mov r6, #0\n"
        "vmov d0, r6, r6\n vmov d1, r6, r6\n"
        "ldr r5, [r10]\n ldr r7, [r10, #28]\n"
        "2:\n"
        "ldr r0, [r5], #16\n"
        "lsrs r6, r3, #2\n"
        "beq.w 4f\n"
        "3:\n"
        "vldmia r0!, {s4-s7}\n vldmia r4!, {s16-s31}\n"
        ABOARD_DSP_F32_ADD("s4", "s16", "s17", "s18", "s19", "s0", "s1", "s2", "s3")
        ABOARD_DSP_F32_ADD("s5", "s20", "s21", "s22", "s23", "s0", "s1", "s2", "s3")
        ABOARD_DSP_F32_ADD("s6", "s24", "s25", "s26", "s27", "s0", "s1", "s2", "s3")
        ABOARD_DSP_F32_ADD("s7", "s28", "s29", "s30", "s31", "s0", "s1", "s2", "s3")
        "subs r6, #1\n"
        "bne.w 3b\n"
        "4:\n"
        "ands r6, r3, #3\n"
        "beq.n 6f\n"
        "5:\n"
        "vldmia r0!, {s4}\n vldmia r4!, {s16-s19}\n"
        ABOARD_DSP_F32_ADD("s4", "s16", "s17", "s18", "s19", "s0", "s1", "s2", "s3")
        "subs r6, #1\n"
        "bne.n 5b\n"
        "6:\n"
        "subs r7, #1\n"
        "bne.w 2b\n"
        ABOARD_DSP_F32_RESULTS_4
        "subs r1, #4\n"
        "bne.w 1b\n"
        "vpop {s16-s31}\n"
        "pop {r4-r10, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED void aboard_dsp_pixels_f32_four(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, ABOARD_PIXELS_F32, false);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_pixels_f32_one(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, 1, false);
}

#endif

#endif
