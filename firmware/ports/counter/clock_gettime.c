/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the operating system, in nanoseconds. */
#define _POSIX_C_SOURCE 200809L
#include "aboard/port.h"
#include "aboard_board.h"
#include "counter.h"

#include <time.h>

void aboard_counter_init(void) {}

void aboard_counter_interrupt(void) {}

uint64_t aboard_port_ticks(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ABOARD_COUNTER_HZ + (uint64_t)now.tv_nsec;
}

/* Nothing to align: a tick is a nanosecond. */
void aboard_port_ticks_align(void) {}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
