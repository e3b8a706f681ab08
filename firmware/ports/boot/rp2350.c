/* SPDX-License-Identifier: Apache-2.0 */
/* The block that describes the image to the boot ROM of RP2350 (data sheet, 5.9): an executable for Arm in secure
 * state, and its vector table behind this block. The boot ROM looks for the block in the first 4 KiB of flash, sets up
 * execution from flash, and enters the image by the vector table. The block is as long as the alignment of the vector
 * table. */

__asm(".section .boot, \"a\"\n"
      ".balign 4\n"
      ".global aboard_boot\n"
      "aboard_boot:\n"
      "    .word 0xffffded3\n" /* start of the block */
      "    .word 0x10210142\n" /* image type, one word: executable, secure, Arm, RP2350 */
      "    .word 0x00000203\n" /* vector table, two words ... */
      "    .word 0x10000200\n" /* ... its address: behind this block */
      "    .word 0x000003ff\n" /* last item: three words of items */
      "    .word 0x00000000\n" /* the next block is this block */
      "    .word 0xab123579\n" /* end of the block */
      ".org 512\n"
      ".text\n");
