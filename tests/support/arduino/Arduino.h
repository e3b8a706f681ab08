/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the part of Arduino's core that sketches of libraries use: Serial goes to stdout, time does not pass.
 */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static inline unsigned long micros(void) {
    return 0;
}

static inline void delay(unsigned long ms) {
    (void)ms;
}

void setup();
void loop();

/* The overloads of Print that there are: an int8_t would be taken for a character, as it is there. */
class SerialPort {
  public:
    void begin(unsigned long) {}
    void print(const char *text) { printf("%s", text); }
    void print(char letter) { printf("%c", letter); }
    void print(int value) { printf("%d", value); }
    void print(long value) { printf("%ld", value); }
    void print(unsigned long value) { printf("%lu", value); }
    void print(double value, int digits = 2) { printf("%.*f", digits, value); }
    template <typename Value> void println(Value value) {
        print(value);
        println();
    }
    void println() { printf("\r\n"); }
};

static SerialPort Serial;

#endif
