/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file image.h
 * Symbols of the linker script for the start-up code: the address of a symbol is its value.
 */
#ifndef ABOARD_IMAGE_H
#define ABOARD_IMAGE_H

#include <stdint.h>

/** 1 if the image has weights that are copied to RAM. */
#ifndef ABOARD_COPIES
#define ABOARD_COPIES 0
#endif

extern uint32_t __code_start[];   /**< Code and constants. */
extern uint32_t __code_end[];     /**< End of code and constants. */
extern uint32_t __data_load[];    /**< Initial values of .data in flash. */
extern uint32_t __data_start[];   /**< .data in RAM. */
extern uint32_t __data_end[];     /**< End of .data, a multiple of 4. */
extern uint32_t __bss_start[];    /**< .bss. */
extern uint32_t __bss_end[];      /**< End of .bss, a multiple of 4. */
extern uint32_t __stack_bottom[]; /**< Lowest word of the stack. */
extern uint32_t __stack_top[];    /**< Word above the stack. */

#if ABOARD_COPIES
/** Words to copy before main. */
typedef struct {
    const uint32_t *from; /**< Source, in flash. */
    uint32_t *to;         /**< Destination, in RAM. */
    uint32_t bytes;       /**< Number of bytes, a multiple of 4. */
} aboard_copy_t;

extern const aboard_copy_t __copies_start[]; /**< The copies. */
extern const aboard_copy_t __copies_end[];   /**< End of the copies. */
#endif

/** The application; does not return. */
int main(void);

/** Initialises .data and .bss, and copies weights to RAM. The start-up code calls it before any other C code. */
static inline void aboard_image_init(void) {
    const uint32_t *from = __data_load;
    for (uint32_t *to = __data_start; to < __data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = __bss_start; to < __bss_end; to++) {
        *to = 0;
    }
#if ABOARD_COPIES
    for (const aboard_copy_t *copy = __copies_start; copy < __copies_end; copy++) {
        for (uint32_t i = 0; i < copy->bytes / sizeof(uint32_t); i++) {
            copy->to[i] = copy->from[i];
        }
    }
#endif
}

#endif
