/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file power_pin.h
 * The pin that tells a power analyser when the model runs. The board file says which pin it is ([power_pin]); projects
 * made with -O power_pin=on or -O power_pin_layers=on have the generated board/power_pin.c.
 */
#ifndef ABOARD_POWER_PIN_H
#define ABOARD_POWER_PIN_H

#include <stdbool.h>

/** Drives the pin high or low. The set-up steps have made it an output, which is low. */
void aboard_power_pin(bool high);

#endif
