/* SPDX-License-Identifier: Apache-2.0 */
/* The port of Cortex-M: the functions of aboard/port.h that the drivers do not provide. */
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
    aboard_caches_clean(); /* else the caches would lose the fault record */
    __asm volatile("dsb" ::: "memory");
    ABOARD_REG32(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR: key, SYSRESETREQ */
    __asm volatile("dsb" ::: "memory");
    for (;;) {
    }
}
