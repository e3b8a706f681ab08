/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file core.h
 * Calls of functions on another core of the chip.
 *
 * The two cores communicate through a mailbox in memory that both reach. The caller writes a function and its arguments
 * and increments the request counter. The other core runs the function and increments the reply counter. Each core
 * wakes the other with SEV after a barrier. Only one call runs at a time. The memory must be uncached or coherent.
 *
 * A generated file defines the other core and its start: `aboard_core_<name>`.
 */
#ifndef ABOARD_CORE_H
#define ABOARD_CORE_H

#include <stdint.h>

#include "aboard/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Words of an exception frame: r0-r3, r12, lr, pc, xpsr. */
#define ABOARD_CORE_FRAME_WORDS 8

/** Largest number of argument words of a call. */
#define ABOARD_CORE_ARGUMENT_WORDS 32

/** A function that another core can run. */
typedef aboard_status_t (*aboard_core_function_t)(const void *arguments);

/** The record of a fault of another core. */
typedef struct {
    uint32_t exception;                      /**< Number of the exception, as in IPSR. */
    uint32_t frame[ABOARD_CORE_FRAME_WORDS]; /**< Exception frame; all 0 if the stack overflowed. */
    uint32_t status;                         /**< CFSR. */
    uint32_t address;                        /**< BFAR or MMFAR; 0 if neither is valid. */
} aboard_core_fault_t;

/** The mailbox of two cores; all zero before the other core is started. */
typedef struct {
    volatile uint32_t started; /**< The caller has started the other core. */
    volatile uint32_t alive;   /**< The other core serves requests. */
    volatile uint32_t request; /**< Number of calls; written by the caller. */
    volatile uint32_t reply;   /**< Number of completed calls; written by the other core. */
    volatile uint32_t faulted; /**< The other core has stopped; `fault` has the cause. */
    aboard_core_function_t function;
    uint32_t arguments[ABOARD_CORE_ARGUMENT_WORDS]; /**< Arguments of the current call. */
    aboard_status_t status;                         /**< Result of the function. */
    aboard_core_fault_t fault;
} aboard_core_mailbox_t;

/** An entry of a core's vector table. */
typedef union {
    void (*handler)(void);
    const void *address;
} aboard_core_vector_t;

/** Another core. */
typedef struct {
    uint32_t number;                /**< Number of the core on the chip, in the order of the board file. */
    aboard_core_mailbox_t *mailbox; /**< Mailbox of the core. */
    void (*start)(void);            /**< Starts the core from its vector table. */
} aboard_core_t;

/**
 * Runs a function on another core and waits for it. The core is started by the first call.
 *
 * @param core The core.
 * @param function Function that the core runs.
 * @param arguments Arguments of the function. They are copied, so that they stay valid if the core is late.
 * @param words Number of argument words, at most ABOARD_CORE_ARGUMENT_WORDS.
 * @param rounds Time limit in rounds; a round takes 256 cycles of the caller or slightly more.
 * @return The result of the function. ABOARD_ERROR_RANGE: too many arguments. ABOARD_ERROR_TIMEOUT: the core did not
 *     answer in time, or did not finish an earlier call in that time. Until it finishes, it may still access the memory
 *     behind its arguments. ABOARD_ERROR_DEVICE: the core took a fault, in this call or in an earlier one. It stays
 *     stopped until the chip is reset.
 */
aboard_status_t aboard_core_call(const aboard_core_t *core, aboard_core_function_t function, const uint32_t *arguments,
                                 uint32_t words, uint32_t rounds);

/**
 * Reports a fault of another core. aboard_core_call calls this function once per fault. The default does nothing; the
 * application, or the port that serves the RPC, may define it.
 *
 * @param core Number of the core.
 * @param fault Record of the fault.
 */
void aboard_core_fault(uint32_t core, const aboard_core_fault_t *fault);

#ifdef __cplusplus
}
#endif

#endif
