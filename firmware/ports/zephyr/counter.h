/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counter.h
 * The counter behind the ticks of aboard/port.h. Internal to the Zephyr port. Kconfig (ABOARD_COUNTER_*) chooses the
 * kernel's cycle counter, the timing API if the cycle counter is too slow, or the clock of the simulating machine.
 */
#ifndef ABOARD_ZEPHYR_COUNTER_H
#define ABOARD_ZEPHYR_COUNTER_H

/** Starts the counter. */
void aboard_counter_init(void);

#endif
