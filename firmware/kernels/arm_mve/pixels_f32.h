/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/pixels_f32.h
 * Sums of products of float32 with Helium: four pixels, or one, times the four channels of a vector.
 *
 * VFMA rounds a product and its sum once, as portable/sums_of_four_f32.h does on such cores; the order of the sums is
 * that of portable C. So results differ from portable C by rounding alone, within the tolerance of float results.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PIXELS_F32_H
#define ABOARD_KERNELS_ARM_MVE_PIXELS_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/pixels_f32.h"
#include "aboard/config.h"
#include "helium.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_MVE_FLOAT_ASM
#if ABOARD_MVE_ASM
#define ABOARD_MVE_FLOAT_ASM ((__ARM_FEATURE_MVE & 2) != 0)
#else
#define ABOARD_MVE_FLOAT_ASM 0
#endif
#endif

#if ABOARD_MVE_FLOAT_ASM

/* clang-format off */
/** Four taps of two pixels, in r5 to r8 and r9 to r12; a sum is not needed again at once. */
#define ABOARD_MVE_F32_TAPS(x0, x1, a, b)                                           \
    "ldmia " x0 "!, {r5-r8}\n ldmia " x1 "!, {r9-r12}\n"                            \
    "vfma.f32 " a ", q4, r5\n vfma.f32 " b ", q4, r9\n"                             \
    "vfma.f32 " a ", q5, r6\n vfma.f32 " b ", q5, r10\n"                            \
    "vfma.f32 " a ", q6, r7\n vfma.f32 " b ", q6, r11\n"                            \
    "vfma.f32 " a ", q7, r8\n vfma.f32 " b ", q7, r12\n"

/** Four results, replaced by the limit in r5 where the condition holds; it never holds for NaN. */
#define ABOARD_MVE_F32_LIMIT(a, condition) "vpt.f32 " condition ", " a ", r5\n vdupt.32 " a ", r5\n"
#define ABOARD_MVE_F32_LIMIT_4(condition)                                           \
    ABOARD_MVE_F32_LIMIT("q0", condition) ABOARD_MVE_F32_LIMIT("q1", condition)     \
    ABOARD_MVE_F32_LIMIT("q2", condition) ABOARD_MVE_F32_LIMIT("q3", condition)

/** Four pixels in r0 to r3, weights in r4. On the stack: table, groups of four taps of a pixel, positions left, taps
 * after these groups; job, biases, offset of the results, channels left. */
ABOARD_NAKED void aboard_mve_pixels_f32_four(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, #36\n"
        "ldr r4, [r0, #4]\n ldr r1, [r0, #8]\n ldrd r2, r3, [r0, #32]\n"
        "mov r5, #0\n"
        "strd r0, r1, [sp, #16]\n strd r5, r3, [sp, #24]\n"
        "lsr r3, r2, #2\n and r2, r2, #3\n"
        "str r3, [sp, #4]\n str r2, [sp, #12]\n"
        "1:\n"
        "ldr r0, [sp, #16]\n"
        "ldr r5, [r0]\n ldr r6, [r0, #28]\n"
        "str r5, [sp]\n str r6, [sp, #8]\n"
        "vmov.i32 q0, #0\n vmov.i32 q1, #0\n vmov.i32 q2, #0\n vmov.i32 q3, #0\n"
        "2:\n"
        "ldrd r5, lr, [sp]\n"
        "ldmia r5!, {r0-r3}\n"
        "str r5, [sp]\n"
        "wls lr, lr, 4f\n"
        "3:\n"
        "vldrw.u32 q4, [r4], #16\n vldrw.u32 q5, [r4], #16\n vldrw.u32 q6, [r4], #16\n vldrw.u32 q7, [r4], #16\n"
        ABOARD_MVE_F32_TAPS("r0", "r1", "q0", "q1")
        ABOARD_MVE_F32_TAPS("r2", "r3", "q2", "q3")
        "le lr, 3b\n"
        "4:\n"
        "ldrd r5, lr, [sp, #8]\n"
        "subs r5, #1\n"
        "str r5, [sp, #8]\n"
        "wls lr, lr, 6f\n"
        "5:\n"
        "vldrw.u32 q4, [r4], #16\n"
        "ldr r5, [r0], #4\n ldr r6, [r1], #4\n ldr r7, [r2], #4\n ldr r8, [r3], #4\n"
        "vfma.f32 q0, q4, r5\n vfma.f32 q1, q4, r6\n vfma.f32 q2, q4, r7\n vfma.f32 q3, q4, r8\n"
        "le lr, 5b\n"
        "6:\n"
        "bne.w 2b\n"
        "ldrd r0, r1, [sp, #16]\n"
        "vldrw.u32 q4, [r1], #16\n"
        "str r1, [sp, #20]\n"
        "vadd.f32 q0, q0, q4\n vadd.f32 q1, q1, q4\n vadd.f32 q2, q2, q4\n vadd.f32 q3, q3, q4\n"
        "ldrd r6, r5, [r0, #40]\n"
        "cmp r6, #1\n"
        "blt.n 7f\n"
        ABOARD_MVE_F32_LIMIT_4("lt")
        "beq.n 7f\n"
        "ldr r5, [r0, #48]\n"
        ABOARD_MVE_F32_LIMIT_4("gt")
        "7:\n"
        "ldrd r5, r6, [sp, #24]\n"
        "add r7, r0, #12\n"
        "ldmia r7, {r0-r3}\n"
        "add r0, r5\n add r1, r5\n add r2, r5\n add r3, r5\n"
        "vstrw.32 q0, [r0]\n vstrw.32 q1, [r1]\n vstrw.32 q2, [r2]\n vstrw.32 q3, [r3]\n"
        "add r5, #16\n"
        "subs r6, #4\n"
        "strd r5, r6, [sp, #24]\n"
        "bne.w 1b\n"
        "add sp, #36\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}

/** One pixel in r0, its results in r2, weights in r4, table in r1, positions left in r3, biases in r9, job in r10,
 * groups of four taps in r11, taps after these in r12. */
ABOARD_NAKED void aboard_mve_pixels_f32_one(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r12, lr}\n"
        "vpush {d8-d9}\n"
        "mov r10, r0\n"
        "ldr r4, [r10, #4]\n ldr r9, [r10, #8]\n ldr r2, [r10, #12]\n ldr r12, [r10, #32]\n"
        "lsr r11, r12, #2\n and r12, r12, #3\n"
        "ldr r5, [r10, #36]\n"
        "add r5, r2, r5, lsl #2\n"
        "push {r5, r6}\n"
        "1:\n"
        "ldr r1, [r10]\n ldr r3, [r10, #28]\n"
        "vmov.i32 q0, #0\n"
        "2:\n"
        "ldr r0, [r1], #16\n"
        "wls lr, r11, 4f\n"
        "3:\n"
        "ldmia r0!, {r5-r8}\n"
        "vldrw.u32 q1, [r4], #16\n vldrw.u32 q2, [r4], #16\n vldrw.u32 q3, [r4], #16\n vldrw.u32 q4, [r4], #16\n"
        "vfma.f32 q0, q1, r5\n vfma.f32 q0, q2, r6\n vfma.f32 q0, q3, r7\n vfma.f32 q0, q4, r8\n"
        "le lr, 3b\n"
        "4:\n"
        "wls lr, r12, 6f\n"
        "5:\n"
        "vldrw.u32 q1, [r4], #16\n"
        "ldr r5, [r0], #4\n"
        "vfma.f32 q0, q1, r5\n"
        "le lr, 5b\n"
        "6:\n"
        "subs r3, #1\n"
        "bne.n 2b\n"
        "vldrw.u32 q1, [r9], #16\n"
        "vadd.f32 q0, q0, q1\n"
        "ldrd r6, r5, [r10, #40]\n"
        "cmp r6, #1\n"
        "blt.n 7f\n"
        ABOARD_MVE_F32_LIMIT("q0", "lt")
        "beq.n 7f\n"
        "ldr r5, [r10, #48]\n"
        ABOARD_MVE_F32_LIMIT("q0", "gt")
        "7:\n"
        "vstrw.32 q0, [r2], #16\n"
        "ldr r5, [sp]\n"
        "cmp r2, r5\n"
        "bne.n 1b\n"
        "add sp, #8\n"
        "vpop {d8-d9}\n"
        "pop {r4-r12, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED void aboard_mve_pixels_f32_four(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, ABOARD_PIXELS_F32, false);
}

/** See above. */
ABOARD_SHARED void aboard_mve_pixels_f32_one(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, 1, false);
}

#endif

#endif
