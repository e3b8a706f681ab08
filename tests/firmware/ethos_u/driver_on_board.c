/* SPDX-License-Identifier: Apache-2.0 */
/* Runs jobs of the driver on an emulated board, and tells a device of the test what came of each. The device says which
 * word of the stream to change, and what else is wrong with the job. */
#include "aboard/port.h"
#include "ethos_u.h"
#include "job.h"

/* Registers of the device of the test; those from VALUE on hold what is special about the next job. */
#define TEST(offset) (*(volatile uint32_t *)(0x50300000u + (offset)))
#define HAS_NEXT TEST(0x00)
#define DONE TEST(0x04)
#define REPORT TEST(0x08)
#define OUTPUT TEST(0x0C)
#define WORD TEST(0x10)
#define VALUE TEST(0x14)
#define TARGET TEST(0x18)
#define ID TEST(0x1C)
#define SLEEPS TEST(0x20)
#define POLLS TEST(0x24)
#define BY_INTERRUPT TEST(0x28)

#define NVIC_ENABLE (*(volatile uint32_t *)0xE000E100u)

static uint32_t calls, most;
static bool sleeps;

bool ethos_u_wait(uint32_t before) {
    if (sleeps) {
        __asm volatile("wfi" ::: "memory");
    }
    calls = before + 1u;
    return before < most;
}

static void run(void) {
    const uint32_t at = WORD, kept = at < JOB_WORDS ? stream[at] : 0u;
    if (at < JOB_WORDS) {
        stream[at] = VALUE;
    }
    for (uint32_t i = 0; i < sizeof y; i++) {
        y[i] = 0;
    }
    void *target = TARGET != 0u ? (void *)(uintptr_t)TARGET : y;
    const ethos_u_buffer_t buffers[] = JOB_BUFFERS(target);
    const ethos_u_job_t job = {stream, JOB_WORDS, JOB_CONFIG, ID, buffers, sizeof buffers / sizeof buffers[0]};
    const bool by_interrupt = BY_INTERRUPT != 0u;
    const ethos_u_place_t place = {JOB_REGISTERS, false, by_interrupt, JOB_INTERRUPT};
    ethos_u_report_t report = {0, 0, 0, 0};
    calls = 0;
    most = POLLS;
    sleeps = SLEEPS != 0u;
    if (by_interrupt) {
        aboard_port_init(); /* the clock, whose interrupt ends sleeps */
        __asm volatile("cpsie i" ::: "memory");
    }
    const aboard_status_t status = ethos_u_run(&place, &job, &report);
    __asm volatile("cpsid i" ::: "memory");
    REPORT = (uint32_t)status;
    REPORT = report.id;
    REPORT = report.config;
    REPORT = report.status;
    REPORT = report.read;
    REPORT = calls;
    if (at < JOB_WORDS) {
        stream[at] = kept;
    }
    DONE = 1u;
}

int main(void) {
    __asm volatile("cpsid i" ::: "memory");
    NVIC_ENABLE = 1u << JOB_INTERRUPT;
    OUTPUT = (uint32_t)(uintptr_t)y;
    while (HAS_NEXT != 0u) {
        run();
    }
    OUTPUT = 0u;
    for (;;) {
    }
}
