/* SPDX-License-Identifier: Apache-2.0 */
/* Runs mutated command streams and weight streams. Arguments: file, first seed, number of cases. The file is words:
 * MACs, words of the stream, bytes of the eight regions, then the stream, and the bytes of region 0. A case changes up
 * to eight words of the stream, or bytes of region 0, or cuts one of them short. Memory is exactly as large as stated,
 * so that sanitizers see the first byte beyond. Prints how many cases ended in which way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethos_u_model.h"

#define HEAD 10u
#define BUDGET (1ull << 22)
#define MOST_WEIGHTS 16384u

static uint64_t state;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

/** Changes a word in one of the ways in which streams go wrong. */
static uint32_t mutated(uint32_t word) {
    switch (draw(6)) {
    case 0:
        return word ^ 1u << draw(32);
    case 1:
        return (word & 0xffffu) | draw(65536) << 16;
    case 2:
        return (word & 0xffff0000u) | draw(1024);
    case 3:
        return word + (1u << draw(20));
    case 4:
        return draw(2) != 0u ? 0xffffffffu : 0u;
    default:
        return draw(65536) << 16 | draw(65536);
    }
}

static void *copy(const void *from, size_t bytes) {
    void *made = malloc(bytes > 0 ? bytes : 1);
    if (made == NULL) {
        exit(3);
    }
    memcpy(made, from, bytes);
    return made;
}

static int play(const uint32_t *file) {
    static ethos_u_model_t model;
    const uint32_t words = file[1], *bytes = &file[2];
    uint32_t length = words, constants = bytes[0];
    uint32_t *stream = copy(file + HEAD, (size_t)words * 4u);
    uint8_t *region[8] = {copy(file + HEAD + words, constants)};
    const uint32_t changes = 1u + draw(8), where = constants > 0u ? draw(3) : 0u;
    for (uint32_t i = 0; i < changes; i++) {
        if (where == 0u) {
            const uint32_t at = draw(words);
            stream[at] = mutated(stream[at]);
        } else {
            region[0][draw(constants)] ^= (uint8_t)(1u << draw(8));
        }
    }
    if (draw(16) == 0u) {
        length = draw(words + 1u);
        stream = realloc(stream, length > 0u ? (size_t)length * 4u : 1u);
    }
    if (draw(16) == 0u) {
        constants = draw(constants + 1u);
        region[0] = realloc(region[0], constants > 0u ? constants : 1u);
    }
    const size_t room = draw(8) == 0u ? draw(MOST_WEIGHTS) : MOST_WEIGHTS;
    int16_t *weights = malloc(room > 0u ? room * sizeof *weights : 1u);
    ethos_u_model_init(&model, file[0], weights, room);
    model.budget = BUDGET;
    ethos_u_model_region(&model, 0, region[0], constants, false);
    for (uint32_t i = 1; i < 8u; i++) {
        region[i] = bytes[i] > 0u ? calloc(bytes[i], 1) : NULL;
        ethos_u_model_region(&model, i, region[i], bytes[i], i != 3u);
    }
    const int status = (int)ethos_u_model_run(&model, stream, length);
    if ((status == 0) != (model.problem == NULL)) {
        printf("status %d without words, or words without a status\n", status);
        exit(4);
    }
    for (uint32_t i = 0; i < 8u; i++) {
        free(region[i]);
    }
    free(stream);
    free(weights);
    return status;
}

int main(int argc, char **argv) {
    static uint32_t file[1 << 20];
    uint32_t counts[5] = {0};
    FILE *input = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (input == NULL || fread(file, 1, sizeof file, input) < HEAD * 4u) {
        return 2;
    }
    fclose(input);
    const unsigned long first = strtoul(argv[2], NULL, 10), cases = strtoul(argv[3], NULL, 10);
    for (unsigned long i = 0; i < cases; i++) {
        state = first + i;
        draw(2);
        draw(2);
        counts[play(file)]++;
    }
    printf("ok %u command %u bus %u unmodelled %u room %u\n", counts[0], counts[1], counts[2], counts[3], counts[4]);
    return 0;
}
