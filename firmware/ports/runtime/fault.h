/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault.h
 * The fault record in RAM that a reset does not clear. Internal to ports.
 */
#ifndef ABOARD_FAULT_H
#define ABOARD_FAULT_H

#include "aboard/port.h"

/** Clears the record unless aboard_fault_begin has written it since power-up. Turns stack overflows into faults if the
 * core supports this. Called once, early. */
void aboard_fault_init(void);

/** Returns the record to fill; all fields except the kind are zero. Called by the fault handler. */
aboard_fault_t *aboard_fault_begin(uint32_t kind);

/**
 * Searches the stack for return addresses, innermost first. The result may include words that only look like return
 * addresses.
 *
 * @param found  Receives the addresses; further entries are not changed.
 * @param count  Largest number of addresses.
 * @param from   Start of the search; an address outside the stack (overflow) means its lower end.
 */
void aboard_fault_callers(uint32_t *found, uint32_t count, const uint32_t *from);

#endif
