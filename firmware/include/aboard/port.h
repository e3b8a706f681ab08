/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file port.h
 * What a port provides: bytes in, bytes out, a counter, reset. Nothing else is needed to bring up a board.
 */
#ifndef ABOARD_PORT_H
#define ABOARD_PORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of the fault record's register dump. */
#define ABOARD_FAULT_REGISTERS 16

/** From this bit on, the kind of a fault tells the core that took it: 0 is the one that the port runs on. */
#define ABOARD_FAULT_CORE_SHIFT 16

/** What is known of the last crash; lies in RAM that a reset does not clear. */
typedef struct {
    uint32_t kind; /**< 0: none. Else Arm: exception number (IPSR). RISC-V: mcause + 1. Process: signal. */
    /**
     * Arm: r0-r3, r12, lr, pc, xpsr, sp. RISC-V: ra, sp, a0-a5, pc. Then return addresses from the stack, innermost
     * first. Process: two words each, the lower one first, of pc as linked, pc, sp, address. What is not known is 0.
     */
    uint32_t registers[ABOARD_FAULT_REGISTERS];
    uint32_t status;  /**< Arm: CFSR (0 where the core has none). RISC-V: mcause. Process: si_code. */
    uint32_t address; /**< Arm: BFAR or MMFAR. RISC-V: mtval. Process: the lower word of it. */
} aboard_fault_t;

/** Prepares clock, UART and counter. Called once, first. */
void aboard_port_init(void);

/** Takes up to `capacity` received bytes; returns how many, 0 when none wait. Never blocks. */
size_t aboard_port_read(uint8_t *data, size_t capacity);

/** Sends `count` bytes; returns when all were accepted by the hardware. */
void aboard_port_write(const uint8_t *data, size_t count);

/** Waits until a byte may have arrived (WFI, poll); may return at any time. */
void aboard_port_idle(void);

/** The counter that times runs; counts up, 64 bits, never wraps in practice. */
uint64_t aboard_port_ticks(void);

/** Ticks in a second. */
uint32_t aboard_port_tick_hz(void);

/**
 * Begins a new tick at this moment where the counter can do that, so that what is timed from here takes the same number
 * of ticks every time. The counter never goes back; it may lose part of a tick.
 */
void aboard_port_ticks_align(void);

/** Fills the unused stack with a pattern, below the caller's frame. */
void aboard_port_stack_mark(void);

/** Bytes of stack used below the frame that called aboard_port_stack_mark, since then. 0 where it cannot be told. */
uint32_t aboard_port_stack_used(void);

/** The record of the last fault; kind is 0 when there was none. Never NULL. */
aboard_fault_t *aboard_port_fault(void);

/** Restarts the device; does not return where a restart is possible. */
void aboard_port_reset(void);

#ifdef __cplusplus
}
#endif

#endif
