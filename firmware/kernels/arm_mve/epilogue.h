/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/epilogue.h
 * From int32 accumulators to int8 results with Helium, four at a time: bias, requantisation, zero point, activation.
 * host/aboard/kernels/arm_mve/epilogue.py makes the constants and chooses the form.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_EPILOGUE_H
#define ABOARD_KERNELS_ARM_MVE_EPILOGUE_H

#include <stdint.h>
#include <string.h>

#include "../portable/requantize.h"
#include "aboard/config.h"
#include "helium.h"

/** A single rounding that the host has proven to be equal for every possible accumulator of the layer: offset, factor,
 * constant. */
#define ABOARD_MVE_SINGLE_ROUNDING 0
/** TFLite's two roundings, multipliers below 1: bias, multiplier, right shift (negative). */
#define ABOARD_MVE_RIGHT 1
/** TFLite's two roundings in general: bias, left shift, multiplier, right shift (negative). */
#define ABOARD_MVE_ANY 2
/** TFLite's two roundings, multipliers below 1, both as products: bias, multiplier, factor. A factor just above
 * 2**(31 - shift) moves ties away from zero, and nothing else as far as the layer's sums reach. */
#define ABOARD_MVE_PRODUCTS 3

/** The common constants of a layer's results. */
typedef struct {
    int32_t form;       /**< ABOARD_MVE_SINGLE_ROUNDING, _RIGHT, _ANY or _PRODUCTS. */
    int32_t shift;      /**< Right shift of the single rounding, or of all results alike: 1 to 16. */
    int32_t zero_point; /**< Zero point of the result; a single rounding includes it in the constant. */
    int32_t low;        /**< Smallest result. */
    int32_t high;       /**< Largest result. */
} aboard_mve_epilogue_t;

/** Words of the constants of four channels: a vector for each kind. */
ABOARD_INLINE int32_t aboard_mve_epilogue_words(const aboard_mve_epilogue_t *f) {
    return f->form == ABOARD_MVE_ANY ? 16 : 12;
}

/** Constants of four channels. */
typedef struct {
    aboard_mve_packed_words_t bias;       /**< Bias, or offset of the single rounding. */
    aboard_mve_packed_words_t left;       /**< Left shift; only set for ABOARD_MVE_ANY. */
    aboard_mve_packed_words_t multiplier; /**< Multiplier, or factor of the single rounding. */
    aboard_mve_packed_words_t right;      /**< Right shift, negative; or the constant of the single rounding; or the
                                               factor of the second product. */
} aboard_mve_constants_t;

#if ABOARD_MVE_ASM

/** Loads vector number `index` from `c`. In assembly, because compilers spend an addition on every address. */
ABOARD_INLINE int32x4_t aboard_mve_constant(const int32_t *c, int32_t index) {
    int32x4_t values;
    __asm__ volatile("vldrw.32 %q0, [%1, %2]" : "=w"(values) : "r"(c), "i"(16 * index));
    return values;
}

#else

/** Loads vector number `index` from `c`. */
ABOARD_INLINE aboard_mve_packed_words_t aboard_mve_constant(const int32_t *c, int32_t index) {
    aboard_mve_packed_words_t values;
    memcpy(&values, c + 4 * index, sizeof(values));
    return values;
}

#endif

/** Loads the constants of four channels. */
ABOARD_INLINE aboard_mve_constants_t aboard_mve_constants(const aboard_mve_epilogue_t *f, const int32_t *c) {
    aboard_mve_constants_t constants;
    constants.bias = aboard_mve_constant(c, 0);
    if (f->form == ABOARD_MVE_ANY) {
        constants.left = aboard_mve_constant(c, 1);
        c += 4;
    }
    constants.multiplier = aboard_mve_constant(c, 1);
    constants.right = aboard_mve_constant(c, 2);
    return constants;
}

#if ABOARD_MVE_ASM

/** Narrows four values to int16 in the lower halves of their lanes: a right shift with rounding, saturated.
 *
 * In assembler because the shift is part of the instruction, which intrinsics demand to be a literal in the source. */
ABOARD_INLINE int32x4_t aboard_mve_narrow(int32x4_t x, int32_t shift) {
    __asm__("vqrshrnb.s32 %q0, %q0, %1" : "+w"(x) : "i"(shift));
    return x;
}

/** Like aboard_mve_narrow, then to int8 in the lowest byte of each lane. */
ABOARD_INLINE int32x4_t aboard_mve_narrow_to_bytes(int32x4_t x, int32_t shift) {
    __asm__("vqrshrnb.s32 %q0, %q0, %1\n\tvqmovnb.s16 %q0, %q0" : "+&w"(x) : "i"(shift));
    return x;
}

/** Results of the single rounding, narrowed and within the limits. */
ABOARD_INLINE int32x4_t aboard_mve_epilogue_single(const aboard_mve_epilogue_t *f, int32x4_t x) {
    if (f->low == INT8_MIN && f->high == INT8_MAX) {
        return aboard_mve_narrow_to_bytes(x, f->shift);
    }
    int16x8_t narrow = (int16x8_t)aboard_mve_narrow(x, f->shift);
    narrow = vmaxq_s16(narrow, vdupq_n_s16((int16_t)f->low));
    return (int32x4_t)vminq_s16(narrow, vdupq_n_s16((int16_t)f->high));
}

/** Four sums, including the bias, before they are narrowed; sums of a single rounding are not yet shifted right. */
ABOARD_INLINE int32x4_t aboard_mve_scaled(const aboard_mve_epilogue_t *f, int32x4_t x,
                                          const aboard_mve_constants_t *c) {
    if (f->form == ABOARD_MVE_SINGLE_ROUNDING) {
        return vaddq_s32(vqrdmulhq_s32(x, c->multiplier), c->right);
    }
    if (f->form == ABOARD_MVE_ANY) {
        x = vshlq_s32(x, c->left);
    }
    x = vqrdmulhq_s32(x, c->multiplier);
    if (f->form == ABOARD_MVE_PRODUCTS) {
        return vqaddq_n_s32(vqrdmulhq_s32(x, c->right), f->zero_point);
    }
    /* Ties go away from zero: a negative number is reduced by one before halves are rounded up. */
    x = vaddq_s32(x, vshrq_n_s32(vandq_s32(x, c->right), 31));
    return vqaddq_n_s32(vrshlq_s32(x, c->right), f->zero_point);
}

/** Results of four sums of products, in the lowest byte of each lane. */
ABOARD_INLINE int32x4_t aboard_mve_epilogue(const aboard_mve_epilogue_t *f, int32x4_t sums,
                                            const aboard_mve_constants_t *c) {
    const int32x4_t x = aboard_mve_scaled(f, vaddq_s32(sums, c->bias), c);
    if (f->form == ABOARD_MVE_SINGLE_ROUNDING) {
        return aboard_mve_epilogue_single(f, x);
    }
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(f->low)), vdupq_n_s32(f->high));
}

/** Narrows scaled sums of even and of odd lanes to one vector of int16. */
ABOARD_INLINE int16x8_t aboard_mve_narrow_pair(const aboard_mve_epilogue_t *f, int32x4_t even, int32x4_t odd) {
    if (f->form == ABOARD_MVE_SINGLE_ROUNDING) {
        __asm__("vqrshrnb.s32 %q0, %q0, %2\n\tvqrshrnt.s32 %q0, %q1, %2" : "+&w"(even) : "w"(odd), "i"(f->shift));
    } else {
        __asm__("vqmovnb.s32 %q0, %q0\n\tvqmovnt.s32 %q0, %q1" : "+&w"(even) : "w"(odd));
    }
    return (int16x8_t)even;
}

/** Sixteen results from scaled sums of channels 0, 4, 8, 12 (and so on from 2, from 1 and from 3). */
ABOARD_INLINE int8x16_t aboard_mve_epilogue_sixteen(const aboard_mve_epilogue_t *f, int32x4_t from0, int32x4_t from2,
                                                    int32x4_t from1, int32x4_t from3) {
    int16x8_t even = aboard_mve_narrow_pair(f, from0, from2);
    const int16x8_t odd = aboard_mve_narrow_pair(f, from1, from3);
    __asm__("vqmovnb.s16 %q0, %q0\n\tvqmovnt.s16 %q0, %q1" : "+&w"(even) : "w"(odd));
    int8x16_t results = (int8x16_t)even;
    if (f->low > INT8_MIN) {
        results = vmaxq_s8(results, vdupq_n_s8((int8_t)f->low));
    }
    if (f->high < INT8_MAX) {
        results = vminq_s8(results, vdupq_n_s8((int8_t)f->high));
    }
    return results;
}

/** Writes four results, or the first `count` if this is fewer. */
ABOARD_INLINE void aboard_mve_store(int8_t *y, int32x4_t results, int32_t count) {
    if (count >= 4) {
        vstrbq_s32(y, results);
    } else {
        vstrbq_p_s32(y, results, vctp32q((uint32_t)count));
    }
}

#else

/**
 * Result of a sum of products.
 *
 * @param left Left shift; used for ABOARD_MVE_ANY only.
 */
ABOARD_INLINE int8_t aboard_mve_result(const aboard_mve_epilogue_t *f, int32_t sum, int32_t bias, int32_t left,
                                       int32_t multiplier, int32_t right) {
    const int32_t zero_point = f->form == ABOARD_MVE_SINGLE_ROUNDING ? 0 : f->zero_point;
    int32_t x = (int32_t)((uint32_t)sum + (uint32_t)bias);
    if (f->form == ABOARD_MVE_SINGLE_ROUNDING) {
        x = (int32_t)((uint32_t)aboard_doubling_high_mul(x, multiplier) + (uint32_t)right);
        x = (int32_t)(((int64_t)x + ((int64_t)1 << (f->shift - 1))) >> f->shift);
    } else if (f->form == ABOARD_MVE_PRODUCTS) {
        x = aboard_doubling_high_mul(aboard_doubling_high_mul(x, multiplier), right);
    } else {
        x = f->form == ABOARD_MVE_ANY ? (int32_t)((uint32_t)x << left) : x;
        x = aboard_rounding_shift(aboard_doubling_high_mul(x, multiplier), -right);
    }
    return (int8_t)(aboard_clamp(x, f->low - zero_point, f->high - zero_point) + zero_point);
}

/** Results of four sums of products. */
ABOARD_INLINE aboard_mve_packed_words_t aboard_mve_epilogue(const aboard_mve_epilogue_t *f,
                                                            aboard_mve_packed_words_t sums,
                                                            const aboard_mve_constants_t *c) {
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t left = f->form == ABOARD_MVE_ANY ? c->left.lanes[i] : 0;
        sums.lanes[i] =
            aboard_mve_result(f, sums.lanes[i], c->bias.lanes[i], left, c->multiplier.lanes[i], c->right.lanes[i]);
    }
    return sums;
}

/** Writes four results, or the first `count` if this is fewer; 0 or less: none. */
ABOARD_INLINE void aboard_mve_store(int8_t *y, aboard_mve_packed_words_t results, int32_t count) {
    for (int32_t i = 0; i < ABOARD_MIN(count, 4); ++i) {
        y[i] = (int8_t)results.lanes[i];
    }
}

#endif

#endif
