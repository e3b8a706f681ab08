/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault.h
 * The fault record in RAM that a reset does not clear. Between the files of a port.
 */
#ifndef ABOARD_FAULT_H
#define ABOARD_FAULT_H

#include "aboard/port.h"

/** Clears the record unless it was written by aboard_fault_begin since power came up. Called once, early. */
void aboard_fault_init(void);

/** Returns the record to fill, all zero but its kind. Called by the handler of a fault. */
aboard_fault_t *aboard_fault_begin(uint32_t kind);

#endif
