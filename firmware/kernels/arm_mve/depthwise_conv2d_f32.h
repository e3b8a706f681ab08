/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_conv2d_f32.h
 * float32 depthwise convolution with Helium: blocks of four pixels and the four channels of a vector, windows read in
 * place.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_F32_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/pixels_conv2d_f32.h"
#include "aboard/config.h"
#include "pixels_f32.h"

#if ABOARD_MVE_FLOAT_ASM

/* clang-format off */
/** Four pixels in r0 to r3, weights in r4, table in r5, biases in r6, offset of the results in r7, channels left in r8,
 * job in r9. The addresses in the table go on to the next four channels. */
ABOARD_NAKED void aboard_mve_depthwise_f32_four(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r10, lr}\n"
        "vpush {d8-d15}\n"
        "mov r9, r0\n"
        "ldr r4, [r9, #4]\n ldr r6, [r9, #8]\n ldr r8, [r9, #36]\n"
        "mov r7, #0\n"
        "1:\n"
        "ldr r5, [r9]\n ldr lr, [r9, #28]\n"
        "vmov.i32 q0, #0\n vmov.i32 q1, #0\n vmov.i32 q2, #0\n vmov.i32 q3, #0\n"
        "dls lr, lr\n"
        "2:\n"
        "ldmia r5, {r0-r3}\n"
        "vldrw.u32 q4, [r4], #16\n"
        "vldrw.u32 q5, [r0], #16\n vldrw.u32 q6, [r1], #16\n"
        "vfma.f32 q0, q5, q4\n vfma.f32 q1, q6, q4\n"
        "vldrw.u32 q5, [r2], #16\n vldrw.u32 q6, [r3], #16\n"
        "vfma.f32 q2, q5, q4\n vfma.f32 q3, q6, q4\n"
        "stmia r5!, {r0-r3}\n"
        "le lr, 2b\n"
        "vldrw.u32 q4, [r6], #16\n"
        "vadd.f32 q0, q0, q4\n vadd.f32 q1, q1, q4\n vadd.f32 q2, q2, q4\n vadd.f32 q3, q3, q4\n"
        "ldr r10, [r9, #40]\n ldr r5, [r9, #44]\n"
        "cmp r10, #1\n"
        "blt.n 7f\n"
        ABOARD_MVE_F32_LIMIT_4("lt")
        "beq.n 7f\n"
        "ldr r5, [r9, #48]\n"
        ABOARD_MVE_F32_LIMIT_4("gt")
        "7:\n"
        "add r3, r9, #12\n"
        "ldmia r3, {r0-r3}\n"
        "add r0, r7\n add r1, r7\n add r2, r7\n add r3, r7\n"
        "vstrw.32 q0, [r0]\n vstrw.32 q1, [r1]\n vstrw.32 q2, [r2]\n vstrw.32 q3, [r3]\n"
        "add r7, #16\n"
        "subs r8, #4\n"
        "bne.n 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r10, pc}\n");
}

/** One pixel in r0, its results in r2; other registers as above. */
ABOARD_NAKED void aboard_mve_depthwise_f32_one(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r10, lr}\n"
        "mov r9, r0\n"
        "ldr r4, [r9, #4]\n ldr r6, [r9, #8]\n ldr r2, [r9, #12]\n ldr r8, [r9, #36]\n"
        "1:\n"
        "ldr r5, [r9]\n ldr lr, [r9, #28]\n"
        "vmov.i32 q0, #0\n"
        "dls lr, lr\n"
        "2:\n"
        "ldr r0, [r5]\n"
        "vldrw.u32 q1, [r4], #16\n"
        "vldrw.u32 q2, [r0], #16\n"
        "vfma.f32 q0, q2, q1\n"
        "str r0, [r5], #16\n"
        "le lr, 2b\n"
        "vldrw.u32 q1, [r6], #16\n"
        "vadd.f32 q0, q0, q1\n"
        "ldr r10, [r9, #40]\n ldr r5, [r9, #44]\n"
        "cmp r10, #1\n"
        "blt.n 7f\n"
        ABOARD_MVE_F32_LIMIT("q0", "lt")
        "beq.n 7f\n"
        "ldr r5, [r9, #48]\n"
        ABOARD_MVE_F32_LIMIT("q0", "gt")
        "7:\n"
        "vstrw.32 q0, [r2], #16\n"
        "subs r8, #4\n"
        "bne.n 1b\n"
        "pop {r4-r10, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED void aboard_mve_depthwise_f32_four(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, ABOARD_PIXELS_F32, true);
}

/** See above. */
ABOARD_SHARED void aboard_mve_depthwise_f32_one(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, 1, true);
}

#endif

/**
 * float32 depthwise convolution with a multiplier of 1; with fused products, which round once, in the order of
 * aboard_depthwise_conv2d_f32. Parameters as for aboard_depthwise_conv2d_f32_dsp (arm_dsp/depthwise_conv2d_f32.h).
 */
ABOARD_INLINE void aboard_depthwise_conv2d_f32_mve(const aboard_pixels_conv2d_f32_t *p, const float *in, float *out,
                                                   const float *weights, const float *constants, int32_t *scratch,
                                                   int32_t first, int32_t last) {
    aboard_pixels_conv2d_f32(p, in, out, weights, constants, scratch, first, last, aboard_mve_depthwise_f32_four,
                             aboard_mve_depthwise_f32_one, ABOARD_MVE_FLOAT_ASM);
}

#endif
