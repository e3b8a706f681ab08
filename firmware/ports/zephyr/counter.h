/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counter.h
 * Between the files of the Zephyr port: what counts the ticks of aboard/port.h. Kconfig (ABOARD_COUNTER_*) chooses the
 * kernel's cycle counter, the timing API where that one is too slow, or the clock of the machine that simulates.
 */
#ifndef ABOARD_ZEPHYR_COUNTER_H
#define ABOARD_ZEPHYR_COUNTER_H

/** Starts the counter. */
void aboard_counter_init(void);

#endif
