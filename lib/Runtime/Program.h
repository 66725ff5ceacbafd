/* The contract between generated code and the runtime; nothing here is visible to users.
 *
 * The compiler emits one object that defines `tcc_program`; it is linked with the runtime into
 * model.so. The generated host function `entry` runs on the calling thread, allocates what is not
 * in the static arena, and starts kernels with tcc_rt_parallel.
 *
 * What `entry` may rely on:
 *   - inputs have the described dtype, rank and static dims, equal symbols are equal and lie in
 *     their ranges; they are compact, row-major, aligned to their element size, never NULL;
 *   - types below 8 bits lie in memory one element a byte (signed ones sign-extended, others
 *     zero-extended), in inputs and outputs alike: the runtime unpacks and packs;
 *   - the arena and every block of tcc_rt_alloc and tcc_rt_output are aligned to 64 bytes. Blocks
 *     that are not freed when the run ends or fails are reclaimed.
 * tcc_rt_* are for the host function's thread only, outside of kernels.
 *
 * The compiler reads the layout of these structs here (lib/Emit/Program.cpp,
 * lib/Codegen/Host/RuntimeLayout.h); TCC_PROGRAM_ABI changes with it.
 */
#ifndef TCC_RUNTIME_PROGRAM_H
#define TCC_RUNTIME_PROGRAM_H

#include <stdint.h>

#include "tcc/Runtime/dlpack.h"

#define TCC_PROGRAM_ABI 7u
#define TCC_ALIGNMENT 64u

struct tcc_rt_tensor {
  void *data;
  const int64_t *dims;
};

/* One run, passed to the host function. */
struct tcc_frame {
  struct tcc_context *ctx;
  const struct tcc_rt_tensor *inputs;
  const char *weights;    /* the weight blob, or NULL when there is none */
  char *arena;            /* arena_size bytes, content undefined at entry */
  char *state;            /* state_size bytes, kept from run to run, see tcc_state_init */
  const int64_t *symbols; /* the size of each symbolic dim that an input carries, else -1 */
  const int32_t *ranks;   /* of the inputs, for those whose description leaves it open */
  /* The same in the device's memory, for programs with kernels for devices: addresses that the
   * host function computes with and hands on, and never reads. */
  char *device_weights, *device_arena, *device_state;
};

typedef void (*tcc_kernel_fn)(int64_t *args, int64_t begin, int64_t end);

enum {
  TCC_IO_MUTATED = 1u, /* the host function writes into this input */
  TCC_IO_DEVICE = 2u   /* it lies in the device's memory, aligned to TCC_ALIGNMENT */
};

struct tcc_io_desc {
  const char *name;
  DLDataType dtype; /* { u8 code, u8 bits, u16 lanes = 1 } */
  int32_t rank;     /* -1: any */
  uint32_t flags;
  uint32_t reserved;
  const int64_t *dims; /* >= 0: static; -1-k: symbol k; INT64_MIN: anything */
};

struct tcc_symbol_desc {
  const char *name; /* "" when it has none */
  int64_t min, max; /* inclusive; checked where an input carries the symbol */
};

/* A part of the state that starts as a copy of a part of the weights; the rest starts as zeros. */
struct tcc_state_init {
  uint64_t state_offset, weights_offset, size;
};

struct tcc_kernel_desc {
  const char *name;
  tcc_kernel_fn fn;    /* with an interpreter: a struct tcc_kernel_text (Interpreter.h) */
  const char *sources; /* nodes of the input model, as text */
};

/* ---- kernels for devices (lib/Codegen/Gpu says what a kernel's parameters are) ---- */

enum {
  TCC_ARCH_SPECIFIC = 1u, /* code is for this capability alone, PTX for no later one */
  TCC_ARCH_SIMULATED = 2u /* of SimulatedDevice.c: `code` is a tcc_simulated_fn */
};
struct tcc_device_arch {
  const char *name;    /* "sm_90a" */
  uint32_t capability; /* 10 * major + minor */
  uint32_t flags;
};

/* What a kernel copies of an image [images, height, width, channels] of 1 to 3 spatial axes: the
 * channels of `pixels` pixels, one for each place of a window, row after row and image after image
 * ("im2col"). Places are, along each spatial axis, low, low + step, ... before extent + high. */
struct tcc_tensor_window {
  uint32_t pixels; /* 0: boxes are copied */
  int32_t low[3], high[3];
};
/* A dense tensor that a kernel copies parts of. Extents are those of a launch. */
struct tcc_tensor_map_desc {
  uint32_t word; /* which word of the launch is its address */
  uint32_t rank; /* 2 to TCC_MAP_RANK */
  uint32_t element_bytes;
  uint32_t swizzle_bytes;    /* 0, 32, 64, 128 */
  uint32_t box[5], steps[5]; /* outermost axis first, as its extents; a window has channels only */
  struct tcc_tensor_window window;
};
#define TCC_MAP_RANK 5

enum {
  TCC_IMAGE_SCRATCH = 1u, /* one word more: the address of scratch memory, see tcc_rt_launch */
  TCC_IMAGE_MEETS = 2u,   /* simulated: threads of a block wait for each other */
  TCC_IMAGE_WAITS = 4u    /* it waits itself for the work before it in its stream */
};
/* A kernel for one architecture. */
struct tcc_device_image {
  const void *code; /* a cubin; NULL: the driver translates the PTX */
  uint64_t code_size;
  const char *ptx;       /* text, terminated; NULL: none is kept */
  uint32_t threads;      /* of a block */
  uint32_t shared_bytes; /* dynamic shared memory */
  uint32_t flags;
  /* Blocks of its clusters, where not all GPUs with clusters have room for them; else 0. The others
   * run the kernel whose name has TCC_NARROW behind it, in as many blocks. */
  uint32_t cluster, narrow_threads, narrow_shared_bytes;
  uint32_t num_maps; /* tensor maps, the parameters after the words */
  const struct tcc_tensor_map_desc *maps;
};
#define TCC_NARROW "_narrow"
typedef void (*tcc_simulated_fn)(const uint64_t *words);

struct tcc_device_kernel_desc {
  const char *name;                      /* of the kernel, in its code too */
  const char *sources;                   /* nodes of the input model, as text */
  const struct tcc_device_image *images; /* by architecture, as tcc_program.device_archs */
};

/* What runs kernels that are texts (Interpreter.c). */
struct tcc_model;
struct tcc_error;
struct tcc_interpreter {
  int32_t (*open)(struct tcc_model *model, struct tcc_error *error);
  void (*close)(struct tcc_model *model);
};
extern const struct tcc_interpreter tcc_interpreter __attribute__((visibility("hidden")));

struct tcc_program {
  uint32_t abi_version; /* TCC_PROGRAM_ABI */
  uint32_t num_inputs, num_outputs, num_symbols, num_kernels, num_state_inits;
  const struct tcc_io_desc *inputs, *outputs;
  const struct tcc_symbol_desc *symbols;
  const struct tcc_kernel_desc *kernels; /* for profiles and the interpreter; may be empty */
  const struct tcc_state_init *state_inits;
  const char *manifest; /* terminated */
  uint64_t manifest_size;
  const char *cpu_features;     /* LLVM names the code needs, "avx2,fma"; "" for the baseline */
  const char *embedded_weights; /* NULL when they lie in the file below */
  const char *weights_file;     /* base name, beside the .so (safetensors) */
  uint64_t weights_offset;      /* of the blob in the file, a multiple of 64 */
  uint64_t weights_size;        /* 0: the model has none */
  uint64_t weights_layout_hash; /* of the file's first weights_offset bytes; 0: unchecked */
  uint64_t weights_sample_hash; /* of samples of the rest (WeightFile.h); 0: unchecked */
  uint64_t arena_size, state_size;
  uint64_t num_generators;                   /* of random numbers, beside the context's own */
  int32_t (*entry)(struct tcc_frame *);      /* 0, or a tcc_status */
  const struct tcc_interpreter *interpreter; /* NULL: kernels are machine code */

  /* Programs with kernels for devices. In others all of it is zero, and nothing refers to the
   * device's half of the runtime. */
  uint32_t num_device_archs, num_device_kernels;
  const struct tcc_device_arch *device_archs;
  const struct tcc_device_kernel_desc *device_kernels;
  const struct tcc_device_driver *device_driver;   /* &tcc_cuda or &tcc_simulated */
  const struct tcc_device_runtime *device_runtime; /* &tcc_device_runtime */
  uint64_t device_arena_size, device_state_size;   /* state lies wholly there or on the host */
};

extern const struct tcc_program tcc_program __attribute__((visibility("hidden")));

/* Never NULL: a failure ends the run with TCC_OUT_OF_MEMORY. `bytes` < 0 counts as an overflow. */
void *tcc_rt_alloc(struct tcc_frame *frame, int64_t bytes);
/* The same for a tensor of run-time shape: a negative dim or a size that overflows, which values of
 * the input can cause, ends the run with TCC_MODEL_ERROR. */
void *tcc_rt_alloc_tensor(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                          const int64_t *dims);
void tcc_rt_free(struct tcc_frame *frame, void *block); /* NULL is allowed */

/* Storage of output `index`, once its shape is known; each output exactly once. */
void *tcc_rt_output(struct tcc_frame *frame, int32_t index, const int64_t *dims);
/* The same for an output of unknown rank. */
void *tcc_rt_output_ranked(struct tcc_frame *frame, int32_t index, int32_t rank,
                           const int64_t *dims);

/* Calls kernel(args, b, e) on disjoint ranges that cover [0, tasks), each at least `grain` tasks
 * long if there are as many, on several threads; returns when all are done. */
void tcc_rt_parallel(struct tcc_frame *frame, tcc_kernel_fn kernel, int64_t *args, int64_t tasks,
                     int64_t grain);

/* Copies `bytes` from one place on the host to another that does not overlap it: many on several
 * threads, since one alone seldom reaches what the memory gives. */
void tcc_rt_copy_host(struct tcc_frame *frame, void *to, const void *from, int64_t bytes);

/* Memory of the device, with the rules of tcc_rt_alloc. A block that is freed may be given out
 * again at once: what is launched later comes later. */
void *tcc_rt_device_alloc(struct tcc_frame *frame, int64_t bytes);
void *tcc_rt_device_alloc_tensor(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                                 const int64_t *dims);
void tcc_rt_device_free(struct tcc_frame *frame, void *block);

/* Copies between memories, in the order of launches. `how`: TCC_COPY_*. Host memory that is copied
 * from may change afterwards; to copy to the host waits until it is done. */
enum { TCC_COPY_IN, TCC_COPY_OUT, TCC_COPY_DEVICE };
void tcc_rt_copy(struct tcc_frame *frame, void *to, const void *from, int64_t bytes, int32_t how);

/* Starts device kernel `kernel` with `words`: addresses, extents and scalars. `geometry` says what
 * depends on the architecture, for each of tcc_program.device_archs in turn: the number of blocks
 * (0: nothing is to do), the bytes of scratch memory, and the extents of its tensor maps, each
 * outermost axis first. Scratch memory (TCC_IMAGE_SCRATCH) belongs to the launch while it runs. Its
 * first TCC_SCRATCH_COUNTERS bytes are zero when the kernel starts, and must be when it ends; they
 * count in its bytes. The rest is undefined. */
#define TCC_SCRATCH_COUNTERS 4096u
void tcc_rt_launch(struct tcc_frame *frame, uint32_t kernel, const uint64_t *words,
                   uint32_t num_words, const int64_t *geometry);

/* Has the interpreter do kernel `kernel` of tcc_program.kernels; returns when it is done. */
void tcc_rt_interpret(struct tcc_frame *frame, int64_t kernel, const int64_t *words);

/* Memory for one truth value (i1) of a launch of this run, which both sides may touch: where it
 * comes out as `bad`, the run, or a later one of its context, fails with `message`. Nobody waits
 * for it. Each `number` below TCC_RUN_FLAGS at most once a run. */
#define TCC_RUN_FLAGS 64u
void *tcc_rt_flag(struct tcc_frame *frame, uint32_t number, int32_t bad, const char *message);

/* Random numbers are a function of a seed, an offset and a position (Philox); what a context keeps
 * is its seed, and for each generator how often it was drawn from. Generator 0 is the context's,
 * 1 to num_generators those of nodes with a seed of their own. A failed run leaves the counts. */
int64_t tcc_rt_random_seed(struct tcc_frame *frame);
int64_t tcc_rt_random_draw(struct tcc_frame *frame, int64_t generator);

/* Ends the run with an error; does not return. `code` is a tcc_status. The message is copied. */
void tcc_rt_fail(struct tcc_frame *frame, int32_t code, const char *message)
    __attribute__((noreturn));

#endif
