/* SPDX-License-Identifier: Apache-2.0 */
/* High-water mark of the server's thread, whose stack the models run on: the unused part is filled with a pattern, and
 * the lowest byte that has changed since tells how far it reached. Interrupts have a stack of their own, all but the
 * registers that the core itself puts on the thread's. */
#include <zephyr/kernel.h>

#include "aboard/config.h"
#include "aboard/port.h"

#define PATTERN 0xA5u
/* Room for this file's own frames, which must not be painted while they are in use. */
#define MARGIN_BYTES 64u

static volatile uint8_t *marked_from;

static volatile uint8_t *bottom(void) {
    return (volatile uint8_t *)(uintptr_t)k_current_get()->stack_info.start;
}

ABOARD_NOINLINE void aboard_port_stack_mark(void) {
    if (IS_ENABLED(CONFIG_ARCH_POSIX)) {
        return; /* threads run on stacks of the operating system */
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
