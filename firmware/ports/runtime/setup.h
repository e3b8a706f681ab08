/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file setup.h
 * The setup steps of the board file and the SoC file, which run first: clocks, memories, pins. If there are steps, the
 * generated board/setup.c defines the function and aboard_board.h defines the macro ABOARD_SETUP.
 */
#ifndef ABOARD_SETUP_H
#define ABOARD_SETUP_H

#include <stdint.h>

#include "registers.h"

/**
 * Number of reads before a wait gives up. A PLL takes some hundred reads, a crystal some thousand. In an emulator
 * without a model of the register, the wait always gives up, which does no harm there.
 */
#define ABOARD_SETUP_READS 100000u

/** Executes the steps. The start-up code calls it before it initialises .data and .bss, so it must not use them. */
void aboard_board_setup(void);

/** Waits until the given bits of a register have the given values. */
static inline void aboard_setup_wait(uint32_t address, uint32_t bits, uint32_t values) {
    for (uint32_t reads = 0; reads < ABOARD_SETUP_READS && (ABOARD_REG32(address) & bits) != values; reads++) {
    }
}

#endif
