/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/lstm.h
 * Layers of long short-term memory of int8 with Helium: four units at once; results as those of aboard_lstm_s8.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_LSTM_H
#define ABOARD_KERNELS_ARM_MVE_LSTM_H

#include <stdint.h>
#include <string.h>

#include "../portable/lstm.h"
#include "aboard/config.h"
#include "helium.h"
#include "line_buffer.h"
#include "rescale.h"
#include "sums.h"

/** Units of a block. */
#define ABOARD_LSTM_MVE_UNITS 4

/** Sums of a block: of two gates those of the input and those of the hidden state, then those of the other gates. */
#define ABOARD_LSTM_MVE_SUMS (2 * ABOARD_LSTM_GATES * ABOARD_LSTM_MVE_UNITS)

/** Those of two gates, which are computed together. */
#define ABOARD_LSTM_MVE_PAIR (ABOARD_LSTM_MVE_SUMS / 2)

/** Parameters of aboard_lstm_mve. Literals. */
typedef struct {
    aboard_lstm_t layer;
    aboard_mve_reach_t input;  /**< Chunks of a row of the input. */
    aboard_mve_reach_t hidden; /**< Chunks of a hidden state. */
} aboard_lstm_mve_t;

#if ABOARD_MVE_ASM

/** Two gates of four units before their functions, in the lower and in the upper halves of the lanes. */
typedef int16x8_t aboard_lstm_mve_gates_t;

/** Eight sums as two vectors. */
ABOARD_INLINE void aboard_lstm_mve_keep(int32_t *to, aboard_mve_sums_t sums) {
    vst1q_s32(to, sums.a);
    vst1q_s32(to + ABOARD_LSTM_MVE_UNITS, sums.b);
}

/** Vector number `index` of the sums, rescaled. */
ABOARD_INLINE int32x4_t aboard_lstm_mve_sum(const int32_t *sums, const int32_t *bias, int32_t index,
                                            aboard_lstm_scale_t scale) {
    const int32_t at = index * ABOARD_LSTM_MVE_UNITS;
    const int32x4_t sum = vaddq_s32(vld1q_s32(sums + at), vld1q_s32(bias + at));
    int32x4_t scaled = aboard_mve_rescale(sum, scale.multiplier, scale.shift, ABOARD_MVE_MOST_TO_INT16);
    ABOARD_MVE_IN_ORDER(scaled);
    return scaled;
}

/** Gates `first` and `first` + 1 from their sums and biases, vectors of four units. */
ABOARD_INLINE aboard_lstm_mve_gates_t aboard_lstm_mve_gates(const aboard_lstm_t *p, const int32_t *sums,
                                                            const int32_t *bias, int32_t first) {
    const int16x8_t fresh = aboard_mve_halfwords(aboard_lstm_mve_sum(sums, bias, 0, p->input[first]),
                                                 aboard_lstm_mve_sum(sums, bias, 1, p->input[first + 1]));
    const int16x8_t past = aboard_mve_halfwords(aboard_lstm_mve_sum(sums, bias, 2, p->recurrent[first]),
                                                aboard_lstm_mve_sum(sums, bias, 3, p->recurrent[first + 1]));
    return vqaddq_s16(fresh, past);
}

/** As aboard_sigmoid_look_up; at most the last interval but one of the table. */
ABOARD_INLINE int32x4_t aboard_lstm_mve_look_up(int32x4_t size, int32_t bits, const uint16_t *table) {
    const uint32x4_t index = (uint32x4_t)vshlq_r_s32(size, -bits);
    const int32x4_t below = (int32x4_t)vldrhq_gather_shifted_offset_u32(table, index);
    const int32x4_t above = (int32x4_t)vldrhq_gather_shifted_offset_u32(table + 1, index);
    const int32x4_t rest = vandq_s32(size, vdupq_n_s32((1 << bits) - 1));
    return vaddq_s32(vshlq_r_s32(below, bits), vmulq_s32(rest, vsubq_s32(above, below)));
}

/** The logistic function of gates, in the lower halves of the lanes; no argument is beyond the table. */
ABOARD_INLINE int16x8_t aboard_lstm_mve_logistic(int32x4_t gates, const uint16_t *table) {
    const int32x4_t size = vmulq_n_s32(vabsq_s32(gates), 3);
    const int32x4_t value = aboard_lstm_mve_look_up(size, ABOARD_LOGISTIC_BITS, table);
    /* Of a negative argument 2^25 less one more than the value, which is the complement but for bits above the result's
     * fifteen. */
    int32x4_t result = vrshrq_n_s32(veorq_s32(value, vshrq_n_s32(gates, 31)), 10);
    /* In assembly, because gcc prints the immediate of the intrinsic as a negative number, which gas refuses. */
    __asm__ volatile("vbic.i16 %q0, #0x8000" : "+w"(result));
    return (int16x8_t)result;
}

/** The hyperbolic tangent, in the lower halves of the lanes; `arguments` as those of the table. */
ABOARD_INLINE int16x8_t aboard_lstm_mve_tangent(int32x4_t arguments, const uint16_t *table) {
    /* The last value of the table is that of all arguments beyond. */
    const int32x4_t size = vminq_s32(vabsq_s32(arguments), vdupq_n_s32(255 << ABOARD_TANH_BITS));
    const int32x4_t value = vsubq_s32(aboard_lstm_mve_look_up(size, ABOARD_TANH_BITS, table), vdupq_n_s32(1 << 23));
    int32x4_t result = vrshrq_n_s32(veorq_s32(value, vshrq_n_s32(arguments, 31)), 8);
    ABOARD_MVE_IN_ORDER(result);
    return (int16x8_t)result;
}

/** The next cell states. */
ABOARD_INLINE int32x4_t aboard_lstm_mve_cells(const aboard_lstm_t *p, int32x4_t cells, int16x8_t input,
                                              int16x8_t forget, int16x8_t fresh) {
    const int32x4_t kept = aboard_mve_rescale(vmullbq_int_s16(forget, (int16x8_t)cells), p->forget.multiplier,
                                              p->forget.shift, ABOARD_MVE_MOST_TO_INT16);
    const int32x4_t added = aboard_mve_rescale(vmullbq_int_s16(input, fresh), p->update.multiplier, p->update.shift,
                                               ABOARD_MVE_MOST_TO_INT16);
    int16x8_t next = vqaddq_s16(aboard_mve_halfwords(kept, kept), aboard_mve_halfwords(added, added));
    if (p->clip > 0) {
        next = vminq_s16(vmaxq_s16(next, vdupq_n_s16((int16_t)-p->clip)), vdupq_n_s16((int16_t)p->clip));
    }
    return vmovlbq_s16(next);
}

/**
 * The states of four units from their gates before the functions; returns the hidden states, not saturated.
 *
 * @param first      Gates input and forget, in the lower and in the upper halves of the lanes.
 * @param second     Gates cell and output, likewise.
 * @param cell, next Cell states before and after the step.
 * @param some       The units that exist.
 */
ABOARD_INLINE int32x4_t aboard_lstm_mve_states(const aboard_lstm_t *p, int16x8_t first, int16x8_t second,
                                               const int16_t *cell, int16_t *next, const uint16_t *table,
                                               mve_pred16_t some) {
    const int16x8_t input = aboard_lstm_mve_logistic(vmovlbq_s16(first), table);
    const int16x8_t forget = aboard_lstm_mve_logistic(vmovltq_s16(first), table);
    const int16x8_t fresh = aboard_lstm_mve_tangent(vmulq_n_s32(vmovlbq_s16(second), 3), table);
    const int32x4_t cells = aboard_lstm_mve_cells(p, vldrhq_z_s32(cell, some), input, forget, fresh);
    vstrhq_p_s32(next, cells, some);
    int32x4_t arguments = vmulq_n_s32(cells, p->cell_multiplier);
    if (p->cell_shift > 0) {
        arguments = vrshlq_n_s32(arguments, -p->cell_shift);
    }
    const int16x8_t output = aboard_lstm_mve_logistic(vmovltq_s16(second), table);
    const int32x4_t products = vmullbq_int_s16(aboard_lstm_mve_tangent(arguments, table), output);
    const int32x4_t hidden =
        aboard_mve_rescale(products, p->output.multiplier, p->output.shift, ABOARD_MVE_MOST_TO_INT16);
    return vqaddq_n_s32(hidden, p->zero_point);
}

/**
 * The states of four units from their gates before the functions, or of the first `count` if this is fewer.
 *
 * @param first, second Gates input and forget, and gates cell and output.
 * @param cell, next    Cell states before and after the step.
 * @param y             Hidden states after the step.
 */
ABOARD_INLINE void aboard_lstm_mve_block(const aboard_lstm_t *p, const aboard_lstm_mve_gates_t *first,
                                         const aboard_lstm_mve_gates_t *second, const int16_t *cell, int16_t *next,
                                         int8_t *y, const uint16_t *table, int32_t count) {
    const mve_pred16_t some = vctp32q((uint32_t)count);
    const int32x4_t hidden = aboard_lstm_mve_states(p, *first, *second, cell, next, table, some);
    vstrbq_p_s32(y, vmaxq_s32(vminq_s32(hidden, vdupq_n_s32(INT8_MAX)), vdupq_n_s32(INT8_MIN)), some);
}

#else

/** Two gates of four units before their functions. */
typedef struct {
    int32_t lanes[2][ABOARD_LSTM_MVE_UNITS];
} aboard_lstm_mve_gates_t;

/** Eight sums as two vectors. */
ABOARD_INLINE void aboard_lstm_mve_keep(int32_t *to, aboard_mve_sums_t sums) {
    memcpy(to, &sums.a, sizeof(sums.a));
    memcpy(to + ABOARD_LSTM_MVE_UNITS, &sums.b, sizeof(sums.b));
}

/** The function above in C. */
ABOARD_INLINE aboard_lstm_mve_gates_t aboard_lstm_mve_gates(const aboard_lstm_t *p, const int32_t *sums,
                                                            const int32_t *bias, int32_t first) {
    aboard_lstm_mve_gates_t gates;
    for (int32_t at = 0; at < 2 * ABOARD_LSTM_MVE_UNITS; ++at) {
        const int32_t gate = at / ABOARD_LSTM_MVE_UNITS;
        const int32_t past = at + 2 * ABOARD_LSTM_MVE_UNITS;
        const int32_t of_x = (int32_t)((uint32_t)sums[at] + (uint32_t)bias[at]);
        const int32_t of_h = (int32_t)((uint32_t)sums[past] + (uint32_t)bias[past]);
        gates.lanes[gate][at % ABOARD_LSTM_MVE_UNITS] =
            aboard_lstm_saturate(aboard_lstm_rescale(of_x, &p->input[first + gate]) +
                                 aboard_lstm_rescale(of_h, &p->recurrent[first + gate]));
    }
    return gates;
}

/** The function above in C. */
ABOARD_INLINE void aboard_lstm_mve_block(const aboard_lstm_t *p, const aboard_lstm_mve_gates_t *first,
                                         const aboard_lstm_mve_gates_t *second, const int16_t *cell, int16_t *next,
                                         int8_t *y, const uint16_t *table, int32_t count) {
    for (int32_t i = 0; i < ABOARD_MIN(count, ABOARD_LSTM_MVE_UNITS); ++i) {
        const int32_t gates[ABOARD_LSTM_GATES] = {first->lanes[0][i], first->lanes[1][i], second->lanes[0][i],
                                                  second->lanes[1][i]};
        int32_t result;
        next[i] = aboard_lstm_cell(p, gates, cell[i], table, &result);
        y[i] = (int8_t)aboard_lstm_hidden(result, p->zero_point, INT8_MIN, INT8_MAX);
    }
}

#endif

/** A step: states of all units. */
ABOARD_INLINE void aboard_lstm_mve_step(const aboard_lstm_mve_t *p, const int8_t *x, const int8_t *h,
                                        const int16_t *cell, int16_t *next, int8_t *y, const int8_t *weights,
                                        const int32_t *bias, const uint16_t *table, int32_t *sums) {
    /* With known constants, a compiler would keep an address for each. */
    ABOARD_OPAQUE(bias);
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->layer.extents.units; n += ABOARD_LSTM_MVE_UNITS) {
        aboard_lstm_mve_gates_t gates[2];
        ABOARD_UNROLL(2)
        for (int32_t pair = 0; pair < 2; ++pair) {
            aboard_lstm_mve_keep(sums, aboard_mve_eight(p->input, x, &weights));
            aboard_lstm_mve_keep(sums + ABOARD_LSTM_MVE_PAIR / 2, aboard_mve_eight(p->hidden, h, &weights));
            gates[pair] = aboard_lstm_mve_gates(&p->layer, sums, bias, 2 * pair);
            bias += ABOARD_LSTM_MVE_PAIR;
        }
        aboard_lstm_mve_block(&p->layer, &gates[0], &gates[1], cell + n, next + n, y + n, table,
                              p->layer.extents.units - n);
    }
}

/**
 * A sequence of steps; parameters are those of aboard_lstm_s8 but:
 *
 * @param weights Of each block of four units, for the gates input and forget, then for the gates cell and output: those
 *                of the input and those of the hidden state, each [chunks][two gates][4 units][16], padded with zeros.
 * @param bias    [blocks of units][ABOARD_LSTM_MVE_SUMS].
 * @param table   As for aboard_logistic_s16, and its last value again.
 * @param scratch ABOARD_LSTM_MVE_PAIR words; an input's chunks and a hidden state's, unless these are whole.
 */
ABOARD_INLINE void aboard_lstm_mve(const aboard_lstm_mve_t *p, const int8_t *in, const int8_t *hidden,
                                   const int16_t *cell, int8_t *out, int8_t *next_hidden, int16_t *next_cell,
                                   const int8_t *weights, const int32_t *bias, const uint16_t *table, int32_t *scratch,
                                   int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->layer.extents;
    const int32_t copied = e->inputs % ABOARD_MVE_CHUNK != 0 ? p->input.rows * p->input.chunks : 0;
    int8_t *const x_copy = (int8_t *)(scratch + ABOARD_LSTM_MVE_PAIR);
    int8_t *const h_copy = x_copy + copied * ABOARD_MVE_CHUNK;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int8_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            const int8_t *x = in + row * e->inputs;
            if (e->inputs % ABOARD_MVE_CHUNK != 0) {
                aboard_mve_copy(x_copy, x, e->inputs);
                x = x_copy;
            }
            if (e->units % ABOARD_MVE_CHUNK != 0) {
                aboard_mve_copy(h_copy, h, e->units);
                h = h_copy;
            }
            aboard_lstm_mve_step(p, x, h, c, to, out + row * e->units, weights, bias, table, scratch);
            h = out + row * e->units;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units);
    }
}

#endif
