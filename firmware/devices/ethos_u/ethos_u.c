/* SPDX-License-Identifier: Apache-2.0 */
#include "ethos_u.h"

#include "ethos_u_access.h"

/* Offsets of the registers. */
#define ID 0x00u
#define STATUS 0x04u
#define CMD 0x08u
#define RESET 0x0Cu
#define QBASE0 0x10u
#define QBASE1 0x14u
#define QREAD 0x18u
#define QCONFIG 0x1Cu
#define QSIZE 0x20u
#define CONFIG 0x28u
#define REGIONCFG 0x3Cu
#define AXI_LIMIT0 0x40u
#define AXI_LIMITS 4u
#define BASEP0 0x80u
#define POINTERS 8u

#define STATUS_RUNNING (1u << 0)
#define STATUS_IRQ (1u << 1)
#define STATUS_BUS (1u << 2)
#define STATUS_RESET (1u << 3)
#define STATUS_PARSE (1u << 4)
#define STATUS_END (1u << 5)
#define STATUS_FAULTS (1u << 7 | 1u << 8)

#define CMD_RUN (1u << 0)
#define CMD_CLEAR_IRQ (1u << 1)
/** The NPU may ask for its clock, and its power, to be switched off. */
#define CMD_IDLE (1u << 2 | 1u << 3)
#define CMD_STOP (1u << 4)

#define RESET_PRIVILEGED (1u << 0)
#define RESET_NON_SECURE (1u << 1)

/** Fields of ID: the architecture, which is ordered, and the product. */
#define ARCHITECTURE(id) ((id) >> 16)
#define GENERATION(id) ((id) >> 28)
#define PRODUCT(id) ((id) >> 12 & 0xfu)
/** CONFIG without its reserved bits: MACs, version of streams, shared RAM, product. */
#define CONFIGURATION(config) ((config) & 0xf000ffffu)

/* Constants and the stream, which are in flash, go over port 1; everything else over port 0. */
#define STREAM_PORT 2u
#define CONSTANTS_PORT 3u
#define MEMORY_PORT 1u
/** Reads and writes that may be under way at once on a port: 32 and 16. */
#define LIMITS (31u << 16 | 15u << 24)

#define RESET_POLLS 100000u

/* Of the job that waits for the interrupt: registers of its NPU, and the status that the handler found; else 0. */
static volatile uintptr_t awaited;
static volatile uint32_t found;

static void put(const ethos_u_place_t *place, uint32_t offset, uint32_t value) {
    ethos_u_write(place->registers, offset, value);
}

static uint32_t get(const ethos_u_place_t *place, uint32_t offset) {
    return ethos_u_read(place->registers, offset);
}

/** Writes an address into a pair of registers. */
static void point(const ethos_u_place_t *place, uint32_t offset, const void *base) {
    const uint64_t address = (uint64_t)(uintptr_t)base;
    put(place, offset, (uint32_t)address);
    put(place, offset + 4u, (uint32_t)(address >> 32));
}

static aboard_status_t check(const ethos_u_place_t *place, const ethos_u_job_t *job) {
    if (place == NULL || job == NULL || job->commands == NULL || (job->buffers == NULL && job->count > 0u)) {
        return ABOARD_ERROR_NULL;
    }
    for (uint32_t i = 0; i < job->count; i++) {
        if (job->buffers[i].pointer >= POINTERS) {
            return ABOARD_ERROR_RANGE;
        }
    }
    return ETHOS_U_IS_MODEL || place->registers != 0u ? ABOARD_OK : ABOARD_ERROR_UNSUPPORTED;
}

/** Compares the NPU with the one that the stream was compiled for. */
static aboard_status_t identify(const ethos_u_place_t *place, const ethos_u_job_t *job) {
    const uint32_t id = get(place, ID), config = get(place, CONFIG);
    if (GENERATION(id) != GENERATION(job->id) || PRODUCT(id) != PRODUCT(job->id)) {
        return ABOARD_ERROR_DEVICE;
    }
    const bool fits = ARCHITECTURE(id) >= ARCHITECTURE(job->id) && CONFIGURATION(config) == CONFIGURATION(job->config);
    return fits ? ABOARD_OK : ABOARD_ERROR_UNSUPPORTED;
}

static aboard_status_t reset(const ethos_u_place_t *place) {
    put(place, RESET, RESET_PRIVILEGED | (place->non_secure ? RESET_NON_SECURE : 0u));
    for (uint32_t i = 0; i < RESET_POLLS; i++) {
        if ((get(place, STATUS) & STATUS_RESET) == 0u) {
            return ABOARD_OK;
        }
    }
    return ABOARD_ERROR_TIMEOUT;
}

static void prepare(const ethos_u_place_t *place, const ethos_u_job_t *job) {
    uint32_t ports = 0;
    for (uint32_t i = 0; i < POINTERS; i++) {
        ports |= (i == 0u ? CONSTANTS_PORT : MEMORY_PORT) << 2u * i;
    }
    put(place, QCONFIG, STREAM_PORT);
    put(place, REGIONCFG, ports);
    for (uint32_t i = 0; i < AXI_LIMITS; i++) {
        put(place, AXI_LIMIT0 + 4u * i, LIMITS);
    }
    point(place, QBASE0, job->commands);
    put(place, QSIZE, job->words * 4u);
    ethos_u_clean(job->commands, job->words * 4u);
    for (uint32_t i = 0; i < job->count; i++) {
        const ethos_u_buffer_t *buffer = &job->buffers[i];
        point(place, BASEP0 + 8u * buffer->pointer, buffer->base);
        ethos_u_clean(buffer->base, buffer->bytes);
    }
}

/** Makes the memory of a job known to the model; the hardware reaches all memory. */
static void open_windows(const ethos_u_job_t *job) {
#if ETHOS_U_IS_MODEL
    ethos_u_emulated_forget();
    ethos_u_emulated_window(job->commands, job->words * 4u, false);
    for (uint32_t i = 0; i < job->count; i++) {
        ethos_u_emulated_window(job->buffers[i].base, job->buffers[i].bytes, job->buffers[i].is_written);
    }
#else
    (void)job;
#endif
}

void ethos_u_interrupt(void) {
    const uintptr_t registers = awaited;
    if (registers == 0u) {
        return;
    }
    const uint32_t status = ethos_u_read(registers, STATUS);
    if ((status & STATUS_IRQ) != 0u) {
        found = status;
        ethos_u_write(registers, CMD, CMD_CLEAR_IRQ);
        (void)ethos_u_read(registers, STATUS); /* the NPU has taken the interrupt back before the handler returns */
    }
}

bool ethos_u_has_ended(void) {
    return found != 0u;
}

/** The model in the image raises no interrupt. */
static bool sleeps(const ethos_u_place_t *place) {
    return !ETHOS_U_IS_MODEL && place->by_interrupt;
}

/** Enables the interrupt for a job, or disables it. The handler is called only while it may access registers. */
static void listen(const ethos_u_place_t *place, bool on) {
    if (!sleeps(place)) {
        return;
    }
    if (on) {
        awaited = place->registers;
        ethos_u_irq(place->irq, true);
    } else {
        ethos_u_irq(place->irq, false);
        awaited = 0u;
        found = 0u;
    }
}

static uint32_t look(const ethos_u_place_t *place) {
    return get(place, STATUS) | found;
}

static aboard_status_t wait(const ethos_u_place_t *place) {
    uint32_t calls = 0, status = look(place);
    while ((status & STATUS_IRQ) == 0u && ((status & STATUS_RUNNING) != 0u || (status & STATUS_END) == 0u)) {
        if (!(sleeps(place) ? ethos_u_sleep(calls) : ethos_u_wait(calls))) {
            return ABOARD_ERROR_TIMEOUT;
        }
        calls++;
        status = look(place);
    }
    put(place, CMD, CMD_CLEAR_IRQ);
    const bool failed = (status & (STATUS_BUS | STATUS_PARSE | STATUS_FAULTS)) != 0u;
    return failed || (status & STATUS_END) == 0u ? ABOARD_ERROR_DEVICE : ABOARD_OK;
}

static void describe(const ethos_u_place_t *place, ethos_u_report_t *report) {
    if (report != NULL) {
        report->id = get(place, ID);
        report->config = get(place, CONFIG);
        report->status = get(place, STATUS);
        report->read = get(place, QREAD);
    }
}

static aboard_status_t execute(const ethos_u_place_t *place, const ethos_u_job_t *job, ethos_u_report_t *report) {
    aboard_status_t status = identify(place, job);
    if (status == ABOARD_OK) {
        put(place, CMD, 0u); /* clock and power stay on */
        status = reset(place);
    }
    if (status != ABOARD_OK) {
        describe(place, report);
        return status;
    }
    prepare(place, job);
    open_windows(job);
    /* What the CPU stored is in memory before the NPU looks. */
    __sync_synchronize();
    listen(place, true);
    put(place, CMD, CMD_RUN);
    status = wait(place);
    __sync_synchronize();
    if (status != ABOARD_OK) {
        describe(place, report);
        put(place, CMD, CMD_STOP);
        (void)reset(place);
    }
    listen(place, false);
    for (uint32_t i = 0; i < job->count; i++) {
        if (job->buffers[i].is_written) {
            ethos_u_invalidate(job->buffers[i].base, job->buffers[i].bytes);
        }
    }
    put(place, CMD, CMD_IDLE);
    return status;
}

aboard_status_t ethos_u_run(const ethos_u_place_t *place, const ethos_u_job_t *job, ethos_u_report_t *report) {
    aboard_status_t status = check(place, job);
    if (status == ABOARD_OK) {
        ethos_u_power(true);
        status = execute(place, job, report);
        ethos_u_power(false);
    }
    return status;
}
