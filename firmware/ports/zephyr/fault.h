/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault.h
 * The record of the last fault. Internal to the Zephyr port.
 */
#ifndef ABOARD_ZEPHYR_FAULT_H
#define ABOARD_ZEPHYR_FAULT_H

/** Clears the record unless a fault has written it since power-up. Called once, early. */
void aboard_fault_init(void);

#endif
