/* Opening a model: the machine is checked, the weights are mapped (pages are read when a kernel
 * first touches them), and that is all, so that opening takes far less than 10 ms at any size.
 */
#include "Internal.h"
#include "WeightFile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The code generator writes these structures without seeing Program.h: a change of their layout is
 * a change of TCC_PROGRAM_ABI and of the generator. */
_Static_assert(sizeof(struct tcc_io_desc) == 32 && sizeof(struct tcc_symbol_desc) == 24 &&
                   sizeof(struct tcc_state_init) == 24 && sizeof(struct tcc_kernel_desc) == 24 &&
                   sizeof(struct tcc_rt_tensor) == 16 && sizeof(struct tcc_frame) == 80 &&
                   sizeof(struct tcc_program) == 232 &&
                   offsetof(struct tcc_program, manifest) == 64 &&
                   offsetof(struct tcc_program, entry) == 160,
               "Program.h has changed");

/* The weights file lies beside the library that holds `tcc_program`. */
static bool default_weights_path(char *path, size_t size) {
  Dl_info info;
  if (!dladdr(&tcc_program, &info) || !info.dli_fname)
    return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  int length = snprintf(path, size, "%.*s%s", folder, info.dli_fname, tcc_program.weights_file);
  return length > 0 && (size_t)length < size;
}

/* Bytes of the file as they are now. Through the mapping, those that are gone would be SIGBUS. */
static tcc_status read_weights(int file, void *bytes, uint64_t size, uint64_t offset,
                               const char *path, tcc_error *error) {
  while (size) {
    ssize_t count = pread(file, bytes, size, (off_t)offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return tcc_set_error(error, TCC_IO_ERROR, "weights file '%s': %s", path, strerror(errno));
    if (count == 0)
      return tcc_set_error(error, TCC_IO_ERROR,
                           "weights file '%s' became shorter while it was read", path);
    bytes = (char *)bytes + count;
    size -= (uint64_t)count;
    offset += (uint64_t)count;
  }
  return TCC_OK;
}

/* The head names every weight with dtype, shape and place: other weights must have an equal one. */
static tcc_status check_layout(int file, const char *path, tcc_error *error) {
  uint64_t size = tcc_program.weights_offset, hash;
  if (!tcc_program.weights_layout_hash)
    return TCC_OK;
  void *head = malloc(size + 1);
  if (!head)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to open the weights");
  tcc_status status = read_weights(file, head, size, 0, path, error);
  hash = status ? 0 : tcc_hash(TCC_HASH_BEGIN, head, size);
  free(head);
  if (!status && hash != tcc_program.weights_layout_hash)
    return tcc_set_error(error, TCC_IO_ERROR,
                         "weights file '%s' has another layout than this model's: it belongs to "
                         "another model or another build",
                         path);
  return status;
}

/* The file beside the model must be the one that was written with it: a build that was copied in
 * part, or weights of another training, would give other results without a word. Who wants other
 * weights names their file, which is then held to its layout alone. */
static tcc_status check_content(int file, const char *path, tcc_error *error) {
  if (!tcc_program.weights_sample_hash)
    return TCC_OK;
  unsigned char sample[TCC_SAMPLE_BYTES];
  uint64_t size = tcc_program.weights_size, hash = TCC_HASH_BEGIN;
  for (uint32_t i = 0; i < tcc_sample_count(size); ++i) {
    uint64_t bytes = tcc_sample_size(size, i),
             offset = tcc_program.weights_offset + tcc_sample_offset(size, i);
    tcc_status status = read_weights(file, sample, bytes, offset, path, error);
    if (status)
      return status;
    hash = tcc_hash(hash, sample, bytes);
  }
  if (hash == tcc_program.weights_sample_hash)
    return TCC_OK;
  return tcc_set_error(error, TCC_IO_ERROR,
                       "weights file '%s' is not the one that was compiled with this model: its "
                       "content differs. To run with other weights of the same layout, pass their "
                       "file as weights_path (tcc-run --weights)",
                       path);
}

static tcc_status check_weights(struct tcc_model *model, bool own, const char *path,
                                tcc_error *error) {
  uint64_t offset = tcc_program.weights_offset, size = tcc_program.weights_size;
  if (model->map_size < offset || model->map_size - offset < size)
    return tcc_set_error(error, TCC_IO_ERROR,
                         "weights file '%s' has %zu bytes, this model needs %" PRIu64
                         ": it is cut short "
                         "or belongs to another model",
                         path, model->map_size, offset + size);
  if (own && model->map_size - offset != size)
    return tcc_set_error(error, TCC_IO_ERROR,
                         "weights file '%s' has %zu bytes, that of this model has %" PRIu64, path,
                         model->map_size, offset + size);
  tcc_status status = check_layout(model->weights_file, path, error);
  return status || !own ? status : check_content(model->weights_file, path, error);
}

tcc_status tcc_model_check_weights(const struct tcc_model *model, tcc_error *error) {
  struct stat info;
  if (!model->map ||
      (fstat(model->weights_file, &info) == 0 && (size_t)info.st_size == model->map_size &&
       info.st_mtim.tv_sec == model->weights_changed.tv_sec &&
       info.st_mtim.tv_nsec == model->weights_changed.tv_nsec))
    return TCC_OK;
  return tcc_set_error(error, TCC_IO_ERROR,
                       "the weights file has changed since the model was opened: open it again; to "
                       "replace weights, rename a new file over the old one");
}

/* `own`: the file that lies beside the model. */
static tcc_status map_weights(struct tcc_model *model, bool own, const char *path,
                              tcc_error *error) {
  /* Opening a FIFO would wait for its writer. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return tcc_set_error(error, TCC_IO_ERROR, "weights file '%s': %s", path, strerror(errno));
  struct stat info;
  if (fstat(file, &info) || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    close(file);
    return tcc_set_error(error, TCC_IO_ERROR, "weights file '%s' is empty or not a file", path);
  }
  void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (map == MAP_FAILED) {
    int reason = errno;
    close(file);
    return tcc_set_error(error, TCC_IO_ERROR, "weights file '%s': %s", path, strerror(reason));
  }
  model->map = map;
  model->map_size = (size_t)info.st_size;
  model->weights_file = file;
  model->weights_changed = info.st_mtim;
  model->weights = (const char *)map + tcc_program.weights_offset;
  return check_weights(model, own, path, error);
}

static tcc_status open_weights(struct tcc_model *model, const char *given, tcc_error *error) {
  if (!tcc_program.weights_size)
    return TCC_OK;
  if (!given && tcc_program.embedded_weights) {
    model->weights = tcc_program.embedded_weights;
    return TCC_OK;
  }
  if (given && !tcc_program.weights_file)
    return tcc_set_error(
        error, TCC_INVALID_ARGUMENT,
        "weights_path is given, but this model carries its weights inside, as those up to 256 MB "
        "do: other weights mean another compile");
  if (given)
    return map_weights(model, false, given, error);
  char path[PATH_MAX];
  if (!default_weights_path(path, sizeof path))
    return tcc_set_error(error, TCC_IO_ERROR,
                         "the place of this library is unknown: pass weights_path");
  return map_weights(model, true, path, error);
}

static tcc_status check_machine(tcc_error *error) {
  char missing[64];
  if (tcc_program.abi_version != TCC_PROGRAM_ABI)
    return tcc_set_error(error, TCC_INTERNAL, "program version %u, runtime version %u",
                         tcc_program.abi_version, TCC_PROGRAM_ABI);
  if (!tcc_cpu_has(tcc_program.cpu_features, missing, sizeof missing))
    return tcc_set_error(error, TCC_INCOMPATIBLE,
                         "this model was compiled for CPUs with %s, which this one lacks: compile "
                         "it with a lower --cpu",
                         missing);
  if (!tcc_claim_matrix_unit(tcc_program.cpu_features))
    return tcc_set_error(error, TCC_INCOMPATIBLE,
                         "this model was compiled for CPUs with amx-tile, which the system does "
                         "not let this process use: compile it with a lower --cpu");
  return TCC_OK;
}

/* ---- descriptions ---- */

uint32_t tcc_abi_version(void) { return TCC_ABI_VERSION; }

const char *tcc_model_manifest(const tcc_model *model, size_t *size) {
  (void)model;
  if (size)
    *size = tcc_program.manifest_size;
  return tcc_program.manifest;
}

uint32_t tcc_model_num_inputs(const tcc_model *model) {
  (void)model;
  return tcc_program.num_inputs;
}

uint32_t tcc_model_num_outputs(const tcc_model *model) {
  (void)model;
  return tcc_program.num_outputs;
}

static const struct tcc_io_desc *io_at(uint32_t index) {
  return index < tcc_program.num_inputs ? &tcc_program.inputs[index]
                                        : &tcc_program.outputs[index - tcc_program.num_inputs];
}

/* The public form of all shapes: inputs, then outputs, one after the other. */
static bool translate_shapes(struct tcc_model *model) {
  size_t total = 0, at = 0;
  uint32_t count = tcc_program.num_inputs + tcc_program.num_outputs;
  for (uint32_t i = 0; i < count; ++i)
    total += io_at(i)->rank > 0 ? (size_t)io_at(i)->rank : 0;
  model->shapes = calloc(total + 1, sizeof *model->shapes);
  model->dim_names = calloc(total + 1, sizeof *model->dim_names);
  if (!model->shapes || !model->dim_names)
    return false;
  for (uint32_t i = 0; i < count; ++i)
    for (int32_t d = 0; d < io_at(i)->rank; ++d, ++at) {
      int64_t dim = io_at(i)->dims[d];
      bool named = dim < 0 && dim != INT64_MIN;
      model->shapes[at] = dim < 0 ? -1 : dim;
      model->dim_names[at] = named ? tcc_program.symbols[-1 - dim].name : "";
    }
  return true;
}

static tcc_status describe(const tcc_model *model, uint32_t index, tcc_tensor_info *info) {
  const struct tcc_io_desc *desc = io_at(index);
  size_t at = 0;
  for (uint32_t i = 0; i < index; ++i)
    at += io_at(i)->rank > 0 ? (size_t)io_at(i)->rank : 0;
  tcc_tensor_info full = {.struct_size = info->struct_size,
                          .name = desc->name,
                          .dtype = desc->dtype,
                          .ndim = desc->rank,
                          .flags = desc->flags & TCC_IO_MUTATED ? TCC_TENSOR_MUTATED : 0,
                          .shape = model->shapes + at,
                          .symbols = model->dim_names + at};
  memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
  return TCC_OK;
}

tcc_status tcc_model_input(const tcc_model *model, uint32_t index, tcc_tensor_info *info) {
  if (!model || !info || index >= tcc_program.num_inputs)
    return TCC_INVALID_ARGUMENT;
  return describe(model, index, info);
}

tcc_status tcc_model_output(const tcc_model *model, uint32_t index, tcc_tensor_info *info) {
  if (!model || !info || index >= tcc_program.num_outputs)
    return TCC_INVALID_ARGUMENT;
  return describe(model, tcc_program.num_inputs + index, info);
}

/* ---- life ---- */

tcc_status tcc_model_open(const tcc_model_options *options, tcc_model **result, tcc_error *error) {
  if (!result)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "tcc_model_open: model is NULL");
  *result = NULL;
  tcc_model_options known = {0};
  if (options) {
    size_t size = options->struct_size < sizeof known ? options->struct_size : sizeof known;
    memcpy(&known, options, size);
  }
  tcc_status status = check_machine(error);
  if (status)
    return status;
  struct tcc_model *model = calloc(1, sizeof *model);
  if (!model)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to open the model");
  if (pthread_mutex_init(&model->lock, NULL)) {
    free(model);
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to open the model");
  }
  atomic_init(&model->references, 1);
  if (translate_shapes(model))
    status = open_weights(model, known.weights_path, error);
  else
    status = tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to open the model");
  if (!status && tcc_program.interpreter)
    status = tcc_program.interpreter->open(model, error);
  if (status) {
    tcc_model_release(model);
    return status;
  }
  *result = model;
  return TCC_OK;
}

void tcc_model_release(struct tcc_model *model) {
  if (atomic_fetch_sub(&model->references, 1) != 1)
    return;
  if (tcc_program.interpreter)
    tcc_program.interpreter->close(model);
  if (model->devices)
    tcc_program.device_runtime->release_model(model);
  pthread_mutex_destroy(&model->lock);
  if (model->map) {
    munmap(model->map, model->map_size);
    close(model->weights_file);
  }
  free(model->shapes);
  free(model->dim_names);
  free(model);
}

void tcc_model_close(tcc_model *model) {
  if (model)
    tcc_model_release(model);
}

const tcc_api *tcc_get_api(uint32_t abi_version) {
  static const tcc_api api = {sizeof(tcc_api),       TCC_ABI_VERSION,
                              tcc_model_open,        tcc_model_close,
                              tcc_model_manifest,    tcc_model_num_inputs,
                              tcc_model_num_outputs, tcc_model_input,
                              tcc_model_output,      tcc_context_create,
                              tcc_context_destroy,   tcc_context_get_stats,
                              tcc_context_kernel,    tcc_run,
                              tcc_context_set_seed,  tcc_run_on,
                              tcc_context_place,     tcc_context_synchronize};
  return abi_version == TCC_ABI_VERSION ? &api : NULL;
}
