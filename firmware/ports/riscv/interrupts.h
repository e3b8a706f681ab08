/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file interrupts.h
 * The functions that a driver of an interrupt controller provides (`firmware/ports/interrupts/`), beside
 * aboard_irq_enable of arch.h. A driver serves interrupts of one priority.
 */
#ifndef ABOARD_INTERRUPTS_H
#define ABOARD_INTERRUPTS_H

#include <stdint.h>

/** No interrupt: nothing requests one any more. */
#define ABOARD_IRQ_NONE UINT32_MAX

/** Driver: lets the core take external interrupts, of which none is enabled yet. The core's own switch is still off. */
void aboard_interrupts_init(void);

/** Driver: returns the number of the interrupt that is served now, as the SoC file counts; ABOARD_IRQ_NONE for none. */
uint32_t aboard_interrupts_claim(void);

/** Driver: ends the service of an interrupt that was claimed. Its source requests no more. */
void aboard_interrupts_complete(uint32_t number);

#endif
