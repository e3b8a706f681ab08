/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of Zephyr's sensor interface for emulated boards: it plays a recording in 1/1000 g. */
#define DT_DRV_COMPAT aboard_recorded_accelerometer

#include <zephyr/device.h>
#include <zephyr/drivers/sensor.h>

#include "recording.h"

#define AXES 3

static int16_t sample[AXES];

static int fetch(const struct device *device, enum sensor_channel channel) {
    ARG_UNUSED(device);
    ARG_UNUSED(channel);
    recording_read(sample, sizeof sample);
    return 0;
}

static int get(const struct device *device, enum sensor_channel channel, struct sensor_value *values) {
    ARG_UNUSED(device);
    if (channel != SENSOR_CHAN_ACCEL_XYZ) {
        return -ENOTSUP;
    }
    for (int axis = 0; axis < AXES; ++axis) {
        sensor_ug_to_ms2(sample[axis] * 1000, &values[axis]);
    }
    return 0;
}

static const struct sensor_driver_api api = {.sample_fetch = fetch, .channel_get = get};

DEVICE_DT_INST_DEFINE(0, NULL, NULL, NULL, NULL, POST_KERNEL, CONFIG_SENSOR_INIT_PRIORITY, &api);
