/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in of Arm's core driver: it reads the container, compares the configuration, and runs the stream on the
 * registers of the functional model, whose memory is the buffers with their sizes. */
#include "ethos_u_front.h"
#include "ethosu_driver.h"

enum { MARK = 0x31504F43, CONFIGURATION = 1, STREAM = 2, NOTHING = 5, BASES = 8 };
enum { ID = 0x00, STATUS = 0x04, CMD = 0x08, QBASE = 0x10, QSIZE = 0x20, CONFIG = 0x28, BASEP = 0x80 };

static ethos_u_front_t npu;
static int16_t weights[65536];
static struct ethosu_driver driver;
static bool is_there;
int reserved, released;
size_t sizes[BASES];

void stand_in_power_on(uint32_t macs, bool found);

void stand_in_power_on(uint32_t macs, bool found) {
    ethos_u_front_init(&npu, macs, weights, 65536u);
    is_there = found;
    reserved = released = 0;
}

struct ethosu_driver *ethosu_reserve_driver(void) {
    reserved++;
    return is_there ? &driver : NULL;
}

void ethosu_release_driver(struct ethosu_driver *drv) {
    released += drv == &driver;
}

static void point(uint32_t offset, uint64_t address, size_t bytes, bool writable) {
    ethos_u_front_write(&npu, offset, (uint32_t)address);
    ethos_u_front_write(&npu, offset + 4u, (uint32_t)(address >> 32));
    if (bytes != 0u) {
        (void)ethos_u_front_window(&npu, address, (void *)(uintptr_t)address, bytes, writable);
    }
}

static int run(const uint32_t *stream, uint32_t words, const uint64_t *bases, const size_t *bytes) {
    npu.windows = 0;
    point(QBASE, (uint64_t)(uintptr_t)stream, 4u * words, false);
    ethos_u_front_write(&npu, QSIZE, 4u * words);
    for (uint32_t i = 0; i < BASES; i++) {
        sizes[i] = bytes[i];
        point(BASEP + 8u * i, bases[i], bytes[i], i != 0u);
    }
    ethos_u_front_write(&npu, CMD, 1u);
    return (ethos_u_front_read(&npu, STATUS) & 0x3Cu) == 0x20u ? 0 : -1; /* the end was reached, without an error */
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg) {
    const uint32_t *word = custom_data_ptr, *end = word + (uint32_t)custom_data_size / 4u;
    if (drv != &driver || user_arg != NULL || num_base_addr != BASES || *word++ != MARK) {
        return -1;
    }
    while (word < end) {
        const uint32_t action = *word & 0xFFu, length = (*word >> 8 & 0xFFu) << 16 | *word >> 16;
        word++;
        if (action == CONFIGURATION) {
            if (word[0] != ethos_u_front_read(&npu, CONFIG) || word[1] >> 28 != ethos_u_front_read(&npu, ID) >> 28) {
                return -1;
            }
            word += 2;
        } else if (action == STREAM) {
            if (((uintptr_t)word & 15u) != 0u || word + length != end) {
                return -1;
            }
            return run(word, length, base_addr, base_addr_size);
        } else if (action != NOTHING) {
            return -1;
        }
    }
    return -1;
}
