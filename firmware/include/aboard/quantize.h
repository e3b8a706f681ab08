/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file quantize.h
 * Between real numbers and the integers that stand for them: real = scale * (integer - zero point).
 * host/aboard/ops/quantize.py is the same in numpy.
 */
#ifndef ABOARD_QUANTIZE_H
#define ABOARD_QUANTIZE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the integer nearest to real / scale + zero_point.
 *
 * @param real          Any number; NaN gives `low`.
 * @param scale         Greater than 0.
 * @param zero_point    In [low, high].
 * @param low, high     Range of the result, within that of int16_t or uint16_t: what is outside becomes its end.
 * @param ties_to_even  Of two equally near integers: 1 takes the even number of steps from the zero point, 0 the one
 *                      further from it.
 */
static inline int32_t aboard_quantize_real(float real, float scale, int32_t zero_point, int32_t low, int32_t high,
                                           int32_t ties_to_even) {
    const float steps = real / scale;
    /* Not (steps <= most): NaN must be excluded before the conversion to an integer. */
    if (!(steps > -131072.0f)) {
        return low;
    }
    if (steps > 131072.0f) {
        return high;
    }
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    const int32_t ties = ties_to_even ? whole & 1 : 1;
    const int32_t up = ties ? rest >= 0.5f : rest > 0.5f;
    const int32_t down = ties ? rest <= -0.5f : rest < -0.5f;
    const int32_t nearest = whole + up - down + zero_point;
    return nearest < low ? low : nearest > high ? high : nearest;
}

#ifdef __cplusplus
}
#endif

#endif
