/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to another core: the side of the caller. */
#include "aboard/core.h"

#include <stdbool.h>

#include "aboard/config.h"

/* Reads of the mailbox per round of waiting. */
#define READS 64

/* After this many rounds, the caller executes YIELD four times less often each time. On a chip, YIELD does nothing.
 * An emulator that runs the cores alternately switches to the other core, for a long time if that core hangs. WFE
 * does not work here, because a dead core sends no event. */
#define EAGER_ROUNDS 4

__attribute__((weak)) void aboard_core_fault(uint32_t core, const aboard_core_fault_t *fault) {
    (void)core;
    (void)fault;
}

/* Waits until a word of the mailbox has a value, or the core has taken a fault. */
static bool wait(const aboard_core_mailbox_t *mailbox, const volatile uint32_t *word, uint32_t value, uint32_t rounds) {
    uint32_t step = 1;
    for (uint32_t waited = 0; waited <= rounds; waited += step) {
        step = waited < EAGER_ROUNDS ? 1 : ABOARD_MIN(3 * waited, rounds - waited + 1);
        for (uint32_t read = 0; read < step * READS; read++) {
            if (*word == value || mailbox->faulted != 0) {
                __asm volatile("dmb" ::: "memory"); /* data that belongs to the word is read after the word */
                return true;
            }
        }
        __asm volatile("yield" ::: "memory");
    }
    return false;
}

/* Returns the state of the core, and reports its fault once. */
static aboard_status_t state_of(const aboard_core_t *core, bool answered) {
    aboard_core_mailbox_t *const mailbox = core->mailbox;
    if (mailbox->faulted == 0) {
        return answered ? ABOARD_OK : ABOARD_ERROR_TIMEOUT;
    }
    if (mailbox->faulted == 1) {
        mailbox->faulted = 2;
        aboard_core_fault(core->number, &mailbox->fault);
    }
    return ABOARD_ERROR_DEVICE;
}

aboard_status_t aboard_core_call(const aboard_core_t *core, aboard_core_function_t function, const uint32_t *arguments,
                                 uint32_t words, uint32_t rounds) {
    aboard_core_mailbox_t *const mailbox = core->mailbox;
    if (words > ABOARD_CORE_ARGUMENT_WORDS) {
        return ABOARD_ERROR_RANGE;
    }
    if (mailbox->started == 0) {
        mailbox->started = 1;
        __asm volatile("dsb" ::: "memory");
        core->start();
    }
    /* An earlier call that timed out may still be running. */
    const bool idle =
        wait(mailbox, &mailbox->alive, 1, rounds) && wait(mailbox, &mailbox->reply, mailbox->request, rounds);
    const aboard_status_t before = state_of(core, idle);
    if (before != ABOARD_OK) {
        return before;
    }
    mailbox->function = function;
    for (uint32_t i = 0; i < words; i++) {
        mailbox->arguments[i] = arguments[i];
    }
    __asm volatile("dmb" ::: "memory"); /* function and arguments are visible before the request */
    const uint32_t number = mailbox->request + 1;
    mailbox->request = number;
    __asm volatile("dsb\n\tsev" ::: "memory");
    const bool answered = wait(mailbox, &mailbox->reply, number, rounds);
    const aboard_status_t after = state_of(core, answered);
    return after == ABOARD_OK ? mailbox->status : after;
}
