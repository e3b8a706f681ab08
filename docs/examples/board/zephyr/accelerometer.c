/* SPDX-License-Identifier: Apache-2.0 */
/* The accelerometer of the examples by Zephyr's sensor interface: the device tree's alias `accel0`, 50 Hz, 1/1000 g. */
#include <zephyr/device.h>
#include <zephyr/drivers/sensor.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "board.h"

#define PERIOD_MS 20
#define AXES 3
#define LIMIT 4000

static const struct device *const accelerometer = DEVICE_DT_GET(DT_ALIAS(accel0));

K_TIMER_DEFINE(sampling, NULL, NULL);

static int start(void) {
    const struct sensor_value hz = {.val1 = 1000 / PERIOD_MS};
    struct sensor_value range;
    if (!device_is_ready(accelerometer)) {
        return -ENODEV;
    }
    /* A driver that cannot set them has its own in the device tree or in Kconfig. */
    sensor_g_to_ms2(LIMIT / 1000, &range);
    (void)sensor_attr_set(accelerometer, SENSOR_CHAN_ACCEL_XYZ, SENSOR_ATTR_FULL_SCALE, &range);
    (void)sensor_attr_set(accelerometer, SENSOR_CHAN_ACCEL_XYZ, SENSOR_ATTR_SAMPLING_FREQUENCY, &hz);
    k_timer_start(&sampling, K_MSEC(PERIOD_MS), K_MSEC(PERIOD_MS));
    return 0;
}

/* From m/s^2 to 1/1000 g, rounded. */
static int16_t thousandths(const struct sensor_value *value) {
    const int64_t micro = (int64_t)value->val1 * 1000000 + value->val2;
    const int64_t half = SENSOR_G / 2;
    const int64_t found = (micro * 1000 + (micro < 0 ? -half : half)) / SENSOR_G;
    return (int16_t)CLAMP(found, -LIMIT, LIMIT - 1);
}

int32_t board_accelerometer(int16_t *samples, int32_t count) {
    static bool started;
    if (!started) {
        const int failed = start();
        if (failed != 0) {
            printk("accelerometer: error %d\n", failed);
            return 0;
        }
        started = true;
    }
    for (int32_t sample = 0; sample < count; ++sample) {
        struct sensor_value values[AXES];
        k_timer_status_sync(&sampling);
        if (sensor_sample_fetch(accelerometer) != 0 ||
            sensor_channel_get(accelerometer, SENSOR_CHAN_ACCEL_XYZ, values) != 0) {
            return sample;
        }
        for (int32_t axis = 0; axis < AXES; ++axis) {
            samples[sample * AXES + axis] = thousandths(&values[axis]);
        }
    }
    return count;
}
