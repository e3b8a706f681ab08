/* SPDX-License-Identifier: Apache-2.0 */
/* The second boot stage of RP2040 (data sheet, 2.8.1). The boot ROM copies the first 256 bytes of flash to RAM,
compares
 * the CRC-32 in the last four bytes with the CRC-32 of the other bytes, and calls the copy. This stage sets up
 * execution
 * from flash with the read command that every serial flash supports (03h: one line, 24-bit address), and enters the
 * image behind it.
 *
 * The checksum covers exactly these instructions: polynomial 0x04C11DB7, initial value 0xFFFFFFFF, not reflected. A
 * test
 * computes it from the built image (tests/emulator/test_boot.py) and prints the expected value. */

/* SSI registers (data sheet, 4.10.13): CTRLR0 0x00, CTRLR1 0x04, SSIENR 0x08, BAUDR 0x14, SPI_CTRLR0 0xF4. */
__asm(".syntax unified\n"
      ".section .boot, \"ax\"\n"
      ".thumb\n"
      ".balign 4\n"
      ".global aboard_boot\n"
      ".type aboard_boot, %function\n"
      ".thumb_func\n"
      "aboard_boot:\n"
      "    push {lr}\n"
      "    ldr  r3, 2f\n"
      "    movs r0, #0\n"
      "    str  r0, [r3, #0x08]\n" /* SSIENR: off while it is set up */
      "    movs r0, #4\n"
      "    str  r0, [r3, #0x14]\n" /* BAUDR: a quarter of the core's clock */
      "    ldr  r0, 3f\n"
      "    str  r0, [r3, #0x00]\n" /* CTRLR0 */
      "    movs r0, #0\n"
      "    str  r0, [r3, #0x04]\n" /* CTRLR1: one frame a read */
      "    ldr  r0, 4f\n"
      "    movs r1, #0xf4\n"
      "    str  r0, [r3, r1]\n" /* SPI_CTRLR0 */
      "    movs r0, #1\n"
      "    str  r0, [r3, #0x08]\n" /* SSIENR: on */
      /* Called by the boot ROM with lr = 0; by code that has written the flash, and wants to read it again, with its
         own. */
      "    pop  {r0}\n"
      "    cmp  r0, #0\n"
      "    beq  1f\n"
      "    bx   r0\n"
      "1:\n"
      "    ldr  r0, 5f\n"
      "    ldr  r1, 6f\n"
      "    str  r0, [r1]\n" /* VTOR */
      "    ldmia r0!, {r1, r2}\n"
      "    msr  msp, r1\n"
      "    bx   r2\n"
      ".balign 4\n"
      "2:  .word 0x18000000\n"                         /* SSI */
      "3:  .word (31 << 16) | (3 << 8)\n"              /* frames of 32 bits, command then data; standard SPI */
      "4:  .word (0x03 << 24) | (2 << 8) | (6 << 2)\n" /* 03h; 8 bits of command, 24 of address, one line */
      "5:  .word 0x10000100\n"                         /* the vectors, behind this block */
      "6:  .word 0xe000ed08\n"                         /* VTOR's register */
      ".org 252\n"
      "    .word 0x01d8f661\n" /* CRC-32 of the 252 bytes before it */
      ".text\n");
