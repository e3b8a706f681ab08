/* SPDX-License-Identifier: Apache-2.0 */
#include "ethos_u.h"

/** Looks at the status of the NPU before a call gives up. */
#ifndef ETHOS_U_POLLS
#define ETHOS_U_POLLS 100000000u
#endif

/** Time of a job that waits for the interrupt, before the call gives up. */
#ifndef ETHOS_U_TIMEOUT_MS
#define ETHOS_U_TIMEOUT_MS 10000u
#endif

#define WEAK __attribute__((weak))

WEAK void ethos_u_power(bool on) {
    (void)on;
}

WEAK bool ethos_u_wait(uint32_t calls) {
    return calls < ETHOS_U_POLLS;
}

#if defined(__ZEPHYR__) && defined(CONFIG_DYNAMIC_INTERRUPTS)

#include <zephyr/irq.h>
#include <zephyr/kernel.h>

/** Priority of the interrupt, as for `IRQ_CONNECT`. */
#ifndef ETHOS_U_IRQ_PRIORITY
#define ETHOS_U_IRQ_PRIORITY 3
#endif

static struct k_sem ended;

static void handle(const void *unused) {
    (void)unused;
    ethos_u_interrupt();
    k_sem_give(&ended);
}

WEAK void ethos_u_irq(uint32_t number, bool on) {
    if (on) {
        (void)k_sem_init(&ended, 0, 1);
        (void)irq_connect_dynamic(number, ETHOS_U_IRQ_PRIORITY, handle, NULL, 0);
        irq_enable(number);
    } else {
        irq_disable(number);
    }
}

/* Other threads run meanwhile. */
WEAK bool ethos_u_sleep(uint32_t calls) {
    (void)calls;
    return k_sem_take(&ended, K_MSEC(ETHOS_U_TIMEOUT_MS)) == 0;
}

#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'

/* Registers of the Cortex-M architecture: interrupts to enable, to disable, and pending ones to forget. */
#define NVIC_ISER ((volatile uint32_t *)0xE000E100u)
#define NVIC_ICER ((volatile uint32_t *)0xE000E180u)
#define NVIC_ICPR ((volatile uint32_t *)0xE000E280u)

/* The clock of aboard's ports, if the image has one: its interrupt wakes the core whenever the counter wraps. */
__attribute__((weak)) uint64_t aboard_port_ticks(void);
__attribute__((weak)) uint32_t aboard_port_tick_hz(void);

WEAK void ethos_u_irq(uint32_t number, bool on) {
    const uint32_t word = number / 32u, bit = 1u << number % 32u;
    if (!on) {
        NVIC_ICER[word] = bit;
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
    NVIC_ICPR[word] = bit;
    if (on) {
        NVIC_ISER[word] = bit;
    }
}

/** Sleeps until an interrupt. With interrupts masked, none comes unnoticed between the look and the sleep, and a
 * pending one still ends the sleep. */
static void sleep_unless_ended(void) {
    uint32_t mask;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask)::"memory");
    if (!ethos_u_has_ended()) {
        __asm volatile("dsb\n\twfi" ::: "memory");
    }
    __asm volatile("msr primask, %0\n\tisb" ::"r"(mask) : "memory");
}

/* Gives up before a sleep and not after it: what ended during the last sleep is seen. The limit of calls is for callers
 * that mask interrupts, for whom the clock stands still. */
WEAK bool ethos_u_sleep(uint32_t calls) {
    static uint64_t start;
    if (aboard_port_ticks == NULL || aboard_port_tick_hz == NULL) {
        return ethos_u_wait(calls);
    }
    const uint64_t now = aboard_port_ticks();
    if (calls == 0u) {
        start = now;
    }
    if (calls >= ETHOS_U_POLLS || now - start > (uint64_t)ETHOS_U_TIMEOUT_MS * (aboard_port_tick_hz() / 1000u)) {
        return false;
    }
    sleep_unless_ended();
    return true;
}

#else

WEAK void ethos_u_irq(uint32_t number, bool on) {
    (void)number;
    (void)on;
}

WEAK bool ethos_u_sleep(uint32_t calls) {
    return ethos_u_wait(calls);
}

#endif
