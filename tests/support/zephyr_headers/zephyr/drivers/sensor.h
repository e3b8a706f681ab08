/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_DRIVERS_SENSOR_H
#define ZEPHYR_DRIVERS_SENSOR_H

#include <zephyr/device.h>

#define CONFIG_SENSOR_INIT_PRIORITY 90
#define SENSOR_G 9806650LL

struct sensor_value {
    int32_t val1;
    int32_t val2;
};
enum sensor_channel { SENSOR_CHAN_ACCEL_XYZ };
enum sensor_attribute { SENSOR_ATTR_SAMPLING_FREQUENCY, SENSOR_ATTR_FULL_SCALE };
struct sensor_driver_api {
    int (*attr_set)(const struct device *dev, enum sensor_channel chan, enum sensor_attribute attr,
                    const struct sensor_value *val);
    int (*sample_fetch)(const struct device *dev, enum sensor_channel chan);
    int (*channel_get)(const struct device *dev, enum sensor_channel chan, struct sensor_value *val);
};

int sensor_attr_set(const struct device *dev, enum sensor_channel chan, enum sensor_attribute attr,
                    const struct sensor_value *val);
int sensor_sample_fetch(const struct device *dev);
int sensor_channel_get(const struct device *dev, enum sensor_channel chan, struct sensor_value *val);
void sensor_g_to_ms2(int32_t g, struct sensor_value *ms2);
void sensor_ug_to_ms2(int32_t ug, struct sensor_value *ms2);

#endif
