// Convolutions as bare as they can be: register tiles of pixels by filters over an image whose
// channels lie together and whose padding is there, with nothing around them. Compiled by
// convlimits.py, which tells what of a convolution's time its parts take.
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float vector __attribute__((vector_size(WIDTH), aligned(4)));
enum { lanes = WIDTH / 4 };

long lanes_of_vector(void) { return lanes; }

// Where a convolution's operands lie. A pixel's taps are `taps` runs of `run` numbers each.
typedef struct {
  const float *image, *filters;
  float *result;
  const long *pixels,
      *starts;            // of each pixel its first number, of each tap how far it is from there
  long taps, run, stride; // `stride`: of pixels in the result
} Operands;

// `rows` pixels by `vectors` of filters: what a form below is made of.
static inline __attribute__((always_inline)) void tile(int rows, int vectors, const Operands *o,
                                                       const long *pixels, const float *panel,
                                                       long first, long last, float *to) {
  vector sums[12][3] = {0};
  const float *at[12];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
    at[r] = o->image + pixels[r];
#pragma GCC unroll 3
    for (int v = 0; v < vectors && first > 0; ++v)
      sums[r][v] = *(const vector *)(to + r * o->stride + v * lanes);
  }
  for (long t = first; t < last; ++t) {
    const long start = o->starts[t];
#pragma GCC unroll 2
    for (long k = 0; k < o->run; ++k, panel += lanes * vectors) {
      const vector *weights = (const vector *)panel;
      vector kept[3];
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v)
        kept[v] = weights[v];
#pragma GCC unroll 12
      for (int r = 0; r < rows; ++r) {
        const float x = at[r][start + k];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v)
          sums[r][v] += x * kept[v];
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      *(vector *)(to + r * o->stride + v * lanes) = sums[r][v];
}

// Tiles [first, last) by panels [from, to), `cut` taps at a time, eight tiles by all panels before
// the next eight. With `near` all are the first by the first.
#define FORM(ROWS, VECTORS)                                                                        \
  void convolve_##ROWS##x##VECTORS(const Operands *o, long first, long last, long from, long to,   \
                                   long cut, long near, long repeats) {                            \
    const long terms = o->taps * o->run, beside = lanes * VECTORS;                                 \
    for (; repeats > 0; --repeats)                                                                 \
      for (long block = first; block < last; block += 8)                                           \
        for (long tap = 0; tap < o->taps; tap += cut)                                              \
          for (long p = from; p < to; ++p)                                                         \
            for (long t = block; t < block + 8 && t < last; ++t) {                                 \
              long row = (near ? first : t) * ROWS, panel = near ? from : p;                       \
              tile(ROWS, VECTORS, o, o->pixels + row,                                              \
                   o->filters + (panel * terms + tap * o->run) * beside, tap,                      \
                   tap + cut < o->taps ? tap + cut : o->taps,                                      \
                   o->result + row * o->stride + panel * beside);                                  \
            }                                                                                      \
  }
FORM(4, 3)
FORM(5, 2)
FORM(6, 2)
FORM(12, 1)

// The same over planes, with a panel of filters for each vector of pixels of a line: `pixels` are
// of first vectors, a tap is one number, a filter's result is a plane.
static inline __attribute__((always_inline)) void strip(int rows, int vectors, const Operands *o,
                                                        const float *image, const float *weights,
                                                        float *to) {
  vector sums[12][3] = {0};
#pragma GCC unroll 2
  for (long t = 0; t < o->taps; ++t, weights += rows) {
    const vector *at = (const vector *)(image + o->starts[t]);
    vector kept[3];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      kept[v] = at[v];
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      const float x = weights[r];
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v)
        sums[r][v] += x * kept[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      *(vector *)(to + r * o->stride + v * lanes) = sums[r][v];
}

#define STRIPS(ROWS, VECTORS)                                                                      \
  void strips_##ROWS##x##VECTORS(const Operands *o, long first, long last, long from, long to,     \
                                 long cut, long near, long repeats) {                              \
    const long beside = lanes * VECTORS;                                                           \
    (void)cut;                                                                                     \
    for (; repeats > 0; --repeats)                                                                 \
      for (long block = first; block < last; block += 8)                                           \
        for (long p = from; p < to; ++p)                                                           \
          for (long t = block; t < block + 8 && t < last; ++t) {                                   \
            long at = near ? first : t, panel = near ? from : p;                                   \
            strip(ROWS, VECTORS, o, o->image + o->pixels[at], o->filters + panel * o->taps * ROWS, \
                  o->result + panel * ROWS * o->stride + at * beside);                             \
          }                                                                                        \
  }
STRIPS(4, 2)
STRIPS(4, 3)

// Channels that lie together with a filter of `extent` by `extent` each: `pixels` of a line by a
// vector of channels, as a tile keeps its sums. Lines [first, last) of all channels.
static inline __attribute__((always_inline)) void channels(int pixels, int extent,
                                                           const float *image, long line,
                                                           const float *filters, float *to,
                                                           long count, long near) {
  for (long channel = 0; channel < count; channel += lanes) {
    const long c = near ? 0 : channel;
    vector sums[8] = {0};
    for (int y = 0; y < extent; ++y) {
      vector weights[7];
#pragma GCC unroll 7
      for (int x = 0; x < extent; ++x)
        weights[x] = *(const vector *)(filters + (y * extent + x) * count + c);
#pragma GCC unroll 14
      for (int i = 0; i < pixels + extent - 1; ++i) {
        vector at = *(const vector *)(image + y * line + i * count + c);
#pragma GCC unroll 7
        for (int x = 0; x < extent; ++x)
          if (i - x >= 0 && i - x < pixels)
            sums[i - x] += at * weights[x];
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < pixels; ++i)
      *(vector *)(to + i * count + c) = sums[i];
  }
}

#define DEPTHWISE(EXTENT, PIXELS)                                                                  \
  void depthwise_##EXTENT(const float *image, const float *filters, float *result, long width,     \
                          long count, long first, long last, long near, long repeats) {            \
    const long line = (width + EXTENT - 1) * count;                                                \
    for (; repeats > 0; --repeats)                                                                 \
      for (long y = first; y < last; ++y)                                                          \
        for (long x = 0; x < width; x += PIXELS) {                                                 \
          long row = near ? first : y, column = near ? 0 : x;                                      \
          channels(PIXELS, EXTENT, image + row * line + column * count, line, filters,             \
                   result + (row * width + column) * count, count, near);                          \
        }                                                                                          \
  }
DEPTHWISE(5, 7)
DEPTHWISE(7, 8)

// An image of `rows` planes with its channels together, or back: `rows` of `columns` numbers turned
// in squares of eight.
#if WIDTH == 32
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LEFT(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define RIGHT(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
static void square(const float *from, long columns, float *to, long rows) {
  vector a[8], b[8], c[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    a[i] = *(const vector *)(from + i * columns);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2)
    b[i] = LOW(a[i], a[i + 1]), b[i + 1] = HIGH(a[i], a[i + 1]);
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    c[i] = FIRST(b[i], b[i + 2]), c[i + 1] = SECOND(b[i], b[i + 2]);
    c[i + 2] = FIRST(b[i + 1], b[i + 3]), c[i + 3] = SECOND(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    *(vector *)(to + i * rows) = LEFT(c[i], c[i + 4]);
    *(vector *)(to + (i + 4) * rows) = RIGHT(c[i], c[i + 4]);
  }
}
#else
static void square(const float *from, long columns, float *to, long rows) {
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      to[i * rows + j] = from[j * columns + i];
}
#endif

// Columns [first, last) of the rows, in whole squares but for the last of a side.
void turn(const float *from, float *to, long rows, long columns, long first, long last,
          long repeats) {
  for (; repeats > 0; --repeats)
    for (long c = first; c < last; c += 8)
      for (long r = 0; r < rows; r += 8)
        if (c + 8 <= last && r + 8 <= rows)
          square(from + r * columns + c, columns, to + c * rows + r, rows);
        else
          for (long i = c; i < c + 8 && i < last; ++i)
            for (long j = r; j < r + 8 && j < rows; ++j)
              to[i * rows + j] = from[j * columns + i];
}

// Powers of e of `count` numbers of L1 and their sum, as one pass over scores does.
float exponentials(float *x, long count, long repeats) {
  typedef int integers __attribute__((vector_size(WIDTH), aligned(4)));
  vector sum = {0};
  for (; repeats > 0; --repeats)
    for (long i = 0; i < count; i += lanes) {
      vector *at = (vector *)(x + i);
      const float round = 12582912.0f; // 1.5 * 2^23: what is added to it loses its fraction
      vector turns = *at * 1.44269504f + round;
      integers shifted = (integers)turns << 23;
      vector r = *at - (turns - round) * 0.693147181f;
      vector p = r * 0.00138889f + 0.00833333f;
      p = p * r + 0.0416667f;
      p = p * r + 0.166667f;
      p = p * r + 0.5f;
      p = p * r + 1.0f;
      p = p * r + 1.0f;
      vector power = (vector)((integers)p + shifted);
      sum += power;
      *at = power * 0.01f;
    }
  return sum[0];
}
