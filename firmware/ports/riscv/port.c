/* SPDX-License-Identifier: Apache-2.0 */
/* The port of RISC-V: the functions of aboard/port.h that the drivers do not provide. */
#include "aboard/port.h"

#include "arch.h"
#include "counter.h"
#include "fault.h"
#include "interrupts.h"
#include "uart.h"

void aboard_reset(void);

void aboard_port_init(void) {
    aboard_fault_init();
    aboard_counter_init();
    aboard_interrupts_init();
    aboard_uart_init();
    __asm volatile("csrs mstatus, %0" ::"r"(ABOARD_MSTATUS_MIE));
}

/* The architecture defines no general reset, so the image starts again from its first instruction. */
void aboard_port_reset(void) {
    (void)aboard_irq_save();
    aboard_reset();
}
