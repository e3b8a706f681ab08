/* SPDX-License-Identifier: Apache-2.0 */
/* Vector table and reset of Cortex-M: everything from the first instruction to main. */
#include "aboard/config.h"
#include "aboard_board.h"
#include "cache.h"
#include "counter.h"
#include "image.h"
#include "registers.h"
#include "setup.h"
#include "uart.h"

/* The highest external interrupt in use determines the length of the table. */
#define EXCEPTIONS 16
#ifdef ABOARD_COUNTER_IRQ
#define LAST_OWN_IRQ ABOARD_MAX(ABOARD_UART_IRQ, ABOARD_COUNTER_IRQ)
#else
#define LAST_OWN_IRQ ABOARD_UART_IRQ
#endif
#ifdef ABOARD_DEVICE_INTERRUPTS
#define LAST_IRQ ABOARD_MAX(LAST_OWN_IRQ, ABOARD_DEVICE_IRQ)
#define PROTOTYPE(number, name) void name(void);
ABOARD_DEVICE_INTERRUPTS(PROTOTYPE)
#else
#define LAST_IRQ LAST_OWN_IRQ
#endif

typedef union {
    void (*handler)(void);
    uint32_t *address;
} vector_t;

void aboard_reset(void);
void aboard_fault_entry(void);

/* Exceptions without an entry are never enabled. */
__attribute__((section(".vectors"), used)) static const vector_t vectors[EXCEPTIONS + LAST_IRQ + 1] = {
    [0] = {.address = __stack_top},
    [1] = {.handler = aboard_reset},
    [2] = {.handler = aboard_fault_entry}, /* NMI */
    [3] = {.handler = aboard_fault_entry}, /* HardFault; disabled configurable faults escalate to it */
    [15] = {.handler = aboard_counter_interrupt},
    [EXCEPTIONS + ABOARD_UART_IRQ] = {.handler = aboard_uart_interrupt},
#ifdef ABOARD_COUNTER_IRQ
    [EXCEPTIONS + ABOARD_COUNTER_IRQ] = {.handler = aboard_counter_interrupt},
#endif
#ifdef ABOARD_DEVICE_INTERRUPTS
#define ENTRY(number, name) [EXCEPTIONS + (number)] = {.handler = name},
    ABOARD_DEVICE_INTERRUPTS(ENTRY)
#endif
};

/* Separate from the reset handler, so that no code uses the FPU before the FPU is on. */
ABOARD_NOINLINE __attribute__((noreturn)) static void start(void) {
#ifdef ABOARD_SETUP
    aboard_board_setup();
#endif
    aboard_caches_enable();
    aboard_image_init();
    (void)main();
    for (;;) {
    }
}

__attribute__((noreturn)) void aboard_reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    ABOARD_REG32(0xE000ED88u) |= 0xFu << 20; /* CPACR: coprocessors 10 and 11, which are the FPU and MVE */
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
    start();
}
