/* SPDX-License-Identifier: Apache-2.0 */
#include "ethos_u_access.h"
#include "ethos_u_front.h"

/** Weights of a layer that are unpacked at once; eight output channels have to fit. */
#ifndef ABOARD_ETHOS_U_WEIGHTS
#define ABOARD_ETHOS_U_WEIGHTS 49152
#endif

/** Multiply-accumulates in a cycle of the NPU that the model stands for. */
#ifndef ABOARD_ETHOS_U_MACS
#define ABOARD_ETHOS_U_MACS 128
#endif

/* The NPU that is not there: its registers and memory are the only state, and there is one in an image. */
static ethos_u_front_t npu;
static int16_t weights[ABOARD_ETHOS_U_WEIGHTS];
static bool is_on;

static ethos_u_front_t *powered(void) {
    if (!is_on) {
        ethos_u_front_init(&npu, ABOARD_ETHOS_U_MACS, weights, sizeof weights / sizeof weights[0]);
        is_on = true;
    }
    return &npu;
}

void ethos_u_emulated_forget(void) {
    powered()->windows = 0;
}

void ethos_u_emulated_window(const void *base, uint32_t bytes, bool writable) {
    /* The model writes to memory that is given as writable, and to no other. */
    (void)ethos_u_front_window(powered(), (uint64_t)(uintptr_t)base, (void *)(uintptr_t)base, bytes, writable);
}

uint32_t ethos_u_emulated_read(uint32_t offset) {
    return ethos_u_front_read(powered(), offset);
}

void ethos_u_emulated_write(uint32_t offset, uint32_t value) {
    ethos_u_front_write(powered(), offset, value);
}

const char *ethos_u_emulated_problem(void) {
    return powered()->model.problem;
}
