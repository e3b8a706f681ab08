/* SPDX-License-Identifier: Apache-2.0 */
/* native_sim: code takes no simulated time, so the clock of the machine times runs. */
#include "aboard/port.h"
#include "counter.h"
#include "host_clock.h"

void aboard_counter_init(void) {}

uint64_t aboard_port_ticks(void) {
    return aboard_host_clock_ns();
}

uint32_t aboard_port_tick_hz(void) {
    return 1000000000u;
}

void aboard_port_ticks_align(void) {}
