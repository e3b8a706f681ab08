/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/depthwise_conv2d_f32.h
 * float32 depthwise convolution on Cortex-M4, M7 and M33: blocks of four pixels and four channels, windows read in
 * place.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_F32_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/pixels_conv2d_f32.h"
#include "aboard/config.h"
#include "pixels_f32.h"

#if ABOARD_DSP_FLOAT_ASM

/* clang-format off */
/** Four channels of a pixel at `x`, times the weights in s4 to s7. */
#define ABOARD_DSP_F32_CHANNELS(x, a, b, c, d)                                                                  \
    "vldmia " x ", {s0-s3}\n"                                                                                   \
    "vmul.f32 s8, s0, s4\n vmul.f32 s9, s1, s5\n vmul.f32 s10, s2, s6\n vmul.f32 s11, s3, s7\n"                 \
    "vadd.f32 " a ", " a ", s8\n vadd.f32 " b ", " b ", s9\n"                                                   \
    "vadd.f32 " c ", " c ", s10\n vadd.f32 " d ", " d ", s11\n"

/** Registers as for aboard_dsp_pixels_f32_four; the offset of the results is that of the channels too. */
ABOARD_NAKED void aboard_dsp_depthwise_f32_four(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {s16-s31}\n"
        "mov r10, r0\n"
        "ldr r4, [r10, #4]\n ldr r8, [r10, #8]\n ldr lr, [r10, #36]\n"
        "mov r9, #0\n"
        "1:\n"
        "mov r6, #0\n"
        "vmov d8, r6, r6\n vmov d9, r6, r6\n vmov d10, r6, r6\n vmov d11, r6, r6\n"
        "vmov d12, r6, r6\n vmov d13, r6, r6\n vmov d14, r6, r6\n vmov d15, r6, r6\n"
        "ldr r5, [r10]\n ldr r7, [r10, #28]\n"
        "2:\n"
        "ldmia r5!, {r0-r3}\n"
        "vldmia r4!, {s4-s7}\n"
        "add r0, r9\n add r1, r9\n add r2, r9\n add r3, r9\n"
        ABOARD_DSP_F32_CHANNELS("r0", "s16", "s17", "s18", "s19")
        ABOARD_DSP_F32_CHANNELS("r1", "s20", "s21", "s22", "s23")
        ABOARD_DSP_F32_CHANNELS("r2", "s24", "s25", "s26", "s27")
        ABOARD_DSP_F32_CHANNELS("r3", "s28", "s29", "s30", "s31")
        "subs r7, #1\n"
        "bne.w 2b\n"
        ABOARD_DSP_F32_RESULTS_16
        "add r9, #16\n"
        "subs lr, #4\n"
        "bne.w 1b\n"
        "vpop {s16-s31}\n"
        "pop {r4-r11, pc}\n");
}

/** One pixel, sums in s12 to s15 until they are complete; results in r2, channels left in r1. */
ABOARD_NAKED void aboard_dsp_depthwise_f32_one(const aboard_pixels_f32_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r10, lr}\n"
        "mov r10, r0\n"
        "ldrd r4, r8, [r10, #4]\n ldr r2, [r10, #12]\n ldr r1, [r10, #36]\n"
        "mov r9, #0\n"
        "1:\n"
        "mov r6, #0\n"
        "vmov d6, r6, r6\n vmov d7, r6, r6\n"
        "ldr r5, [r10]\n ldr r7, [r10, #28]\n"
        "2:\n"
        "ldr r0, [r5], #16\n"
        "vldmia r4!, {s4-s7}\n"
        "add r0, r9\n"
        ABOARD_DSP_F32_CHANNELS("r0", "s12", "s13", "s14", "s15")
        "subs r7, #1\n"
        "bne.n 2b\n"
        "vmov.f32 s0, s12\n vmov.f32 s1, s13\n vmov.f32 s2, s14\n vmov.f32 s3, s15\n"
        ABOARD_DSP_F32_RESULTS_4
        "add r9, #16\n"
        "subs r1, #4\n"
        "bne.w 1b\n"
        "pop {r4-r10, pc}\n");
}
/* clang-format on */

#else

/** See above. */
ABOARD_SHARED void aboard_dsp_depthwise_f32_four(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, ABOARD_PIXELS_F32, true);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_depthwise_f32_one(const aboard_pixels_f32_t *p) {
    aboard_pixels_f32_plain(p, 1, true);
}

#endif

/**
 * float32 depthwise convolution with a multiplier of 1; results equal those of aboard_depthwise_conv2d_f32 that is
 * compiled without fused products. Parameters as for aboard_conv2d_f32_dsp (conv2d_f32.h), but for
 *
 * @param weights [channels / 4][taps][4]; the channels are a multiple of 4.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_f32_dsp(const aboard_pixels_conv2d_f32_t *p, const float *in, float *out,
                                                   const float *weights, const float *constants, int32_t *scratch,
                                                   int32_t first, int32_t last) {
    aboard_pixels_conv2d_f32(p, in, out, weights, constants, scratch, first, last, aboard_dsp_depthwise_f32_four,
                             aboard_dsp_depthwise_f32_one, ABOARD_DSP_FLOAT_ASM);
}

#endif
