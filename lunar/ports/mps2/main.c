/* QEMU's mps2-an385, a Cortex-M3: start code, UART, and a count of instructions from SysTick. */
#include <stdint.h>

#include "board.h"
#include "firmware.h"
#include "semihosting.h"

/* With `-icount shift=6` an instruction takes 64 ns of the machine's time, and SysTick counts its 25 MHz. */
enum { NS_PER_INSTRUCTION = 64, NS_PER_TICK = 40, TICKS = 1 << 24 };
enum { UART_DATA = 0, UART_STATE = 4, UART_CONTROL = 8, UART_DIVIDER = 16, UART_FULL = 1, UART_SEND = 1 };
enum { SYSTICK_CONTROL = 0, SYSTICK_RELOAD = 4, SYSTICK_VALUE = 8, SYSTICK_ON = 5 };
static const uintptr_t uart = 0x40004000, systick = 0xe000e010;

static struct semihosting_disk disk;

static volatile uint32_t* word(uintptr_t address) { return (volatile uint32_t*)address; }

void board_print(const char* text) {
  for (; *text; text++) {
    while (*word(uart + UART_STATE) & UART_FULL) continue;
    *word(uart + UART_DATA) = (uint8_t)*text;
  }
}

/* It wraps after ten million instructions: to be called more often than that. */
uint64_t board_instructions(void) {
  static uint32_t last;
  static uint64_t ticks;
  const uint32_t value = *word(systick + SYSTICK_VALUE);
  ticks += (last - value) % TICKS;
  last = value;
  return ticks * NS_PER_TICK / NS_PER_INSTRUCTION;
}

int board_disk(struct lunar_config* config) {
  static char path[128];
  config->sector_bytes = 512;
  return semihosting_argument(1, path, sizeof path) || semihosting_open(&disk, config, path) ? -1 : 0;
}

extern uint32_t data_load, data_start, data_end, bss_start, bss_end, stack_top;
int main(void);
void reset(void);
void fault(void);

void reset(void) {
  const uint32_t* from = &data_load;
  for (uint32_t* to = &data_start; to < &data_end;) *to++ = *from++;
  for (uint32_t* to = &bss_start; to < &bss_end;) *to++ = 0;
  *word(uart + UART_DIVIDER) = 16;
  *word(uart + UART_CONTROL) = UART_SEND;
  *word(systick + SYSTICK_RELOAD) = TICKS - 1;
  *word(systick + SYSTICK_VALUE) = 0;
  *word(systick + SYSTICK_CONTROL) = SYSTICK_ON;
  semihosting_exit(main());
}

void fault(void) {
  board_print("fault\n");
  semihosting_exit(1);
}

/* The stack pointer, reset, NMI, and the four faults. */
__attribute__((section(".vectors"), used)) static const struct {
  uint32_t* stack;
  void (*entry[15])(void);
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault}};

int main(void) { return firmware_main(); }
