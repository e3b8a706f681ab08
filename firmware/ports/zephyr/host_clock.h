/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host_clock.h
 * native_sim: the interface between the image, built for Zephyr, and its runner, built for the machine.
 */
#ifndef ABOARD_ZEPHYR_HOST_CLOCK_H
#define ABOARD_ZEPHYR_HOST_CLOCK_H

#include <stdint.h>

/** Nanoseconds of the machine's monotonic clock. */
uint64_t aboard_host_clock_ns(void);

#endif
