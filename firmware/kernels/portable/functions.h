/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/functions.h
 * Functions of one real number, element by element. ABOARD_UNARY_KERNEL describes the form of all kernels.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FUNCTIONS_H
#define ABOARD_KERNELS_PORTABLE_FUNCTIONS_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "elements.h"
#include "float_functions.h"
#include "float_math.h"
#include "requantize.h"

/** Defines aboard_<name>_f32 for the function of float32 that an expression of `u` stands for. */
#define ABOARD_FUNCTION(name, result) ABOARD_UNARY_KERNEL(name##_f32, aboard_elements_t, float, float, result)

ABOARD_FUNCTION(abs, u < 0.0f ? -u : u)
ABOARD_FUNCTION(neg, -u)
ABOARD_FUNCTION(square, u *u)
ABOARD_FUNCTION(sqrt, aboard_sqrtf(u))
ABOARD_FUNCTION(rsqrt, 1.0f / aboard_sqrtf(u))
ABOARD_FUNCTION(exp, ABOARD_EXP_F32(u))
ABOARD_FUNCTION(log, aboard_logf(u))
ABOARD_FUNCTION(sin, aboard_sinf(u))
ABOARD_FUNCTION(cos, aboard_cosf(u))
ABOARD_FUNCTION(ceil, -aboard_floorf(-u))
ABOARD_FUNCTION(floor, aboard_floorf(u))
ABOARD_FUNCTION(round, aboard_roundf(u))
ABOARD_FUNCTION(elu, u < 0.0f ? aboard_expm1f(u) : u)

/** Parameters of aboard_abs_s16. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t multiplier; /**< From the operand's scale to the result's, see aboard_requantize. */
    int32_t shift;
    int32_t high; /**< Largest result; 32768 where there is no quantisation, which wraps to -32768. */
} aboard_abs_s16_t;

/** |a| of int16, rescaled. */
ABOARD_UNARY_KERNEL(abs_s16, aboard_abs_s16_t, int16_t, int16_t,
                    (int16_t)aboard_clamp(aboard_requantize(u < 0 ? -u : u, p->multiplier, p->shift), 0, p->high))

#endif
