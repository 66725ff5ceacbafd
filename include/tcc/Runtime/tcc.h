/* The C interface of every compiled model.
 *
 * A model.so needs nothing but libc and libm. Each one carries its own copy of the runtime and
 * exports exactly the functions below, so a program that uses one model may link to it, and a
 * program that uses several opens each with dlopen(path, RTLD_NOW | RTLD_LOCAL) and asks it for
 * `tcc_get_api`, which hands out the same functions as a table. model_file.h finds a file that is
 * damaged before dlopen runs it.
 *
 *   tcc_model_open -> tcc_context_create -> tcc_run ... -> tcc_context_destroy -> tcc_model_close
 *
 * Threads: a model may be used by any number of threads at once. A context holds the memory and
 * the thread pool of one run; concurrent runs need one context each, and a second run on a busy
 * context is refused with TCC_BUSY. The thread that calls takes part in the work; where it has less
 * than 1 MB of stack left, a thread of the run's own does instead, which is begun for it.
 *
 * Errors: every function that can fail returns a tcc_status and fills *error when it is not NULL.
 * Nothing here aborts, prints or exits. A failed call leaves its objects usable.
 *
 * Tensors are DLPack, any strides. Types below 8 bits are packed as DLPack says: first element in
 * the low bits. A model for CPUs takes tensors in the host's memory; one for GPUs (--arch) those in
 * the memory of its context's device as well, which it reads and writes where they are: kDLCUDA.
 *
 * Compatibility: a structure only ever grows at its end, and the caller says which one it knows by
 * `struct_size`; fields that are absent have the value 0. The version changes only when that is not
 * enough.
 */
#ifndef TCC_RUNTIME_TCC_H
#define TCC_RUNTIME_TCC_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCC_ABI_VERSION 1u

#if defined(__GNUC__)
#define TCC_API __attribute__((visibility("default")))
#else
#define TCC_API
#endif

typedef int32_t tcc_status;
enum {
  TCC_OK = 0,
  TCC_INVALID_ARGUMENT = 1, /* an argument or a tensor is not what the model takes */
  TCC_OUT_OF_MEMORY = 2,
  TCC_IO_ERROR = 3,     /* the weights file is missing, unreadable or not this model's */
  TCC_BUSY = 4,         /* another thread runs this context */
  TCC_INCOMPATIBLE = 5, /* this machine or this interface version cannot run the model */
  TCC_MODEL_ERROR = 6,  /* the model itself refused the values, e.g. an index out of range */
  TCC_INTERNAL = 7      /* a fault of the compiler or the runtime */
};

typedef struct tcc_error {
  tcc_status code;
  char message[1020]; /* UTF-8, always terminated, one line */
} tcc_error;

typedef struct tcc_model tcc_model;
typedef struct tcc_context tcc_context;

/* Memory of the caller. `alloc` returns NULL when there is none; `alignment` is a power of two, 64
 * or more. `free` gets the size that was asked for. Calls for one context come one at a time, while
 * the caller runs, creates or destroys it; the deleter of an output calls `free` from wherever it
 * is called, possibly after the context is gone. */
typedef struct tcc_allocator {
  void *(*alloc)(void *user, size_t size, size_t alignment);
  void (*free)(void *user, void *pointer, size_t size);
  void *user;
} tcc_allocator;

/* Threads of the caller. `parallel` calls task(argument, i) once for every i in [0, count), on any
 * threads, the calling one included, and returns when all of them have returned. It may run them
 * one after the other. `concurrency` is how many can run at once. */
typedef struct tcc_thread_pool {
  void (*parallel)(void *user, void (*task)(void *argument, size_t index), void *argument,
                   size_t count);
  void *user;
  uint32_t concurrency;
} tcc_thread_pool;

/* Memory of the caller on a device, aligned to 256 bytes. `stream` is that of the run: what is
 * freed may still be read by what was started in it before. NULL when there is no memory. Called as
 * tcc_allocator's functions are. The weights, which contexts share, are not taken from it. */
typedef struct tcc_device_allocator {
  void *(*alloc)(void *user, size_t size, void *stream);
  void (*free)(void *user, void *pointer, size_t size, void *stream);
  void *user;
} tcc_device_allocator;

typedef struct tcc_model_options {
  size_t struct_size;       /* sizeof(tcc_model_options) */
  const char *weights_path; /* other weights of the same layout; NULL: the file beside the model */
} tcc_model_options;

enum {
  TCC_PROFILE_KERNELS = 1u, /* time every kernel, see tcc_context_kernel */
  TCC_PROFILE_DEVICE = 2u,  /* time what a run takes on its device, see tcc_context_stats */
  TCC_PROFILE_RANGES = 4u   /* a range of NVTX around every launch, for NVIDIA's profilers */
};

typedef struct tcc_context_options {
  size_t struct_size;          /* sizeof(tcc_context_options) */
  uint32_t threads;            /* 0: as many as this process may use; 1: no thread is started */
  uint32_t profile;            /* TCC_PROFILE_* */
  tcc_allocator allocator;     /* .alloc NULL: malloc */
  tcc_thread_pool thread_pool; /* .parallel NULL: the runtime's own */
  /* Where the model runs. .device_type 0: where its code is for, there on device 0. */
  DLDevice device;
  tcc_device_allocator device_allocator; /* .alloc NULL: the driver's */
} tcc_context_options;

enum {
  TCC_TENSOR_MUTATED = 1u /* an input that the model writes back into the caller's tensor */
};

/* One input or output. A dimension is its size, or -1 where it changes from run to run; then
 * `symbols[d]` is its name, or "" when it has none. Two dimensions of one name are equal. */
typedef struct tcc_tensor_info {
  size_t struct_size; /* in: sizeof(tcc_tensor_info) */
  const char *name;
  DLDataType dtype;
  int32_t ndim; /* -1: any rank */
  uint32_t flags;
  const int64_t *shape;
  const char *const *symbols;
} tcc_tensor_info;

typedef struct tcc_context_stats {
  size_t struct_size;    /* in: sizeof(tcc_context_stats) */
  uint64_t runs;         /* that succeeded */
  uint64_t static_bytes; /* the arena planned by the compiler, and the model's state */
  uint64_t peak_bytes;   /* most ever held at once: static, dynamic, copies and own outputs */
  uint64_t held_bytes;   /* held now, blocks kept for the next run included */
  uint32_t threads;      /* that take part in a run */
  DLDevice device;       /* where the model runs; of its memory, if it is not the CPU: */
  uint64_t device_static_bytes; /* arena, state and weights; the weights are shared by contexts */
  uint64_t device_peak_bytes;   /* as peak_bytes */
  uint64_t device_held_bytes;
  uint64_t device_nanoseconds; /* that the last run took there, with TCC_PROFILE_DEVICE */
} tcc_context_stats;

typedef struct tcc_kernel_info {
  size_t struct_size; /* in: sizeof(tcc_kernel_info) */
  const char *name;   /* as in the manifest, which maps it to source nodes */
  uint64_t calls;     /* since the context was created */
  uint64_t nanoseconds;
  const char *sources; /* the nodes of the input model that it computes, with ", " between */
} tcc_kernel_info;

enum {
  TCC_RUN_ON_STREAM = 1u,        /* in `stream`, else in one of the context's */
  TCC_RUN_OUTPUTS_ON_DEVICE = 2u /* new outputs lie in the device's memory, else in the host's */
};

typedef struct tcc_run_options {
  size_t struct_size; /* sizeof(tcc_run_options) */
  uint32_t flags;     /* TCC_RUN_* */
  void *stream;       /* a CUstream of the context's device; NULL is CUDA's default stream */
} tcc_run_options;

TCC_API uint32_t tcc_abi_version(void);

/* Maps the weights and checks that this machine can run the model. `options` may be NULL.
 *
 * A weights file beside the model must be the one that was compiled with it: its size, its layout
 * and a hash of samples of its content are held against the model, else TCC_IO_ERROR. Weights can
 * be replaced without compiling, but by name: the file at `weights_path` must have the size and
 * the layout, and its content is its owner's. The file stays mapped and open. Rename a new one over
 * it to replace it, which models that are open do not notice; one that is written over or cut
 * short in place is TCC_IO_ERROR at the next run, but SIGBUS or other results in a run under way.
 */
TCC_API tcc_status tcc_model_open(const tcc_model_options *options, tcc_model **model,
                                  tcc_error *error);
/* Contexts that still live keep what they need. NULL is allowed. */
TCC_API void tcc_model_close(tcc_model *model);

/* The manifest (JSON, see docs/manifest.schema.json), terminated; *size is its length. */
TCC_API const char *tcc_model_manifest(const tcc_model *model, size_t *size);
TCC_API uint32_t tcc_model_num_inputs(const tcc_model *model);
TCC_API uint32_t tcc_model_num_outputs(const tcc_model *model);
TCC_API tcc_status tcc_model_input(const tcc_model *model, uint32_t index, tcc_tensor_info *info);
TCC_API tcc_status tcc_model_output(const tcc_model *model, uint32_t index, tcc_tensor_info *info);

TCC_API tcc_status tcc_context_create(tcc_model *model, const tcc_context_options *options,
                                      tcc_context **context, tcc_error *error);
/* Joins the threads and frees the memory; outputs handed out stay valid. NULL is allowed. No run
 * of this context may be under way, as with free: runs of others, and their models, are safe. */
TCC_API void tcc_context_destroy(tcc_context *context);
TCC_API tcc_status tcc_context_get_stats(const tcc_context *context, tcc_context_stats *stats);
/* Random operators draw other numbers in every run: they go on from one run of a context to the
 * next, and a new context starts with a seed that nobody knows. This starts the sequence of `seed`,
 * the same on every machine and for any number of threads, and starts those anew that nodes have of
 * their own seeds. TCC_BUSY while a run is under way. */
TCC_API tcc_status tcc_context_set_seed(tcc_context *context, uint64_t seed);
/* The i-th kernel's time in a context with `profile`; TCC_INVALID_ARGUMENT past the last one. */
TCC_API tcc_status tcc_context_kernel(const tcc_context *context, uint32_t index,
                                      tcc_kernel_info *info);

/* A compact copy of `tensor` in the memory of the context's device, for inputs that many runs have
 * in common and whose user has no other way there. It ends as outputs do. Types below 8 bits have
 * no form there. */
TCC_API tcc_status tcc_context_place(tcc_context *context, const DLTensor *tensor,
                                     DLManagedTensor **placed, tcc_error *error);

/* One run. `inputs` are borrowed until it returns. `outputs[i]` is either NULL, and becomes a new
 * tensor that the caller ends with outputs[i]->deleter(outputs[i]), or a tensor of the caller,
 * which must have the right type and shape, must overlap no input, and is written in place. On
 * failure no new tensor is handed out, and the content of the caller's ones is unspecified. The
 * deleter lives in the model's library: call it before dlclose. */
TCC_API tcc_status tcc_run(tcc_context *context, const DLTensor *const *inputs, uint32_t num_inputs,
                           DLManagedTensor **outputs, uint32_t num_outputs, tcc_error *error);

/* The same for models on a GPU. `options` may be NULL: then tensors on the device are ready, and
 * the context's own stream is used. With TCC_RUN_ON_STREAM, where all inputs and
 * outputs lie in the device's memory, it returns when the work is queued: what comes later in the
 * stream finds the outputs, inputs must stay until then, and failures are reported later: those of
 * the device, and that the model refuses the values, as an index out of range. The next call that
 * finds one reports it and does nothing else: tcc_run_on, tcc_context_place, or
 * tcc_context_synchronize, which waits and so finds all. The failed run's outputs and what it
 * changed are unspecified. All other runs are done when this returns, and report what is wrong
 * themselves. Runs of one context come one after the other on the device too, whatever their
 * streams. An output may be ended when what reads it was queued in the stream of its run.
 *
 * A run in a stream that is captured in a CUDA graph becomes part of the graph, if the host need
 * not wait in it. Replays report nothing; the caller sees to it that they and other runs of the
 * context come one after the other, keeps what the run was given and made, and replays no more
 * once the context is destroyed. */
TCC_API tcc_status tcc_run_on(tcc_context *context, const tcc_run_options *options,
                              const DLTensor *const *inputs, uint32_t num_inputs,
                              DLManagedTensor **outputs, uint32_t num_outputs, tcc_error *error);

/* Waits for the runs of this context that were queued and reports the first one that failed since a
 * call last said so; all others are forgotten then. */
TCC_API tcc_status tcc_context_synchronize(tcc_context *context, tcc_error *error);

/* All of the above for users of dlopen. A library of an older compiler may have a shorter table:
 * what lies beyond its `struct_size` is not there. */
typedef struct tcc_api {
  size_t struct_size;
  uint32_t abi_version;
  tcc_status (*model_open)(const tcc_model_options *, tcc_model **, tcc_error *);
  void (*model_close)(tcc_model *);
  const char *(*model_manifest)(const tcc_model *, size_t *);
  uint32_t (*model_num_inputs)(const tcc_model *);
  uint32_t (*model_num_outputs)(const tcc_model *);
  tcc_status (*model_input)(const tcc_model *, uint32_t, tcc_tensor_info *);
  tcc_status (*model_output)(const tcc_model *, uint32_t, tcc_tensor_info *);
  tcc_status (*context_create)(tcc_model *, const tcc_context_options *, tcc_context **,
                               tcc_error *);
  void (*context_destroy)(tcc_context *);
  tcc_status (*context_get_stats)(const tcc_context *, tcc_context_stats *);
  tcc_status (*context_kernel)(const tcc_context *, uint32_t, tcc_kernel_info *);
  tcc_status (*run)(tcc_context *, const DLTensor *const *, uint32_t, DLManagedTensor **, uint32_t,
                    tcc_error *);
  tcc_status (*context_set_seed)(tcc_context *, uint64_t);
  tcc_status (*run_on)(tcc_context *, const tcc_run_options *, const DLTensor *const *, uint32_t,
                       DLManagedTensor **, uint32_t, tcc_error *);
  tcc_status (*context_place)(tcc_context *, const DLTensor *, DLManagedTensor **, tcc_error *);
  tcc_status (*context_synchronize)(tcc_context *, tcc_error *);
} tcc_api;

/* NULL when the model does not speak `abi_version` (pass TCC_ABI_VERSION). */
TCC_API const tcc_api *tcc_get_api(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
#endif
