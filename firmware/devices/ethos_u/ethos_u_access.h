/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ethos_u_access.h
 * Access to the registers of an Ethos-U55: the hardware, or with ABOARD_ETHOS_U_MODEL its functional model
 * (`firmware/emulation/ethos_u`), which is linked into the image in place of the hardware.
 */
#ifndef ETHOS_U_ACCESS_H
#define ETHOS_U_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ABOARD_ETHOS_U_MODEL) && ABOARD_ETHOS_U_MODEL
#define ETHOS_U_IS_MODEL 1
#else
#define ETHOS_U_IS_MODEL 0
#endif

/** Forgets the memory that the model reaches. Only with the model. */
void ethos_u_emulated_forget(void);

/** Gives the model memory that it reaches beside what it was given before. Only with the model. */
void ethos_u_emulated_window(const void *base, uint32_t bytes, bool writable);

/** Reads or writes a register of the model. Only with the model. */
uint32_t ethos_u_emulated_read(uint32_t offset);
void ethos_u_emulated_write(uint32_t offset, uint32_t value);

/** Why the model stopped, in words; NULL if it did not. Only with the model. */
const char *ethos_u_emulated_problem(void);

/** Reads a register. @param registers  Address of the first; the model has none. */
static inline uint32_t ethos_u_read(uintptr_t registers, uint32_t offset) {
#if ETHOS_U_IS_MODEL
    (void)registers;
    return ethos_u_emulated_read(offset);
#else
    return *(volatile const uint32_t *)(registers + offset);
#endif
}

/** Writes a register. */
static inline void ethos_u_write(uintptr_t registers, uint32_t offset, uint32_t value) {
#if ETHOS_U_IS_MODEL
    (void)registers;
    ethos_u_emulated_write(offset, value);
#else
    *(volatile uint32_t *)(registers + offset) = value;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
