/* SPDX-License-Identifier: Apache-2.0 */
/* The board of the examples on Zephyr: decisions are printed, times are logged. The sensor has a file of its own. */
#include "board.h"

#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>
#include <zephyr/sys/printk.h>

LOG_MODULE_REGISTER(board, LOG_LEVEL_INF);

void board_decided(int32_t decided, uint32_t sample) {
    printk("%d %u\n", (int)decided, (unsigned int)sample);
}

uint32_t board_ticks(void) {
    return k_cycle_get_32();
}

/* Raise the level of this module to LOG_LEVEL_DBG to see the times. */
void board_measured(board_part_t part, uint32_t ticks) {
    LOG_DBG("%s: %u cycles", part == BOARD_MODEL ? "model" : "front end", (unsigned int)ticks);
}
