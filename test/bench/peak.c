// Multiply-adds of one core at most: chains of fused multiply-adds in registers, enough of them
// that latency is hidden. Compiled by ops.py for the CPU whose roofline it draws (f32; both sides
// of -march have vectors of `WIDTH` bytes).
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef float vector __attribute__((vector_size(WIDTH)));
enum { chains = 12, lanes = WIDTH / 4 };

// Does `steps` rounds, writes a sum (so that nothing is left out) and returns how many operations
// those were.
double multiply_adds(long steps, float factor, float *sum) {
  vector a[chains], x = {0};
  for (int i = 0; i < chains; ++i)
    a[i] = x + (float)i;
  x += factor;
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i)
      a[i] = a[i] * x + x;
    __asm__ volatile("" : "+x"(x)); // nothing moves out of the loop
  }
  vector total = a[0];
  for (int i = 1; i < chains; ++i)
    total += a[i];
  *sum = total[0];
  return 2.0 * lanes * chains * (double)steps;
}
