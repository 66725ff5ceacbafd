/* What the runtime's own files share. One file per concept:
 *   Model.c      open, weights, descriptions        Context.c  one run's memory and threads
 *   Run.c        one run from inputs to outputs     Tensor.c   DLPack checks, copies, packing
 *   Heap.c       blocks kept from run to run        ThreadPool.c
 *   Random.c     seeds and counts of draws          CallerStack.c  the caller's room for kernels
 *   Interpreter.c  kernels that are texts          Sort.c     for kernels
 *   SymmetricEigen.c, SingularValues.c  for kernels, with MatrixRows.h
 *   Machine.c    CPU features, core count, floating-point mode      Error.c
 * and for programs with kernels for devices, which alone are linked with them:
 *   DeviceModel.c  code and weights on a device    DeviceContext.c  memory, streams and times there
 *   DeviceRun.c    inputs, outputs, launches       Cuda.c, SimulatedDevice.c  drivers (Device.h)
 * There is no global state: every model.so in a process is independent, and dlclose leaves nothing.
 */
#ifndef TCC_RUNTIME_INTERNAL_H
#define TCC_RUNTIME_INTERNAL_H

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "Program.h"
#include "tcc/Runtime/tcc.h"

#define TCC_MAX_RANK 64

/* ---- Error.c ---- */

/* Fills `error` (which may be NULL) and returns `code`. */
tcc_status tcc_set_error(tcc_error *error, tcc_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A message in parts, cut short where the buffer ends. */
struct tcc_text {
  char *begin;
  size_t size, used;
};
void tcc_text_add(struct tcc_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- Machine.c ---- */

/* The first of the comma-separated LLVM feature names that this CPU lacks, copied to `missing`. */
bool tcc_cpu_has(const char *features, char *missing, size_t size);
/* Asks the system for the registers of the matrix unit, where the features name it: Linux gives
 * them to processes that do (arch_prctl). */
bool tcc_claim_matrix_unit(const char *features);
uint32_t tcc_usable_cores(void);
/* Default rounding and subnormal handling while a model runs, whatever the caller uses. */
uint64_t tcc_fp_enter(void);
void tcc_fp_leave(uint64_t saved);

/* ---- ThreadPool.c ---- */

struct tcc_job {
  tcc_kernel_fn kernel;
  int64_t *args;
  int64_t tasks;
  uint32_t chunks; /* below 2^20, at most `tasks`; their lengths differ by one task at most */
};

struct tcc_pool;
/* NULL only when there is no memory. Threads start with the first job. */
struct tcc_pool *tcc_pool_create(uint32_t threads);
void tcc_pool_destroy(struct tcc_pool *pool);
uint32_t tcc_pool_threads(const struct tcc_pool *pool);
void tcc_pool_run(struct tcc_pool *pool, const struct tcc_job *job);
/* The same on the caller's threads. */
void tcc_pool_run_foreign(const tcc_thread_pool *pool, const struct tcc_job *job);

/* ---- Heap.c ---- */

struct tcc_heap;
struct tcc_block;
struct tcc_heap *tcc_heap_create(const tcc_allocator *allocator);
/* Memory that the host cannot read. `gone` is called when the heap, and with it `user`, is needed
 * no longer. */
struct tcc_memory {
  void *(*alloc)(void *user, size_t size);
  void (*free)(void *user, void *pointer, size_t size);
  void (*gone)(void *user);
  void *user;
};
struct tcc_heap *tcc_heap_create_foreign(const struct tcc_memory *memory);
/* Frees all but the blocks that were handed out; those free themselves. */
void tcc_heap_release(struct tcc_heap *heap);
/* NULL when there is no memory or `bytes` is negative or absurd. Belongs to the current run. */
void *tcc_heap_alloc(struct tcc_heap *heap, int64_t bytes);
void tcc_heap_free(struct tcc_heap *heap, void *bytes);
/* The block leaves the run and lives until tcc_heap_return, from any thread. */
struct tcc_block *tcc_heap_hand_out(struct tcc_heap *heap, void *bytes);
void tcc_heap_return(struct tcc_block *block);
/* `stays`: no block is given up at the end of this run, and those that it takes not before the heap
 * is closed. */
void tcc_heap_begin_run(struct tcc_heap *heap, bool stays);
/* Takes back what the run left behind, and gives up blocks that no recent run needed. */
void tcc_heap_end_run(struct tcc_heap *heap);
void tcc_heap_usage(struct tcc_heap *heap, uint64_t *held, uint64_t *peak);
/* Memory outside the heap's accounting: arenas and objects. */
void *tcc_memory_alloc(const tcc_allocator *allocator, size_t size);
void tcc_memory_free(const tcc_allocator *allocator, void *pointer, size_t size);

/* ---- Tensor.c ---- */

/* Elements, or -1 when the shape is negative somewhere or its bytes do not fit. */
int64_t tcc_element_count(int32_t rank, const int64_t *dims, DLDataType dtype);
/* Bytes of a compact tensor, packed as DLPack has it. */
int64_t tcc_packed_bytes(int64_t elements, DLDataType dtype);
/* Bytes of a compact tensor as generated code sees it. */
int64_t tcc_plain_bytes(int64_t elements, DLDataType dtype);
bool tcc_is_compact(const DLTensor *tensor);
bool tcc_is_aligned(const DLTensor *tensor);
/* Between a DLPack tensor and its plain form. */
void tcc_load_plain(const DLTensor *from, int64_t elements, void *plain);
void tcc_store_plain(const void *plain, int64_t elements, const DLTensor *to);
void tcc_text_dtype(struct tcc_text *text, DLDataType dtype);
void tcc_text_expected(struct tcc_text *text, const struct tcc_io_desc *desc);
void tcc_text_given(struct tcc_text *text, DLDataType dtype, int32_t rank, const int64_t *dims);

/* ---- Random.c ---- */

/* The state of all generators; what the run under way draws counts only when it succeeds. */
struct tcc_random {
  uint64_t seed;
  int64_t *counts, *of_run; /* num_generators + 1 */
};
/* With a seed that nobody knows. False only when there is no memory. */
bool tcc_random_create(struct tcc_random *random);
void tcc_random_destroy(struct tcc_random *random);
void tcc_random_begin_run(struct tcc_random *random);
void tcc_random_keep_run(struct tcc_random *random);

/* ---- Model.c, Context.c, Run.c ---- */

struct tcc_model {
  _Atomic uint32_t references; /* the user's, and one per context */
  void *map;                   /* of the weights file */
  size_t map_size;
  int weights_file; /* open as long as it is mapped */
  struct timespec weights_changed;
  const char *weights;
  pthread_mutex_t lock; /* of `devices` */
  struct tcc_device_model *devices;
  int64_t *shapes;        /* of inputs, then outputs, as tcc_tensor_info has them */
  const char **dim_names; /* likewise */
  struct tcc_interpreter_state *interpreter;
};
void tcc_model_release(struct tcc_model *model);
/* TCC_IO_ERROR when the weights file has changed since it was opened, as far as its size and time
 * of change tell. */
tcc_status tcc_model_check_weights(const struct tcc_model *model, tcc_error *error);

/* A tensor that is handed out: its block, which holds the data behind it, or that of the data on a
 * device. */
struct tcc_output {
  DLManagedTensor managed;
  struct tcc_block *head, *data;
};
struct tcc_output_slot {
  void *plain; /* what is written by the host function or kernels; NULL until it asks */
  DLManagedTensor *managed; /* ours to hand out, or the caller's */
  bool own;
  bool convert; /* plain is not the tensor's own storage */
  int64_t elements;
};
/* A compact tensor of ours in a block of the run; `data` NULL: behind it. */
DLManagedTensor *tcc_new_output(struct tcc_frame *frame, const struct tcc_io_desc *desc,
                                int32_t rank, const int64_t *dims, int64_t count, void *data,
                                DLDevice device);
bool tcc_is_host_memory(DLDevice device);
bool tcc_needs_copy(const DLTensor *tensor);
/* Of a tensor of run-time shape; ends the run when they overflow. */
int64_t tcc_tensor_bytes(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                         const int64_t *dims);
/* Ends the run with what is in its error. */
void tcc_leave_run(struct tcc_context *context, tcc_status status) __attribute__((noreturn));

struct tcc_kernel_time {
  tcc_kernel_fn fn;
  uint32_t index;                      /* in tcc_program.kernels */
  _Atomic uint64_t calls, nanoseconds; /* may be read while a run adds to them */
};

/* The stack of the thread that was the last to run a context; `low` NULL: of none yet. */
struct tcc_stack {
  pthread_t thread;
  const char *low, *high;
};

struct tcc_context {
  struct tcc_model *model;
  struct tcc_device_context *device; /* NULL where the model runs on the CPU */
  tcc_allocator allocator;
  tcc_thread_pool foreign; /* .parallel NULL: use `pool` */
  struct tcc_pool *pool;
  struct tcc_heap *heap;
  char *arena, *state;
  atomic_bool busy;
  _Atomic uint64_t runs;
  struct tcc_random random;
  struct tcc_stack stack;

  /* of the current run */
  struct tcc_frame frame;
  struct tcc_rt_tensor *inputs; /* num_inputs */
  int32_t *ranks;               /* num_inputs */
  int64_t *symbols;             /* num_symbols */
  uint32_t *symbol_inputs;      /* which input bound the symbol */
  struct tcc_output_slot *outputs;
  DLManagedTensor **caller_outputs;
  tcc_error *error;
  tcc_status status;
  jmp_buf failure;

  struct tcc_kernel_time *kernels; /* sorted by fn; NULL without profile */
};

/* ---- CallerStack.c ---- */

enum { TCC_STACK_BYTES = 4 << 20 }; /* of threads that kernels run on */

/* Calls `run`: here where the stack has room for kernels, else on a thread with a stack that has.
 */
tcc_status tcc_run_with_room(struct tcc_context *context,
                             tcc_status (*run)(struct tcc_context *context));

/* ---- Device*.c: what a program with kernels for devices needs besides ---- */

struct tcc_device_runtime {
  tcc_status (*open)(struct tcc_context *context, const tcc_context_options *options,
                     tcc_error *error);
  void (*close)(struct tcc_context *context); /* before the host's heap goes */
  void (*release_model)(struct tcc_model *model);
  /* Whether tensors there are in the context's own memory. */
  bool (*owns)(const struct tcc_context *context, DLDevice device);
  tcc_status (*begin_run)(struct tcc_context *context, const tcc_run_options *options,
                          tcc_error *error);
  /* Of a tensor that was checked: gives the input its place on the device (TCC_IO_DEVICE) or, of a
   * tensor on the device, on the host. */
  tcc_status (*bind_input)(struct tcc_context *context, uint32_t index, const DLTensor *tensor,
                           int64_t elements, tcc_error *error);
  /* Fills the slot of an output with TCC_IO_DEVICE. */
  void (*output)(struct tcc_frame *frame, uint32_t index, int32_t rank, const int64_t *dims);
  /* Brings changed inputs and outputs to where the caller wants them. */
  tcc_status (*finish)(struct tcc_context *context, const DLTensor *const *inputs,
                       tcc_error *error);
  struct tcc_block *(*hand_out)(struct tcc_context *context, void *data);
  /* A compact copy of a tensor that was checked, in a block of the run; it is made. */
  tcc_status (*place)(struct tcc_context *context, const DLTensor *tensor, int64_t elements,
                      DLDevice *place, void **data, tcc_error *error);
  /* Waits for what runs have queued, and says what failed. */
  tcc_status (*synchronize)(struct tcc_context *context, tcc_error *error);
  /* In any case; `failed`: what the device still does must not touch memory that is given up. */
  void (*end_run)(struct tcc_context *context, bool failed);
  void (*get_stats)(const struct tcc_context *context, tcc_context_stats *stats);
  bool (*kernel)(const struct tcc_context *context, uint32_t index, tcc_kernel_info *info);
};
extern const struct tcc_device_runtime tcc_device_runtime __attribute__((visibility("hidden")));

/* Around a launch of `fn`: with a profile, its time is added. */
uint64_t tcc_profile_begin(const struct tcc_context *context);
void tcc_profile_end(struct tcc_context *context, tcc_kernel_fn fn, uint64_t begin);

#endif
