/* QEMU's `virt` machine: a 16550 UART, virtio-mmio slots, the PLIC, and a device that ends the machine. */
#include <stdint.h>

#include "board.h"
#include "firmware.h"
#include "virtio_blk.h"

enum { VIRTIO_SLOTS = 8, EXIT_PASS = 0x5555, EXIT_FAIL = 0x3333, UART_READY = 0x20, EXTERNAL_INTERRUPT = 1 << 11 };
static const uintptr_t uart = 0x10000000, virtio = 0x10001000, plic = 0x0c000000, finisher = 0x100000;
enum { PLIC_ENABLE = 0x2000, PLIC_THRESHOLD = 0x200000, PLIC_CLAIM = 0x200004, UART_STATUS = 5 };

#ifndef BOARD_INTERRUPTS
#define BOARD_INTERRUPTS 1 /* 0: the disk is polled */
#endif

static struct virtio_blk disk;

static volatile uint32_t* word(uintptr_t address) { return (volatile uint32_t*)address; }

static void put(char c) {
  while (!(*(volatile uint8_t*)(uart + UART_STATUS) & UART_READY)) continue;
  *(volatile uint8_t*)uart = (uint8_t)c;
}

void board_print(const char* text) {
  while (*text) put(*text++);
}

uint64_t board_instructions(void) {
  uint64_t count;
  __asm__ volatile("csrr %0, minstret" : "=r"(count));
  return count;
}

static _Noreturn void end(int failures) {
  *word(finisher) = failures ? 1u << 16 | EXIT_FAIL : EXIT_PASS;
  for (;;) __asm__ volatile("wfi");
}

static void print_hexadecimal(const char* name, uint64_t value) {
  board_print(name);
  for (int shift = 60; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
}

void board_trap(uint64_t cause, uint64_t program_counter, uint64_t value);
void board_trap(uint64_t cause, uint64_t program_counter, uint64_t value) {
  print_hexadecimal("trap ", cause), print_hexadecimal(" at ", program_counter), print_hexadecimal(" of ", value);
  board_print("\n");
  end(1);
}

/* Interrupts stay masked in mstatus: wfi wakes, nothing is entered. */
static void interrupts_on(void) {
  for (uintptr_t source = 1; source <= VIRTIO_SLOTS; source++) *word(plic + 4 * source) = 1;
  *word(plic + PLIC_ENABLE) = (1u << (VIRTIO_SLOTS + 1)) - 2;
  *word(plic + PLIC_THRESHOLD) = 0;
  __asm__ volatile("csrs mie, %0" ::"r"(EXTERNAL_INTERRUPT));
}

static void wait_for_interrupt(void) {
  __asm__ volatile("wfi");
  *word(plic + PLIC_CLAIM) = *word(plic + PLIC_CLAIM);
}

int board_disk(struct lunar_config* config) {
  config->sector_bytes = 512;
  if (BOARD_INTERRUPTS) interrupts_on();
  return virtio_blk_open(&disk, config, virtio_blk_find(virtio, VIRTIO_SLOTS),
                         BOARD_INTERRUPTS ? wait_for_interrupt : NULL);
}

int main(void) { end(firmware_main()); }
