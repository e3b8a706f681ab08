/* SPDX-License-Identifier: Apache-2.0 */
/* Collects text from threads and interrupts in a ring buffer; the server's thread sends it. If the buffer is full, text
 * is lost and counted. */
#include "log.h"

#include <zephyr/init.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/ring_buffer.h>

#include "uart.h"

#if __has_include(<zephyr/sys/printk-hooks.h>)
#include <zephyr/sys/printk-hooks.h>
#else
extern void __printk_hook_install(int (*hook)(int character));
#endif

RING_BUF_DECLARE(texts, CONFIG_ABOARD_LOG_BYTES);
static struct k_spinlock lock;
static uint32_t lines;
static uint32_t lost;

static void put(const uint8_t *text, size_t count) {
    const k_spinlock_key_t key = k_spin_lock(&lock);
    uint32_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] == '\r') {
            continue;
        }
        if (ring_buf_put(&texts, &text[i], 1) == 0) {
            lost++;
        } else if (text[i] == '\n') {
            ended++;
        }
    }
    lines += ended;
    k_spin_unlock(&lock, key);
    if (ended != 0) {
        aboard_wake();
    }
}

static int put_character(int character) {
    const uint8_t byte = (uint8_t)character;
    put(&byte, sizeof byte);
    return character;
}

/* Call with the lock held. */
static void take_line(char *text, size_t capacity) {
    size_t count = 0;
    uint8_t byte;
    while (count + 1 < capacity && ring_buf_get(&texts, &byte, 1) == 1) {
        if (byte == '\n') {
            lines--;
            break;
        }
        text[count++] = (char)byte;
    }
    text[count] = 0;
}

bool aboard_log_take(char *text, size_t capacity) {
    const k_spinlock_key_t key = k_spin_lock(&lock);
    /* A full buffer without an end of line is returned as one line. */
    const bool waits = lines != 0 || ring_buf_space_get(&texts) == 0;
    const uint32_t missing = waits ? 0 : lost;
    if (waits) {
        take_line(text, capacity);
    } else {
        lost = 0;
    }
    k_spin_unlock(&lock, key);
    if (missing != 0) {
        snprintk(text, capacity, "%u bytes of the log are lost", (unsigned int)missing);
    }
    return waits || missing != 0;
}

#if defined(CONFIG_LOG)
#include <zephyr/logging/log_backend.h>
#include <zephyr/logging/log_ctrl.h>
#include <zephyr/logging/log_output.h>

static int put_text(uint8_t *text, size_t count, void *user) {
    ARG_UNUSED(user);
    put(text, count);
    return (int)count;
}

static uint8_t formatted[64];
LOG_OUTPUT_DEFINE(output, put_text, formatted, sizeof formatted);

static void on_message(const struct log_backend *const backend, union log_msg_generic *message) {
    ARG_UNUSED(backend);
    log_output_msg_process(&output, &message->log, LOG_OUTPUT_FLAG_LEVEL);
}

static void on_panic(const struct log_backend *const backend) {
    ARG_UNUSED(backend);
}

static const struct log_backend_api backend_api = {.process = on_message, .panic = on_panic};
LOG_BACKEND_DEFINE(aboard_log_backend, backend_api, true);
#endif

/* Runs after the consoles, which install their own hooks. */
static int install(void) {
    __printk_hook_install(put_character);
    return 0;
}

SYS_INIT(install, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEFAULT);
