/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for QEMU (TCG plugin API, version 1): how often each instruction of an image was executed between readings
 * of its counter, and how often control left each instruction for another place than the next one.
 *
 * A timed run begins with a call of `align`; between the first and the last call of `ticks` behind it lies exactly what
 * the counter counts. `end` marks its end. In a profiled run a step of a node lies between the return of the function
 * `begin` and the call of the function `hook`, so that the reading of the counter is no part of it. Its number shows in
 * the address that `hook` writes its time to.
 *
 * With `flash`, also the lines that the core waits for: reads of flash that neither the cache of code nor that of data
 * holds. Both caches are fully associative and replace the line that was used least recently. A line of code behind the
 * one that was executed last is read ahead.
 *
 * Arguments, numbers in hexadecimal: out=FILE code=FIRST:END align=A ticks=A end=A begin=A hook=FIRST:END
 * nodes=ADDRESS:COUNT flash=FIRST:END line=BYTES caches=LINES OF CODE:LINES OF DATA
 *
 * Output, for each timed run: "run", lines "<address> <executed> <left>" for all of it, with `flash` the line
 * "lines <awaited> <read ahead>", and for each node of a profiled run "node <number>" and such lines.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

#define EXPORTED __attribute__((visibility("default")))
EXPORTED extern int qemu_plugin_version;
int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

/* Different instructions that may be executed, and nodes of a model. */
#define INSTRUCTIONS 65536
#define NODES 1024
#define CACHED_LINES 1024

typedef struct {
    uint64_t first;
    uint64_t end;
} range_t;

typedef struct {
    uint64_t executed;
    uint64_t left;
} count_t;

/* Lines of flash that no cache holds. */
typedef struct {
    uint64_t awaited;
    uint64_t ahead;
} lines_t;

/* Everything that is counted. */
typedef struct {
    count_t of[INSTRUCTIONS];
    lines_t lines;
} counts_t;

typedef struct {
    uint32_t size;  /* In lines. */
    uint32_t *slot; /* By line of flash the number of its slot, from 1; 0 if the cache does not hold the line. */
    uint64_t line[CACHED_LINES + 1];
    uint64_t used[CACHED_LINES + 1];
    uint64_t clock;
} cache_t;

/* A block of instructions as QEMU translated it. */
typedef struct {
    uint64_t start;
    uint64_t end;  /* Address of its last instruction. */
    uint64_t next; /* Address behind its last instruction, or somewhat more. */
    uint32_t last; /* Number of its last instruction. */
} block_t;

static const char *out;
static range_t code, hook, nodes;
static range_t flash, line_bytes, cache_lines;
static uint64_t at_align, at_ticks, at_end, at_begin;

static uint32_t *numbers; /* Of instructions, by halfwords from the start of the code; 0 for none. */
static uint32_t known = 1;
static uint64_t address_of[INSTRUCTIONS];
static counts_t now, first, last, begun, step;
static counts_t *by_node[NODES];
static cache_t code_cache, data_cache;
static uint64_t executed_line; /* That was executed last. */
static bool timing, read_once, pending;
static const block_t *previous;
static const block_t *before_previous;
static const block_t *caller; /* The block that called `begin`, until it returns. */
static FILE *file;

static uint32_t number_of(uint64_t address) {
    if (address < code.first || address >= code.end) {
        return 0;
    }
    uint32_t *number = &numbers[(address - code.first) / 2];
    if (*number == 0 && known < INSTRUCTIONS) {
        address_of[known] = address;
        *number = known++;
    }
    return *number;
}

static void add(counts_t *to, const counts_t *from) {
    for (uint32_t i = 0; i < known; ++i) {
        to->of[i].executed += from->of[i].executed;
        to->of[i].left += from->of[i].left;
    }
    to->lines.awaited += from->lines.awaited;
    to->lines.ahead += from->lines.ahead;
}

/* Sets `step` to what was counted between two moments. */
static void take_step(const counts_t *from, const counts_t *to) {
    for (uint32_t i = 0; i < known; ++i) {
        step.of[i].executed = to->of[i].executed - from->of[i].executed;
        step.of[i].left = to->of[i].left - from->of[i].left;
    }
    step.lines = (lines_t){to->lines.awaited - from->lines.awaited, to->lines.ahead - from->lines.ahead};
}

static void keep(counts_t *kept) {
    memcpy(kept->of, now.of, known * sizeof *now.of);
    kept->lines = now.lines;
}

/* Reads a line of flash through a cache, and returns whether the cache held the line. */
static bool held(cache_t *cache, uint64_t line) {
    uint32_t slot = cache->slot[line];
    const bool hit = slot != 0;
    if (!hit) {
        slot = 1;
        for (uint32_t i = 2; i <= cache->size; ++i) {
            slot = cache->used[i] < cache->used[slot] ? i : slot;
        }
        if (cache->used[slot] != 0) {
            cache->slot[cache->line[slot]] = 0;
        }
        cache->line[slot] = line;
        cache->slot[line] = slot;
    }
    cache->used[slot] = ++cache->clock;
    return hit;
}

/* Executes the code from one address to another, the end excluded. */
static void read_code(uint64_t address, uint64_t end) {
    if (address < flash.first || end > flash.end || address >= end) {
        return;
    }
    const uint64_t last = (end - 1 - flash.first) / line_bytes.first;
    for (uint64_t line = (address - flash.first) / line_bytes.first; line <= last; ++line) {
        if (!held(&code_cache, line)) {
            *(line == executed_line + 1 ? &now.lines.ahead : &now.lines.awaited) += 1;
        }
        executed_line = line;
    }
}

static void on_load(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)data;
    if (!qemu_plugin_mem_is_store(info) && address >= flash.first && address < flash.end &&
        !held(&data_cache, (address - flash.first) / line_bytes.first)) {
        now.lines.awaited++;
    }
}

static void print(const counts_t *counts) {
    for (uint32_t i = 0; i < known; ++i) {
        const count_t *count = &counts->of[i];
        if (count->executed != 0) {
            fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", address_of[i], count->executed, count->left);
        }
    }
    if (flash.end != 0) {
        fprintf(file, "lines %" PRIu64 " %" PRIu64 "\n", counts->lines.awaited, counts->lines.ahead);
    }
}

static void on_align(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    timing = true;
    read_once = false;
    pending = false;
    caller = NULL;
    for (uint32_t i = 0; i < NODES; ++i) {
        free(by_node[i]);
        by_node[i] = NULL;
    }
}

/* Readings of a run: start, in a profiled run two for each step, then stop. */
static void on_ticks(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    if (timing && !read_once) {
        keep(&first);
        read_once = true;
    }
    keep(&last);
}

static void on_begin(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    caller = before_previous;
}

static void on_hook(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    take_step(&begun, &now);
    pending = timing;
}

static void on_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    (void)data;
    const uint64_t node = (address - nodes.first) / sizeof(uint64_t);
    if (!pending || address < nodes.first || node >= nodes.end || node >= NODES) {
        return;
    }
    if (by_node[node] == NULL) {
        by_node[node] = calloc(1, sizeof(counts_t));
    }
    if (by_node[node] != NULL) {
        add(by_node[node], &step);
    }
    pending = false;
}

static void on_end(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    if (!timing || file == NULL) {
        return;
    }
    timing = false;
    fprintf(file, "run\n");
    take_step(&first, &last);
    print(&step);
    for (uint32_t i = 0; i < NODES; ++i) {
        if (by_node[i] != NULL) {
            fprintf(file, "node %" PRIu32 "\n", i);
            print(by_node[i]);
        }
    }
    fflush(file);
}

/*
 * Returns true if one block lies behind another one. Before a page of code QEMU looks at the next instruction, and
 * takes what it saw for a part of the last one.
 */
static bool follows(const block_t *block, const block_t *other) {
    return block->start > other->end && block->start <= other->next;
}

static void on_block(unsigned int cpu, void *data) {
    (void)cpu;
    const block_t *block = data;
    if (previous != NULL && !follows(block, previous)) {
        now.of[previous->last].left++;
    }
    if (caller != NULL && follows(block, caller)) {
        keep(&begun);
        caller = NULL;
    }
    before_previous = previous;
    previous = block;
    read_code(block->start, block->next);
}

static void mark(struct qemu_plugin_insn *instruction, uint64_t address) {
    const struct {
        uint64_t address;
        qemu_plugin_vcpu_cb call;
    } marks[] = {
        {at_align, on_align}, {at_ticks, on_ticks}, {at_end, on_end}, {at_begin, on_begin}, {hook.first, on_hook}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
        if (address == marks[i].address) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, marks[i].call, QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
    }
    if (address >= hook.first && address < hook.end) {
        qemu_plugin_register_vcpu_mem_cb(instruction, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, NULL);
    }
    if (flash.end != 0) {
        /* QEMU 7.2 takes a request for loads alone for one of stores. */
        qemu_plugin_register_vcpu_mem_cb(instruction, on_load, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    block_t *block = malloc(sizeof *block); /* QEMU keeps no more of them than it has translations. */
    if (block == NULL) {
        return;
    }
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(instruction);
        const uint32_t number = number_of(address);
        mark(instruction, address);
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64, &now.of[number].executed,
                                                   1);
        if (i == 0) {
            block->start = address;
        }
        block->end = address;
        block->next = address + qemu_plugin_insn_size(instruction);
        block->last = number;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void at_exit(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    if (file != NULL) {
        fclose(file);
    }
}

static range_t pair(const char *text) {
    char *rest;
    range_t found = {strtoull(text, &rest, 16), 0};
    found.end = *rest == ':' ? strtoull(rest + 1, NULL, 16) : 0;
    return found;
}

/* Makes a cache of a number of lines, at least one: a core reads a line once for all of its words. */
static bool made(cache_t *cache, uint64_t size) {
    cache->size = size == 0 ? 1 : (uint32_t)(size < CACHED_LINES ? size : CACHED_LINES);
    cache->slot = calloc((flash.end - flash.first) / line_bytes.first + 1, sizeof *cache->slot);
    return cache->slot != NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; ++i) {
        const char *value = strchr(argv[i], '=');
        const size_t length = value == NULL ? 0 : (size_t)(value - argv[i]);
        const struct {
            const char *name;
            uint64_t *address;
            range_t *range;
        } options[] = {{"align", &at_align, NULL},    {"ticks", &at_ticks, NULL}, {"end", &at_end, NULL},
                       {"begin", &at_begin, NULL},    {"code", NULL, &code},      {"hook", NULL, &hook},
                       {"nodes", NULL, &nodes},       {"flash", NULL, &flash},    {"line", NULL, &line_bytes},
                       {"caches", NULL, &cache_lines}};
        if (length == 3 && strncmp(argv[i], "out", length) == 0) {
            out = value + 1;
        }
        for (size_t k = 0; k < sizeof options / sizeof *options; ++k) {
            if (length == strlen(options[k].name) && strncmp(argv[i], options[k].name, length) == 0) {
                const range_t found = pair(value + 1);
                if (options[k].address != NULL) {
                    *options[k].address = found.first;
                } else {
                    *options[k].range = found;
                }
            }
        }
    }
    numbers = code.end > code.first ? calloc((code.end - code.first) / 2 + 1, sizeof *numbers) : NULL;
    file = out == NULL ? NULL : fopen(out, "w");
    if (numbers == NULL || file == NULL) {
        fprintf(stderr, "histogram: no code or no file to write, expected code=FIRST:END and out=FILE\n");
        return 1;
    }
    if (flash.end != 0 &&
        (line_bytes.first == 0 || !made(&code_cache, cache_lines.first) || !made(&data_cache, cache_lines.end))) {
        fprintf(stderr, "histogram: no lines of flash, expected line=BYTES and memory for them\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
