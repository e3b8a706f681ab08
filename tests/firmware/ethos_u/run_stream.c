/* SPDX-License-Identifier: Apache-2.0 */
/* The functional model alone, for long series of operators: a stream with its memory in, a status out. */
#include "ethos_u_model.h"

#define POINTERS 8u
#define CONSTANTS 0u

int run_stream(uint32_t macs, const uint32_t *stream, size_t words, uint8_t *const *bases, const size_t *bytes);
const char *run_stream_problem(void);

static ethos_u_model_t npu;
static int16_t weights[65536];

int run_stream(uint32_t macs, const uint32_t *stream, size_t words, uint8_t *const *bases, const size_t *bytes) {
    ethos_u_model_init(&npu, macs, weights, sizeof weights / sizeof weights[0]);
    for (uint32_t i = 0; i < POINTERS; i++) {
        if (bases[i] != NULL) {
            ethos_u_model_region(&npu, i, bases[i], bytes[i], i != CONSTANTS);
        }
    }
    return (int)ethos_u_model_run(&npu, stream, words);
}

const char *run_stream_problem(void) {
    return npu.problem;
}
