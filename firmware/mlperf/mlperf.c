/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in, lines out: the commands of MLPerf Tiny's device protocol. */
#include "mlperf.h"

#include <string.h>

#include "aboard/config.h"
#include "aboard/port.h"
#include "infer.h"
#include "text.h"

#define CHUNK_BYTES 32
#define END '%'
#define MAX_WORDS 4
#define WARMUPS 10
#define BUFFER_COLUMNS 8
#define MICROSECONDS 1000000u

static aboard_status_t check_memory(const aboard_mlperf_config_t *config) {
    const aboard_model_t *model = config->model;
    const aboard_arena_t whole = {NULL, model->arena_bytes};
    const aboard_arena_t *need = model->arena_count != 0 ? model->arenas : &whole;
    for (uint8_t i = 0; i < ABOARD_MAX(model->arena_count, 1); ++i) {
        if (config->memory[i].data == NULL) {
            return ABOARD_ERROR_NULL;
        }
        if (((uintptr_t)config->memory[i].data & (ABOARD_ARENA_ALIGN - 1u)) != 0) {
            return ABOARD_ERROR_ARENA_MISALIGNED;
        }
        if (config->memory[i].bytes < need[i].bytes) {
            return ABOARD_ERROR_ARENA_TOO_SMALL;
        }
    }
    return ABOARD_OK;
}

aboard_status_t aboard_mlperf_init(aboard_mlperf_t *server, const aboard_mlperf_config_t *config) {
    if (server == NULL || config == NULL || config->model == NULL || config->memory == NULL || config->db == NULL ||
        config->name == NULL || config->benchmark == NULL ||
        (config->input == ABOARD_MLPERF_FLOAT32 && config->quantized == NULL)) {
        return ABOARD_ERROR_NULL;
    }
    if (!aboard_mlperf_types_fit(config)) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (config->db_bytes != aboard_mlperf_wire_bytes(config)) {
        return ABOARD_ERROR_RANGE;
    }
    memset(server, 0, sizeof *server);
    server->config = config;
    return check_memory(config);
}

static void put_bracketed(const char *before, const char *text) {
    aboard_put(before);
    aboard_put("[");
    aboard_put(text);
    aboard_put("]\r\n");
}

static void refuse(const char *why) {
    put_bracketed("e-", why);
}

static void put_counted(const char *before, uint64_t count) {
    aboard_put(before);
    aboard_put_number(count);
    aboard_put("\r\n");
}

static void put_lap(uint64_t ticks) {
    const uint32_t hz = aboard_port_tick_hz();
    put_counted("m-lap-us-", ticks / hz * MICROSECONDS + ticks % hz * MICROSECONDS / hz);
}

static void put_ready(void) {
    aboard_put("m-ready\r\n");
}

static void greet(void) {
    aboard_put("m-timestamp-mode-performance\r\n");
    put_lap(aboard_port_ticks());
    aboard_put("m-init-done\r\n");
    put_ready();
}

static void put_profile(const aboard_mlperf_config_t *config) {
    put_bracketed("m-profile-", "ULPMark for tinyML Firmware V0.0.1");
    put_bracketed("m-model-", config->benchmark);
}

static void put_help(void) {
    aboard_put("name: who this is\r\n"
               "profile: which benchmark, which model\r\n"
               "timestamp: the device's time in microseconds\r\n"
               "db load N: an input of N bytes follows\r\n"
               "db HH[HH...]: bytes of it, in hexadecimal\r\n"
               "db print: the bytes of it that have come\r\n"
               "infer N [W]: N timed inferences, after W others (10)\r\n"
               "results: the result of the last inference\r\n"
               "help: this\r\n");
}

static void announce(aboard_mlperf_t *server, const char *count) {
    uint32_t bytes = 0;
    if (count == NULL) {
        refuse("Command 'db load' requires the # of bytes");
    } else if (!aboard_parse_number(count, &bytes) || bytes == 0) {
        refuse("Command 'db load' must be >0 bytes");
    } else if (bytes > server->config->db_bytes) {
        aboard_put("e-[The input has ");
        aboard_put_number(server->config->db_bytes);
        aboard_put(" bytes]\r\n");
    } else {
        server->wanted = bytes;
        server->arrived = 0;
        aboard_put("m-[Expecting ");
        aboard_put_number(bytes);
        aboard_put(" bytes]\r\n");
    }
}

/* Takes bytes up to the announced number; ignores further bytes of the command. */
static void take_bytes(aboard_mlperf_t *server, const char *digits) {
    if (server->arrived == server->wanted) {
        refuse("Command 'db' requires 'db load' first");
        return;
    }
    if (aboard_text_bytes(digits) % 2 != 0) {
        refuse("Insufficent number of hex digits");
        return;
    }
    for (; digits[0] != 0 && server->arrived < server->wanted; digits += 2) {
        const int high = aboard_hex_digit(digits[0]);
        const int low = aboard_hex_digit(digits[1]);
        if (high < 0 || low < 0) {
            const char pair[3] = {digits[0], digits[1], 0};
            aboard_put("e-[Invalid hex digit '");
            aboard_put(pair);
            aboard_put("']\r\n");
            return;
        }
        server->config->db[server->arrived++] = (uint8_t)(high * 16 + low);
    }
    if (server->arrived == server->wanted) {
        aboard_put("m-load-done\r\n");
    }
}

static void print_buffer(const aboard_mlperf_t *server) {
    for (size_t i = 0; i < server->arrived; ++i) {
        aboard_put(i % BUFFER_COLUMNS == 0 ? "m-buffer-" : "-");
        aboard_put_hex(server->config->db[i]);
        if (i % BUFFER_COLUMNS == BUFFER_COLUMNS - 1 || i + 1 == server->arrived) {
            aboard_put("\r\n");
        }
    }
}

static void work_on_buffer(aboard_mlperf_t *server, char *const *words) {
    if (words[1] == NULL) {
        refuse("Command 'db' requires a subcommand");
    } else if (aboard_text_equal(words[1], "load")) {
        announce(server, words[2]);
    } else if (aboard_text_equal(words[1], "print")) {
        print_buffer(server);
    } else {
        take_bytes(server, words[1]);
    }
}

static void put_failure(aboard_status_t status) {
    aboard_put("e-[The inference failed with status ");
    aboard_put_number((uint64_t)status);
    aboard_put("]\r\n");
}

/* Prints the times after the last inference, so that the timed interval contains inferences alone. */
static void infer_series(aboard_mlperf_t *server, uint32_t count, uint32_t warmups) {
    const aboard_mlperf_config_t *config = server->config;
    aboard_mlperf_prepare(config);
    server->ran = false;
    put_counted("m-warmup-start-", warmups);
    aboard_status_t status = aboard_mlperf_repeat(config, warmups);
    if (status == ABOARD_OK) {
        aboard_put("m-warmup-done\r\n");
        put_counted("m-infer-start-", count);
        aboard_port_ticks_align();
        const uint64_t start = aboard_port_ticks();
        status = aboard_mlperf_repeat(config, count);
        const uint64_t end = aboard_port_ticks();
        put_lap(start);
        put_lap(end);
    }
    if (status != ABOARD_OK) {
        put_failure(status);
        return;
    }
    server->ran = true;
    aboard_put("m-infer-done\r\n");
    aboard_mlperf_put_results(config);
}

static void infer(aboard_mlperf_t *server, char *const *words) {
    uint32_t count = 1;
    uint32_t warmups = WARMUPS;
    if (words[1] != NULL && (!aboard_parse_number(words[1], &count) || count == 0)) {
        refuse("Inference iterations must be >0");
    } else if (words[1] != NULL && words[2] != NULL && !aboard_parse_number(words[2], &warmups)) {
        refuse("Inference warmup must be >=0");
    } else if (server->arrived != server->config->db_bytes) {
        aboard_put("e-[The input has ");
        aboard_put_number(server->config->db_bytes);
        aboard_put(" bytes, of which ");
        aboard_put_number(server->arrived);
        aboard_put(" were loaded]\r\n");
    } else {
        infer_series(server, count, warmups);
    }
}

static void put_results(const aboard_mlperf_t *server) {
    if (server->ran) {
        aboard_mlperf_put_results(server->config);
    } else {
        refuse("There was no inference yet");
    }
}

/* Splits a command into words and stores their starts in `words`; the last word contains all words from MAX_WORDS on.
 */
static void split(char *text, char **words) {
    size_t count = 0;
    for (char *at = text; *at != 0 && count < MAX_WORDS; ++at) {
        if (*at == ' ') {
            *at = 0;
        } else if (at == text || at[-1] == 0) {
            words[count++] = at;
        }
    }
}

static void answer(aboard_mlperf_t *server) {
    char *words[MAX_WORDS] = {NULL};
    split(server->command, words);
    const char *name = words[0] != NULL ? words[0] : "";
    if (aboard_text_equal(name, "name")) {
        put_bracketed("m-name-dut-", server->config->name);
    } else if (aboard_text_equal(name, "timestamp")) {
        put_lap(aboard_port_ticks());
    } else if (aboard_text_equal(name, "profile")) {
        put_profile(server->config);
    } else if (aboard_text_equal(name, "help")) {
        put_help();
    } else if (aboard_text_equal(name, "db")) {
        work_on_buffer(server, words);
    } else if (aboard_text_equal(name, "infer")) {
        infer(server, words);
    } else if (aboard_text_equal(name, "results")) {
        put_results(server);
    } else {
        aboard_put("e-[Unknown command: ");
        aboard_put(name);
        aboard_put("]\r\n");
    }
}

static void finish(aboard_mlperf_t *server) {
    server->command[server->length] = 0;
    if (server->too_long) {
        refuse("The command is too long");
    } else {
        answer(server);
    }
    put_ready();
    server->length = 0;
    server->too_long = false;
}

/* Line ends (which people type) and bytes that are not text are not part of a command. */
static void take(aboard_mlperf_t *server, uint8_t byte) {
    if (byte == END) {
        finish(server);
    } else if (byte < ' ' || byte > '~') {
        return;
    } else if (server->length < ABOARD_MLPERF_COMMAND_BYTES) {
        server->command[server->length++] = (char)byte;
    } else {
        server->too_long = true;
    }
}

bool aboard_mlperf_poll(aboard_mlperf_t *server) {
    if (!server->started) {
        server->started = true;
        greet();
    }
    uint8_t bytes[CHUNK_BYTES];
    const size_t count = aboard_port_read(bytes, sizeof bytes);
    for (size_t i = 0; i < count; ++i) {
        take(server, bytes[i]);
    }
    return count != 0;
}
