/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_window.h
 * The first steps of an audio front end: window, scale, energy. All tensors are stored without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_WINDOW_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_WINDOW_H

#include <stdint.h>

#include "aboard/config.h"

/** Parameters of aboard_signal_window. */
typedef struct {
    int32_t elements; /**< Elements of operand and result: a multiple of length. */
    int32_t length;   /**< Weights. */
    int32_t shift;    /**< Fractional bits of the weights. */
} aboard_signal_window_t;

/**
 * Computes out[i] = in[i] * weights[i % length] >> shift, saturated.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param weights      Weights.
 * @param out          Result; may be the operand's memory.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_window(const aboard_signal_window_t *p, const int16_t *in, const int16_t *weights,
                                        int16_t *out, ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->elements; i += p->length) {
        for (int32_t j = 0; j < p->length; ++j) {
            const int32_t raw = ((int32_t)in[i + j] * weights[j]) >> p->shift;
            out[i + j] = (int16_t)(raw < INT16_MIN ? INT16_MIN : raw > INT16_MAX ? INT16_MAX : raw);
        }
    }
}

/** Parameters of aboard_signal_fft_auto_scale. */
typedef struct {
    int32_t elements; /**< Elements of operand and result. */
} aboard_signal_fft_auto_scale_t;

/**
 * Shifts a frame to the left as far as 16 bits allow. Frames with -32768 are shifted as if the elements up to the last
 * of these were missing, and wrap around, as the reference does it.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param out          Result; may be the operand's memory.
 * @param bits         Result: the bits of the shift.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_fft_auto_scale(const aboard_signal_fft_auto_scale_t *p, const int16_t *in,
                                                int16_t *out, int32_t *bits, ABOARD_UNUSED int32_t first,
                                                ABOARD_UNUSED int32_t last) {
    int32_t largest = 0;
    for (int32_t i = 0; i < p->elements; ++i) {
        if (in[i] > largest) {
            largest = in[i];
        } else if (-in[i] > largest) {
            largest = (int16_t)-in[i];
        }
    }
    int32_t shift = 0;
    while (largest > 0 && largest < (int32_t)1 << 14) {
        largest <<= 1;
        ++shift;
    }
    *bits = shift;
    for (int32_t i = 0; i < p->elements; ++i) {
        out[i] = (int16_t)((int32_t)in[i] * ((int32_t)1 << shift));
    }
}

/** Parameters of aboard_signal_energy. */
typedef struct {
    int32_t elements; /**< Elements of the result. */
    int32_t start;    /**< First element that is computed. */
    int32_t end;      /**< One past the last; the others are 0. */
} aboard_signal_energy_t;

/**
 * Computes squared absolute values of complex numbers.
 *
 * @param p            Parameters.
 * @param in           Operand: real and imaginary part in turn.
 * @param out          Result; none of the operand's memory.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_energy(const aboard_signal_energy_t *p, const int16_t *in, uint32_t *out,
                                        ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t re = in[2 * i];
        const int32_t im = in[2 * i + 1];
        out[i] = i < p->start || i >= p->end ? 0 : (uint32_t)(re * re) + (uint32_t)(im * im);
    }
}

#endif
