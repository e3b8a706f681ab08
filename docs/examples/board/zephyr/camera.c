/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The camera of the examples by Zephyr's video interface: the device tree's alias `camera`, 160x120 in YUYV or RGB565.
 * Zephyr 3.7 gives whole pictures, in buffers of its pool; a driver of your camera that gives lines needs no such
 * buffer.
 */
#include <zephyr/device.h>
#include <zephyr/drivers/video.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "board.h"

#define BYTES_PER_PIXEL 2
#define PICTURE_BYTES (BOARD_CAMERA_WIDTH * BOARD_CAMERA_HEIGHT * BYTES_PER_PIXEL)
#define BUFFERS CONFIG_VIDEO_BUFFER_POOL_NUM_MAX

static const struct device *const camera = DEVICE_DT_GET(DT_ALIAS(camera));
static struct video_format format = {
    .pixelformat = VIDEO_PIX_FMT_YUYV,
    .width = BOARD_CAMERA_WIDTH,
    .height = BOARD_CAMERA_HEIGHT,
    .pitch = BOARD_CAMERA_WIDTH * BYTES_PER_PIXEL,
};

static int start(void) {
    if (!device_is_ready(camera)) {
        return -ENODEV;
    }
    int failed = video_set_format(camera, VIDEO_EP_OUT, &format);
    if (failed != 0) {
        format.pixelformat = VIDEO_PIX_FMT_RGB565;
        failed = video_set_format(camera, VIDEO_EP_OUT, &format);
    }
    for (int i = 0; failed == 0 && i < BUFFERS; ++i) {
        struct video_buffer *const buffer = video_buffer_alloc(PICTURE_BYTES);
        failed = buffer == NULL ? -ENOMEM : video_enqueue(camera, VIDEO_EP_OUT, buffer);
    }
    return failed != 0 ? failed : video_stream_start(camera);
}

/* The luminance of RGB565, in weights of 1/256 (BT.601). */
static uint8_t luminance(const uint8_t *pixel) {
    const uint32_t value = (uint32_t)pixel[0] | (uint32_t)pixel[1] << 8;
    const uint32_t red = (value >> 11) * 255 / 31;
    const uint32_t green = (value >> 5 & 63) * 255 / 63;
    const uint32_t blue = (value & 31) * 255 / 31;
    return (uint8_t)((77 * red + 150 * green + 29 * blue) >> 8);
}

bool board_camera_line(uint8_t *pixels) {
    static bool started;
    static struct video_buffer *picture;
    static uint32_t line;
    if (!started) {
        const int failed = start();
        if (failed != 0) {
            printk("camera: error %d\n", failed);
            return false;
        }
        started = true;
    }
    if (picture == NULL && video_dequeue(camera, VIDEO_EP_OUT, &picture, K_FOREVER) != 0) {
        return false;
    }
    const uint8_t *from = picture->buffer + line * format.pitch;
    for (int32_t x = 0; x < BOARD_CAMERA_WIDTH; ++x, from += BYTES_PER_PIXEL) {
        pixels[x] = format.pixelformat == VIDEO_PIX_FMT_YUYV ? *from : luminance(from);
    }
    if (++line == BOARD_CAMERA_HEIGHT) {
        line = 0;
        video_enqueue(camera, VIDEO_EP_OUT, picture);
        picture = NULL;
    }
    return true;
}
