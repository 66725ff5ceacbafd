// A product as bare as it can be: register tiles over panels of columns, with nothing around them.
// Compiled by limits.py, which tells what of a product's time its parts take.
#if defined(__AVX512F__)
#define WIDTH 64
#define ROWS 8
#elif defined(__AVX__)
#define WIDTH 32
#define ROWS 4
#else
#define WIDTH 16
#define ROWS 4
#endif
typedef float vector __attribute__((vector_size(WIDTH), aligned(4)));
enum { lanes = WIDTH / 4, vectors = 3 };

long rows_of_tile(void) { return ROWS; }
long columns_of_panel(void) { return lanes * vectors; }

#if ROWS == 8
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#endif

static void tile(const float *a, long stride, const float *panel, long steps, float *c,
                 long columns) {
#define START(r) vector s##r##0 = {0}, s##r##1 = {0}, s##r##2 = {0};
  FOR_ROWS(START)
#pragma GCC unroll 2
  for (long k = 0; k < steps; ++k) {
    const vector *b = (const vector *)(panel + k * lanes * vectors);
    vector b0 = b[0], b1 = b[1], b2 = b[2];
#define MULTIPLY(r)                                                                                \
  {                                                                                                \
    float x = a[r * stride + k];                                                                   \
    s##r##0 += x * b0, s##r##1 += x * b1, s##r##2 += x * b2;                                       \
  }
    FOR_ROWS(MULTIPLY)
  }
#define STORE(r)                                                                                   \
  {                                                                                                \
    vector *to = (vector *)(c + r * columns);                                                      \
    to[0] = s##r##0, to[1] = s##r##1, to[2] = s##r##2;                                             \
  }
  FOR_ROWS(STORE)
}

// `repeats` times tiles [first, last) by all panels, `beside` panels at a time and `below` tiles of
// each. With `near` all of them are a thread's first tile by the first panel, which L1 holds where
// steps are few.
void product(const float *a, const float *panels, float *c, long first, long last, long count,
             long steps, long beside, long below, long near, long repeats) {
  const long columns = count * lanes * vectors;
  for (long block = first; repeats > 0; block += below) {
    if (block >= last) {
      block = first - below;
      --repeats;
      continue;
    }
    for (long group = 0; group < count; group += beside)
      for (long t = block; t < block + below && t < last; ++t)
        for (long p = group; p < group + beside && p < count; ++p) {
          long row = (near ? first : t) * ROWS, panel = near ? 0 : p;
          tile(a + row * steps, steps, panels + panel * steps * lanes * vectors, steps,
               c + row * columns + panel * lanes * vectors, columns);
        }
  }
}

// Rows of `columns` to panels [first, last), two panels of 256 rows at a time into the same
// scratch, as tasks do.
void copy_panels(const float *b, float *panels, long columns, long steps, long first, long last,
                 long repeats) {
  enum { beside = 2, block = 256 };
  for (long group = first; repeats > 0; group += beside) {
    if (group >= last) {
      group = first - beside;
      --repeats;
      continue;
    }
    for (long k = 0; k < steps; ++k)
      for (long p = group; p < group + beside && p < last; ++p) {
        const vector *from = (const vector *)(b + k * columns + p * lanes * vectors);
        vector *to = (vector *)(panels + ((p - group) * block + k % block) * lanes * vectors);
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
      }
  }
}
