/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file board.h
 * What an application of the examples needs of a board. For a board of yours, write these functions, of the three
 * sensors the one that the application reads.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

/** Pixels of a line of the camera, and lines of a picture. */
#define BOARD_CAMERA_WIDTH 160
#define BOARD_CAMERA_HEIGHT 120

/** Parts of the application whose time is measured. */
typedef enum { BOARD_FRONT_END, BOARD_MODEL, BOARD_PARTS } board_part_t;

/** Waits for samples of the microphone and copies them; returns their number, 0 at the end of the recording. */
int32_t board_microphone(int16_t *samples, int32_t count);

/**
 * Waits for samples of the accelerometer and copies them: x, y and z of each, one after another, in 1/1000 g. Returns
 * their number, 0 at the end of the recording.
 */
int32_t board_accelerometer(int16_t *samples, int32_t count);

/** Waits for the next line of the camera and copies its pixels, one byte of grey each; false at the end. */
bool board_camera_line(uint8_t *pixels);

/** Called for each decision: its class, and the samples (of a camera: the pictures) read so far. */
void board_decided(int32_t decided, uint32_t sample);

/** A counter that goes up and wraps; differences of less than 0.5 s are right. */
uint32_t board_ticks(void);

/** Called with the ticks that a part took. */
void board_measured(board_part_t part, uint32_t ticks);

#endif
