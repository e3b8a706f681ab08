/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_filter_bank.h
 * Filter banks of an audio front end: sums of energies, square roots, noise reduction, gain control, logarithm. All
 * tensors are stored without gaps. host/aboard/ops/signal_filter_bank.py is the same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_FILTER_BANK_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_FILTER_BANK_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

/** Parameters of the kernels without options. */
typedef struct {
    int32_t channels; /**< Elements of the result. */
} aboard_signal_channels_t;

/** The number of bits of a number, without leading zeros. */
ABOARD_INLINE int32_t aboard_signal_bits(uint32_t x) {
    return x == 0 ? 0 : 32 - aboard_leading_zeros(x);
}

/** sum + weight * x, modulo 2^64, by an unsigned product of 32 bits. */
ABOARD_INLINE uint64_t aboard_signal_weighted(uint64_t sum, int32_t weight, uint32_t x) {
    const uint32_t excess = x & (uint32_t)(weight >> 31);
    return sum + (uint64_t)(uint32_t)weight * x - ((uint64_t)excess << 32);
}

/**
 * Sums the energies of each channel: those of group i + 1 times their weights, and those of group i times their other
 * weights, modulo 2^64.
 *
 * @param p            Parameters.
 * @param in           Operand: energies.
 * @param weights      Weights of the channel above a group.
 * @param others       Weights of the channel below it.
 * @param out          Result; none of the operand's memory.
 * @param energies     First energy of each group, of which there are channels + 1.
 * @param starts       First weight of each group.
 * @param widths       Energies of each group.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_filter_bank(const aboard_signal_channels_t *p, const uint32_t *in,
                                             const int16_t *weights, const int16_t *others, uint64_t *out,
                                             const int16_t *energies, const int16_t *starts, const int16_t *widths,
                                             ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    uint64_t carried = 0;
    for (int32_t i = 0; i <= p->channels; ++i) {
        const uint32_t *x = in + energies[i];
        const uint32_t *const end = x + ABOARD_MAX(widths[i], 0);
        const int16_t *own_weight = weights + starts[i];
        const int16_t *other_weight = others + starts[i];
        uint64_t own = carried;
        carried = 0;
        while (x != end) {
            own = aboard_signal_weighted(own, *own_weight++, *x);
            carried = aboard_signal_weighted(carried, *other_weight++, *x++);
        }
        if (i > 0) {
            out[i - 1] = own;
        }
    }
}

/** The square root of 32 bits, rounded down, by Newton's method from above. */
ABOARD_INLINE uint32_t aboard_signal_floor_root(uint32_t x) {
    if (x == 0) {
        return 0;
    }
    uint32_t next = (uint32_t)1 << ((aboard_signal_bits(x) + 1) / 2);
    uint32_t root;
    do {
        root = next;
        next = (root + x / root) >> 1;
    } while (next < root);
    return root;
}

/** The rounded square root of a number of at least 2^62, bit by bit; at most UINT32_MAX. */
ABOARD_SHARED uint32_t aboard_signal_large_root(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 62; bit != 0; bit >>= 2) {
        const uint64_t trial = root + bit;
        root >>= 1;
        if (x >= trial) {
            x -= trial;
            root += bit;
        }
    }
    return (uint32_t)(root + (x > root && root != UINT32_MAX));
}

/** The rounded square root; of numbers of 32 bits, at most 0xffff. */
ABOARD_INLINE uint32_t aboard_signal_root(uint64_t x) {
    const uint32_t high = (uint32_t)(x >> 32);
    if (high == 0) {
        const uint32_t root = aboard_signal_floor_root((uint32_t)x);
        return root + ((uint32_t)x - root * root > root && root != UINT16_MAX);
    }
    if (high >> 30 != 0) {
        return aboard_signal_large_root(x);
    }
    /* With s the root of the upper 31 or 32 bits, s * 2^k is low by (x - s^2 * 2^2k) / (s * 2^(k+1)) or by one less. */
    const int32_t k = (aboard_signal_bits(high) + 1) / 2;
    const uint32_t upper = aboard_signal_floor_root((uint32_t)(x >> (2 * k)));
    const uint64_t rest = x - ((uint64_t)(upper * upper) << (2 * k));
    const uint32_t root = (upper << k) + (uint32_t)(rest >> (k + 1)) / upper;
    const int64_t left = (int64_t)(x - (uint64_t)root * root);
    return left < 0 ? root - (left < -(int64_t)root + 1) : root + (left > (int64_t)root);
}

/**
 * Computes rounded square roots, shifted to the right.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param bits         Operand: the bits of the shift, of which the lower 5 count.
 * @param out          Result; none of the operand's memory.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_filter_bank_square_root(const aboard_signal_channels_t *p, const uint64_t *in,
                                                         const int32_t *bits, uint32_t *out,
                                                         ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->channels; ++i) {
        out[i] = aboard_signal_root(in[i]) >> (*bits & 31);
    }
}

/** Parameters of aboard_signal_filter_bank_spectral_subtraction; coefficients have `bits` fractional bits. */
typedef struct {
    int32_t channels;
    uint32_t smoothing[2];  /**< Weight of the signal in the noise estimate of even and odd channels. */
    uint32_t remaining[2];  /**< Weight of the estimate before. */
    uint32_t least;         /**< Part of the signal that remains at least. */
    int32_t smoothing_bits; /**< Further fractional bits of the noise estimate. */
    int32_t bits;
    bool clamping; /**< Whether the estimate never exceeds the signal. */
} aboard_signal_filter_bank_spectral_subtraction_t;

/**
 * Subtracts an estimate of the noise.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param before       Operand: the noise estimate of the run before.
 * @param out          Result; may be the memory of `in`.
 * @param noise        Result: the noise estimate; may be the memory of `before`.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_filter_bank_spectral_subtraction(
    const aboard_signal_filter_bank_spectral_subtraction_t *p, const uint32_t *in, const uint32_t *before,
    uint32_t *out, uint32_t *noise, ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->channels; ++i) {
        const uint32_t x = in[i];
        const uint32_t scaled = x << p->smoothing_bits;
        const uint64_t sum = (uint64_t)scaled * p->smoothing[i & 1] + (uint64_t)before[i] * p->remaining[i & 1];
        const uint32_t estimate = (uint32_t)(sum >> p->bits);
        const uint32_t subtracted = estimate > scaled ? scaled : estimate;
        const uint32_t least = (uint32_t)(((uint64_t)x * p->least) >> p->bits);
        const uint32_t left = (scaled - subtracted) >> p->smoothing_bits;
        noise[i] = p->clamping ? subtracted : estimate;
        out[i] = left > least ? left : least;
    }
}

/** Parameters of aboard_signal_pcan. */
typedef struct {
    int32_t channels;
    int32_t snr_shift; /**< Bits by which signal times gain is shifted to the right, for 12 fractional bits. */
} aboard_signal_pcan_t;

/** The gain for a noise estimate, by a table of 125 elements. */
ABOARD_INLINE int16_t aboard_signal_gain(uint32_t noise, const int16_t *table) {
    if (noise <= 2) {
        return table[noise];
    }
    const int32_t bits = aboard_signal_bits(noise);
    const int16_t *part = table + 4 * bits - 6;
    const int32_t fraction = (int32_t)((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3ff);
    const int32_t slope = ((part[2] * fraction) >> 5) + (int32_t)part[1] * 32;
    return (int16_t)(((slope * fraction + ((int32_t)1 << 14)) >> 15) + part[0]);
}

/**
 * Multiplies each channel by the gain for its noise, and compresses the product: x^2 / 4 below 2, x - 1 from there on.
 *
 * @param p            Parameters.
 * @param in           Operand: signal.
 * @param noise        Operand: noise estimates.
 * @param table        Operand: gains.
 * @param out          Result, with 6 fractional bits; may be the memory of `in`.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_pcan(const aboard_signal_pcan_t *p, const uint32_t *in, const uint32_t *noise,
                                      const int16_t *table, uint32_t *out, ABOARD_UNUSED int32_t first,
                                      ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->channels; ++i) {
        const uint32_t gain = (uint32_t)aboard_signal_gain(noise[i], table);
        const uint32_t snr = (uint32_t)(((uint64_t)in[i] * gain) >> p->snr_shift);
        out[i] = snr < (uint32_t)2 << 12 ? (snr * snr) >> 20 : (snr >> 6) - ((uint32_t)1 << 6);
    }
}

/** Parameters of aboard_signal_filter_bank_log. */
typedef struct {
    int32_t channels;
    int32_t correction_bits; /**< Bits by which the operand is shifted to the left first. */
    uint32_t scale;          /**< Factor of the logarithm. */
} aboard_signal_filter_bank_log_t;

/** The natural logarithm of a number from 2 on, with 16 fractional bits. */
ABOARD_INLINE uint32_t aboard_signal_log(uint32_t x, const uint16_t *table) {
    const int32_t whole = aboard_signal_bits(x) - 1;
    const uint32_t rest = x - (UINT32_C(1) << whole);
    const int32_t fraction = (int32_t)(whole < 16 ? rest << (16 - whole) : rest >> (whole - 16));
    const int32_t below = table[fraction >> 9];
    const int32_t above = table[(fraction >> 9) + 1];
    const int32_t part = ((above - below) * (fraction & 0x1ff)) >> 16;
    const uint32_t base2 = ((uint32_t)whole << 16) + (uint32_t)(fraction + below + part);
    return (uint32_t)((UINT64_C(45426) * base2 + ((uint32_t)1 << 15)) >> 16);
}

/**
 * Computes natural logarithms times a scale, saturated; 0 for operands below 2.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param out          Result; none of the operand's memory.
 * @param table        log2(1 + i / 128) - i / 128 for i from 0 to 128 with 16 fractional bits, and a 0.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_filter_bank_log(const aboard_signal_filter_bank_log_t *p, const uint32_t *in,
                                                 int16_t *out, const uint16_t *table, ABOARD_UNUSED int32_t first,
                                                 ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->channels; ++i) {
        const uint32_t x = in[i] << p->correction_bits;
        const uint32_t value = x > 1 ? (aboard_signal_log(x, table) * p->scale + ((uint32_t)1 << 15)) >> 16 : 0;
        out[i] = (int16_t)(value < INT16_MAX ? value : INT16_MAX);
    }
}

#endif
