/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/lstm_s16.h
 * Layers of long short-term memory of int16 with Helium: products of four gates at once, states of four units at once;
 * results as those of aboard_lstm_s16.
 *
 * The host has proven that sums fit 32 bits, so that VMLADAVA sums eight products, and VRMULH rescales.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_LSTM_S16_H
#define ABOARD_KERNELS_ARM_MVE_LSTM_S16_H

#include <stdint.h>
#include <string.h>

#include "../portable/lstm.h"
#include "aboard/config.h"
#include "helium.h"
#include "lstm.h"

/** Values that one instruction multiplies. */
#define ABOARD_LSTM_MVE_S16_CHUNK 8

/** Parameters of aboard_lstm_mve_s16. Literals. */
typedef struct {
    aboard_lstm_t layer;   /**< Sums are rescaled by `multiplier` alone: (sum * multiplier + 2^31) >> 32. */
    int32_t input_chunks;  /**< Chunks of a row of the input; 1 or more. */
    int32_t hidden_chunks; /**< Chunks of a hidden state. */
} aboard_lstm_mve_s16_t;

#if ABOARD_MVE_ASM

/**
 * Sums of the four gates of a unit: one in each of four vectors, two vectors apart.
 *
 * @param x       Chunks.
 * @param weights [chunks][4 gates][8].
 * @return End of the weights.
 */
ABOARD_INLINE const int8_t *aboard_lstm_mve_s16_sums(int32_t *sums, const int16_t *x, const int8_t *weights,
                                                     int32_t chunks) {
    int32_t input = 0, forget = 0, fresh = 0, output = 0;
    ABOARD_UNROLL(1)
    for (int32_t left = chunks; left > 0; --left) {
        const int16x8_t values = vldrhq_s16(x);
        input = vmladavaq_s16(input, values, vldrbq_s16(weights));
        forget = vmladavaq_s16(forget, values, vldrbq_s16(weights + ABOARD_LSTM_MVE_S16_CHUNK));
        fresh = vmladavaq_s16(fresh, values, vldrbq_s16(weights + 2 * ABOARD_LSTM_MVE_S16_CHUNK));
        output = vmladavaq_s16(output, values, vldrbq_s16(weights + 3 * ABOARD_LSTM_MVE_S16_CHUNK));
        x += ABOARD_LSTM_MVE_S16_CHUNK;
        weights += ABOARD_LSTM_GATES * ABOARD_LSTM_MVE_S16_CHUNK;
    }
    sums[0] = input;
    sums[2 * ABOARD_LSTM_MVE_UNITS] = forget;
    sums[4 * ABOARD_LSTM_MVE_UNITS] = fresh;
    sums[6 * ABOARD_LSTM_MVE_UNITS] = output;
    return weights;
}

/** Vector number `index` of the sums, rescaled. */
ABOARD_INLINE int32x4_t aboard_lstm_mve_s16_sum(const int32_t *sums, const int32_t *bias, int32_t index,
                                                aboard_lstm_scale_t scale) {
    const int32_t at = index * ABOARD_LSTM_MVE_UNITS;
    int32x4_t scaled =
        vrmulhq_s32(vaddq_s32(vld1q_s32(sums + at), vld1q_s32(bias + at)), vdupq_n_s32(scale.multiplier));
    ABOARD_MVE_IN_ORDER(scaled);
    return scaled;
}

/** Gates `first` and `first` + 1 before their functions, in the lower and in the upper halves of the lanes. */
ABOARD_INLINE int16x8_t aboard_lstm_mve_s16_gates(const aboard_lstm_t *p, const int32_t *sums, const int32_t *bias,
                                                  int32_t first) {
    const int32_t at = 2 * first;
    const int16x8_t fresh = aboard_mve_halfwords(aboard_lstm_mve_s16_sum(sums, bias, at, p->input[first]),
                                                 aboard_lstm_mve_s16_sum(sums, bias, at + 2, p->input[first + 1]));
    const int16x8_t past = aboard_mve_halfwords(aboard_lstm_mve_s16_sum(sums, bias, at + 1, p->recurrent[first]),
                                                aboard_lstm_mve_s16_sum(sums, bias, at + 3, p->recurrent[first + 1]));
    return vqaddq_s16(fresh, past);
}

/**
 * The states of four units from their sums, or of the first `count` if this is fewer.
 *
 * @param sums, bias Vectors of four units: of each gate that of the input and that of the hidden state.
 * @param cell, next Cell states before and after the step.
 * @param y          Hidden states after the step.
 */
ABOARD_INLINE void aboard_lstm_mve_s16_block(const aboard_lstm_t *p, const int32_t *sums, const int32_t *bias,
                                             const int16_t *cell, int16_t *next, int16_t *y, const uint16_t *table,
                                             int32_t count) {
    const mve_pred16_t some = vctp32q((uint32_t)count);
    const int16x8_t first = aboard_lstm_mve_s16_gates(p, sums, bias, 0);
    const int16x8_t second = aboard_lstm_mve_s16_gates(p, sums, bias, 2);
    const int32x4_t hidden = aboard_lstm_mve_states(p, first, second, cell, next, table, some);
    vstrhq_p_s32(y, vmovlbq_s16(vqmovnbq_s32((int16x8_t)hidden, hidden)), some);
}

#else

/** The function above in C. */
ABOARD_INLINE const int8_t *aboard_lstm_mve_s16_sums(int32_t *sums, const int16_t *x, const int8_t *weights,
                                                     int32_t chunks) {
    for (int32_t gate = 0; gate < ABOARD_LSTM_GATES; ++gate) {
        int32_t sum = 0;
        for (int32_t i = 0; i < chunks * ABOARD_LSTM_MVE_S16_CHUNK; ++i) {
            const int32_t chunk = i / ABOARD_LSTM_MVE_S16_CHUNK * ABOARD_LSTM_GATES + gate;
            sum += x[i] * weights[chunk * ABOARD_LSTM_MVE_S16_CHUNK + i % ABOARD_LSTM_MVE_S16_CHUNK];
        }
        sums[2 * gate * ABOARD_LSTM_MVE_UNITS] = sum;
    }
    return weights + chunks * ABOARD_LSTM_GATES * ABOARD_LSTM_MVE_S16_CHUNK;
}

/** The function above in C. */
ABOARD_INLINE void aboard_lstm_mve_s16_block(const aboard_lstm_t *p, const int32_t *sums, const int32_t *bias,
                                             const int16_t *cell, int16_t *next, int16_t *y, const uint16_t *table,
                                             int32_t count) {
    for (int32_t i = 0; i < ABOARD_MIN(count, ABOARD_LSTM_MVE_UNITS); ++i) {
        int32_t gates[ABOARD_LSTM_GATES];
        int32_t result;
        for (int32_t g = 0; g < ABOARD_LSTM_GATES; ++g) {
            const int32_t fresh = 2 * g * ABOARD_LSTM_MVE_UNITS + i;
            const int32_t past = fresh + ABOARD_LSTM_MVE_UNITS;
            const int32_t of_x = aboard_rounded_high_mul(sums[fresh] + bias[fresh], p->input[g].multiplier);
            const int32_t of_h = aboard_rounded_high_mul(sums[past] + bias[past], p->recurrent[g].multiplier);
            gates[g] = aboard_lstm_saturate(aboard_lstm_saturate(of_x) + aboard_lstm_saturate(of_h));
        }
        next[i] = aboard_lstm_cell(p, gates, cell[i], table, &result);
        y[i] = (int16_t)aboard_lstm_hidden(result, p->zero_point, INT16_MIN, INT16_MAX);
    }
}

#endif

/** A step: states of all units. */
ABOARD_INLINE void aboard_lstm_mve_s16_step(const aboard_lstm_mve_s16_t *p, const int16_t *x, const int16_t *h,
                                            const int16_t *cell, int16_t *next, int16_t *y, const int8_t *weights,
                                            const int32_t *bias, const uint16_t *table, int32_t *sums) {
    /* With known constants, a compiler would keep an address for each. */
    ABOARD_OPAQUE(bias);
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->layer.extents.units; n += ABOARD_LSTM_MVE_UNITS) {
        ABOARD_UNROLL(1)
        for (int32_t *to = sums; to < sums + ABOARD_LSTM_MVE_UNITS; ++to) {
            weights = aboard_lstm_mve_s16_sums(to, x, weights, p->input_chunks);
            weights = aboard_lstm_mve_s16_sums(to + ABOARD_LSTM_MVE_UNITS, h, weights, p->hidden_chunks);
        }
        aboard_lstm_mve_s16_block(&p->layer, sums, bias, cell + n, next + n, y + n, table, p->layer.extents.units - n);
        bias += ABOARD_LSTM_MVE_SUMS;
    }
}

/** Copies values, unless they are whole chunks; returns where they are. */
ABOARD_INLINE const int16_t *aboard_lstm_mve_s16_whole(int16_t *to, const int16_t *from, int32_t count) {
    if (count % ABOARD_LSTM_MVE_S16_CHUNK == 0) {
        return from;
    }
    memcpy(to, from, (size_t)count * sizeof(*from));
    return to;
}

/**
 * A sequence of steps; parameters are those of aboard_lstm_s16 but:
 *
 * @param weights [blocks of four units][4 units]: those of the input and those of the hidden state, each
 *                [chunks][4 gates][8], padded with zeros.
 * @param bias    [blocks of units][4 gates][2][4 units], of the input's products and of the hidden state's.
 * @param table   As for aboard_logistic_s16, and its last value again.
 * @param scratch ABOARD_LSTM_MVE_SUMS words; an input's chunks and a hidden state's, unless these are whole.
 */
ABOARD_INLINE void aboard_lstm_mve_s16(const aboard_lstm_mve_s16_t *p, const int16_t *in, const int16_t *hidden,
                                       const int16_t *cell, int16_t *out, int16_t *next_hidden, int16_t *next_cell,
                                       const int8_t *weights, const int32_t *bias, const uint16_t *table,
                                       int32_t *scratch, int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->layer.extents;
    const int32_t copied = e->inputs % ABOARD_LSTM_MVE_S16_CHUNK != 0 ? p->input_chunks : 0;
    int16_t *const x_copy = (int16_t *)(scratch + ABOARD_LSTM_MVE_SUMS);
    int16_t *const h_copy = x_copy + copied * ABOARD_LSTM_MVE_S16_CHUNK;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int16_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            const int16_t *const x = aboard_lstm_mve_s16_whole(x_copy, in + row * e->inputs, e->inputs);
            h = aboard_lstm_mve_s16_whole(h_copy, h, e->units);
            aboard_lstm_mve_s16_step(p, x, h, c, to, out + row * e->units, weights, bias, table, scratch);
            h = out + row * e->units;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units * sizeof(*h));
    }
}

#endif
