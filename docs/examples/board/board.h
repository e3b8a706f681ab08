/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file board.h
 * What an application of the examples needs of a board. For a board of yours, write these functions.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/** Parts of the application whose time is measured. */
typedef enum { BOARD_FRONT_END, BOARD_MODEL, BOARD_PARTS } board_part_t;

/** Waits for samples of the microphone and copies them; returns their number, 0 at the end of the recording. */
int32_t board_microphone(int16_t *samples, int32_t count);

/** Called for each decision: its class, and the samples heard so far. */
void board_decided(int32_t decided, uint32_t sample);

/** A counter that goes up and wraps; differences of less than 0.5 s are right. */
uint32_t board_ticks(void);

/** Called with the ticks that a part took. */
void board_measured(board_part_t part, uint32_t ticks);

#endif
