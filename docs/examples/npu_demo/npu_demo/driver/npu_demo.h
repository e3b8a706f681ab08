/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file npu_demo.h
 * Driver of the accelerator npu-demo, both versions. The caller owns all memory; the driver keeps no state of its own
 * but what lies in `npu_demo_t`. Not reentrant for one device: one job at a time.
 *
 *     npu_demo_t npu;
 *     npu_demo_open(&npu, 0x50000000u, false, job.id)
 *     npu_demo_activate(&npu)
 *     npu_demo_submit(&npu, &job)
 *     npu_demo_wait(&npu, polls)
 *     npu_demo_close(&npu)
 *
 * Each must have returned ABOARD_OK before the next is called; `npu_demo_close` may be called at any time after open.
 * Registers and command words are described in the device's data sheet.
 */
#ifndef NPU_DEMO_H
#define NPU_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the register ID says: the version is in the lowest byte. */
#define NPU_DEMO_ID_V1 0x4E505501u
#define NPU_DEMO_ID_V2 0x4E505502u

/** A device that is in use. Nothing in it is for the caller. */
typedef struct {
    uintptr_t registers;
    bool cached;
    void *y;
    uint32_t y_bytes;
} npu_demo_t;

/** A layer to compute. What the pointers lead to must stay as it is until the job has ended. */
typedef struct {
    uint32_t id;               /**< NPU_DEMO_ID_V1 or _V2: the version that the words are for. */
    const int8_t *x;           /**< Operand, aligned to 16 bytes. */
    uint32_t x_bytes;          /**< Its size. */
    int8_t *y;                 /**< Result, aligned to 16 bytes. */
    uint32_t y_bytes;          /**< Its size. */
    const int8_t *weights;     /**< Weights, aligned to 16 bytes. */
    const int32_t *parameters; /**< Bias, multiplier, shift of each output, aligned to 16 bytes. */
    const uint32_t *words;     /**< v1: the words for JOB; v2: the command list, aligned to 16 bytes. */
    uint32_t count;            /**< How many there are. */
} npu_demo_job_t;

/**
 * Takes a device into use.
 * @param npu        Filled; must live until npu_demo_close.
 * @param registers  Address of its first register.
 * @param cached     True when the data cache of the CPU covers the memory of jobs.
 * @param id         The version that is expected.
 * @return ABOARD_OK; ABOARD_ERROR_NULL; ABOARD_ERROR_DEVICE when there is no such device at that address.
 */
aboard_status_t npu_demo_open(npu_demo_t *npu, uintptr_t registers, bool cached, uint32_t id);

/** Makes it ready for jobs. @return ABOARD_OK; ABOARD_ERROR_DEVICE when it does not become active. */
aboard_status_t npu_demo_activate(npu_demo_t *npu);

/**
 * Starts a job and returns at once. Where the memory is cached, the cache is cleaned over operand and result.
 * @return ABOARD_OK; ABOARD_ERROR_NULL; ABOARD_ERROR_STATE when the device is not active or still busy.
 */
aboard_status_t npu_demo_submit(npu_demo_t *npu, const npu_demo_job_t *job);

/**
 * Waits for the end of the job. Where the memory is cached, the cache is invalidated over the result.
 * @param polls  How often to look, at most; a look takes several cycles.
 * @return ABOARD_OK; ABOARD_ERROR_TIMEOUT.
 */
aboard_status_t npu_demo_wait(npu_demo_t *npu, uint32_t polls);

/** Gives the device back. A job that has not ended is left to end: the device stays active then. */
void npu_demo_close(npu_demo_t *npu);

/** Does all of the above for one job: what generated code calls. */
aboard_status_t npu_demo_run(uintptr_t registers, bool cached, const npu_demo_job_t *job, uint32_t polls);

#ifdef __cplusplus
}
#endif

#endif
