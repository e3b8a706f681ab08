/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/special.h
 * Functions of real numbers that TFLite has not, element by element; ABOARD_UNARY_KERNEL and ABOARD_BINARY_KERNEL
 * describe the form of all kernels.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SPECIAL_H
#define ABOARD_KERNELS_PORTABLE_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "binary.h"
#include "elements.h"
#include "float_math.h"
#include "float_special.h"

/** Defines aboard_<name>_f32 for the function of float32 that an expression of `u` stands for. */
#define ABOARD_SPECIAL(name, result) ABOARD_UNARY_KERNEL(name##_f32, aboard_elements_t, float, float, result)

ABOARD_SPECIAL(acos, aboard_acosf(u))
ABOARD_SPECIAL(acosh, aboard_acoshf(u))
ABOARD_SPECIAL(asin, aboard_asinf(u))
ABOARD_SPECIAL(asinh, aboard_asinhf(u))
ABOARD_SPECIAL(atan, aboard_atanf(u))
ABOARD_SPECIAL(atanh, aboard_atanhf(u))
ABOARD_SPECIAL(cosh, aboard_coshf(u))
ABOARD_SPECIAL(erf, aboard_erff(u))
ABOARD_SPECIAL(gelu, 0.5f * u * (1.0f + aboard_erff(u * 0.707106781f)))
ABOARD_SPECIAL(gelu_tanh, 0.5f * u * (1.0f + ABOARD_TANH_F32(0.797884561f * (u + 0.044715f * u * u * u))))
ABOARD_SPECIAL(mish, u *ABOARD_TANH_F32(aboard_softplusf(u)))
ABOARD_SPECIAL(sign, u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u)
ABOARD_SPECIAL(sinh, aboard_sinhf(u))
ABOARD_SPECIAL(softplus, aboard_softplusf(u))
ABOARD_SPECIAL(tan, aboard_tanf(u))

/** True for NaN. */
ABOARD_UNARY_KERNEL(is_nan_f32, aboard_elements_t, float, bool, u != u)

/** Larger element, NaN where either is. */
ABOARD_BINARY_KERNEL(ieee_maximum_f32, aboard_binary_t, float, float, float, u > v || u != u ? u : v)
/** Smaller element, NaN where either is. */
ABOARD_BINARY_KERNEL(ieee_minimum_f32, aboard_binary_t, float, float, float, u < v || u != u ? u : v)

/** a to the power of b. */
ABOARD_BINARY_KERNEL(pow_f32, aboard_binary_t, float, float, float, aboard_powf(u, v))

/** Defines powers of a type of integers, by squaring in its unsigned counterpart; of exponents below 0 they are 1 / x,
 * cut off toward 0. */
#define ABOARD_WHOLE_POWER(name, type, bits)                                                                           \
    ABOARD_INLINE type aboard_whole_power_##name(type x, type y) {                                                     \
        bits base = (bits)x;                                                                                           \
        bits power = 1;                                                                                                \
        for (bits left = y < 0 ? (bits)0 - (bits)y : (bits)y; left != 0; left >>= 1) {                                 \
            power = (left & 1) != 0 ? power * base : power;                                                            \
            base *= base;                                                                                              \
        }                                                                                                              \
        return y >= 0 || x == 1 || x == -1 ? (type)power : 0;                                                          \
    }                                                                                                                  \
    ABOARD_BINARY_KERNEL(pow_##name, aboard_binary_t, type, type, type, aboard_whole_power_##name(u, v))

ABOARD_WHOLE_POWER(s32, int32_t, uint32_t)
ABOARD_WHOLE_POWER(s64, int64_t, uint64_t)

#endif
