/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file image.h
 * What the linker script tells the start-up code: the addresses are the values.
 */
#ifndef ABOARD_IMAGE_H
#define ABOARD_IMAGE_H

#include <stdint.h>

extern uint32_t __data_load[];    /**< Where the first values of .data lie in flash. */
extern uint32_t __data_start[];   /**< .data in RAM. */
extern uint32_t __data_end[];     /**< End of .data, a multiple of 4. */
extern uint32_t __bss_start[];    /**< .bss. */
extern uint32_t __bss_end[];      /**< End of .bss, a multiple of 4. */
extern uint32_t __stack_bottom[]; /**< Lowest word of the stack. */
extern uint32_t __stack_top[];    /**< Word above the stack. */

/** The application; does not return. */
int main(void);

/** Fills .data and .bss. Called by the start-up code before anything else is. */
static inline void aboard_image_init(void) {
    const uint32_t *from = __data_load;
    for (uint32_t *to = __data_start; to < __data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = __bss_start; to < __bss_end; to++) {
        *to = 0;
    }
}

#endif
