/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every case and prints its outputs, one line a case, each byte as two hexadecimal digits. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cases.h"

/* Aligned by hand: tcc does not align it. */
static uint8_t memory[ARENA_BYTES + ABOARD_ARENA_ALIGN];

static void print(const uint8_t *bytes, size_t count) {
    static const char digits[] = "0123456789abcdef";
    char text[2 * 32 + 1];
    while (count > 0) {
        size_t at = 0;
        for (; count > 0 && at < sizeof text - 1; --count) {
            text[at++] = digits[*bytes >> 4];
            text[at++] = digits[*bytes++ & 15];
        }
        text[at] = 0;
        say(text);
    }
}

int main(void) {
    uint8_t *const arena = memory + (ABOARD_ARENA_ALIGN - (uintptr_t)memory % ABOARD_ARENA_ALIGN);
    for (uint32_t i = 0; i < case_count; ++i) {
        const aboard_model_t *const model = cases[i].model;
        memset(arena, 0xa5, ARENA_BYTES);
        memcpy(arena + model->inputs[0].offset, cases[i].input, model->inputs[0].bytes);
        if (model->run(arena, ARENA_BYTES, NULL) != ABOARD_OK) {
            finish(1);
        }
        for (size_t output = 0; output < model->output_count; ++output) {
            print(arena + model->outputs[output].offset, model->outputs[output].bytes);
        }
        say("\n");
    }
    finish(0);
    return 0;
}
