/* Kernels run by the reference interpreter: its library is found and opened with the model. It is
 * named by $TCC_INTERPRETER, or lies beside the program or in the folder lib next to it, or where
 * the dynamic linker looks. It stays in the process: LLVM cannot be unloaded.
 */
#include "Interpreter.h"
#include "Internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libtcc-interpreter.so"

struct tcc_interpreter_state {
  const struct tcc_interpreter_api *api;
  struct tcc_interpreted_model *model;
};

/* Where a program is: the path there of `relative`, if there is such a file. */
static bool beside(const char *program, const char *relative, char *path, size_t size) {
  const char *slash = strrchr(program, '/');
  int folder = slash ? (int)(slash - program) : 0;
  int length = snprintf(path, size, "%.*s/%s", folder, program, relative);
  return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

static void *find_library(void) {
  char program[PATH_MAX] = "", path[PATH_MAX];
  const char *library = getenv("TCC_INTERPRETER");
  if (!library || !*library) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    bool found = beside(program, LIBRARY, path, sizeof path) ||
                 beside(program, "../lib/" LIBRARY, path, sizeof path);
    library = found ? path : LIBRARY;
  }
  return dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static tcc_status find_api(const struct tcc_interpreter_api **api, tcc_error *error) {
  void *library = find_library();
  if (!library)
    return tcc_set_error(error, TCC_INCOMPATIBLE,
                         "this model was compiled with --backend reference, and the interpreter "
                         "that runs it cannot be loaded: %s (name it by TCC_INTERPRETER)",
                         dlerror());
  void *found = dlsym(library, TCC_INTERPRETER_ENTRY);
  tcc_get_interpreter_fn get;
  memcpy(&get, &found, sizeof get);
  *api = get ? get(TCC_INTERPRETER_ABI) : NULL;
  dlclose(library);
  if (!*api)
    return tcc_set_error(error, TCC_INCOMPATIBLE,
                         "the interpreter that is installed is of another version of tcc than this "
                         "model");
  return TCC_OK;
}

static tcc_status open_interpreter(struct tcc_model *model, tcc_error *error) {
  const struct tcc_interpreter_api *api = NULL;
  tcc_status status = find_api(&api, error);
  if (status)
    return status;
  struct tcc_interpreter_state *state = calloc(1, sizeof *state);
  const struct tcc_kernel_text **texts = calloc(tcc_program.num_kernels + 1, sizeof *texts);
  if (!state || !texts) {
    free(state);
    free(texts);
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for the interpreter");
  }
  for (uint32_t i = 0; i < tcc_program.num_kernels; ++i)
    memcpy(&texts[i], &tcc_program.kernels[i].fn, sizeof(tcc_kernel_fn));
  char message[512] = "";
  state->api = api;
  state->model = api->open(texts, tcc_program.num_kernels, message, sizeof message);
  free(texts);
  if (!state->model) {
    free(state);
    return tcc_set_error(error, TCC_INCOMPATIBLE, "the interpreter does not take the model: %s",
                         message);
  }
  model->interpreter = state;
  return TCC_OK;
}

static void close_interpreter(struct tcc_model *model) {
  struct tcc_interpreter_state *state = model->interpreter;
  if (!state)
    return;
  state->api->close(state->model);
  free(state);
}

const struct tcc_interpreter tcc_interpreter = {open_interpreter, close_interpreter};

void tcc_rt_interpret(struct tcc_frame *frame, int64_t kernel, const int64_t *words) {
  struct tcc_context *context = frame->ctx;
  struct tcc_interpreter_state *state = context->model->interpreter;
  const struct tcc_kernel_desc *desc = &tcc_program.kernels[kernel];
  char message[512] = "";
  uint64_t begin = tcc_profile_begin(context);
  int32_t status = state->api->run(state->model, (uint32_t)kernel, words, message, sizeof message);
  tcc_profile_end(context, desc->fn, begin);
  if (!status)
    return;
  char text[700];
  snprintf(text, sizeof text, "kernel '%s': %s", desc->name, message);
  tcc_rt_fail(frame, status, text);
}
