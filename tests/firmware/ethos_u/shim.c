/* SPDX-License-Identifier: Apache-2.0 */
/* What tests reach of the driver and the model: an NPU whose figures, delay and memory tests choose. */
#include "shim.h"

#include "ethos_u_access.h"
#include "weights.h"

static ethos_u_front_t npu;
static int16_t weights[65536];
static uint32_t most_polls, shorter_by;
static bool is_silent;

void shim_power_on(uint32_t macs, size_t weights_room, uint32_t delay, uint32_t polls) {
    ethos_u_front_init(&npu, macs, weights, weights_room < 65536u ? weights_room : 65536u);
    npu.delay = delay;
    most_polls = polls;
    shorter_by = 0;
    is_silent = false;
}

void shim_shorten_windows(uint32_t bytes) {
    shorter_by = bytes;
}

void shim_remove(void) {
    is_silent = true;
}

const char *shim_problem(void) {
    return npu.model.problem;
}

bool ethos_u_wait(uint32_t calls) {
    return calls < most_polls;
}

void ethos_u_emulated_forget(void) {
    npu.windows = 0;
}

void ethos_u_emulated_window(const void *base, uint32_t bytes, bool writable) {
    const uint32_t cut = writable ? shorter_by : 0u;
    (void)ethos_u_front_window(&npu, (uint64_t)(uintptr_t)base, (void *)(uintptr_t)base, bytes - cut, writable);
}

uint32_t ethos_u_emulated_read(uint32_t offset) {
    return is_silent ? 0u : ethos_u_front_read(&npu, offset);
}

void ethos_u_emulated_write(uint32_t offset, uint32_t value) {
    ethos_u_front_write(&npu, offset, value);
}

const char *ethos_u_emulated_problem(void) {
    return npu.model.problem;
}

int shim_run(uint32_t macs, const uint32_t *stream, size_t words, uint8_t *scratch, size_t bytes) {
    ethos_u_model_init(&npu.model, macs, weights, 65536u);
    ethos_u_model_region(&npu.model, 0, scratch, bytes, false);
    ethos_u_model_region(&npu.model, 1, scratch, bytes, true);
    return (int)ethos_u_model_run(&npu.model, stream, words);
}

int64_t shim_decode(const uint8_t *data, size_t bytes, int16_t *out, size_t room) {
    static ethos_u_decoder_t decoder;
    int64_t count = 0;
    ethos_u_decoder_begin(&decoder, data, bytes);
    while ((size_t)count < room && ethos_u_decoder_next(&decoder, &out[count])) {
        count++;
    }
    return decoder.wrong ? -1 : count;
}
