/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ethos_u_front.h"

/* Offsets of the registers. */
#define ID 0x00u
#define STATUS 0x04u
#define CMD 0x08u
#define RESET 0x0Cu
#define QBASE0 0x10u
#define QREAD 0x18u
#define QSIZE 0x20u
#define PROT 0x24u
#define CONFIG 0x28u
#define BASEP0 0x80u

#define STATUS_RUNNING (1u << 0)
#define STATUS_IRQ (1u << 1)
#define STATUS_BUS (1u << 2)
#define STATUS_PARSE (1u << 4)
#define STATUS_END (1u << 5)
#define STATUS_OUTCOME (STATUS_BUS | STATUS_PARSE | STATUS_END)

#define CMD_RUN (1u << 0)
#define CMD_CLEAR_IRQ (1u << 1)
#define CMD_STOP (1u << 4)

/** Architecture 1.0.6, product 6: the value that Vela compiles for. */
#define ETHOS_U55_ID 0x10066001u

static uint32_t log2_of(uint32_t value) {
    uint32_t count = 0;
    while (value > 1u) {
        value >>= 1;
        count++;
    }
    return count;
}

static void power_on(ethos_u_front_t *front) {
    memset(front->value, 0, sizeof front->value);
    front->status = 0;
    front->left = 0;
    front->value[ID / 4u] = ETHOS_U55_ID;
    front->value[CONFIG / 4u] = log2_of(front->model.macs) | (front->model.shram_bytes >> 10) << 8;
}

void ethos_u_front_init(ethos_u_front_t *front, uint32_t macs, int16_t *weights, size_t weights_room) {
    ethos_u_model_init(&front->model, macs, weights, weights_room);
    front->delay = 0;
    front->windows = 0;
    power_on(front);
}

bool ethos_u_front_window(ethos_u_front_t *front, uint64_t address, void *base, size_t bytes, bool writable) {
    if (front->windows == ETHOS_U_WINDOWS) {
        return false;
    }
    front->window[front->windows++] = (ethos_u_window_range_t){address, base, bytes, writable};
    return true;
}

/** Finds memory at an address: the window that it begins, or else one that contains it. */
static uint8_t *find(const ethos_u_front_t *front, uint64_t address, size_t *bytes, bool *writable) {
    const ethos_u_window_range_t *found = NULL;
    for (uint32_t i = 0; i < front->windows; i++) {
        const ethos_u_window_range_t *w = &front->window[i];
        const bool inside = address >= w->address && address - w->address < w->bytes;
        if (inside && (found == NULL || w->address == address)) {
            found = w;
        }
    }
    if (found == NULL) {
        return NULL;
    }
    const size_t before = (size_t)(address - found->address);
    *bytes = found->bytes - before;
    *writable = found->writable;
    return found->base + before;
}

static uint64_t pointer(const ethos_u_front_t *front, uint32_t offset) {
    return front->value[offset / 4u] | (uint64_t)front->value[offset / 4u + 1u] << 32;
}

static uint32_t outcome(ethos_u_model_status_t status) {
    switch (status) {
    case ETHOS_U_MODEL_OK:
        return STATUS_END;
    case ETHOS_U_MODEL_BUS:
        return STATUS_BUS;
    default: /* What the model cannot compute is an error, as what the NPU cannot. */
        return STATUS_PARSE;
    }
}

static void run(ethos_u_front_t *front) {
    size_t bytes = 0;
    bool writable = false;
    for (uint32_t i = 0; i < ETHOS_U_REGIONS; i++) {
        size_t length = 0;
        uint8_t *base = find(front, pointer(front, BASEP0 + 8u * i), &length, &writable);
        ethos_u_model_region(&front->model, i, base, length, writable);
    }
    const uint32_t size = front->value[QSIZE / 4u];
    const uint64_t address = pointer(front, QBASE0);
    uint8_t *stream = find(front, address, &bytes, &writable);
    front->status &= ~STATUS_RUNNING;
    front->status |= STATUS_IRQ;
    if (stream == NULL || size > bytes || (address & 3u) != 0u) {
        front->status |= STATUS_BUS;
        return;
    }
    /* The windows of streams are aligned like their addresses. */
    const uint32_t *words = (const uint32_t *)(const void *)stream;
    front->status |= outcome(ethos_u_model_run(&front->model, words, size / 4u));
    front->value[QREAD / 4u] = front->model.at * 4u;
}

static void command(ethos_u_front_t *front, uint32_t value) {
    if ((value & CMD_CLEAR_IRQ) != 0u) {
        front->status &= ~STATUS_IRQ;
    }
    if ((value & CMD_STOP) != 0u) {
        front->status &= ~STATUS_RUNNING;
    }
    if ((value & CMD_RUN) != 0u && (front->status & STATUS_RUNNING) == 0u) {
        front->status = (front->status & ~STATUS_OUTCOME) | STATUS_RUNNING;
        front->left = front->delay;
    }
    front->value[CMD / 4u] = value & ~(CMD_CLEAR_IRQ | CMD_RUN | CMD_STOP);
}

void ethos_u_front_finish(ethos_u_front_t *front) {
    if ((front->status & STATUS_RUNNING) != 0u) {
        run(front);
    }
}

static uint32_t read_status(ethos_u_front_t *front) {
    if (front->left == 0u) {
        ethos_u_front_finish(front);
    } else if ((front->status & STATUS_RUNNING) != 0u && front->left != ETHOS_U_NEVER) {
        front->left--;
    }
    return front->status;
}

uint32_t ethos_u_front_read(ethos_u_front_t *front, uint32_t offset) {
    if (offset == STATUS) {
        return read_status(front);
    }
    return offset / 4u < ETHOS_U_REGISTERS && offset % 4u == 0u ? front->value[offset / 4u] : 0u;
}

void ethos_u_front_write(ethos_u_front_t *front, uint32_t offset, uint32_t value) {
    if (offset == CMD) {
        command(front, value);
    } else if (offset == RESET) {
        power_on(front);
        front->value[PROT / 4u] = value & 3u;
    } else if (offset / 4u < ETHOS_U_REGISTERS && offset % 4u == 0u && offset != ID && offset != STATUS &&
               offset != CONFIG && offset != QREAD) {
        front->value[offset / 4u] = value;
    }
}
