/* A program as the compiler would generate it, by hand, to test the runtime with:
 *
 *   inputs   x: float32[N, M] (N from 1 to 1000)   y: float32[N, 3]   nibbles: int4[K]
 *            command: int32[]   acc: float32[M], written back
 *   outputs  scaled: float32[N, M] = x * w[0]      rows: float32[N] = sum of x's row + sum of y's
 *            halves: int4[K] = nibbles / 2         count: int64[] = runs of this context so far
 *   and acc += the column sums of x.
 *
 * `command` selects a failure, see below. Weights are w: float32[4].
 */
#include "Program.h"

enum command {
  NORMAL,
  FAIL_IN_HOST,      /* tcc_rt_fail */
  FAIL_BY_CODE,      /* entry returns a code */
  FAIL_ALLOC,        /* more memory than there is */
  FAIL_OVERFLOW,     /* a size that overflowed */
  FORGET_OUTPUT,     /* the last output is not computed */
  FAIL_AFTER_ALLOCS, /* with blocks and outputs alive */
  SLOW,              /* takes a while on all threads */
  FAIL_SHAPE,        /* a shape that overflowed */
  DRAW,              /* count is seed + 100 * draws of generator 0 + 10000 * those of generator 1 */
  FAIL_AFTER_DRAW
};

static void scale(int64_t *args, int64_t begin, int64_t end) {
  const float *x = (const float *)args[0], *w = (const float *)args[2];
  float *out = (float *)args[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = x[i] * w[0];
}

static void sum_rows(int64_t *args, int64_t begin, int64_t end) {
  const float *x = (const float *)args[0], *y = (const float *)args[1];
  float *out = (float *)args[2];
  int64_t columns = args[3];
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += x[i * columns + j];
    for (int64_t j = 0; j < 3; ++j)
      sum += y[i * 3 + j];
    out[i] = sum;
  }
}

static void halve(int64_t *args, int64_t begin, int64_t end) {
  const int8_t *in = (const int8_t *)args[0];
  int8_t *out = (int8_t *)args[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = in[i] / 2;
}

static void spin(int64_t *args, int64_t begin, int64_t end) {
  volatile int64_t count = 0;
  for (int64_t i = begin * args[0]; i < end * args[0]; ++i)
    count = count + 1;
}

static int32_t fail(struct tcc_frame *frame, int32_t command) {
  switch (command) {
  case FAIL_IN_HOST:
    tcc_rt_fail(frame, 6, "node 'gather_1': index 7 is out of range\nfor 5 rows");
  case FAIL_BY_CODE:
    return 6;
  case FAIL_ALLOC:
    tcc_rt_alloc(frame, (int64_t)1 << 50);
    return 0;
  case FAIL_OVERFLOW:
    tcc_rt_alloc(frame, -4);
    return 0;
  case FAIL_SHAPE:
    tcc_rt_alloc_tensor(frame, 4, 3, (int64_t[]){1ll << 40, 7, 1ll << 40});
    return 0;
  case SLOW: {
    int64_t args[] = {2000000};
    tcc_rt_parallel(frame, spin, args, 64, 1);
    return 0;
  }
  }
  return 0;
}

static int32_t entry(struct tcc_frame *frame) {
  const struct tcc_rt_tensor *in = frame->inputs;
  int64_t rows = frame->symbols[0], columns = frame->symbols[1], count = frame->symbols[2];
  int32_t command = *(const int32_t *)in[3].data;
  int32_t code = fail(frame, command);
  if (code)
    return code;

  float *scaled = tcc_rt_output(frame, 0, in[0].dims);
  int64_t scale_args[] = {(int64_t)in[0].data, (int64_t)scaled, (int64_t)frame->weights};
  tcc_rt_parallel(frame, scale, scale_args, rows * columns, 16);

  float *sums = tcc_rt_alloc_tensor(frame, 4, 1, &rows);
  int64_t row_args[] = {(int64_t)in[0].data, (int64_t)in[1].data, (int64_t)sums, columns};
  tcc_rt_parallel(frame, sum_rows, row_args, rows, 2);
  float *rows_out = tcc_rt_output(frame, 1, (int64_t[]){rows});
  __builtin_memcpy(rows_out, sums, (uint64_t)rows * 4);
  if (command == FAIL_AFTER_ALLOCS)
    tcc_rt_fail(frame, 6, "late");
  tcc_rt_free(frame, sums);

  int8_t *halves = tcc_rt_output(frame, 2, &count);
  int64_t halve_args[] = {(int64_t)in[2].data, (int64_t)halves};
  tcc_rt_parallel(frame, halve, halve_args, count, 8);

  float *acc = in[4].data, *x = in[0].data, *scratch = (float *)(void *)frame->arena;
  for (int64_t j = 0; j < columns; ++j) {
    scratch[0] = 0;
    for (int64_t i = 0; i < rows; ++i)
      scratch[0] += x[i * columns + j];
    acc[j] += scratch[0];
  }
  int64_t *runs = (int64_t *)(void *)frame->state, drawn = 0;
  ++runs[0];
  if (command == DRAW || command == FAIL_AFTER_DRAW)
    drawn = tcc_rt_random_seed(frame) + 100 * tcc_rt_random_draw(frame, 0) +
            10000 * tcc_rt_random_draw(frame, 1);
  if (command == FAIL_AFTER_DRAW)
    tcc_rt_fail(frame, 6, "after a draw");
  if (command != FORGET_OUTPUT)
    *(int64_t *)tcc_rt_output(frame, 3, 0) = command == DRAW ? drawn : runs[0] + runs[1];
  return 0;
}

static const int64_t x_dims[] = {-1, -2}, y_dims[] = {-1, 3}, k_dims[] = {-3}, m_dims[] = {-2},
                     n_dims[] = {-1};
static const struct tcc_io_desc inputs[] = {
    {"x", {kDLFloat, 32, 1}, 2, 0, 0, x_dims},
    {"y", {kDLFloat, 32, 1}, 2, 0, 0, y_dims},
    {"nibbles", {kDLInt, 4, 1}, 1, 0, 0, k_dims},
    {"command", {kDLInt, 32, 1}, 0, 0, 0, 0},
    {"acc", {kDLFloat, 32, 1}, 1, TCC_IO_MUTATED, 0, m_dims},
};
static const struct tcc_io_desc outputs[] = {
    {"scaled", {kDLFloat, 32, 1}, 2, 0, 0, x_dims},
    {"rows", {kDLFloat, 32, 1}, 1, 0, 0, n_dims},
    {"halves", {kDLInt, 4, 1}, 1, 0, 0, k_dims},
    {"count", {kDLInt, 64, 1}, 0, 0, 0, 0},
};
static const struct tcc_symbol_desc symbols[] = {
    {"N", 1, 1000}, {"", 0, INT64_MAX}, {"K", 0, INT64_MAX}};
static const struct tcc_kernel_desc kernels[] = {{"scale", scale, "mul, add"},
                                                 {"sum_rows", sum_rows, "sum"},
                                                 {"halve", halve, ""},
                                                 {"spin", spin, ""}};
/* The second counter starts with the bits of w[2..3], which are zero. */
static const struct tcc_state_init state_inits[] = {{8, 8, 8}};
static const char manifest[] = "{\"tool\": \"test\"}";

#ifdef TCC_TEST_LINKED_WEIGHTS /* the linker's blob */
extern const char tcc_weights[] __attribute__((visibility("hidden")));
#define EMBEDDED tcc_weights
#elif defined(TCC_TEST_WEIGHTS_FILE)
#define EMBEDDED 0
#else
static const float own_weights[16] __attribute__((aligned(64))) = {2.5f};
#define EMBEDDED ((const char *)own_weights)
#endif
#ifndef TCC_TEST_CPU
#define TCC_TEST_CPU ""
#endif

const struct tcc_program tcc_program = {
    .abi_version = TCC_PROGRAM_ABI,
    .num_inputs = 5,
    .num_outputs = 4,
    .num_symbols = 3,
    .num_kernels = 4,
    .num_state_inits = 1,
    .inputs = inputs,
    .outputs = outputs,
    .symbols = symbols,
    .kernels = kernels,
    .state_inits = state_inits,
    .manifest = manifest,
    .manifest_size = sizeof manifest - 1,
    .cpu_features = TCC_TEST_CPU,
    .embedded_weights = EMBEDDED,
#ifdef TCC_TEST_WEIGHTS_FILE
    .weights_file = TCC_TEST_WEIGHTS_FILE,
    .weights_offset = 128,
    .weights_layout_hash = TCC_TEST_WEIGHTS_HASH,
    .weights_sample_hash = TCC_TEST_SAMPLE_HASH,
#endif
    .weights_size = 16,
    .arena_size = 4096,
    .state_size = 64,
    .num_generators = 1,
    .entry = entry,
};
