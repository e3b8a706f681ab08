/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <zephyr/device.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;

struct k_mem_slab {
    void *free_list;
};
struct k_timer {
    uint32_t status;
};
struct k_fifo {
    void *data;
};

#define CONFIG_KERNEL_INIT_PRIORITY_DEVICE 50
#define K_FOREVER ((k_timeout_t){-1})
#define K_MSEC(ms) ((k_timeout_t){ms})
#define SYS_TIMEOUT_MS(ms) ((k_timeout_t){ms})
#define K_MEM_SLAB_DEFINE_STATIC(name, size, count, alignment)                                                         \
    static struct k_mem_slab name;                                                                                     \
    _Static_assert((size) % (alignment) == 0 && (count) > 0, "a slab has blocks of aligned size")
#define K_TIMER_DEFINE(name, expiry, stop) struct k_timer name
#define K_FIFO_DEFINE(name) struct k_fifo name

uint32_t k_cycle_get_32(void);
int k_mem_slab_alloc(struct k_mem_slab *slab, void **mem, k_timeout_t timeout);
void k_mem_slab_free(struct k_mem_slab *slab, void *mem);
void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
uint32_t k_timer_status_sync(struct k_timer *timer);
void k_fifo_put(struct k_fifo *fifo, void *data);
void *k_fifo_get(struct k_fifo *fifo, k_timeout_t timeout);

#endif
