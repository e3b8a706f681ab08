/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The microphone of the examples by Zephyr's DMIC interface: the device tree's alias `microphone`, 16 bits, 8,000 Hz.
 * Where a chip has no such rate, `microphone-rate = <16000>` in the node `zephyr,user` halves the double rate.
 */
#include <string.h>

#include <zephyr/audio/dmic.h>
#include <zephyr/device.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "board.h"

#define SAMPLE_RATE 8000
#define DEVICE_RATE DT_PROP_OR(DT_PATH(zephyr_user), microphone_rate, SAMPLE_RATE)
#define RATIO (DEVICE_RATE / SAMPLE_RATE)
#define BLOCK_BYTES (160 * RATIO * sizeof(int16_t))
/* The driver fills blocks while the model runs: 8 blocks are 160 ms. */
#define BLOCKS 8
#define READ_TIMEOUT_MS 1000

BUILD_ASSERT(RATIO *SAMPLE_RATE == DEVICE_RATE && (RATIO == 1 || RATIO == 2), "microphone-rate is 8000 or 16000");

K_MEM_SLAB_DEFINE_STATIC(blocks, BLOCK_BYTES, BLOCKS, sizeof(void *));

static const struct device *const microphone = DEVICE_DT_GET(DT_ALIAS(microphone));

static int start(void) {
    struct pcm_stream_cfg stream = {
        .pcm_rate = DEVICE_RATE,
        .pcm_width = 16,
        .block_size = BLOCK_BYTES,
        .mem_slab = &blocks,
    };
    struct dmic_cfg config = {
        /* The clocks that PDM microphones take. */
        .io = {.min_pdm_clk_freq = 1000000, .max_pdm_clk_freq = 3500000, .min_pdm_clk_dc = 40, .max_pdm_clk_dc = 60},
        .streams = &stream,
        .channel = {.req_num_chan = 1, .req_num_streams = 1},
    };
    config.channel.req_chan_map_lo = dmic_build_channel_map(0, 0, PDM_CHAN_LEFT);
    if (!device_is_ready(microphone)) {
        return -ENODEV;
    }
    const int failed = dmic_configure(microphone, &config);
    return failed != 0 ? failed : dmic_trigger(microphone, DMIC_TRIGGER_START);
}

/* Makes one sample of two by a half-band filter, in 1/32: -1, 0, 9, 16, 9, 0, -1. */
static int16_t halved(const int16_t *pair) {
    static int32_t last[7];
    memmove(last, last + 2, 5 * sizeof *last);
    last[5] = pair[0];
    last[6] = pair[1];
    const int32_t sum = 16 * last[3] + 9 * (last[2] + last[4]) - last[0] - last[6];
    return (int16_t)CLAMP((sum + 16) >> 5, INT16_MIN, INT16_MAX);
}

int32_t board_microphone(int16_t *samples, int32_t count) {
    static bool started;
    static void *block;
    static const int16_t *next;
    static size_t bytes;
    if (!started) {
        const int failed = start();
        if (failed != 0) {
            printk("microphone: error %d\n", failed);
            return 0;
        }
        started = true;
    }
    for (int32_t sample = 0; sample < count; ++sample) {
        if (block == NULL) {
            if (dmic_read(microphone, 0, &block, &bytes, READ_TIMEOUT_MS) != 0) {
                return sample;
            }
            next = block;
        }
        samples[sample] = RATIO == 1 ? *next : halved(next);
        next += RATIO;
        if ((const uint8_t *)next == (const uint8_t *)block + bytes) {
            k_mem_slab_free(&blocks, block);
            block = NULL;
        }
    }
    return count;
}
