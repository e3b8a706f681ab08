/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file registers.h
 * Registers of peripherals, by address.
 */
#ifndef ABOARD_REGISTERS_H
#define ABOARD_REGISTERS_H

#include <stdint.h>

/** The 32-bit register at an address; accesses have this width and keep their order. */
#define ABOARD_REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

/** The 8-bit register at an address. */
#define ABOARD_REG8(address) (*(volatile uint8_t *)(uintptr_t)(address))

#endif
