/* SPDX-License-Identifier: Apache-2.0 */
/* Extends a 32-bit hardware counter to 64 bits. Every read adds the ticks since the previous read, and a timer reads
 * often enough that no wrap is missed. */
#include "counter.h"

#include <zephyr/kernel.h>

#include "aboard/port.h"

#if defined(CONFIG_ABOARD_COUNTER_TIMING)
#include <zephyr/timing/timing.h>
#endif

/* Reads per wrap of the counter. */
#define READS_A_TURN 4u

static struct k_spinlock lock;
static uint64_t passed;
static uint32_t last;

static uint32_t now(void) {
#if defined(CONFIG_ABOARD_COUNTER_TIMING)
    return (uint32_t)timing_counter_get();
#else
    return k_cycle_get_32();
#endif
}

uint32_t aboard_port_tick_hz(void) {
#if defined(CONFIG_ABOARD_COUNTER_TIMING)
    return (uint32_t)timing_freq_get();
#else
    return (uint32_t)sys_clock_hw_cycles_per_sec();
#endif
}

uint64_t aboard_port_ticks(void) {
    const k_spinlock_key_t key = k_spin_lock(&lock);
    const uint32_t current = now();
    passed += current - last;
    last = current;
    const uint64_t ticks = passed;
    k_spin_unlock(&lock, key);
    return ticks;
}

void aboard_port_ticks_align(void) {}

static void on_timer(struct k_timer *timer) {
    ARG_UNUSED(timer);
    (void)aboard_port_ticks();
}

static K_TIMER_DEFINE(reader, on_timer, NULL);

void aboard_counter_init(void) {
#if defined(CONFIG_ABOARD_COUNTER_TIMING)
    timing_init();
    timing_start();
#endif
    last = now();
    const uint32_t turn_ms = (uint32_t)(((uint64_t)UINT32_MAX * MSEC_PER_SEC) / aboard_port_tick_hz());
    k_timer_start(&reader, K_MSEC(turn_ms / READS_A_TURN), K_MSEC(turn_ms / READS_A_TURN));
}
