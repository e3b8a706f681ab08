/* SPDX-License-Identifier: Apache-2.0 */
/* High-water mark of the stack of the server's thread, which also runs the models. The unused part is filled with a
 * pattern; the lowest changed byte shows the depth of the stack. Interrupts have their own stack, except for the
 * registers that the core pushes on the thread's stack. */
#include <zephyr/kernel.h>

#include "aboard/config.h"
#include "aboard/port.h"

#define PATTERN 0xA5u
/* Bytes for the frames of this file, which the pattern must not overwrite. */
#define MARGIN_BYTES 64u

static volatile uint8_t *marked_from;

static volatile uint8_t *bottom(void) {
    return (volatile uint8_t *)(uintptr_t)k_current_get()->stack_info.start;
}

ABOARD_NOINLINE void aboard_port_stack_mark(void) {
    if (IS_ENABLED(CONFIG_ARCH_POSIX)) {
        return; /* threads use stacks of the operating system */
    }
    marked_from = (volatile uint8_t *)__builtin_frame_address(0);
    for (volatile uint8_t *byte = bottom(); byte < marked_from - MARGIN_BYTES; byte++) {
        *byte = PATTERN;
    }
}

ABOARD_NOINLINE uint32_t aboard_port_stack_used(void) {
    if (marked_from == NULL) {
        return 0;
    }
    const volatile uint8_t *byte = bottom();
    while (byte < marked_from && *byte == PATTERN) {
        byte++;
    }
    return (uint32_t)(marked_from - byte);
}
