/* SPDX-License-Identifier: Apache-2.0 */
/* What the boot ROM of i.MX RT1060 reads from a serial flash at FlexSPI before the image (i.MX RT1060 Reference Manual,
 * chapter System Boot): at 0 the configuration of FlexSPI and the flash, at 0x1000 the image vector table and the boot
 * data, at 0x2000 the image. The configuration is that of the flash on MIMXRT1060-EVK, IS25WP064A, as in the file
 * boards/evkmimxrt1060/xip/evkmimxrt1060_flexspi_nor_config.c of NXP's MCUXpresso SDK: quad reads at 120 MHz. The
 * lookup table has the two sequences that the boot ROM uses; those of erasing and programming belong to flash tools. */

__asm(".section .boot, \"a\"\n"
      ".balign 4\n"
      ".global aboard_boot\n"
      "aboard_boot:\n"
      "    .word 0x42464346\n" /* tag */
      "    .word 0x56010400\n" /* version 1.4.0 */
      ".org 0x0c\n"            /* sample clock looped back from the DQS pad; 3 clocks before and after CS */
      "    .word 0x00030301\n"
      ".org 0x40\n"
      "    .word 0x00000010\n" /* configured at a safe frequency */
      "    .word 0x00070401\n" /* serial NOR, 4 pads, 120 MHz */
      ".org 0x50\n"
      "    .word 0x00800000\n" /* 8 MiB at port A1 */
      ".org 0x80\n"            /* sequence 0: read, EBh on one pad, address and data on four, 6 dummy cycles */
      "    .word 0x0a1804eb\n"
      "    .word 0x26043206\n"
      ".org 0x90\n" /* sequence 1: status, 05h */
      "    .word 0x24040405\n"
      ".org 0x1c0\n"
      "    .word 0x00000100\n" /* bytes of a page */
      "    .word 0x00001000\n" /* bytes of a sector */
      "    .word 0x00000001\n" /* other commands at 30 MHz */
      ".org 0x1d0\n"
      "    .word 0x00010000\n" /* bytes of a block */
      ".org 0x1000\n"
      "    .word 0x412000d1\n" /* image vector table: tag, length, version 4.1 */
      "    .word 0x60002000\n" /* the vectors, behind this block */
      "    .word 0\n"
      "    .word 0\n"          /* no device configuration data */
      "    .word 0x60001020\n" /* boot data */
      "    .word 0x60001000\n" /* this table */
      "    .word 0\n"          /* no signature */
      "    .word 0\n"
      "    .word 0x60000000\n" /* boot data: start of the image, its size, no plugin */
      "    .word 0x00800000\n"
      "    .word 0\n"
      ".org 0x2000\n"
      ".text\n");
