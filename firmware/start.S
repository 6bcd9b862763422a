# Where the core begins: sets up C's memory, then main. Each start is like the first: what is in RAM is not looked at.
  .section .start, "ax"
  .globl _start
  .option arch, +zicsr
_start:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, stack_end
  la t0, trap
  csrw mtvec, t0
  la t0, data_begin
  la t1, data_end
  la t2, data_image
1:
  bgeu t0, t1, 2f
  lw t3, 0(t2)
  sw t3, 0(t0)
  addi t0, t0, 4
  addi t2, t2, 4
  j 1b
2:
  la t1, bss_end
3:
  bgeu t0, t1, 4f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 3b
4:
  call main
  .balign 4
trap:
  csrr a0, mcause
  csrr a1, mepc
  j trapped
