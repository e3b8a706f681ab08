/* SPDX-License-Identifier: Apache-2.0 */
/* The port of Cortex-M: what aboard/port.h asks for and the drivers do not give. */
#include "aboard/port.h"

#include "arch.h"
#include "cache.h"
#include "counter.h"
#include "fault.h"
#include "uart.h"

void aboard_port_init(void) {
    aboard_fault_init();
    aboard_counter_init();
    aboard_uart_init();
}

void aboard_port_reset(void) {
    aboard_caches_clean(); /* the record of a fault would be lost in them */
    __asm volatile("dsb" ::: "memory");
    ABOARD_REG32(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR: key, SYSRESETREQ */
    __asm volatile("dsb" ::: "memory");
    for (;;) {
    }
}
