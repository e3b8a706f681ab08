/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of Zephyr's DMIC interface for emulated boards: it plays a recording. */
#define DT_DRV_COMPAT aboard_recorded_microphone

#include <zephyr/audio/dmic.h>
#include <zephyr/device.h>

#include "recording.h"

static struct pcm_stream_cfg stream;

static int configure(const struct device *device, struct dmic_cfg *config) {
    ARG_UNUSED(device);
    if (config->channel.req_num_chan != 1 || config->streams->pcm_width != 16) {
        return -EINVAL;
    }
    config->channel.act_num_chan = 1;
    config->channel.act_num_streams = 1;
    stream = *config->streams;
    return 0;
}

static int trigger(const struct device *device, enum dmic_trigger command) {
    ARG_UNUSED(device);
    ARG_UNUSED(command);
    return stream.mem_slab == NULL ? -EIO : 0;
}

static int read(const struct device *device, uint8_t number, void **buffer, size_t *size, int32_t timeout) {
    ARG_UNUSED(device);
    ARG_UNUSED(number);
    const int failed = k_mem_slab_alloc(stream.mem_slab, buffer, SYS_TIMEOUT_MS(timeout));
    if (failed == 0) {
        recording_read(*buffer, stream.block_size);
        *size = stream.block_size;
    }
    return failed;
}

static const struct _dmic_ops api = {.configure = configure, .trigger = trigger, .read = read};

DEVICE_DT_INST_DEFINE(0, NULL, NULL, NULL, NULL, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEVICE, &api);
