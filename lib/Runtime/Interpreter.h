/* Kernels that are not machine code but their own text, for tcc's reference interpreter.
 *
 * The interpreter is a library of its own, libtcc-interpreter.so, since it needs the compiler's
 * libraries: a model that was compiled with `--backend reference` opens it as one for a GPU opens
 * the driver of the GPU. Only such a model refers to `tcc_interpreter`.
 */
#ifndef TCC_RUNTIME_INTERPRETER_H
#define TCC_RUNTIME_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

/* What tcc_kernel_desc.fn of such a kernel points to. */
struct tcc_kernel_text {
  uint64_t size;
  char text[];
};

/* What libtcc-interpreter.so exports, by the function below. Calls that fail give NULL or a
 * tcc_status and write one line to `message`. */
#define TCC_INTERPRETER_ABI 1u
struct tcc_interpreted_model;
struct tcc_interpreter_api {
  uint32_t abi_version;
  struct tcc_interpreted_model *(*open)(const struct tcc_kernel_text *const *kernels,
                                        uint32_t count, char *message, size_t size);
  void (*close)(struct tcc_interpreted_model *model);
  /* `words` are those of a kernel for a CPU (Codegen/Cpu/KernelCodegen.h). May be called by several
   * threads at once. */
  int32_t (*run)(struct tcc_interpreted_model *model, uint32_t kernel, const int64_t *words,
                 char *message, size_t size);
};
#define TCC_INTERPRETER_ENTRY "tcc_get_interpreter"
typedef const struct tcc_interpreter_api *(*tcc_get_interpreter_fn)(uint32_t abi_version);

#endif
