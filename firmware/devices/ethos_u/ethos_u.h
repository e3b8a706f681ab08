/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ethos_u.h
 * Driver of the Arm Ethos-U55. A call runs one command stream, which Vela compiled: it identifies the NPU, resets it,
 * sets the base pointers, runs the stream and waits for its end, by polling or asleep until the interrupt. The caller
 * owns all memory. The driver keeps no state between calls. Not reentrant.
 *
 * The sequence of registers follows from their description in Vela's package. It was run on the functional model, and
 * not on hardware.
 */
#ifndef ETHOS_U_H
#define ETHOS_U_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where an NPU is, and how the CPU reaches it. */
typedef struct {
    uintptr_t registers; /**< Address of the first register; 0 if it is not known. */
    bool non_secure;     /**< True if the NPU works in the non-secure state. */
    bool by_interrupt; /**< True to sleep until the interrupt; its handler calls `ethos_u_interrupt`. False to poll. */
    uint32_t irq;      /**< With `by_interrupt`: number of the interrupt, counted from the first external one. */
} ethos_u_place_t;

/** Memory that a stream reads or writes. */
typedef struct {
    uint32_t pointer; /**< Number of the base pointer, 0 to 7. */
    const void *base; /**< Aligned to 16 bytes. */
    uint32_t bytes;
    bool is_written; /**< True if the stream also writes it. */
} ethos_u_buffer_t;

/** A stream to run. What the pointers lead to must stay as it is until the call returns. */
typedef struct {
    const uint32_t *commands; /**< The stream, aligned to 16 bytes. */
    uint32_t words;           /**< Its length. */
    uint32_t config;          /**< The register CONFIG of the NPU that it was compiled for. */
    uint32_t id;              /**< The register ID of the oldest NPU that runs it. */
    const ethos_u_buffer_t *buffers;
    uint32_t count; /**< Number of buffers. */
} ethos_u_job_t;

/** Registers at the end of a call that failed. */
typedef struct {
    uint32_t id;
    uint32_t config;
    uint32_t status; /**< Bit 2: bus error, bit 4: error in the stream, bit 5: end reached, bit 8: error in memory. */
    uint32_t read;   /**< Bytes of the stream that the NPU has read. */
} ethos_u_report_t;

/**
 * Runs a stream.
 * @param place   The NPU.
 * @param job     The stream.
 * @param report  Filled if the call fails after the NPU was found; may be NULL.
 * @return ABOARD_OK; ABOARD_ERROR_NULL; ABOARD_ERROR_RANGE for a base pointer that there is not;
 *         ABOARD_ERROR_UNSUPPORTED if the address of the NPU is not known, or if it is another NPU than the stream was
 *         compiled for (`report` has its id and configuration); ABOARD_ERROR_DEVICE if there is no Ethos-U55 at the
 *         address, or if it reports an error; ABOARD_ERROR_TIMEOUT if it does not reset or does not end in time. After
 * an error or a timeout the NPU has been reset.
 */
aboard_status_t ethos_u_run(const ethos_u_place_t *place, const ethos_u_job_t *job, ethos_u_report_t *report);

/**
 * Ends the wait of a job: the handler of the NPU's interrupt, or what that handler calls. Takes the interrupt back in
 * the NPU. Does nothing while no job waits. The driver enables the interrupt for the time of a job.
 */
void ethos_u_interrupt(void);

/** True if `ethos_u_interrupt` has ended the wait of the running job: for hooks, before they sleep. */
bool ethos_u_has_ended(void);

/**
 * Hooks. The driver defines each weakly; an application may define it instead.
 *
 * `ethos_u_power` is called before the first and after the last access to registers; by default it does nothing.
 * `ethos_u_clean` writes to memory what the data cache holds of a range that the NPU reads or writes, and
 * `ethos_u_invalidate` drops it for a range that the NPU has written. By default they do so on cores with a data cache
 * of the Cortex-M architecture while it is enabled.
 *
 * `ethos_u_wait` is called as long as the NPU works, with the number of calls so far, if the driver polls; and
 * `ethos_u_sleep` if it waits for the interrupt. Both return false to give up. By default `ethos_u_wait` gives up after
 * ETHOS_U_POLLS calls, and `ethos_u_sleep` after ETHOS_U_TIMEOUT_MS: in projects of aboard the core sleeps meanwhile,
 * and the clock of the port wakes it in time; on Zephyr the thread sleeps, and needs CONFIG_DYNAMIC_INTERRUPTS;
 * elsewhere the driver knows no clock, and `ethos_u_sleep` calls `ethos_u_wait`, so that an interrupt that never comes
 * is an error and no standstill. `ethos_u_irq` enables or disables the interrupt; on Zephyr it connects it as well.
 */
void ethos_u_power(bool on);
void ethos_u_clean(const void *start, uint32_t bytes);
void ethos_u_invalidate(const void *start, uint32_t bytes);
bool ethos_u_wait(uint32_t calls);
bool ethos_u_sleep(uint32_t calls);
void ethos_u_irq(uint32_t number, bool on);

#ifdef __cplusplus
}
#endif

#endif
