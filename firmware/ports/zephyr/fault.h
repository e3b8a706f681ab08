/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault.h
 * Between the files of the Zephyr port: the record of the last fault.
 */
#ifndef ABOARD_ZEPHYR_FAULT_H
#define ABOARD_ZEPHYR_FAULT_H

/** Clears the record unless a fault wrote it since power came up. Called once, early. */
void aboard_fault_init(void);

#endif
