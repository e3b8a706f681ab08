/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

/* Says that the record is one, and not what RAM happened to hold when power came up. */
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
}

aboard_fault_t *aboard_fault_begin(uint32_t kind) {
    clear(kind);
    return &record.fault;
}

aboard_fault_t *aboard_port_fault(void) {
    return &record.fault;
}
