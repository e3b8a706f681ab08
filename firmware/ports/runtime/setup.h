/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file setup.h
 * What the files of the board and its SoC want done before anything else: clocks, memories, pins. The generated
 * board/setup.c defines it where there is something to do; aboard_board.h then has the macro ABOARD_SETUP.
 */
#ifndef ABOARD_SETUP_H
#define ABOARD_SETUP_H

#include <stdint.h>

#include "registers.h"

/**
 * Reads of a register before a wait is given up. A PLL takes some hundred of them, a crystal some thousand; an emulator
 * without a model of the register never gets there, and can do without.
 */
#define ABOARD_SETUP_READS 100000u

/** Does the steps. Called by the start-up code before .data and .bss are filled, so it has no variables in them. */
void aboard_board_setup(void);

/** Waits until the given bits of a register have the given values. */
static inline void aboard_setup_wait(uint32_t address, uint32_t bits, uint32_t values) {
    for (uint32_t reads = 0; reads < ABOARD_SETUP_READS && (ABOARD_REG32(address) & bits) != values; reads++) {
    }
}

#endif
