/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counter.h
 * The functions that a counter driver provides, besides the tick functions of aboard/port.h. If a counter is narrower
 * than 64 bits, the driver extends it in an interrupt.
 */
#ifndef ABOARD_COUNTER_H
#define ABOARD_COUNTER_H

/** Starts the counter. */
void aboard_counter_init(void);

/** Interrupt handler; empty for a counter without an interrupt. */
void aboard_counter_interrupt(void);

#endif
