/* SPDX-License-Identifier: Apache-2.0 */
/* The port of Zephyr: bytes, idling and restart with the functions of the kernel. Interrupts stay enabled. */
#include "aboard/port.h"

#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/reboot.h>

#include "counter.h"
#include "fault.h"
#include "uart.h"

#if DT_HAS_CHOSEN(aboard_rpc_uart)
#define LINE DT_CHOSEN(aboard_rpc_uart)
#elif DT_HAS_CHOSEN(zephyr_console)
#define LINE DT_CHOSEN(zephyr_console)
#else
#error "The device tree chooses neither aboard,rpc-uart nor zephyr,console: choose a serial port in an overlay"
#endif

const struct device *const aboard_uart = DEVICE_DT_GET(LINE);
RING_BUF_DECLARE(aboard_received, CONFIG_ABOARD_RECEIVE_BYTES);

static K_SEM_DEFINE(work, 0, 1);

void aboard_wake(void) {
    k_sem_give(&work);
}

void aboard_port_init(void) {
    aboard_fault_init();
    aboard_counter_init();
    if (!device_is_ready(aboard_uart)) {
        printk("aboard: the serial line is not ready\n");
        k_panic();
    }
    aboard_uart_init();
}

size_t aboard_port_read(uint8_t *data, size_t capacity) {
    aboard_uart_poll();
    return ring_buf_get(&aboard_received, data, (uint32_t)capacity);
}

void aboard_port_write(const uint8_t *data, size_t count) {
    aboard_uart_send(data, count);
}

void aboard_port_idle(void) {
    /* A polled line does not wake the thread. */
    (void)k_sem_take(&work, IS_ENABLED(CONFIG_ABOARD_UART_POLLING) ? K_MSEC(1) : K_FOREVER);
}

void aboard_port_reset(void) {
#if !defined(CONFIG_ARCH_POSIX) /* a simulated device cannot restart; the server does */
    sys_reboot(SYS_REBOOT_COLD);
#endif
}
