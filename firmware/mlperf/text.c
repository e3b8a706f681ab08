/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include "aboard/port.h"

/* Longer than any text here. Without a bound, the compiler would turn the loop into a call of strlen, which may not
 * exist.
 */
#define MAX_TEXT 1024
#define DIGITS 20 /* digits of the largest 64-bit number */
/* A float32 from this value on has no thousandths; a number below it fits 32 bits. */
#define NO_DECIMALS 16777216.0f

size_t aboard_text_bytes(const char *text) {
    size_t count = 0;
    while (count < MAX_TEXT && text[count] != 0) {
        count++;
    }
    return count;
}

void aboard_put(const char *text) {
    aboard_port_write((const uint8_t *)text, aboard_text_bytes(text));
}

void aboard_put_number(uint64_t value) {
    char text[DIGITS + 1] = {0};
    size_t at = DIGITS;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    aboard_put(text + at);
}

void aboard_put_hex(uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    const char text[3] = {digits[byte >> 4], digits[byte & 15u], 0};
    aboard_put(text);
}

/* Sends a number from 0 to below NO_DECIMALS. */
static void put_fraction(float value) {
    uint32_t whole = (uint32_t)value;
    const float exact = (value - (float)whole) * 1000.0f;
    uint32_t thousandths = (uint32_t)exact;
    const float rest = exact - (float)thousandths;
    if (rest > 0.5f || (rest == 0.5f && thousandths % 2 == 1)) {
        thousandths++;
    }
    if (thousandths == 1000) {
        thousandths = 0;
        whole++;
    }
    aboard_put_number(whole);
    const char text[5] = {'.', (char)('0' + thousandths / 100), (char)('0' + thousandths / 10 % 10),
                          (char)('0' + thousandths % 10), 0};
    aboard_put(text);
}

void aboard_put_decimal(float value) {
    if (value != value) {
        aboard_put("nan");
        return;
    }
    if (value < 0) {
        aboard_put("-");
        value = -value;
    }
    if (value < NO_DECIMALS) {
        put_fraction(value);
    } else if (value < (float)UINT64_MAX) {
        aboard_put_number((uint64_t)value);
        aboard_put(".000");
    } else {
        aboard_put("inf");
    }
}

bool aboard_parse_number(const char *text, uint32_t *value) {
    uint64_t number = 0;
    for (const char *digit = text; *digit != 0; ++digit) {
        if (*digit < '0' || *digit > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(*digit - '0');
        if (number > UINT32_MAX) {
            return false;
        }
    }
    *value = (uint32_t)number;
    return text[0] != 0;
}

int aboard_hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const char lower = (char)(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool aboard_text_equal(const char *text, const char *other) {
    while (*text != 0 && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}
