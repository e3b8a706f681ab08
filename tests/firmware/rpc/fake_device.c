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
/* Memory beside what the server may touch: nothing may ever lie there. */
#define GUARD 256u
#define LARGEST 192u
#define CANARY 0xa5

#if defined(__SANITIZE_ADDRESS__)
#define GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDED 1
#endif
#endif
#ifdef GUARDED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, count) ((void)(data), (void)(count))
#define ASAN_UNPOISON_MEMORY_REGION(data, count) ((void)(data), (void)(count))
#endif

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

/* Of the server's memory: what each piece is for, and its bytes. */
enum { ARENA, INPUT_COPY, WORKSPACE, NODE_TICKS, FAST, LARGE, KEPT, PIECES };
static size_t sizes[PIECES] = {160, 48, 96, 24, 16, 32, 7};
#define USUAL_WORKSPACE 96u
static struct {
    uint8_t before[GUARD] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
    uint8_t data[LARGEST + GUARD];
} pieces[PIECES];
/* Ticks of the looks at the clock, in turn. */
static uint32_t steps[64] = {TICKS_PER_LOOK};
static size_t step_count = 1, step;
static size_t grain;
/* Of exactly the size in use and from the heap, so that a byte too many is seen by the sanitizer. */
static uint8_t *frame;
static char build[48] = "build-1";
static const aboard_model_t *const models[] = {&toy_adder, &toy_doubler};
static aboard_server_config_t config;
static aboard_server_t server;

void aboard_port_init(void) {}

size_t aboard_port_read(uint8_t *data, size_t capacity) {
    const size_t waiting = to_device_tail - to_device_head;
    capacity = grain != 0 && grain < capacity ? grain : capacity;
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
    ticks += steps[step];
    step = (step + 1) % step_count;
    return ticks;
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

/* Guards a piece of memory whose first `bytes` bytes the server gets. */
static void guard(int piece, size_t bytes) {
    uint8_t *const whole = pieces[piece].before;
    ASAN_UNPOISON_MEMORY_REGION(whole, sizeof pieces[piece]);
    memset(whole, CANARY, sizeof pieces[piece]);
    memset(pieces[piece].data, 0, bytes);
    ASAN_POISON_MEMORY_REGION(whole, GUARD);
    ASAN_POISON_MEMORY_REGION(pieces[piece].data + bytes, sizeof pieces[piece].data - bytes);
}

bool fake_is_intact(void) {
#ifndef GUARDED
    for (int piece = 0; piece < PIECES; ++piece) {
        for (size_t i = 0; i < GUARD; ++i) {
            if (pieces[piece].before[i] != CANARY || pieces[piece].data[sizes[piece] + i] != CANARY) {
                return false;
            }
        }
    }
#endif
    return true;
}

int fake_start(uint32_t has, uint16_t frame_bytes, uint16_t burst) {
    to_device_head = to_device_tail = from_device_count = 0;
    toy_runs = toy_op_runs = resets = yields = 0;
    toy_in_the_middle = NULL;
    memset(&fault, 0, sizeof fault);
    sizes[WORKSPACE] = USUAL_WORKSPACE;
    for (int piece = 0; piece < PIECES; ++piece) {
        guard(piece, sizes[piece]);
    }
    memset(pieces[ARENA].data, 0xee, sizes[ARENA]);
    grain = 0;
    fake_set_ticks(NULL, 0);
    free(frame);
    frame = malloc(frame_bytes);
    config = (aboard_server_config_t){
        .models = models,
        .model_count = 2,
        .arena = pieces[ARENA].data,
        .arena_bytes = sizes[ARENA],
        .input_copy = (has & FAKE_INPUT_COPY) != 0 ? pieces[INPUT_COPY].data : NULL,
        .input_copy_bytes = sizes[INPUT_COPY],
        .workspace = (has & FAKE_WORKSPACE) != 0 ? pieces[WORKSPACE].data : NULL,
        .workspace_bytes = sizes[WORKSPACE],
        .node_ticks = (has & FAKE_PROFILE) != 0 ? (uint64_t *)(void *)pieces[NODE_TICKS].data : NULL,
        .node_ticks_count = 3,
        .frame = frame,
        .frame_bytes = frame_bytes,
        .burst = burst,
        .yield = (has & FAKE_YIELD) != 0 ? yield : NULL,
        .board = "fake/device",
        .build = build};
    config.features = ((has & FAKE_PROFILE) != 0 ? (uint32_t)ABOARD_FEATURE_PROFILE : 0u) |
                      ((has & FAKE_TRACE) != 0 ? (uint32_t)ABOARD_FEATURE_TRACE : 0u);
    if ((has & FAKE_WORKSPACE_IN_ARENA) != 0) {
        config.workspace = pieces[ARENA].data;
    }
    return (int)aboard_server_init(&server, &config);
}

static int start_divided(size_t fast_bytes, size_t large_bytes, size_t shift, bool is_first) {
    static aboard_memory_t of_divided[2];
    static const aboard_memory_t *memory[2];
    static const aboard_model_t *both[2];
    (void)fake_start(FAKE_INPUT_COPY | FAKE_WORKSPACE, 256, 0);
    of_divided[0] = (aboard_memory_t){fast_bytes != 0 ? pieces[FAST].data : NULL, fast_bytes};
    of_divided[1] = (aboard_memory_t){pieces[LARGE].data + shift, large_bytes};
    both[is_first ? 0 : 1] = &toy_divided;
    both[is_first ? 1 : 0] = &toy_adder;
    memory[is_first ? 0 : 1] = fast_bytes != 0 || large_bytes != 0 ? of_divided : NULL;
    memory[is_first ? 1 : 0] = NULL;
    config.models = both;
    config.memory = memory;
    config.workspace = pieces[LARGE].data;
    config.workspace_bytes = sizes[LARGE];
    return (int)aboard_server_init(&server, &config);
}

int fake_start_divided(size_t fast_bytes, size_t large_bytes, size_t shift) {
    return start_divided(fast_bytes, large_bytes, shift, false);
}

int fake_start_rows(uint32_t has, uint16_t frame_bytes, int linked) {
    static const aboard_model_t *const both[] = {&toy_adder, &toy_summer};
    (void)fake_start(has, frame_bytes, 0);
    config.models = both;
    config.rows = linked ? &aboard_server_rows : NULL;
    config.states = linked ? aboard_server_states : NULL;
    return (int)aboard_server_init(&server, &config);
}

int fake_start_states(uint32_t has, uint16_t frame_bytes, int linked) {
    static aboard_memory_t of_keeper[2];
    static const aboard_model_t *const both[] = {&toy_adder, &toy_keeper};
    static const aboard_memory_t *const memory[] = {NULL, of_keeper};
    (void)fake_start(has, frame_bytes, 0);
    of_keeper[0] = (aboard_memory_t){pieces[FAST].data, sizes[FAST]};
    of_keeper[1] = (aboard_memory_t){pieces[KEPT].data, sizes[KEPT]};
    config.models = both;
    config.memory = memory;
    config.states = linked ? aboard_server_states : NULL;
    return (int)aboard_server_init(&server, &config);
}

/* Arena and workspace side by side, without a byte between: they share nothing. */
static void place_side_by_side(bool workspace_is_first) {
    config.arena_bytes = 128;
    config.workspace_bytes = 32;
    config.arena = pieces[ARENA].data + (workspace_is_first ? 32 : 0);
    config.workspace = pieces[ARENA].data + (workspace_is_first ? 0 : 128);
}

int fake_start_wild(const uint8_t head[FAKE_HEAD]) {
    const uint32_t has = head[1] & 63u;
    const uint16_t frame_bytes = (uint16_t)(ABOARD_RPC_MIN_FRAME + head[2]);
    const int kind = head[0] % 6;
    if (kind == 0) {
        (void)start_divided(12, 16, 0, (head[0] & 64) != 0);
        guard(FAST, 12);
    } else if (kind == 1) {
        (void)fake_start(has, frame_bytes, 0);
    } else if (kind == 2) {
        (void)fake_start_states(has, frame_bytes, 1);
    } else {
        (void)fake_start_rows(has, frame_bytes, 1);
    }
    if (kind != 0 && (has & FAKE_WORKSPACE) != 0 && (head[1] & 64) != 0) {
        place_side_by_side((head[1] & 128) != 0);
    }
    if (config.workspace == pieces[WORKSPACE].data && head[2] % 2 == 0) {
        /* More than a frame holds. */
        config.workspace_bytes = sizes[WORKSPACE] = LARGEST;
        guard(WORKSPACE, LARGEST);
    }
    /* The inputs of the adder have 48 bytes. */
    if ((head[0] & 128) != 0) {
        config.input_copy_bytes = 24u + head[2] % 24u;
        guard(INPUT_COPY, config.input_copy_bytes);
    }
    config.burst = (head[3] & 1) != 0 ? (uint16_t)(16 + head[3] / 2) : 0;
    grain = head[0] / 4 % 16;
    return (int)aboard_server_init(&server, &config);
}

const aboard_server_config_t *fake_config(void) {
    return &config;
}

void fake_set_ticks(const uint32_t *values, size_t count) {
    step = 0;
    step_count = count == 0 ? 1 : count;
    steps[0] = TICKS_PER_LOOK;
    for (size_t i = 0; i < count; ++i) {
        steps[i] = values[i];
    }
}

uint32_t fake_tick_hz(void) {
    return TICK_HZ;
}

void fake_set_grain(size_t bytes) {
    grain = bytes;
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
