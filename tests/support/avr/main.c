/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the test of a model (MODEL_TEST) on an ATmega1284P and prints on its serial port what it found. simavr stops
 * when the core sleeps with interrupts off. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>

#include "sample.h"

int MODEL_TEST(aboard_sample_finding_t *found);

static void print(const char *text) {
    for (; *text != '\0'; ++text) {
        while ((UCSR0A & (1 << UDRE0)) == 0) {
        }
        UDR0 = (uint8_t)*text;
    }
}

int main(void) {
    aboard_sample_finding_t found;
    UCSR0B = 1 << TXEN0;
    print(MODEL_TEST(&found) == 0 ? "equal\n" : "differs\n");
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
