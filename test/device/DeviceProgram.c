/* A program with kernels for a device as the compiler would generate it, by hand:
 *
 *   inputs   x: uint8[N]    step: int64[], read by the host    acc: uint8[N], written back
 *            nibbles: int4[K]
 *   outputs  y: uint8[N] = x + step + w[1]    runs: uint8[4] = how often this context ran, from
 * w[0] more: int4[K] = nibbles + 1 and acc += step. A step below 0 is an error; one above 99 takes
 * more memory than there is; one of 42 is what a kernel's check refuses, and one of 43, in a run in
 * which the host reads nothing of the device.
 *
 * Its one kernel, "k", adds its third word to as many bytes at its first as the second says.
 */
#include "Device.h"
#include "Program.h"

#include "Internal.h"

enum { K, THREADS = 32 };

static void add(struct tcc_frame *frame, const void *memory, int64_t bytes, int64_t number) {
  uint64_t words[] = {(uint64_t)(uintptr_t)memory, (uint64_t)bytes, (uint64_t)number};
  int64_t blocks = (bytes + THREADS - 1) / THREADS;
  /* Two architectures, the second with a tensor map of 64 x 128 elements. */
  int64_t geometry[] = {blocks, 0, blocks, 0, 64, 128};
  tcc_rt_launch(frame, K, words, 3, geometry);
}

static int32_t entry(struct tcc_frame *frame) {
  const struct tcc_rt_tensor *in = frame->inputs;
  int64_t n = frame->symbols[0], k = frame->symbols[1], step = *(const int64_t *)in[1].data;
  uint8_t weight = 10;
  if (step < 0)
    tcc_rt_fail(frame, TCC_MODEL_ERROR, "the step is negative");
  if (step != 43)
    tcc_rt_copy(frame, &weight, frame->device_weights + 1, 1, TCC_COPY_OUT);

  /* From "not yet" to true or false. */
  void *refused = tcc_rt_flag(frame, 7, 1, "node 'steps': the step is 42");
  add(frame, refused, 1, step == 42 || step == 43 ? -1 : -2);

  char *block = tcc_rt_device_alloc_tensor(frame, 1, 1, &n);
  tcc_rt_copy(frame, block, in[0].data, n, TCC_COPY_DEVICE);
  add(frame, block, n, step);
  char *y = tcc_rt_output(frame, 0, &n);
  tcc_rt_copy(frame, y, block, n, TCC_COPY_DEVICE);
  tcc_rt_device_free(frame, block);
  add(frame, y, n, weight);
  if (step > 99)
    tcc_rt_device_alloc(frame, (int64_t)1 << 42);

  add(frame, frame->device_state, 1, 1);
  char *runs = tcc_rt_output(frame, 1, (int64_t[]){4});
  tcc_rt_copy(frame, runs, frame->device_state, 4, TCC_COPY_DEVICE);

  char *more = tcc_rt_output(frame, 2, &k);
  tcc_rt_copy(frame, frame->device_arena, in[3].data, k, TCC_COPY_DEVICE);
  add(frame, frame->device_arena, k, 1);
  tcc_rt_copy(frame, more, frame->device_arena, k, TCC_COPY_DEVICE);
  add(frame, in[2].data, n, step);
  return 0;
}

static const int64_t n_dims[] = {-1}, k_dims[] = {-2}, four[] = {4};
static const struct tcc_io_desc inputs[] = {
    {"x", {kDLUInt, 8, 1}, 1, TCC_IO_DEVICE, 0, n_dims},
    {"step", {kDLInt, 64, 1}, 0, 0, 0, 0},
    {"acc", {kDLUInt, 8, 1}, 1, TCC_IO_DEVICE | TCC_IO_MUTATED, 0, n_dims},
    {"nibbles", {kDLInt, 4, 1}, 1, TCC_IO_DEVICE, 0, k_dims},
};
static const struct tcc_io_desc outputs[] = {
    {"y", {kDLUInt, 8, 1}, 1, TCC_IO_DEVICE, 0, n_dims},
    {"runs", {kDLUInt, 8, 1}, 1, TCC_IO_DEVICE, 0, four},
    {"more", {kDLInt, 4, 1}, 1, TCC_IO_DEVICE, 0, k_dims},
};
static const struct tcc_symbol_desc symbols[] = {{"N", 0, 1 << 20}, {"K", 0, 1000}};
static const struct tcc_state_init state_inits[] = {{0, 0, 1}};
static const unsigned char weights[64] __attribute__((aligned(64))) = {3, 10};
static const char manifest[] = "{}";

#ifdef TCC_TEST_SIMULATED
#include "Simulated.h"
static void k(const uint64_t *words) {
  uint64_t i = (uint64_t)tcc_sim_block() * THREADS + tcc_sim_thread();
  /* All lanes of the warp tell each other what to add, and meet. */
  uint32_t number = tcc_sim_exchange((uint32_t)words[2], 5);
  tcc_sim_barrier();
  if (i < words[1])
    ((unsigned char *)(uintptr_t)words[0])[i] += (unsigned char)number;
}
static const struct tcc_device_arch archs[] = {{"sm_70", 70, 0}, {"sim", 0, TCC_ARCH_SIMULATED}};
static const struct tcc_device_image images[] = {
    {0}, {.code = (const void *)k, .threads = THREADS, .flags = TCC_IMAGE_MEETS}};
#define DRIVER tcc_simulated
#else
struct tcc_device_arch tcc_test_archs[] = {{"sm_70", 70, 0}, {"sm_90a", 90, TCC_ARCH_SPECIFIC}};
static const struct tcc_tensor_map_desc maps[] = {{0, 2, 2, 128, {64, 64}, {1, 1}, {0}}};
struct tcc_device_image tcc_test_images[] = {
    {.code = "cubin of sm_70", .ptx = "cubin after all", .threads = THREADS},
    {.code = "cubin of sm_90a", .threads = THREADS, .num_maps = 1, .maps = maps}};
#define archs tcc_test_archs
#define images tcc_test_images
#define DRIVER tcc_cuda
#endif
static const struct tcc_device_kernel_desc kernels[] = {{"k", "add_1, add_2", images}};

const struct tcc_program tcc_program = {
    .abi_version = TCC_PROGRAM_ABI,
    .num_inputs = 4,
    .num_outputs = 3,
    .num_symbols = 2,
    .num_state_inits = 1,
    .inputs = inputs,
    .outputs = outputs,
    .symbols = symbols,
    .state_inits = state_inits,
    .manifest = manifest,
    .manifest_size = sizeof manifest - 1,
    .cpu_features = "",
    .embedded_weights = (const char *)weights,
    .weights_size = sizeof weights,
    .entry = entry,
    .num_device_archs = 2,
    .num_device_kernels = 1,
    .device_archs = archs,
    .device_kernels = kernels,
    .device_driver = &DRIVER,
    .device_runtime = &tcc_device_runtime,
    .device_arena_size = 1024,
    .device_state_size = 64,
};
