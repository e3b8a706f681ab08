/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file core.h
 * Calls of functions on another core of the chip.
 *
 * The two cores talk through a mailbox in memory that both reach: the caller writes a function with its arguments and
 * counts a request, the other core runs it and counts a reply. Each wakes the other with SEV behind a barrier. One call
 * is under way at a time. The memory must not be cached, or be coherent.
 *
 * What the other core is, and how it is started, stands in a generated file: `aboard_core_<name>`.
 */
#ifndef ABOARD_CORE_H
#define ABOARD_CORE_H

#include <stdint.h>

#include "aboard/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Words that a core stacks when it takes an exception: r0-r3, r12, lr, pc, xpsr. */
#define ABOARD_CORE_FRAME_WORDS 8

/** Words of arguments that a call can have. */
#define ABOARD_CORE_ARGUMENT_WORDS 32

/** A function that another core can run. */
typedef aboard_status_t (*aboard_core_function_t)(const void *arguments);

/** What is known of a fault of another core. */
typedef struct {
    uint32_t exception;                      /**< Number of the exception, as in IPSR. */
    uint32_t frame[ABOARD_CORE_FRAME_WORDS]; /**< What it stacked; all 0 when its stack overflowed. */
    uint32_t status;                         /**< CFSR. */
    uint32_t address;                        /**< BFAR or MMFAR; 0 when neither is valid. */
} aboard_core_fault_t;

/** Where two cores meet; all zero before the other core is started. */
typedef struct {
    volatile uint32_t started; /**< The caller has started the other core. */
    volatile uint32_t alive;   /**< The other core serves requests. */
    volatile uint32_t request; /**< Calls that were made; the caller counts. */
    volatile uint32_t reply;   /**< Calls that are done; the other core counts. */
    volatile uint32_t faulted; /**< The other core has stopped, and `fault` says why. */
    aboard_core_function_t function;
    uint32_t arguments[ABOARD_CORE_ARGUMENT_WORDS]; /**< Of the call that is under way. */
    aboard_status_t status;                         /**< What the function returned. */
    aboard_core_fault_t fault;
} aboard_core_mailbox_t;

/** An entry of a core's vector table. */
typedef union {
    void (*handler)(void);
    const void *address;
} aboard_core_vector_t;

/** Another core. */
typedef struct {
    uint32_t number;                /**< Its number on the chip, as the board's files count the cores. */
    aboard_core_mailbox_t *mailbox; /**< Where it is talked to. */
    void (*start)(void);            /**< Lets it run from its vector table. */
} aboard_core_t;

/**
 * Runs a function on another core and waits for it. The core is started by the first call.
 *
 * @param core The core.
 * @param function What it runs.
 * @param arguments Handed to the function; copied, so that a core that is late finds them.
 * @param words Words of the arguments, at most ABOARD_CORE_ARGUMENT_WORDS.
 * @param rounds How long to wait: rounds of 256 cycles of the caller or somewhat more.
 * @return What the function returned. ABOARD_ERROR_RANGE when there are too many arguments. ABOARD_ERROR_TIMEOUT when
 *     the core did not answer in time, or did not finish an earlier call in that time: until it has, it may still touch
 *     what its arguments lead to. ABOARD_ERROR_DEVICE when it took a fault, in this call or an earlier one: it stays
 *     stopped until the chip is reset.
 */
aboard_status_t aboard_core_call(const aboard_core_t *core, aboard_core_function_t function, const uint32_t *arguments,
                                 uint32_t words, uint32_t rounds);

/**
 * Called by aboard_core_call, once, when another core has taken a fault. Does nothing unless the application, or the
 * port that serves the RPC, defines it.
 *
 * @param core Number of the core.
 * @param fault What is known.
 */
void aboard_core_fault(uint32_t core, const aboard_core_fault_t *fault);

#ifdef __cplusplus
}
#endif

#endif
