/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of Zephyr's video interface for emulated boards: it plays a recording of bytes of grey, as YUYV. */
#define DT_DRV_COMPAT aboard_recorded_camera

#include <zephyr/device.h>
#include <zephyr/drivers/video.h>
#include <zephyr/kernel.h>

#include "recording.h"

#define BYTES_PER_PIXEL 2
#define NO_COLOUR 128

static struct video_format format;

K_FIFO_DEFINE(waiting);

static int set_format(const struct device *device, enum video_endpoint_id endpoint, struct video_format *wanted) {
    ARG_UNUSED(device);
    if (endpoint != VIDEO_EP_OUT || wanted->pixelformat != VIDEO_PIX_FMT_YUYV) {
        return -ENOTSUP;
    }
    format = *wanted;
    return 0;
}

static int get_format(const struct device *device, enum video_endpoint_id endpoint, struct video_format *found) {
    ARG_UNUSED(device);
    ARG_UNUSED(endpoint);
    *found = format;
    return 0;
}

static int get_caps(const struct device *device, enum video_endpoint_id endpoint, struct video_caps *caps) {
    static const struct video_format_cap formats[] = {
        {VIDEO_PIX_FMT_YUYV, 160, 160, 120, 120, 0, 0},
        {0},
    };
    ARG_UNUSED(device);
    ARG_UNUSED(endpoint);
    caps->format_caps = formats;
    caps->min_vbuf_count = 1;
    return 0;
}

static int stream(const struct device *device) {
    ARG_UNUSED(device);
    return format.width == 0 ? -EIO : 0;
}

static int enqueue(const struct device *device, enum video_endpoint_id endpoint, struct video_buffer *buffer) {
    ARG_UNUSED(device);
    ARG_UNUSED(endpoint);
    k_fifo_put(&waiting, buffer);
    return 0;
}

static int dequeue(const struct device *device, enum video_endpoint_id endpoint, struct video_buffer **buffer,
                   k_timeout_t timeout) {
    ARG_UNUSED(device);
    ARG_UNUSED(endpoint);
    struct video_buffer *const found = k_fifo_get(&waiting, timeout);
    if (found == NULL) {
        return -EAGAIN;
    }
    const uint32_t pixels = format.width * format.height;
    /* Grey is read into the second half, and spread from its beginning on: no byte is overwritten before it is read. */
    const uint8_t *from = found->buffer + pixels;
    recording_read(found->buffer + pixels, pixels);
    for (uint32_t i = 0; i < pixels; ++i) {
        found->buffer[BYTES_PER_PIXEL * i] = *from++;
        found->buffer[BYTES_PER_PIXEL * i + 1] = NO_COLOUR;
    }
    found->bytesused = BYTES_PER_PIXEL * pixels;
    *buffer = found;
    return 0;
}

static const struct video_driver_api api = {
    .set_format = set_format,
    .get_format = get_format,
    .stream_start = stream,
    .stream_stop = stream,
    .get_caps = get_caps,
    .enqueue = enqueue,
    .dequeue = dequeue,
};

DEVICE_DT_INST_DEFINE(0, NULL, NULL, NULL, NULL, POST_KERNEL, CONFIG_VIDEO_INIT_PRIORITY, &api);
