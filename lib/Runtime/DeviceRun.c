/* A run on a device: inputs come to its memory, launches and copies are queued in a stream, and
 * results go where the caller wants them.
 *
 * A tensor of the caller in the device's memory is used where it lies if kernels can: compact,
 * aligned, elements of whole bytes. Any other takes the way over the host, which knows all forms
 * of tensors: copied over, brought into plain form, and copied back.
 *
 * The host waits only for what it reads, and at the end of a run that it shares memory with. In
 * a run of a caller's stream, whose tensors all lie on the device, it never does.
 */
#include "DeviceParts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What kernels expect of an address (GpuArch::accessBytes). */
enum { ACCESS_BYTES = 16 };

/* CUDA: "copies from host to device of a memory block of 64 KB or less" wait for nothing. */
enum { KEPT_BYTES = 64 * 1024 };

static tcc_status wait(struct tcc_device_context *device, tcc_error *error) {
  if (device->captured)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "this run cannot be captured in a graph: the host reads what the device "
                         "computes, or a tensor lies on the host");
  return device->model->driver->synchronize(device->model->device, device->stream, error);
}

static bool owns(const struct tcc_context *context, DLDevice place) {
  const struct tcc_device_model *model = context->device->model;
  return place.device_type == model->driver->dlpack && place.device_id == model->ordinal;
}

static char *data_of(const DLTensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

/* Whether kernels can use a tensor on the device where it lies. */
static bool used_in_place(const DLTensor *tensor) {
  return !tcc_needs_copy(tensor) && tcc_address(data_of(tensor)) % ACCESS_BYTES == 0;
}

/* ---- tensors in other forms ---- */

/* The bytes from the first to the last that `tensor`, which has elements, touches; `first` is
 * where they begin, counted from its data. */
static size_t span(const DLTensor *tensor, int64_t *first) {
  int64_t low = 0, high = 0;
  for (int32_t d = 0; tensor->strides && d < tensor->ndim; ++d) {
    int64_t last = (tensor->shape[d] - 1) * tensor->strides[d];
    low += last < 0 ? last : 0;
    high += last > 0 ? last : 0;
  }
  if (!tensor->strides)
    high = tcc_element_count(tensor->ndim, tensor->shape, tensor->dtype) - 1;
  *first = low * tensor->dtype.bits / 8;
  return (size_t)((high * tensor->dtype.bits + tensor->dtype.bits + 7) / 8 - *first);
}

/* `tensor`, which lies on the device, as one on the host with the same form; `bytes` of it are at
 * `copy`, which is NULL when there is no memory. */
static DLTensor mirrored(struct tcc_context *context, const DLTensor *tensor, char **copy,
                         size_t *bytes, int64_t *first) {
  DLTensor mirror = *tensor;
  *bytes = span(tensor, first);
  *copy = tcc_heap_alloc(context->heap, (int64_t)*bytes);
  mirror.data = *copy - *first;
  mirror.byte_offset = 0;
  mirror.device = (DLDevice){kDLCPU, 0};
  return mirror;
}

static tcc_status no_host_memory(const char *what, tcc_error *error) {
  return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to make %s compact", what);
}

/* The plain form of any tensor at `plain`, on the host. */
static tcc_status load(struct tcc_context *context, const DLTensor *tensor, int64_t elements,
                       void *plain, const char *name, tcc_error *error) {
  struct tcc_device_context *device = context->device;
  if (tcc_is_host_memory(tensor->device)) {
    tcc_load_plain(tensor, elements, plain);
    return TCC_OK;
  }
  char *copy;
  size_t bytes;
  int64_t first;
  DLTensor mirror = mirrored(context, tensor, &copy, &bytes, &first);
  if (!copy)
    return no_host_memory(name, error);
  TCC_TRY(device->model->driver->copy_out(device->model->device, device->stream, copy,
                                          tcc_address(data_of(tensor) + first), bytes, error));
  TCC_TRY(wait(device, error));
  tcc_load_plain(&mirror, elements, plain);
  return TCC_OK;
}

/* And back. Bytes between a tensor's elements keep what they have. */
static tcc_status store(struct tcc_context *context, const void *plain, int64_t elements,
                        const DLTensor *tensor, const char *name, tcc_error *error) {
  struct tcc_device_context *device = context->device;
  if (tcc_is_host_memory(tensor->device)) {
    tcc_store_plain(plain, elements, tensor);
    return TCC_OK;
  }
  char *copy;
  size_t bytes;
  int64_t first;
  DLTensor mirror = mirrored(context, tensor, &copy, &bytes, &first);
  if (!copy)
    return no_host_memory(name, error);
  tcc_device_address at = tcc_address(data_of(tensor) + first);
  const struct tcc_device_driver *driver = device->model->driver;
  TCC_TRY(driver->copy_out(device->model->device, device->stream, copy, at, bytes, error));
  TCC_TRY(wait(device, error));
  tcc_store_plain(plain, elements, &mirror);
  TCC_TRY(driver->copy_in(device->model->device, device->stream, at, copy, bytes, error));
  device->waits = true;
  return TCC_OK;
}

/* What kernels wrote at `from` goes to `tensor`. */
static tcc_status bring(struct tcc_context *context, const void *from, int64_t elements,
                        const DLTensor *tensor, const char *name, tcc_error *error) {
  struct tcc_device_context *device = context->device;
  const struct tcc_device_driver *driver = device->model->driver;
  size_t bytes = (size_t)tcc_plain_bytes(elements, tensor->dtype);
  bool direct = !tcc_needs_copy(tensor), host = tcc_is_host_memory(tensor->device);
  if (!elements)
    return TCC_OK;
  device->waits |= host;
  if (direct && host)
    return driver->copy_out(device->model->device, device->stream, data_of(tensor),
                            tcc_address(from), bytes, error);
  if (direct)
    return driver->copy(device->model->device, device->stream, tcc_address(data_of(tensor)),
                        tcc_address(from), bytes, error);
  void *plain = tcc_heap_alloc(context->heap, (int64_t)bytes);
  if (!plain)
    return no_host_memory(name, error);
  TCC_TRY(driver->copy_out(device->model->device, device->stream, plain, tcc_address(from), bytes,
                           error));
  TCC_TRY(wait(device, error));
  return store(context, plain, elements, tensor, name, error);
}

/* ---- inputs ---- */

static tcc_status check_place(struct tcc_context *context, const char *kind, const char *name,
                              const DLTensor *tensor, tcc_error *error) {
  const struct tcc_device_model *model = context->device->model;
  int64_t first;
  size_t bytes = span(tensor, &first);
  tcc_error why;
  if (!model->driver->check_memory(model->device, tcc_address(data_of(tensor) + first), bytes,
                                   &why))
    return TCC_OK;
  return tcc_set_error(error, TCC_INVALID_ARGUMENT, "%s '%s': %s", kind, name, why.message);
}

/* A block of the run's heap, without leaving the run. */
static tcc_status block(struct tcc_device_context *device, int64_t bytes, const char *name,
                        void **data, tcc_error *error) {
  device->memory->status = TCC_OUT_OF_MEMORY;
  *data = tcc_heap_alloc(device->heap, bytes);
  if (*data)
    return TCC_OK;
  if (device->memory->status != TCC_OUT_OF_MEMORY)
    return tcc_set_error(error, device->memory->status, "%s", device->memory->error.message);
  return tcc_set_error(error, TCC_OUT_OF_MEMORY,
                       "GPU: no memory on %s for input '%s', %" PRId64 " bytes",
                       device->model->info.name, name, bytes);
}

/* A copy on the device, in plain form. */
static tcc_status copy_input(struct tcc_context *context, const char *name, const DLTensor *tensor,
                             int64_t elements, void **data, tcc_error *error) {
  struct tcc_device_context *device = context->device;
  const struct tcc_device_driver *driver = device->model->driver;
  int64_t bytes = tcc_plain_bytes(elements, tensor->dtype);
  TCC_TRY(block(device, bytes ? bytes : 1, name, data, error));
  if (!elements)
    return TCC_OK;
  bool direct = !tcc_needs_copy(tensor), host = tcc_is_host_memory(tensor->device);
  if (direct && !host)
    return driver->copy(device->model->device, device->stream, tcc_address(*data),
                        tcc_address(data_of(tensor)), (size_t)bytes, error);
  device->waits = true;
  const char *from = data_of(tensor);
  if (!direct) {
    char *plain = tcc_heap_alloc(context->heap, bytes);
    if (!plain)
      return no_host_memory(name, error);
    TCC_TRY(load(context, tensor, elements, plain, name, error));
    from = plain;
  }
  return driver->copy_in(device->model->device, device->stream, tcc_address(*data), from,
                         (size_t)bytes, error);
}

static tcc_status bind_input(struct tcc_context *context, uint32_t index, const DLTensor *tensor,
                             int64_t elements, tcc_error *error) {
  const struct tcc_io_desc *desc = &tcc_program.inputs[index];
  struct tcc_rt_tensor *input = &context->inputs[index];
  if (elements && !tcc_is_host_memory(tensor->device))
    TCC_TRY(check_place(context, "input", desc->name, tensor, error));
  if (!(desc->flags & TCC_IO_DEVICE)) {
    int64_t bytes = tcc_plain_bytes(elements, tensor->dtype);
    input->data = tcc_heap_alloc(context->heap, bytes ? bytes : 1);
    if (!input->data)
      return no_host_memory(desc->name, error);
    return elements ? load(context, tensor, elements, input->data, desc->name, error) : TCC_OK;
  }
  if (elements && owns(context, tensor->device) && used_in_place(tensor)) {
    input->data = data_of(tensor);
    return TCC_OK;
  }
  return copy_input(context, desc->name, tensor, elements, &input->data, error);
}

static tcc_status place(struct tcc_context *context, const DLTensor *tensor, int64_t elements,
                        DLDevice *where, void **data, tcc_error *error) {
  struct tcc_device_context *device = context->device;
  *where = (DLDevice){device->model->driver->dlpack, device->model->ordinal};
  if (elements && !tcc_is_host_memory(tensor->device))
    TCC_TRY(check_place(context, "the", "tensor", tensor, error));
  TCC_TRY(copy_input(context, "placed", tensor, elements, data, error));
  return wait(device, error);
}

/* ---- outputs ---- */

static void output(struct tcc_frame *frame, uint32_t index, int32_t rank, const int64_t *dims) {
  struct tcc_context *context = frame->ctx;
  struct tcc_device_context *device = context->device;
  const struct tcc_io_desc *desc = &tcc_program.outputs[index];
  struct tcc_output_slot *slot = &context->outputs[index];
  int64_t bytes = tcc_plain_bytes(slot->elements, desc->dtype);
  const DLTensor *given = slot->own ? NULL : &slot->managed->dl_tensor;
  if (given && slot->elements && !tcc_is_host_memory(given->device)) {
    tcc_status status = check_place(context, "output", desc->name, given, context->error);
    if (status)
      tcc_leave_run(context, status);
  }
  slot->convert = true;
  if (given && slot->elements && owns(context, given->device) && used_in_place(given)) {
    slot->convert = false;
    slot->plain = data_of(given);
    return;
  }
  slot->plain = tcc_device_block(context, bytes ? bytes : 1);
  if (given)
    return;
  /* A tensor on the device is packed as DLPack says, which kernels do not write. */
  bool stays = device->flags & TCC_RUN_OUTPUTS_ON_DEVICE;
  DLDevice place = {device->model->driver->dlpack, device->model->ordinal};
  slot->convert = !stays || desc->dtype.bits < 8;
  void *data = !stays          ? NULL
               : slot->convert ? tcc_device_block(context, bytes ? bytes : 1)
                               : slot->plain;
  slot->managed = tcc_new_output(frame, desc, rank, dims, slot->elements, data,
                                 stays ? place : (DLDevice){kDLCPU, 0});
}

static tcc_status finish(struct tcc_context *context, const DLTensor *const *inputs,
                         tcc_error *error) {
  struct tcc_device_context *device = context->device;
  for (uint32_t i = 0; i < tcc_program.num_inputs; ++i) {
    const struct tcc_io_desc *desc = &tcc_program.inputs[i];
    uint32_t written = TCC_IO_MUTATED | TCC_IO_DEVICE;
    if ((desc->flags & written) != written || context->inputs[i].data == data_of(inputs[i]))
      continue;
    int64_t elements = tcc_element_count(inputs[i]->ndim, inputs[i]->shape, inputs[i]->dtype);
    TCC_TRY(bring(context, context->inputs[i].data, elements, inputs[i], desc->name, error));
  }
  for (uint32_t i = 0; i < tcc_program.num_outputs; ++i) {
    const struct tcc_output_slot *slot = &context->outputs[i];
    if (tcc_program.outputs[i].flags & TCC_IO_DEVICE && slot->convert)
      TCC_TRY(bring(context, slot->plain, slot->elements, &slot->managed->dl_tensor,
                    tcc_program.outputs[i].name, error));
  }
  const struct tcc_device_driver *driver = device->model->driver;
  if (device->end)
    TCC_TRY(driver->event_record(device->model->device, device->stream, device->end, error));
  bool waits = device->waits || !(device->flags & TCC_RUN_ON_STREAM);
  if (!waits && device->captured)
    return TCC_OK;
  if (!waits && !device->begin && !device->kernels) {
    TCC_TRY(driver->event_record(device->model->device, device->stream, device->last, error));
    device->unfinished = true;
    tcc_device_keep_checks(device);
    return TCC_OK;
  }
  TCC_TRY(wait(device, error));
  TCC_TRY(tcc_device_read_times(device, error));
  tcc_device_keep_checks(device);
  return tcc_device_read_checks(device, true, error);
}

static struct tcc_block *hand_out(struct tcc_context *context, void *data) {
  return tcc_heap_hand_out(context->device->heap, data);
}

/* ---- the run ---- */

static tcc_status begin_run(struct tcc_context *context, const tcc_run_options *options,
                            tcc_error *error) {
  struct tcc_device_context *device = context->device;
  const struct tcc_device_driver *driver = device->model->driver;
  device->flags = options->flags;
  device->stream = options->flags & TCC_RUN_ON_STREAM ? (struct tcc_device_stream *)options->stream
                                                      : device->own;
  device->memory->stream = device->stream;
  device->captured = driver->captures && device->flags & TCC_RUN_ON_STREAM &&
                     driver->captures(device->model->device, device->stream);
  if (device->captured && (device->begin || device->kernels))
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "a context with a profile cannot be captured in a graph");
  device->was_captured |= device->captured;
  tcc_heap_begin_run(device->heap, device->captured);
  device->waits = false;
  device->num_times = 0;
  TCC_TRY(tcc_device_read_checks(device, false, error));
  struct tcc_frame *frame = &context->frame;
  frame->device_weights = (char *)(uintptr_t)device->model->weights;
  frame->device_arena = device->arena;
  frame->device_state = device->state;
  if (device->captured) /* runs when nobody is here: its order is the caller's */
    return TCC_OK;
  if (device->unfinished && device->last_stream != device->stream)
    TCC_TRY(driver->event_wait(device->model->device, device->stream, device->last, error));
  device->unfinished = false;
  device->last_stream = device->stream;
  if (device->begin)
    TCC_TRY(driver->event_record(device->model->device, device->stream, device->begin, error));
  return TCC_OK;
}

static void end_run(struct tcc_context *context, bool failed) {
  struct tcc_device_context *device = context->device;
  if (failed)
    (void)wait(device, NULL);
  tcc_device_drop_checks(device);
  tcc_heap_end_run(device->heap);
}

/* ---- the host function's view ---- */

/* Leaves the run when `status` says so, with the error of the context. */
static void need(struct tcc_context *context, tcc_status status) {
  if (status)
    tcc_leave_run(context, status);
}

void *tcc_rt_device_alloc(struct tcc_frame *frame, int64_t bytes) {
  return tcc_device_block(frame->ctx, bytes);
}

void *tcc_rt_device_alloc_tensor(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                                 const int64_t *dims) {
  return tcc_device_block(frame->ctx, tcc_tensor_bytes(frame, element_bytes, rank, dims));
}

void tcc_rt_device_free(struct tcc_frame *frame, void *bytes) {
  if (bytes)
    tcc_heap_free(frame->ctx->device->heap, bytes);
}

void tcc_rt_copy(struct tcc_frame *frame, void *to, const void *from, int64_t bytes, int32_t how) {
  struct tcc_context *context = frame->ctx;
  struct tcc_device_context *device = context->device;
  const struct tcc_device_model *model = device->model;
  size_t size = (size_t)bytes;
  if (how == TCC_COPY_DEVICE) {
    need(context, model->driver->copy(model->device, device->stream, tcc_address(to),
                                      tcc_address(from), size, context->error));
    return;
  }
  need(context, how == TCC_COPY_IN
                    ? model->driver->copy_in(model->device, device->stream, tcc_address(to), from,
                                             size, context->error)
                    : model->driver->copy_out(model->device, device->stream, to, tcc_address(from),
                                              size, context->error));
  /* Of memory that it does not know, the driver has copied so much when it returns. */
  if (how == TCC_COPY_OUT || size > KEPT_BYTES)
    need(context, wait(device, context->error));
}

/* The context's scratch memory, grown to `bytes`. */
static char *scratch(struct tcc_context *context, uint64_t bytes) {
  struct tcc_device_context *device = context->device;
  if (bytes > device->scratch_size)
    need(context, tcc_device_grow_scratch(device, bytes, context->error));
  return device->scratch;
}

/* Encodes the tensor maps of a launch; `extents` are those of all of them. */
static void encode_maps(struct tcc_context *context, const struct tcc_device_image *image,
                        const uint64_t *words, const int64_t *extents,
                        struct tcc_encoded_tensor_map *encoded) {
  const struct tcc_device_model *model = context->device->model;
  for (uint32_t i = 0; i < image->num_maps; ++i) {
    const struct tcc_tensor_map_desc *desc = &image->maps[i];
    struct tcc_tensor_map map = {.memory = words[desc->word],
                                 .rank = desc->rank,
                                 .element_bytes = desc->element_bytes,
                                 .swizzle_bytes = desc->swizzle_bytes,
                                 .window = desc->window};
    for (uint32_t axis = 0; axis < desc->rank; ++axis) {
      map.extents[axis] = (uint64_t)*extents++;
      map.box[axis] = desc->box[axis];
      map.steps[axis] = desc->steps[axis];
    }
    need(context, model->driver->tensor_map(model->device, &map, &encoded[i], context->error));
  }
}

/* Says which kernel could not be started. */
static void named(struct tcc_context *context, uint32_t kernel, tcc_status status) {
  if (!status)
    return;
  tcc_error why = context->error ? *context->error : (tcc_error){0};
  tcc_leave_run(context, tcc_set_error(context->error, status, "kernel '%s': %s",
                                       tcc_program.device_kernels[kernel].name, why.message));
}

void tcc_rt_launch(struct tcc_frame *frame, uint32_t kernel, const uint64_t *words,
                   uint32_t num_words, const int64_t *geometry) {
  struct tcc_context *context = frame->ctx;
  struct tcc_device_context *device = context->device;
  const struct tcc_loaded_kernel *loaded = &device->model->kernels[kernel];
  const struct tcc_device_image *image = loaded->image;
  struct tcc_encoded_tensor_map maps[TCC_LAUNCH_MAPS];
  uint64_t all[TCC_LAUNCH_WORDS];
  geometry += loaded->geometry;
  if (geometry[0] == 0)
    return;
  bool fits = geometry[0] > 0 && geometry[0] <= INT32_MAX && num_words < TCC_LAUNCH_WORDS &&
              image->num_maps <= TCC_LAUNCH_MAPS;
  if (!fits)
    named(context, kernel,
          tcc_set_error(context->error, TCC_MODEL_ERROR, "GPU: %" PRId64 " blocks, %u words",
                        geometry[0], num_words));
  if (image->flags & TCC_IMAGE_SCRATCH) {
    memcpy(all, words, num_words * sizeof *words);
    all[num_words++] = tcc_address(scratch(context, (uint64_t)geometry[1]));
    words = all;
  }
  encode_maps(context, image, words, geometry + 2, maps);
  struct tcc_device_launch launch = {
      .kernel = loaded->kernel,
      .blocks = (uint32_t)geometry[0],
      .threads = loaded->narrow ? image->narrow_threads : image->threads,
      .shared_bytes = loaded->narrow ? image->narrow_shared_bytes : image->shared_bytes,
      .words = words,
      .num_words = num_words,
      .num_tensor_maps = image->num_maps,
      .waits = image->flags & TCC_IMAGE_WAITS,
      .tensor_maps = maps};
  if (device->kernels)
    need(context, tcc_device_begin_time(device, kernel, context->error));
  tcc_range_begin(&device->ranges, &tcc_program.device_kernels[kernel]);
  tcc_status started =
      device->model->driver->launch(device->model->device, device->stream, &launch, context->error);
  tcc_range_end(&device->ranges);
  named(context, kernel, started);
  if (device->kernels)
    need(context, tcc_device_end_time(device, context->error));
}

const struct tcc_device_runtime tcc_device_runtime = {
    .open = tcc_device_open,
    .close = tcc_device_close,
    .release_model = tcc_device_release_all,
    .owns = owns,
    .begin_run = begin_run,
    .bind_input = bind_input,
    .output = output,
    .finish = finish,
    .hand_out = hand_out,
    .place = place,
    .synchronize = tcc_device_synchronize,
    .end_run = end_run,
    .get_stats = tcc_device_get_stats,
    .kernel = tcc_device_kernel_info,
};
