/* SPDX-License-Identifier: Apache-2.0 */
/* The registers as a shared library, for an emulator of the CPU that calls them from its own process. It is in no
 * image. The emulator says when a job ends, and gives the memory at the addresses in the registers. */
#include <stdlib.h>

#include "ethos_u_front.h"

/** Weights of a layer that are unpacked at once. */
#define WEIGHTS (1u << 20)

/** An NPU with its room for weights. */
typedef struct {
    ethos_u_front_t front;
    int16_t weights[WEIGHTS];
} npu_t;

npu_t *ethos_u_host_new(uint32_t macs);
void ethos_u_host_free(npu_t *npu);
uint32_t ethos_u_host_read(npu_t *npu, uint32_t offset);
void ethos_u_host_write(npu_t *npu, uint32_t offset, uint32_t value);
void ethos_u_host_forget(npu_t *npu);
bool ethos_u_host_window(npu_t *npu, uint64_t address, void *base, size_t bytes, bool writable);
int ethos_u_host_finish(npu_t *npu);
const char *ethos_u_host_problem(const npu_t *npu);
int64_t ethos_u_host_got(const npu_t *npu);

npu_t *ethos_u_host_new(uint32_t macs) {
    npu_t *npu = malloc(sizeof *npu);
    if (npu != NULL) {
        ethos_u_front_init(&npu->front, macs, npu->weights, WEIGHTS);
        npu->front.delay = ETHOS_U_NEVER;
    }
    return npu;
}

void ethos_u_host_free(npu_t *npu) {
    free(npu);
}

uint32_t ethos_u_host_read(npu_t *npu, uint32_t offset) {
    return ethos_u_front_read(&npu->front, offset);
}

void ethos_u_host_write(npu_t *npu, uint32_t offset, uint32_t value) {
    ethos_u_front_write(&npu->front, offset, value);
}

void ethos_u_host_forget(npu_t *npu) {
    npu->front.windows = 0;
}

bool ethos_u_host_window(npu_t *npu, uint64_t address, void *base, size_t bytes, bool writable) {
    return ethos_u_front_window(&npu->front, address, base, bytes, writable);
}

int ethos_u_host_finish(npu_t *npu) {
    npu->front.model.status = ETHOS_U_MODEL_OK;
    npu->front.model.problem = NULL;
    ethos_u_front_finish(&npu->front);
    return (int)npu->front.model.status;
}

const char *ethos_u_host_problem(const npu_t *npu) {
    return npu->front.model.problem;
}

int64_t ethos_u_host_got(const npu_t *npu) {
    return npu->front.model.got;
}
