/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds persons in the pictures of a camera. The board gives lines and takes decisions (board.h). No picture is in RAM:
 * a row of the model is made of two lines, and the model computes with each row what it can.
 */
#include <string.h>

#include "aboard/config.h"
#include "board.h"
#include "frontend/decisions.h"
#include "frontend/picture.h"
#include "frontend/scale.h"
#include "numbers.h"
#include "person.h"

#define CLASSES PERSON_OUTPUT_0_ELEMENTS

static const aboard_picture_t fit = FIT;
static const aboard_scale_t scale = SCALE;
static const aboard_average_t average = {CLASSES, AVERAGED};
static const aboard_decision_t decision = DECISION;

static uint8_t arena[PERSON_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint8_t lines[2][BOARD_CAMERA_WIDTH];
static uint8_t pixels[PERSON_INPUT_0_ROW_BYTES];
static int8_t ring[AVERAGED * CLASSES];
static aboard_average_state_t averages;
static aboard_decision_state_t decided;
static uint32_t resizing, running;

/* Gives the model the rows, from `row` on, that are complete with line `line`; returns the next row. */
static int32_t push_rows(int32_t row, int32_t line, aboard_status_t *status) {
    while (row < PERSON_INPUT_0_ROWS && *status == ABOARD_OK) {
        const aboard_picture_rows_t rows = aboard_picture_rows(&fit, row);
        if (rows.lower > line) {
            break;
        }
        const uint32_t start = board_ticks();
        int8_t *next = person_row(arena);
        aboard_picture_bilinear_row(&fit, lines[rows.upper % 2], lines[rows.lower % 2], rows.weight, pixels);
        aboard_scale_u8(&scale, pixels, next, PERSON_INPUT_0_ROW_BYTES);
        const uint32_t resized = board_ticks();
        *status = person_push(arena, next);
        resizing += resized - start;
        running += board_ticks() - resized;
        ++row;
    }
    return row;
}

/* Looks at a picture and decides; sets `*found` to the class, or to -1. Returns false at the end of the pictures. */
static bool look(aboard_status_t *status, int32_t *found) {
    int32_t row = 0;
    *found = -1;
    *status = person_begin(arena, sizeof arena);
    resizing = running = 0;
    for (int32_t line = 0; line < BOARD_CAMERA_HEIGHT; ++line) {
        if (!board_camera_line(lines[line % 2])) {
            return false;
        }
        row = push_rows(row, line, status);
    }
    const uint32_t start = board_ticks();
    if (*status == ABOARD_OK) {
        *status = person_run(arena, sizeof arena);
    }
    board_measured(BOARD_FRONT_END, resizing);
    board_measured(BOARD_MODEL, running + board_ticks() - start);
    int8_t scores[CLASSES];
    aboard_average(&average, &averages, ring, person_output_0(arena), scores);
    *found = aboard_decide(&decision, &decided, scores);
    return true;
}

int main(void) {
    aboard_status_t status;
    int32_t found;
    for (uint32_t picture = 1; look(&status, &found); ++picture) {
        if (status != ABOARD_OK) {
            return 1;
        }
        if (found >= 0) {
            board_decided(found, picture);
        }
    }
    return 0;
}
