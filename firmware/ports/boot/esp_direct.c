/* SPDX-License-Identifier: Apache-2.0 */
/* The two words by which the boot ROM of ESP32-C3 (from revision 3) and ESP32-C6 recognises an image that runs in flash
 * without a second boot loader: "direct boot" (Technical Reference Manuals, chapter Chip Boot Control). The boot ROM
 * maps the flash, and enters the instruction behind the words. */

__asm(".section .boot, \"a\"\n"
      ".balign 4\n"
      ".global aboard_boot\n"
      "aboard_boot:\n"
      "    .word 0xaedb041d\n"
      "    .word 0xaedb041d\n"
      ".text\n");
