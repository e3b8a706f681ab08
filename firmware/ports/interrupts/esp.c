/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt matrix of Espressif's RISC-V parts (ESP32-C3 and ESP32-C6 Technical Reference Manuals, chapter Interrupt
 * Matrix). The matrix leads a source to one of the core's 31 lines; the control registers enable lines and have their
 * priorities. One source is in use, on a line that no part of the core itself uses. */
#include "aboard_board.h"
#include "arch.h"
#include "interrupts.h"
#include "registers.h"

#define LINE 5u

#define MAP(source) ABOARD_REG32(ABOARD_IRQ_BASE + 4u * (source))
#define ENABLE ABOARD_REG32(ABOARD_IRQ_CONTROL + 0x00u)
#define TYPE ABOARD_REG32(ABOARD_IRQ_CONTROL + 0x04u) /* a bit is clear for a level */
#define PRIORITY(line) ABOARD_REG32(ABOARD_IRQ_CONTROL + 0x10u + 4u * (line))
#define THRESHOLD ABOARD_REG32(ABOARD_IRQ_CONTROL + 0x90u) /* lines of a lower priority wait */

void aboard_interrupts_init(void) {
    ENABLE = 0;
    TYPE &= ~(1u << LINE);
    PRIORITY(LINE) = 1;
    THRESHOLD = 1;
#ifdef ABOARD_IRQ_MIE
    __asm volatile("csrw mie, %0" ::"r"(1u << LINE)); /* cores without this register have ENABLE only */
#endif
}

void aboard_irq_enable(uint32_t number) {
    MAP(number) = LINE;
    ENABLE |= 1u << LINE;
}

uint32_t aboard_interrupts_claim(void) {
    return ABOARD_UART_IRQ;
}

/* A request ends when its source does. */
void aboard_interrupts_complete(uint32_t number) {
    (void)number;
}
