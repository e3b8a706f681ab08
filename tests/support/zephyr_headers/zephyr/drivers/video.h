/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_DRIVERS_VIDEO_H
#define ZEPHYR_DRIVERS_VIDEO_H

#include <zephyr/kernel.h>

#define CONFIG_VIDEO_BUFFER_POOL_NUM_MAX 2
#define CONFIG_VIDEO_INIT_PRIORITY 60
#define VIDEO_PIX_FMT_RGB565 1u
#define VIDEO_PIX_FMT_YUYV 2u

enum video_endpoint_id { VIDEO_EP_IN, VIDEO_EP_OUT };
struct video_format {
    uint32_t pixelformat;
    uint32_t width;
    uint32_t height;
    uint32_t pitch;
};
struct video_format_cap {
    uint32_t pixelformat;
    uint32_t width_min;
    uint32_t width_max;
    uint32_t height_min;
    uint32_t height_max;
    uint16_t width_step;
    uint16_t height_step;
};
struct video_caps {
    const struct video_format_cap *format_caps;
    uint8_t min_vbuf_count;
};
struct video_buffer {
    void *driver_data;
    uint8_t *buffer;
    uint32_t size;
    uint32_t bytesused;
    uint32_t timestamp;
};
struct video_driver_api {
    int (*set_format)(const struct device *dev, enum video_endpoint_id ep, struct video_format *fmt);
    int (*get_format)(const struct device *dev, enum video_endpoint_id ep, struct video_format *fmt);
    int (*stream_start)(const struct device *dev);
    int (*stream_stop)(const struct device *dev);
    int (*get_caps)(const struct device *dev, enum video_endpoint_id ep, struct video_caps *caps);
    int (*enqueue)(const struct device *dev, enum video_endpoint_id ep, struct video_buffer *buf);
    int (*dequeue)(const struct device *dev, enum video_endpoint_id ep, struct video_buffer **buf, k_timeout_t timeout);
};

int video_set_format(const struct device *dev, enum video_endpoint_id ep, struct video_format *fmt);
int video_enqueue(const struct device *dev, enum video_endpoint_id ep, struct video_buffer *buf);
int video_dequeue(const struct device *dev, enum video_endpoint_id ep, struct video_buffer **buf, k_timeout_t timeout);
int video_stream_start(const struct device *dev);
struct video_buffer *video_buffer_alloc(size_t size);

#endif
