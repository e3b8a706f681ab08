/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counter.h
 * What the driver of a counter provides, together with the functions of aboard/port.h on ticks. Drivers of counters
 * that are narrower than 64 bits extend them in their interrupt.
 */
#ifndef ABOARD_COUNTER_H
#define ABOARD_COUNTER_H

/** Starts the counter. */
void aboard_counter_init(void);

/** Interrupt handler; empty for a counter that needs none. */
void aboard_counter_interrupt(void);

#endif
