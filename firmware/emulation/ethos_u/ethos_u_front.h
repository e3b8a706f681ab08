/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ethos_u_front.h
 * Registers of the functional model, as the driver sees those of the NPU. Addresses lead to memory by windows: what is
 * in no window does not exist, and an access to it is a bus error.
 */
#ifndef ETHOS_U_FRONT_H
#define ETHOS_U_FRONT_H

#include "ethos_u_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most windows, and number of registers of 32 bits. */
#define ETHOS_U_WINDOWS 12u
#define ETHOS_U_REGISTERS 48u
/** Delay of a job that does not end by itself. */
#define ETHOS_U_NEVER UINT32_MAX

/** Memory at an address of the NPU's. */
typedef struct {
    uint64_t address;
    uint8_t *base;
    size_t bytes;
    bool writable;
} ethos_u_window_range_t;

/** Registers with a model behind them. `model`, `delay` and `windows` are for the caller; so are figures of the model.
 */
typedef struct {
    ethos_u_model_t model;
    uint32_t delay; /**< Reads of STATUS for which a job goes on; or ETHOS_U_NEVER. */
    uint32_t windows;
    ethos_u_window_range_t window[ETHOS_U_WINDOWS];
    uint32_t left; /**< Reads of STATUS until the job ends. */
    uint32_t status;
    uint32_t value[ETHOS_U_REGISTERS];
} ethos_u_front_t;

/** Makes an NPU after power-on, without windows. Arguments as for `ethos_u_model_init`. */
void ethos_u_front_init(ethos_u_front_t *front, uint32_t macs, int16_t *weights, size_t weights_room);

/** Adds a window; false if there is no room for it. */
bool ethos_u_front_window(ethos_u_front_t *front, uint64_t address, void *base, size_t bytes, bool writable);

/** Reads a register by its offset in bytes. Registers that the model does not have are 0. */
uint32_t ethos_u_front_read(ethos_u_front_t *front, uint32_t offset);

/** Writes a register. A job runs when its delay is over, and changes no memory before. */
void ethos_u_front_write(ethos_u_front_t *front, uint32_t offset, uint32_t value);

/** Runs the job that has been started, whatever its delay; nothing if there is none. */
void ethos_u_front_finish(ethos_u_front_t *front);

#ifdef __cplusplus
}
#endif

#endif
