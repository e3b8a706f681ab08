/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault.h
 * The fault record in RAM that a reset does not clear. Between the files of a port.
 */
#ifndef ABOARD_FAULT_H
#define ABOARD_FAULT_H

#include "aboard/port.h"

/** Clears the record unless it was written by aboard_fault_begin since power came up, and has overflows of the stack
 * fault where the core can do that. Called once, early. */
void aboard_fault_init(void);

/** Returns the record to fill, all zero but its kind. Called by the handler of a fault. */
aboard_fault_t *aboard_fault_begin(uint32_t kind);

/**
 * Looks for return addresses on the stack, innermost first: who called whom. Words that only look like one are among
 * them.
 *
 * @param found  What is found; the rest stays as it is.
 * @param count  How many at most.
 * @param from   Where to begin; outside the stack (it overflowed) at its lower end.
 */
void aboard_fault_callers(uint32_t *found, uint32_t count, const uint32_t *from);

#endif
