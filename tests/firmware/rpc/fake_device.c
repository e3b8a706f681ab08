/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_device.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/port.h"
#include "rpc/server.h"
#include "toy_models.h"

#define QUEUE (1u << 20)
#define TICK_HZ 25000000u
#define TICKS_PER_LOOK 10u

static uint8_t to_device[QUEUE];
static size_t to_device_head, to_device_tail;
static uint8_t from_device[QUEUE];
static size_t from_device_count;
static uint64_t ticks;
static aboard_fault_t fault;
static uint32_t resets;
static uint32_t yields;
static uint32_t crash_kind;
static jmp_buf restart;

static uint8_t arena[160] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint8_t input_copy[48];
static uint8_t workspace[96] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint64_t node_ticks[3];
/* Of exactly the size in use and from the heap, so that a byte too many is seen by the sanitizer. */
static uint8_t *frame;
static char build[48] = "build-1";
static const aboard_model_t *const models[] = {&toy_adder, &toy_doubler};
static aboard_server_config_t config;
static aboard_server_t server;

void aboard_port_init(void) {}

size_t aboard_port_read(uint8_t *data, size_t capacity) {
    const size_t waiting = to_device_tail - to_device_head;
    const size_t count = waiting < capacity ? waiting : capacity;
    memcpy(data, to_device + to_device_head, count);
    to_device_head += count;
    return count;
}

void aboard_port_write(const uint8_t *data, size_t count) {
    if (count <= QUEUE - from_device_count) {
        memcpy(from_device + from_device_count, data, count);
        from_device_count += count;
    }
}

void aboard_port_idle(void) {}
uint64_t aboard_port_ticks(void) {
    return ticks += TICKS_PER_LOOK;
}
void aboard_port_ticks_align(void) {}
uint32_t aboard_port_tick_hz(void) {
    return TICK_HZ;
}
void aboard_port_stack_mark(void) {}
uint32_t aboard_port_stack_used(void) {
    return 123;
}
aboard_fault_t *aboard_port_fault(void) {
    return &fault;
}
void aboard_port_reset(void) {
    resets++;
}

static void crash(void) {
    toy_in_the_middle = NULL;
    fault.kind = crash_kind;
    if (crash_kind != 0) {
        fault.registers[6] = 0x1234;
        fault.status = 0x82;
        fault.address = 0xcafe;
    }
    longjmp(restart, 1);
}

static void yield(void) {
    yields++;
}

int fake_start(uint32_t has, uint16_t frame_bytes, uint16_t burst) {
    to_device_head = to_device_tail = from_device_count = 0;
    toy_runs = toy_op_runs = resets = yields = 0;
    toy_in_the_middle = NULL;
    memset(&fault, 0, sizeof fault);
    memset(arena, 0xee, sizeof arena);
    free(frame);
    frame = malloc(frame_bytes);
    config = (aboard_server_config_t){.models = models,
                                      .model_count = 2,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .input_copy = (has & FAKE_INPUT_COPY) != 0 ? input_copy : NULL,
                                      .input_copy_bytes = sizeof input_copy,
                                      .workspace = (has & FAKE_WORKSPACE) != 0 ? workspace : NULL,
                                      .workspace_bytes = sizeof workspace,
                                      .node_ticks = (has & FAKE_PROFILE) != 0 ? node_ticks : NULL,
                                      .node_ticks_count = 3,
                                      .frame = frame,
                                      .frame_bytes = frame_bytes,
                                      .burst = burst,
                                      .yield = (has & FAKE_YIELD) != 0 ? yield : NULL,
                                      .board = "fake/device",
                                      .build = build};
    config.features = ((has & FAKE_PROFILE) != 0 ? (uint32_t)ABOARD_FEATURE_PROFILE : 0u) |
                      ((has & FAKE_TAPS) != 0 ? (uint32_t)ABOARD_FEATURE_TAPS : 0u);
    if ((has & FAKE_WORKSPACE_IN_ARENA) != 0) {
        config.workspace = arena;
    }
    return (int)aboard_server_init(&server, &config);
}

int fake_start_divided(size_t fast_bytes, size_t large_bytes, size_t shift) {
    static uint8_t fast[16] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
    static uint8_t large[32] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
    static aboard_memory_t of_divided[2];
    static const aboard_memory_t *memory[2];
    static const aboard_model_t *const both[] = {&toy_adder, &toy_divided};
    (void)fake_start(FAKE_INPUT_COPY | FAKE_WORKSPACE, 256, 0);
    of_divided[0] = (aboard_memory_t){fast_bytes != 0 ? fast : NULL, fast_bytes};
    of_divided[1] = (aboard_memory_t){large + shift, large_bytes};
    memory[1] = fast_bytes != 0 || large_bytes != 0 ? of_divided : NULL;
    config.models = both;
    config.memory = memory;
    config.workspace = large;
    config.workspace_bytes = sizeof large;
    return (int)aboard_server_init(&server, &config);
}

int fake_start_rows(uint32_t has, uint16_t frame_bytes, int linked) {
    static const aboard_model_t *const both[] = {&toy_adder, &toy_summer};
    (void)fake_start(has, frame_bytes, 0);
    config.models = both;
    config.rows = linked ? &aboard_server_rows : NULL;
    return (int)aboard_server_init(&server, &config);
}

size_t fake_feed(const uint8_t *data, size_t count) {
    if (to_device_head == to_device_tail) {
        to_device_head = to_device_tail = 0;
    }
    const size_t room = QUEUE - to_device_tail;
    const size_t taken = count < room ? count : room;
    memcpy(to_device + to_device_tail, data, taken);
    to_device_tail += taken;
    return taken;
}

void fake_work(void) {
    if (setjmp(restart) != 0) {
        (void)aboard_server_init(&server, &config);
    }
    while (aboard_server_poll(&server)) {
    }
}

size_t fake_take(uint8_t *data, size_t capacity) {
    const size_t count = from_device_count < capacity ? from_device_count : capacity;
    memcpy(data, from_device, count);
    memmove(from_device, from_device + count, from_device_count - count);
    from_device_count -= count;
    return count;
}

void fake_log(const char *text) {
    aboard_server_log(&server, text);
}

void fake_crash_in_next_run(uint32_t kind) {
    crash_kind = kind;
    toy_in_the_middle = crash;
}

void fake_set_build(const char *text) {
    strncpy(build, text, sizeof build - 1);
}

void fake_limit_models(uint8_t count) {
    config.model_count = count;
}

uint32_t fake_runs(void) {
    return toy_runs;
}
uint32_t fake_op_runs(void) {
    return toy_op_runs;
}
uint32_t fake_resets(void) {
    return resets;
}
uint32_t fake_yields(void) {
    return yields;
}
size_t fake_server_bytes(void) {
    return sizeof server;
}
