/* SPDX-License-Identifier: Apache-2.0 */
#include "npu_demo.h"

#include <stddef.h>

#include "npu_demo_cache.h"

/* Offsets of the registers. */
#define ID 0x00u
#define CTRL 0x04u
#define STATUS 0x08u
#define BASE0 0x20u
#define LIST 0x30u
#define WORDS 0x34u
#define JOB0 0x40u

#define CTRL_ACTIVE 1u
#define CTRL_START 2u
#define STATUS_ACTIVE 1u
#define STATUS_BUSY 2u
#define STATUS_DONE 4u

static void put(const npu_demo_t *npu, uint32_t offset, uint32_t value) {
    *(volatile uint32_t *)(npu->registers + offset) = value;
}

static uint32_t get(const npu_demo_t *npu, uint32_t offset) {
    return *(volatile uint32_t *)(npu->registers + offset);
}

/* The device sees addresses of 32 bits. */
static uint32_t address(const void *pointer) {
    return (uint32_t)(uintptr_t)pointer;
}

aboard_status_t npu_demo_open(npu_demo_t *npu, uintptr_t registers, bool cached, uint32_t id) {
    if (npu == NULL) {
        return ABOARD_ERROR_NULL;
    }
    npu->registers = registers;
    npu->cached = cached;
    npu->y = NULL;
    npu->y_bytes = 0;
    return get(npu, ID) == id ? ABOARD_OK : ABOARD_ERROR_DEVICE;
}

aboard_status_t npu_demo_activate(npu_demo_t *npu) {
    if ((get(npu, STATUS) & STATUS_ACTIVE) == 0u) {
        put(npu, CTRL, CTRL_ACTIVE);
    }
    return (get(npu, STATUS) & STATUS_ACTIVE) != 0u ? ABOARD_OK : ABOARD_ERROR_DEVICE;
}

aboard_status_t npu_demo_submit(npu_demo_t *npu, const npu_demo_job_t *job) {
    if (npu == NULL || job == NULL) {
        return ABOARD_ERROR_NULL;
    }
    if ((get(npu, STATUS) & (STATUS_ACTIVE | STATUS_BUSY)) != STATUS_ACTIVE) {
        return ABOARD_ERROR_STATE;
    }
    const void *const bases[] = {job->x, job->y, job->weights, job->parameters};
    for (uint32_t i = 0; i < 4u; i++) {
        put(npu, BASE0 + 4u * i, address(bases[i]));
    }
    if (job->id == NPU_DEMO_ID_V1) {
        for (uint32_t i = 0; i < job->count; i++) {
            put(npu, JOB0 + 4u * i, job->words[i]);
        }
    } else {
        put(npu, LIST, address(job->words));
        put(npu, WORDS, job->count);
    }
    npu->y = job->y;
    npu->y_bytes = job->y_bytes;
    if (npu->cached) {
        npu_demo_cache_clean(job->x, job->x_bytes);
        npu_demo_cache_clean(job->y, job->y_bytes);
    }
    /* What the CPU stored is in memory before the device looks. */
    __sync_synchronize();
    put(npu, CTRL, CTRL_ACTIVE | CTRL_START);
    return ABOARD_OK;
}

aboard_status_t npu_demo_wait(npu_demo_t *npu, uint32_t polls) {
    for (uint32_t i = 0; i < polls; i++) {
        if ((get(npu, STATUS) & STATUS_DONE) != 0u) {
            __sync_synchronize();
            if (npu->cached) {
                npu_demo_cache_invalidate(npu->y, npu->y_bytes);
            }
            return ABOARD_OK;
        }
    }
    return ABOARD_ERROR_TIMEOUT;
}

void npu_demo_close(npu_demo_t *npu) {
    if ((get(npu, STATUS) & STATUS_BUSY) == 0u) {
        put(npu, CTRL, 0u);
    }
}

aboard_status_t npu_demo_run(uintptr_t registers, bool cached, const npu_demo_job_t *job, uint32_t polls) {
    npu_demo_t npu;
    aboard_status_t status = job == NULL ? ABOARD_ERROR_NULL : npu_demo_open(&npu, registers, cached, job->id);
    if (status != ABOARD_OK) {
        return status;
    }
    status = npu_demo_activate(&npu);
    if (status == ABOARD_OK) {
        status = npu_demo_submit(&npu, job);
    }
    if (status == ABOARD_OK) {
        status = npu_demo_wait(&npu, polls);
    }
    npu_demo_close(&npu);
    return status;
}
