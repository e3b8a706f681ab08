/* SPDX-License-Identifier: Apache-2.0 */
/* Runs mutated command streams and weight streams. Arguments: file, first seed, number of cases. The file is words:
 * MACs, words of the stream, bytes of the eight regions, then the stream, and the bytes of region 0. A case changes up
 * to eight words of the stream, or bytes of region 0, or cuts one of them short. Memory is exactly as large as stated,
 * so that sanitizers see the first byte beyond. Prints how many cases ended in which way: a case that reaches its stop
 * command is "same" if all memory is as after the stream as it was, and "changed" otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethos_u_model.h"

#define HEAD 10u
#define BUDGET (1ull << 22)
#define MOST_WEIGHTS 16384u

/** Ends of a case: the model's errors have its numbers. */
#define SAME 0
#define CHANGED 5
#define ENDS 6

/** What is run: a stream and its memory, all of which is of its own. */
typedef struct {
    uint32_t macs;
    uint32_t words;
    uint32_t bytes[8];
    uint32_t *stream;
    uint8_t *region[8];
    size_t room;
} case_t;

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

/** Takes a case from a file; all memory but that of constants has the same pattern. */
static case_t taken(const uint32_t *file) {
    case_t c = {.macs = file[0], .words = file[1], .room = MOST_WEIGHTS};
    c.stream = copy(file + HEAD, (size_t)c.words * 4u);
    for (uint32_t i = 0; i < 8u; i++) {
        c.bytes[i] = file[2u + i];
        c.region[i] = copy(file + HEAD + c.words, i == 0u ? c.bytes[i] : 0u);
        if (i > 0u) {
            c.region[i] = realloc(c.region[i], c.bytes[i] > 0u ? c.bytes[i] : 1u);
            for (uint32_t at = 0; at < c.bytes[i]; at++) {
                c.region[i][at] = (uint8_t)(at * 37u + 11u);
            }
        }
    }
    return c;
}

static void put_down(case_t *c) {
    for (uint32_t i = 0; i < 8u; i++) {
        free(c->region[i]);
    }
    free(c->stream);
}

static void mutate(case_t *c) {
    const uint32_t changes = 1u + draw(8), where = c->bytes[0] > 0u ? draw(3) : 0u;
    for (uint32_t i = 0; i < changes; i++) {
        if (where == 0u) {
            const uint32_t at = draw(c->words);
            c->stream[at] = mutated(c->stream[at]);
        } else {
            c->region[0][draw(c->bytes[0])] ^= (uint8_t)(1u << draw(8));
        }
    }
    if (draw(16) == 0u) {
        c->words = draw(c->words + 1u);
        c->stream = realloc(c->stream, c->words > 0u ? (size_t)c->words * 4u : 1u);
    }
    if (draw(16) == 0u) {
        c->bytes[0] = draw(c->bytes[0] + 1u);
        c->region[0] = realloc(c->region[0], c->bytes[0] > 0u ? c->bytes[0] : 1u);
    }
    c->room = draw(8) == 0u ? draw(MOST_WEIGHTS) : MOST_WEIGHTS;
}

/** Runs a case; ends the program if the model has a status without words, or words without a status. */
static int run(const case_t *c) {
    static ethos_u_model_t model;
    int16_t *weights = malloc(c->room > 0u ? c->room * sizeof *weights : 1u);
    ethos_u_model_init(&model, c->macs, weights, c->room);
    model.budget = BUDGET;
    for (uint32_t i = 0; i < 8u; i++) {
        ethos_u_model_region(&model, i, c->bytes[i] > 0u ? c->region[i] : NULL, c->bytes[i], i != 0u && i != 3u);
    }
    const int status = (int)ethos_u_model_run(&model, c->stream, c->words);
    if ((status == 0) != (model.problem == NULL)) {
        printf("status %d without words, or words without a status\n", status);
        exit(4);
    }
    free(weights);
    return status;
}

static int play(const uint32_t *file, const case_t *right) {
    case_t c = taken(file);
    mutate(&c);
    int end = run(&c);
    for (uint32_t i = 1; i < 8u && end == SAME; i++) {
        end = memcmp(c.region[i], right->region[i], c.bytes[i]) == 0 ? SAME : CHANGED;
    }
    put_down(&c);
    return end;
}

int main(int argc, char **argv) {
    static uint32_t file[1 << 20];
    uint32_t counts[ENDS] = {0};
    FILE *input = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (input == NULL || fread(file, 1, sizeof file, input) < HEAD * 4u) {
        return 2;
    }
    fclose(input);
    const unsigned long first = strtoul(argv[2], NULL, 10), cases = strtoul(argv[3], NULL, 10);
    case_t right = taken(file);
    if (run(&right) != 0) {
        return 5;
    }
    for (unsigned long i = 0; i < cases; i++) {
        state = first + i;
        draw(2);
        draw(2);
        counts[play(file, &right)]++;
    }
    put_down(&right);
    printf("same %u changed %u command %u bus %u unmodelled %u room %u\n", counts[SAME], counts[CHANGED], counts[1],
           counts[2], counts[3], counts[4]);
    return 0;
}
