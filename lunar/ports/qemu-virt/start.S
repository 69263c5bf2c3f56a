/* Hart 0 gets a stack, an empty .bss and the floating point unit, and runs main; a trap ends the machine. */
    .section .text.start, "ax"
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, park
    li t0, 0x2000                 /* mstatus.FS: initial */
    csrs mstatus, t0
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_top
    la t0, __bss_start
    la t1, __bss_end
clear:
    bgeu t0, t1, cleared
    sd zero, 0(t0)
    addi t0, t0, 8
    j clear
cleared:
    la t0, trap
    csrw mtvec, t0
    call main
park:
    wfi
    j park
    .align 2
trap:
    csrr a0, mcause
    csrr a1, mepc
    csrr a2, mtval
    la sp, __stack_top
    call board_trap
    j park
