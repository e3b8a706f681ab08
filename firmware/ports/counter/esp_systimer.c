/* SPDX-License-Identifier: Apache-2.0 */
/* SYSTIMER of ESP32-C3 and ESP32-C6, unit 0 (Technical Reference Manuals, chapter System Timer): 52 bits at 16 MHz, a
 * fraction of the crystal that does not depend on the core's clock. A read takes a copy of the count. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "counter.h"
#include "registers.h"

#define CONF ABOARD_REG32(ABOARD_COUNTER_BASE + 0x00u)
#define UNIT0_OP ABOARD_REG32(ABOARD_COUNTER_BASE + 0x04u)
#define UNIT0_HIGH ABOARD_REG32(ABOARD_COUNTER_BASE + 0x40u)
#define UNIT0_LOW ABOARD_REG32(ABOARD_COUNTER_BASE + 0x44u)

#define CONF_UNIT0 (1u << 30)
#define CONF_CLOCK (1u << 31)
#define OP_UPDATE (1u << 30)
#define OP_VALID (1u << 29)

void aboard_counter_init(void) {
    CONF |= CONF_CLOCK | CONF_UNIT0;
}

void aboard_counter_interrupt(void) {}

uint64_t aboard_port_ticks(void) {
    UNIT0_OP = OP_UPDATE;
    while ((UNIT0_OP & OP_VALID) == 0) {
    }
    const uint32_t high = UNIT0_HIGH;
    return (uint64_t)high << 32 | UNIT0_LOW;
}

/* Nothing to align: a tick is two to three cycles. */
void aboard_port_ticks_align(void) {}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
