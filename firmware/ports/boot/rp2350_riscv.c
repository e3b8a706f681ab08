/* SPDX-License-Identifier: Apache-2.0 */
/* The block that describes the image to the boot ROM of RP2350 (data sheet, 5.9): an executable for RISC-V, its first
 * instruction and its stack. The boot ROM looks for the block in the first 4 KiB of flash; an image for the other
 * architecture makes it restart the chip with these cores. */

__asm(".section .boot, \"a\"\n"
      ".balign 4\n"
      ".global aboard_boot\n"
      "aboard_boot:\n"
      "    .word 0xffffded3\n" /* start of the block */
      "    .word 0x11010142\n" /* image type, one word: executable, RISC-V, RP2350 */
      "    .word 0x00000344\n" /* entry point, three words ... */
      "    .word aboard_reset\n"
      "    .word __stack_top\n"
      "    .word 0x000004ff\n" /* last item: four words of items */
      "    .word 0x00000000\n" /* the next block is this block */
      "    .word 0xab123579\n" /* end of the block */
      ".text\n");
