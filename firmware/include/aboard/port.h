/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file port.h
 * The functions that a port provides: bytes in, bytes out, a counter, reset. A new board needs nothing else.
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

/** First bit of the core number in the kind of a fault: 0 is the core that the port runs on. */
#define ABOARD_FAULT_CORE_SHIFT 16

/** The record of the last fault, in RAM that a reset does not clear. */
typedef struct {
    uint32_t kind; /**< 0: no fault. Else Arm: exception number (IPSR). RISC-V: mcause + 1. Process: signal. */
    /**
     * Arm: r0-r3, r12, lr, pc, xpsr, sp. RISC-V: ra, sp, a0-a5, pc. Return addresses from the stack follow, innermost
     * first. Process: pc as linked, pc, sp, address, two words each, lower word first. Unknown entries are 0.
     */
    uint32_t registers[ABOARD_FAULT_REGISTERS];
    uint32_t status;  /**< Arm: CFSR (0 on cores without it). RISC-V: mcause. Process: si_code. */
    uint32_t address; /**< Arm: BFAR or MMFAR. RISC-V: mtval. Process: lower word of the address. */
} aboard_fault_t;

/** Prepares clock, UART and counter. Called once, first. */
void aboard_port_init(void);

/** Reads up to `capacity` received bytes; returns their number, 0 if no byte is available. Never blocks. */
size_t aboard_port_read(uint8_t *data, size_t capacity);

/** Sends `count` bytes; returns when the hardware has accepted all bytes. */
void aboard_port_write(const uint8_t *data, size_t count);

/** Waits until a byte may have arrived (WFI, poll); may return at any time. */
void aboard_port_idle(void);

/** The counter that times runs; counts up, 64 bits, never wraps in practice. */
uint64_t aboard_port_ticks(void);

/** Ticks per second. */
uint32_t aboard_port_tick_hz(void);

/**
 * Starts a new tick now if the counter supports this, so that equal work takes the same number of ticks every time. The
 * counter never goes back; it may lose part of a tick.
 */
void aboard_port_ticks_align(void);

/** Fills the unused stack with a pattern, below the caller's frame. */
void aboard_port_stack_mark(void);

/** Bytes of stack used since aboard_port_stack_mark, below the frame of its caller. 0 if not known. */
uint32_t aboard_port_stack_used(void);

/** The record of the last fault; its kind is 0 if there was no fault. Never NULL. */
aboard_fault_t *aboard_port_fault(void);

/** Restarts the device. Returns only if a restart is not possible. */
void aboard_port_reset(void);

#ifdef __cplusplus
}
#endif

#endif
