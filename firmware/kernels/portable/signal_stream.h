/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_stream.h
 * Kernels of an audio front end that keep samples from run to run. All tensors are stored without gaps. What a run
 * keeps for the next one is a result, which may be the memory of the operand that the run before has left. A kernel
 * that keeps nothing (0 samples) touches neither. host/aboard/ops/signal_stream.py is the same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_STREAM_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** Bytes of a number of samples. */
ABOARD_INLINE size_t aboard_signal_bytes(int32_t samples) {
    return (size_t)samples * sizeof(int16_t);
}

/** Copies `count` samples from `start` on of a stream: `kept` samples, then those at `x`. */
ABOARD_INLINE void aboard_signal_copy(int16_t *to, const int16_t *before, int32_t kept, const int16_t *x, int32_t start,
                                      int32_t count) {
    const int32_t old = start >= kept ? 0 : ABOARD_MIN(kept - start, count);
    if (old > 0) {
        memcpy(to, before + start, aboard_signal_bytes(old));
    }
    if (count > old) {
        memcpy(to + old, x + (start + old - kept), aboard_signal_bytes(count - old));
    }
}

/** Keeps the last `kept` samples of a stream: `kept` samples, then `count` at `x`. */
ABOARD_INLINE void aboard_signal_keep(int16_t *next, const int16_t *before, int32_t kept, const int16_t *x,
                                      int32_t count) {
    const int32_t old = kept - count;
    if (old > 0) {
        memmove(next, before + count, aboard_signal_bytes(old));
        memcpy(next + old, x, aboard_signal_bytes(count));
    } else if (kept > 0) {
        memcpy(next, x - old, aboard_signal_bytes(kept));
    }
}

/** Parameters of aboard_signal_delay. */
typedef struct {
    int32_t streams;
    int32_t samples; /**< Samples of a stream in a run. */
    int32_t kept;    /**< Samples by which it is delayed. */
} aboard_signal_delay_t;

/**
 * Delays streams.
 *
 * @param p            Parameters.
 * @param in           Operand: streams * samples.
 * @param before       Operand: streams * kept samples of the run before.
 * @param out          Result; none of the operands' memory.
 * @param next         Result: streams * kept samples for the next run.
 * @param first, last  All rows.
 */
ABOARD_INLINE void aboard_signal_delay(const aboard_signal_delay_t *p, const int16_t *in, const int16_t *before,
                                       int16_t *out, int16_t *next, ABOARD_UNUSED int32_t first,
                                       ABOARD_UNUSED int32_t last) {
    for (int32_t i = 0; i < p->streams; ++i) {
        const int16_t *x = in + i * p->samples;
        aboard_signal_copy(out + i * p->samples, before + i * p->kept, p->kept, x, 0, p->samples);
        aboard_signal_keep(next + i * p->kept, before + i * p->kept, p->kept, x, p->samples);
    }
}

/** Parameters of aboard_signal_framer. */
typedef struct {
    int32_t streams;
    int32_t frames; /**< Frames of a stream in a run, which has frames * step samples. */
    int32_t size;   /**< Samples of a frame. */
    int32_t step;   /**< Samples from a frame to the next. */
    int32_t kept;   /**< Samples that are kept of a stream. */
    bool counted;   /**< Whether the first frames are not valid. */
} aboard_signal_framer_t;

/**
 * Cuts streams into overlapping frames.
 *
 * @param p             Parameters.
 * @param in            Operand: streams * frames * step samples.
 * @param before        Operand: streams * kept samples of the run before.
 * @param missing       Operand where `counted`: steps until the first valid frame.
 * @param out           Result: streams * frames * size samples; none of the operands' memory.
 * @param valid         Result: whether all frames are valid.
 * @param next          Result: streams * kept samples for the next run.
 * @param next_missing  Result where `counted`.
 * @param first, last   All rows.
 */
ABOARD_INLINE void aboard_signal_framer(const aboard_signal_framer_t *p, const int16_t *in, const int16_t *before,
                                        const int32_t *missing, int16_t *out, bool *valid, int16_t *next,
                                        int32_t *next_missing, ABOARD_UNUSED int32_t first,
                                        ABOARD_UNUSED int32_t last) {
    const int32_t samples = p->frames * p->step;
    for (int32_t i = 0; i < p->streams; ++i) {
        const int16_t *x = in + i * samples;
        for (int32_t frame = 0; frame < p->frames; ++frame) {
            int16_t *y = out + (i * p->frames + frame) * p->size;
            aboard_signal_copy(y, before + i * p->kept, p->kept, x, frame * p->step, p->size);
        }
        aboard_signal_keep(next + i * p->kept, before + i * p->kept, p->kept, x, samples);
    }
    *valid = true;
    if (p->counted) {
        const int32_t steps = *missing;
        *valid = steps == 0;
        *next_missing = steps > p->frames ? steps - p->frames : 0;
    }
}

/** Parameters of aboard_signal_stacker. */
typedef struct {
    int32_t channels; /**< Samples of a frame. */
    int32_t kept;     /**< Samples of the frames that are kept: of all frames of a stack but one. */
    int32_t right;    /**< Frames behind the frame in question. */
    int32_t step;     /**< Frames from a stack to the next. */
} aboard_signal_stacker_t;

/**
 * Joins a frame with those before and behind it.
 *
 * @param p             Parameters.
 * @param in            Operand: a frame.
 * @param missing       Operand: frames until the next stack, this one included; 0 before the first run.
 * @param before        Operand: kept samples of the run before.
 * @param out           Result: kept + channels samples; none of the operands' memory.
 * @param valid         Result: whether this is a stack.
 * @param next_missing  Result: for the next run.
 * @param next          Result: kept samples for the next run.
 * @param first, last   All rows.
 */
ABOARD_INLINE void aboard_signal_stacker(const aboard_signal_stacker_t *p, const int16_t *in, const int32_t *missing,
                                         const int16_t *before, int16_t *out, bool *valid, int32_t *next_missing,
                                         int16_t *next, ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    const bool is_first = *missing == 0;
    const int32_t frames = is_first ? p->right + 1 : *missing;
    for (int32_t i = 0; i < p->kept; i += p->channels) {
        memcpy(out + i, is_first ? in : before + i, aboard_signal_bytes(p->channels));
    }
    memcpy(out + p->kept, in, aboard_signal_bytes(p->channels));
    if (p->kept > 0) {
        memcpy(next, out + p->channels, aboard_signal_bytes(p->kept));
    }
    *valid = frames == 1;
    *next_missing = frames == 1 ? p->step : frames - 1;
}

/** Parameters of aboard_signal_overlap_add_s16 and aboard_signal_overlap_add_f32. */
typedef struct {
    int32_t streams;
    int32_t frames; /**< Frames of a stream in a run. */
    int32_t size;   /**< Elements of a frame. */
    int32_t step;   /**< Elements from a frame to the next. */
} aboard_signal_overlap_add_t;

/** A sum, saturated. */
ABOARD_INLINE int16_t aboard_signal_sum_s16(int16_t a, int16_t b) {
    const int32_t sum = (int32_t)a + b;
    return (int16_t)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
}

ABOARD_INLINE float aboard_signal_sum_f32(float a, float b) {
    return a + b;
}

/**
 * aboard_signal_overlap_add_s16 and aboard_signal_overlap_add_f32 add overlapping frames to a stream. Sums of int16
 * saturate.
 *
 * @param p            Parameters.
 * @param in           Operand: streams * frames * size elements.
 * @param before       Operand: streams * (size - step) sums of the run before.
 * @param out          Result: streams * frames * step elements; none of the operands' memory.
 * @param next         Result: streams * (size - step) sums for the next run.
 * @param first, last  All rows.
 */
#define ABOARD_SIGNAL_OVERLAP_ADD(suffix, T)                                                                           \
    ABOARD_INLINE void aboard_signal_overlap_add_##suffix(const aboard_signal_overlap_add_t *p, const T *in,           \
                                                          const T *before, T *out, T *next,                            \
                                                          ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {   \
        const int32_t kept = p->size - p->step;                                                                        \
        for (int32_t i = 0; i < p->streams; ++i) {                                                                     \
            const T *sums = before + i * kept;                                                                         \
            T *to = next + i * kept;                                                                                   \
            for (int32_t frame = i * p->frames; frame < (i + 1) * p->frames; ++frame) {                                \
                const T *x = in + frame * p->size;                                                                     \
                T *y = out + frame * p->step;                                                                          \
                for (int32_t j = 0; j < p->step; ++j) {                                                                \
                    y[j] = aboard_signal_sum_##suffix(j < kept ? sums[j] : 0, x[j]);                                   \
                }                                                                                                      \
                for (int32_t j = 0; j < kept; ++j) {                                                                   \
                    const int32_t k = j + p->step;                                                                     \
                    to[j] = aboard_signal_sum_##suffix(k < kept ? sums[k] : 0, x[k]);                                  \
                }                                                                                                      \
                sums = to;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_SIGNAL_OVERLAP_ADD(s16, int16_t)
ABOARD_SIGNAL_OVERLAP_ADD(f32, float)

#endif
