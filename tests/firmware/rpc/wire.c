/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "reference.h"
#include "rpc/frame.h"
#include "rpc/messages.h"

#define MOST_REPLIES 512
#define LONGEST 1024
/* A series this long has to be ended by the next frame. */
#define SHORT_SERIES 50

wire_counts_t wire_counts;

static aboard_frame_reader_t incoming, outgoing;
static uint8_t incoming_data[LONGEST], outgoing_data[LONGEST];
static reference_reply_t due[MOST_REPLIES];
static bool has_come[MOST_REPLIES];
static size_t due_count;
static size_t damaged_due, damaged_seen;
static bool long_series;
static bool knows_event;
static uint8_t next_event;
static uint64_t most_runs;
static uint8_t previous[LONGEST];
static size_t previous_count;
static char problem[160];
static uint8_t sent[1 << 18];
static uint8_t *out;
static size_t out_count;

static const char *fail(const char *what, uint8_t type, uint32_t got, uint32_t expected) {
    (void)snprintf(problem, sizeof problem, "%s: type 0x%02x, got %lu, expected %lu", what, (unsigned)type,
                   (unsigned long)got, (unsigned long)expected);
    return problem;
}

static uint32_t u32(const uint8_t *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static uint64_t u64(const uint8_t *data) {
    return u32(data) | (uint64_t)u32(data + 4) << 32;
}

static void collect(const uint8_t *data, size_t count) {
    memcpy(out + out_count, data, count);
    out_count += count;
}

size_t wire_encode(uint8_t *frame, const uint8_t *message, size_t count) {
    const aboard_span_t span = {message, count};
    out = frame;
    out_count = 0;
    aboard_frame_write(&span, 1, collect);
    return out_count;
}

bool wire_start(const uint8_t *head) {
    if (fake_start_wild(head) != 0) {
        return false;
    }
    uint32_t ticks[16];
    for (uint32_t i = 0; i < 16; ++i) {
        ticks[i] = 1 + (head[2] * 7u + i * i * 13u) % 50u;
    }
    /* Some devices are slow: a series tells of its progress. */
    ticks[3] += head[3] % 4 == 0 ? fake_tick_hz() : 0u;
    fake_set_ticks(ticks, 16);
    reference_start(fake_config());
    aboard_frame_reader_init(&incoming, incoming_data, fake_config()->frame_bytes);
    aboard_frame_reader_init(&outgoing, outgoing_data, sizeof outgoing_data);
    knows_event = false;
    previous_count = 0;
    return true;
}

/* Has the reference take a message; notes what is due. */
static void expect(const uint8_t *message, size_t count) {
    reference_reply_t reply;
    wire_counts.frames++;
    if (due_count == MOST_REPLIES || !reference_take(message, count, &reply)) {
        return;
    }
    if (reply.status == ABOARD_OK && reply.runs != 0 && !reply.is_repeated) {
        most_runs += reply.runs;
        long_series = reply.runs >= SHORT_SERIES;
    } else if (reply.status != ABOARD_ERROR_SESSION && !reply.is_repeated) {
        long_series = false;
    }
    has_come[due_count] = false;
    due[due_count++] = reply;
}

/* Returns how many of the bytes the device takes: a restart loses what is behind. */
static size_t expect_all(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const aboard_frame_result_t result = aboard_frame_reader_take(&incoming, bytes[i]);
        if (result == ABOARD_FRAME_READY) {
            expect(incoming.data, incoming.count);
            if (reference_has_restarted()) {
                reference_start(fake_config());
                return i + 1;
            }
        } else if (result != ABOARD_FRAME_MORE) {
            wire_counts.damaged++;
            damaged_due += reference_session() != 0;
        }
    }
    return count;
}

static const char *check_series(const reference_reply_t *reply, const uint8_t *data, size_t at) {
    const uint32_t runs = u32(data);
    const uint64_t fewest = u64(data + 4), most = u64(data + 12), total = u64(data + 20);
    const bool is_last = at + 1 == due_count;
    if (runs == 0 || runs > reply->runs || (is_last && runs != reply->runs)) {
        return fail("runs", reply->type, runs, reply->runs);
    }
    /* A look at the clock takes 1 to 50 ticks, and there are at most five in a run. */
    if (fewest == 0 || fewest > most || total < fewest * runs || total > most * runs ||
        (runs == 1 && (total != most || fewest != most))) {
        return fail("ticks", reply->type, (uint32_t)fewest, (uint32_t)most);
    }
    return NULL;
}

static const char *check_payload(const reference_reply_t *reply, const uint8_t *data, size_t count, size_t at) {
    if (count != reply->count) {
        return fail("length", reply->type, (uint32_t)count, (uint32_t)reply->count);
    }
    if (reply->is_known && memcmp(data, reply->data, count) != 0) {
        return fail("data", reply->type, 0, 0);
    }
    if (reply->is_repeated && (previous_count != count || memcmp(previous, data, count) != 0)) {
        return fail("another reply to the same request", reply->type, (uint32_t)count, (uint32_t)previous_count);
    }
    const bool is_series = reply->runs != 0 && reply->status == ABOARD_OK && !reply->is_repeated;
    return is_series ? check_series(reply, data, at) : NULL;
}

static const char *check_reply(const uint8_t *message, size_t count) {
    const uint8_t type = message[0] & 0x7fu;
    const uint16_t id = (uint16_t)(message[2] | message[3] << 8);
    for (size_t i = 0; i < due_count; ++i) {
        const reference_reply_t *reply = &due[i];
        if (has_come[i] || reply->type != type || reply->id != id || reply->session != u32(message + 4)) {
            continue;
        }
        has_come[i] = true;
        if (message[1] != reply->status) {
            return fail("status", type, message[1], reply->status);
        }
        *(message[1] == 0 ? &wire_counts.accepted : &wire_counts.refused) += 1;
        const char *const wrong = check_payload(reply, message + 8, count - 8, i);
        if (reply->is_remembered) {
            previous_count = count - 8;
            memcpy(previous, message + 8, previous_count);
        }
        return wrong;
    }
    return fail("a reply that is not due", type, message[1], 0);
}

static const char *check_event(const uint8_t *message) {
    if (message[0] == ABOARD_RPC_READY) {
        knows_event = true;
        next_event = message[1];
    }
    if (knows_event && message[1] != next_event) {
        return fail("number of an event", message[0], message[1], next_event);
    }
    next_event = (uint8_t)(message[1] + 1);
    damaged_seen += message[0] == ABOARD_RPC_DAMAGED;
    return message[0] > ABOARD_RPC_DAMAGED ? fail("an event that is none", message[0], 0, 0) : NULL;
}

static const char *check_sent(void) {
    const char *wrong = NULL;
    for (size_t count = fake_take(sent, sizeof sent); count != 0; count = fake_take(sent, sizeof sent)) {
        for (size_t i = 0; i < count && wrong == NULL; ++i) {
            const aboard_frame_result_t result = aboard_frame_reader_take(&outgoing, sent[i]);
            if (result == ABOARD_FRAME_READY && outgoing.count >= 8) {
                wrong = (outgoing.data[0] & ABOARD_RPC_REPLY) != 0 ? check_reply(outgoing.data, outgoing.count)
                                                                   : check_event(outgoing.data);
            } else if (result != ABOARD_FRAME_MORE) {
                wrong = fail("the device sends what is no message", 0, (uint32_t)result, ABOARD_FRAME_READY);
            }
        }
    }
    return wrong;
}

static void feed(const uint8_t *bytes, size_t count) {
    (void)fake_feed(bytes, expect_all(bytes, count));
}

/* A new session ends whatever runs. */
static void end_series(void) {
    uint8_t message[16] = {ABOARD_RPC_HELLO, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'r', 'd', 1, 0, 0, 1};
    uint8_t frame[64];
    const uint32_t session = reference_session() + 1;
    for (int i = 0; i < 4; ++i) {
        message[4 + i] = (uint8_t)(session >> 8 * i);
    }
    feed(frame, wire_encode(frame, message, sizeof message));
}

const char *wire_play(const uint8_t *bytes, size_t count) {
    const uint32_t before = fake_runs() + fake_op_runs();
    due_count = damaged_due = damaged_seen = 0;
    most_runs = 0;
    long_series = false;
    if (count % 64 == 0) {
        fake_log("A text that takes more than one event where frames are short, and one of them where they are long: "
                 "these are 170 bytes or so, with the names of nothing in particular.");
    }
    feed(bytes, count);
    if (long_series) {
        end_series();
    }
    fake_work();
    const char *wrong = check_sent();
    for (size_t i = 0; wrong == NULL && i < due_count; ++i) {
        wrong = has_come[i] || due[i].is_optional ? NULL : fail("no reply", due[i].type, 0, due[i].status);
    }
    const uint32_t ran = fake_runs() + fake_op_runs() - before;
    wire_counts.runs += ran;
    if (wrong == NULL && ran > most_runs) {
        wrong = fail("runs of models", 0, ran, (uint32_t)most_runs);
    }
    if (wrong == NULL && damaged_seen != damaged_due) {
        wrong = fail("damaged frames that were told", 0, (uint32_t)damaged_seen, (uint32_t)damaged_due);
    }
    return wrong == NULL && !fake_is_intact() ? fail("written beside the memory", 0, 0, 0) : wrong;
}
