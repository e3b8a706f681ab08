/* SPDX-License-Identifier: Apache-2.0 */
/* High-water mark of the stack of a bare-metal image. The unused part is filled with a pattern; the lowest changed word
 * shows the depth of the stack. Interrupts use the same stack and count too. */
#include "aboard/config.h"
#include "aboard/port.h"
#include "image.h"

#define PATTERN 0xA5B6C7D8u
/* Bytes for the frames of this file, which the pattern must not overwrite. */
#define MARGIN_WORDS 16

static uint32_t *marked_from;

ABOARD_NOINLINE void aboard_port_stack_mark(void) {
    marked_from = (uint32_t *)__builtin_frame_address(0);
    for (volatile uint32_t *word = __stack_bottom; word < marked_from - MARGIN_WORDS; word++) {
        *word = PATTERN;
    }
}

ABOARD_NOINLINE uint32_t aboard_port_stack_used(void) {
    const volatile uint32_t *word = __stack_bottom;
    while (word < marked_from && *word == PATTERN) {
        word++;
    }
    return (uint32_t)((uintptr_t)marked_from - (uintptr_t)word);
}
