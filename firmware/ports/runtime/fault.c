/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <stdbool.h>

#include "arch.h"
#include "image.h"

/* Marks a valid record. After power-up, RAM has random contents. */
#define WRITTEN 0xFA171EDu

static struct {
    uint32_t written;
    aboard_fault_t fault;
} record __attribute__((section(".noinit")));

static void clear(uint32_t kind) {
    uint32_t *words = (uint32_t *)&record.fault;
    for (uint32_t i = 0; i < sizeof record.fault / sizeof *words; i++) {
        words[i] = 0;
    }
    record.fault.kind = kind;
    record.written = WRITTEN;
}

void aboard_fault_init(void) {
    if (record.written != WRITTEN) {
        clear(0);
    }
    aboard_stack_guard();
}

aboard_fault_t *aboard_fault_begin(uint32_t kind) {
    clear(kind);
    return &record.fault;
}

void aboard_fault_callers(uint32_t *found, uint32_t count, const uint32_t *from) {
    const bool inside = from >= __stack_bottom && from < __stack_top && ((uintptr_t)from & 3u) == 0;
    const uint32_t *word = inside ? from : __stack_bottom;
    for (; word < __stack_top && count != 0; word++) {
        if (aboard_is_return(*word)) {
            *found++ = *word;
            count--;
        }
    }
}

aboard_fault_t *aboard_port_fault(void) {
    return &record.fault;
}
