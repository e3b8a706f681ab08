/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frontend/frames.h
 * Cuts a stream of int16 values into frames that overlap. A ring holds the values of the next frame:
 *
 *     stream    |------------------------------------------------->
 *     frame 0   [=============]
 *     frame 1         [=============]
 *     frame 2               [=============]
 *               <-hop->
 *
 * A value is a sample of a microphone, or one axis of one sample of a sensor: with 3 axes, size and hop are multiples
 * of 3. host/aboard/frontend/frames.py is the same in numpy.
 */
#ifndef ABOARD_FRONTEND_FRAMES_H
#define ABOARD_FRONTEND_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** Parameters of a stream. */
typedef struct {
    int32_t size; /**< Values of a frame. */
    int32_t hop;  /**< Values from the start of a frame to the start of the next, from 1 to size. */
} aboard_frames_t;

/** State of a stream; zero is its beginning. The ring with the values is beside it. */
typedef struct {
    int32_t first;  /**< Place of the oldest value in the ring. */
    int32_t filled; /**< Values in the ring. */
} aboard_frames_state_t;

/**
 * Takes values until a frame is complete.
 *
 * @param p       Parameters.
 * @param state   State.
 * @param ring    Ring of p->size values.
 * @param values  The next values of the stream; may be NULL when `count` is 0.
 * @param count   Number of values.
 * @return        Number of values taken: less than `count` if a frame is complete; read it, then give the others.
 */
ABOARD_INLINE int32_t aboard_frames_push(const aboard_frames_t *p, aboard_frames_state_t *state, int16_t *ring,
                                         const int16_t *values, int32_t count) {
    const int32_t taken = ABOARD_MIN(count, p->size - state->filled);
    for (int32_t left = taken; left > 0;) {
        const int32_t end = state->first + state->filled;
        const int32_t place = end < p->size ? end : end - p->size;
        const int32_t run = ABOARD_MIN(left, p->size - place);
        memcpy(ring + place, values, (size_t)run * sizeof *ring);
        values += run;
        state->filled += run;
        left -= run;
    }
    return taken;
}

/**
 * Reads a complete frame and removes its first `hop` values.
 *
 * @param p      Parameters.
 * @param state  State.
 * @param ring   Ring of p->size values.
 * @param frame  Gets p->size values, the oldest first.
 * @return       False if no frame is complete; nothing is written then.
 */
ABOARD_INLINE bool aboard_frames_read(const aboard_frames_t *p, aboard_frames_state_t *state, const int16_t *ring,
                                      int16_t *frame) {
    if (state->filled < p->size) {
        return false;
    }
    const int32_t run = p->size - state->first;
    memcpy(frame, ring + state->first, (size_t)run * sizeof *ring);
    memcpy(frame + run, ring, (size_t)state->first * sizeof *ring);
    state->filled -= p->hop;
    state->first = run > p->hop ? state->first + p->hop : p->hop - run;
    return true;
}

#endif
