/* One run: inputs are checked and brought into plain form, the host function runs, and outputs are
 * handed out. A failure inside the host function comes back through longjmp; everything that the
 * run allocated is then on the heap's list, so nothing leaks wherever it happened.
 */
#include "Internal.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(name, bytes)                                                                          \
  char name##_bytes[bytes] = "";                                                                   \
  struct tcc_text name = {name##_bytes, bytes, 0}

/* ---- inputs ---- */

static tcc_status mismatch(const char *kind, const struct tcc_io_desc *desc, const DLTensor *tensor,
                           tcc_error *error) {
  TEXT(expected, 256);
  TEXT(given, 256);
  tcc_text_expected(&expected, desc);
  tcc_text_given(&given, tensor->dtype, tensor->ndim, tensor->shape);
  return tcc_set_error(error, TCC_INVALID_ARGUMENT, "%s '%s': expected %s, got %s", kind,
                       desc->name, expected_bytes, given_bytes);
}

bool tcc_is_host_memory(DLDevice device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost ||
         device.device_type == kDLROCMHost || device.device_type == kDLCUDAManaged;
}

static tcc_status wrong_place(const struct tcc_context *context, const char *kind,
                              const struct tcc_io_desc *desc, DLDevice device, tcc_error *error) {
  if (context->device)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "%s '%s' lies on device %d of type %d, not where this context runs: copy "
                         "it there or to the CPU first",
                         kind, desc->name, device.device_id, (int)device.device_type);
  return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                       "%s '%s' lies on device type %d: copy it to the CPU first", kind, desc->name,
                       (int)device.device_type);
}

/* What holds for inputs and for the caller's outputs alike. */
static tcc_status check_tensor(const struct tcc_context *context, const char *kind,
                               const struct tcc_io_desc *desc, const DLTensor *tensor,
                               tcc_error *error) {
  if (!tensor)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "%s '%s' is NULL", kind, desc->name);
  if (tensor->ndim < 0 || tensor->ndim > TCC_MAX_RANK || (tensor->ndim && !tensor->shape))
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "%s '%s': %d dimensions, from 0 to %d are possible", kind, desc->name,
                         tensor->ndim, TCC_MAX_RANK);
  if (!tcc_is_host_memory(tensor->device) &&
      !(context->device && tcc_program.device_runtime->owns(context, tensor->device)))
    return wrong_place(context, kind, desc, tensor->device, error);
  bool same_type = tensor->dtype.code == desc->dtype.code &&
                   tensor->dtype.bits == desc->dtype.bits && tensor->dtype.lanes == 1;
  if (!same_type || (desc->rank >= 0 && tensor->ndim != desc->rank))
    return mismatch(kind, desc, tensor, error);
  int64_t count = tcc_element_count(tensor->ndim, tensor->shape, tensor->dtype);
  if (count < 0)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "%s '%s': a dimension is negative, or the size overflows", kind,
                         desc->name);
  if (count && !tensor->data)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "%s '%s': data is NULL", kind, desc->name);
  return TCC_OK;
}

static tcc_status bind_symbol(struct tcc_context *context, uint32_t input, int32_t d,
                              uint32_t symbol, int64_t size, tcc_error *error) {
  const struct tcc_symbol_desc *desc = &tcc_program.symbols[symbol];
  const char *name = tcc_program.inputs[input].name, *label = *desc->name ? desc->name : "?";
  int64_t known = context->symbols[symbol];
  if (known >= 0 && known != size)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "input '%s': dimension %d (%s) is %lld, but %s is %lld in input '%s'",
                         name, d, label, (long long)size, label, (long long)known,
                         tcc_program.inputs[context->symbol_inputs[symbol]].name);
  if (size < desc->min || size > desc->max)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "input '%s': dimension %d (%s) is %lld, this model takes %lld to %lld",
                         name, d, label, (long long)size, (long long)desc->min,
                         (long long)desc->max);
  if (known < 0)
    context->symbol_inputs[symbol] = input;
  context->symbols[symbol] = size;
  return TCC_OK;
}

static tcc_status check_dims(struct tcc_context *context, uint32_t index, const DLTensor *tensor,
                             tcc_error *error) {
  const struct tcc_io_desc *desc = &tcc_program.inputs[index];
  for (int32_t d = 0; d < desc->rank; ++d) {
    int64_t expected = desc->dims[d];
    if (expected >= 0 && expected != tensor->shape[d])
      return mismatch("input", desc, tensor, error);
    if (expected >= 0 || expected == INT64_MIN)
      continue;
    tcc_status status =
        bind_symbol(context, index, d, (uint32_t)(-1 - expected), tensor->shape[d], error);
    if (status)
      return status;
  }
  return TCC_OK;
}

bool tcc_needs_copy(const DLTensor *tensor) {
  return tensor->dtype.bits < 8 || !tcc_is_compact(tensor) || !tcc_is_aligned(tensor);
}

static tcc_status bind_input(struct tcc_context *context, uint32_t index, const DLTensor *tensor,
                             tcc_error *error) {
  static _Alignas(64) char nothing[TCC_ALIGNMENT]; /* for tensors without elements */
  const struct tcc_io_desc *desc = &tcc_program.inputs[index];
  tcc_status status = check_tensor(context, "input", desc, tensor, error);
  if (!status)
    status = check_dims(context, index, tensor, error);
  if (status)
    return status;
  int64_t count = tcc_element_count(tensor->ndim, tensor->shape, tensor->dtype);
  struct tcc_rt_tensor *input = &context->inputs[index];
  input->dims = tensor->shape;
  context->ranks[index] = tensor->ndim;
  if (desc->flags & TCC_IO_DEVICE || !tcc_is_host_memory(tensor->device))
    return tcc_program.device_runtime->bind_input(context, index, tensor, count, error);
  input->data = count ? (char *)tensor->data + tensor->byte_offset : nothing;
  if (!count || !tcc_needs_copy(tensor))
    return TCC_OK;
  input->data = tcc_heap_alloc(context->heap, tcc_plain_bytes(count, tensor->dtype));
  if (!input->data)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to make input '%s' compact",
                         desc->name);
  tcc_load_plain(tensor, count, input->data);
  return TCC_OK;
}

static tcc_status bind_inputs(struct tcc_context *context, const DLTensor *const *inputs,
                              tcc_error *error) {
  for (uint32_t i = 0; i < tcc_program.num_symbols; ++i)
    context->symbols[i] = -1;
  for (uint32_t i = 0; i < tcc_program.num_inputs; ++i) {
    tcc_status status = bind_input(context, i, inputs[i], error);
    if (status)
      return status;
  }
  return TCC_OK;
}

/* Inputs that the model writes and that were copied go back to where they came from. */
static void write_back_inputs(struct tcc_context *context, const DLTensor *const *inputs) {
  for (uint32_t i = 0; i < tcc_program.num_inputs; ++i)
    if ((tcc_program.inputs[i].flags & (TCC_IO_MUTATED | TCC_IO_DEVICE)) == TCC_IO_MUTATED &&
        tcc_needs_copy(inputs[i]))
      tcc_store_plain(context->inputs[i].data,
                      tcc_element_count(inputs[i]->ndim, inputs[i]->shape, inputs[i]->dtype),
                      inputs[i]);
}

/* ---- outputs ---- */

static void delete_output(DLManagedTensor *managed) {
  if (!managed)
    return;
  struct tcc_output *output = managed->manager_ctx;
  if (output->data)
    tcc_heap_return(output->data);
  tcc_heap_return(output->head);
}

static size_t round_up(size_t size) {
  return (size + TCC_ALIGNMENT - 1) & ~(size_t)(TCC_ALIGNMENT - 1);
}

/* One block holds the DLPack structure, the shape and, on the host, the data. */
DLManagedTensor *tcc_new_output(struct tcc_frame *frame, const struct tcc_io_desc *desc,
                                int32_t rank, const int64_t *dims, int64_t count, void *data,
                                DLDevice device) {
  size_t head = round_up(sizeof(struct tcc_output) + (size_t)rank * 2 * sizeof(int64_t));
  struct tcc_output *output =
      tcc_rt_alloc(frame, (int64_t)head + (data ? 0 : tcc_packed_bytes(count, desc->dtype)));
  int64_t *shape = (int64_t *)(output + 1), *strides = shape + rank, step = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    shape[d] = dims[d];
    strides[d] = step;
    step *= dims[d];
  }
  *output =
      (struct tcc_output){.managed = {.dl_tensor = {.data = data ? data : (char *)output + head,
                                                    .device = device,
                                                    .ndim = rank,
                                                    .dtype = desc->dtype,
                                                    .shape = shape,
                                                    .strides = strides},
                                      .manager_ctx = output,
                                      .deleter = delete_output}};
  return &output->managed;
}

/* A caller's tensor is checked against the shape that the run computed. */
static void check_caller_output(struct tcc_frame *frame, const struct tcc_io_desc *desc,
                                const DLTensor *tensor, int32_t rank, const int64_t *dims) {
  struct tcc_context *context = frame->ctx;
  tcc_status status = check_tensor(context, "output", desc, tensor, context->error);
  if (status)
    tcc_leave_run(context, status);
  if (tensor->ndim == rank && (!rank || !memcmp(tensor->shape, dims, (size_t)rank * sizeof *dims)))
    return;
  TEXT(expected, 256);
  TEXT(given, 256);
  tcc_text_given(&expected, desc->dtype, rank, dims);
  tcc_text_given(&given, tensor->dtype, tensor->ndim, tensor->shape);
  TEXT(message, 768);
  tcc_text_add(&message, "output '%s': this run gives %s, the tensor passed in is %s", desc->name,
               expected_bytes, given_bytes);
  tcc_rt_fail(frame, TCC_INVALID_ARGUMENT, message_bytes);
}

void *tcc_rt_output_ranked(struct tcc_frame *frame, int32_t index, int32_t rank,
                           const int64_t *dims) {
  struct tcc_context *context = frame->ctx;
  const struct tcc_io_desc *desc = &tcc_program.outputs[index];
  struct tcc_output_slot *slot = &context->outputs[index];
  int64_t count =
      rank >= 0 && rank <= TCC_MAX_RANK ? tcc_element_count(rank, dims, desc->dtype) : -1;
  if (count < 0)
    tcc_rt_fail(frame, TCC_MODEL_ERROR, "the size of an output is negative or overflows");
  DLManagedTensor *given = context->caller_outputs[index];
  slot->elements = count;
  slot->own = !given;
  if (given)
    check_caller_output(frame, desc, &given->dl_tensor, rank, dims);
  slot->managed = given;
  if (desc->flags & TCC_IO_DEVICE) {
    tcc_program.device_runtime->output(frame, (uint32_t)index, rank, dims);
    return slot->plain;
  }
  if (given && !tcc_is_host_memory(given->dl_tensor.device))
    tcc_leave_run(context,
                  wrong_place(context, "output", desc, given->dl_tensor.device, context->error));
  if (!given)
    slot->managed = tcc_new_output(frame, desc, rank, dims, count, NULL, (DLDevice){kDLCPU, 0});
  const DLTensor *tensor = &slot->managed->dl_tensor;
  slot->convert = !count || tcc_needs_copy(tensor);
  slot->plain = slot->convert ? tcc_rt_alloc(frame, tcc_plain_bytes(count, desc->dtype))
                              : (char *)tensor->data + tensor->byte_offset;
  return slot->plain;
}

void *tcc_rt_output(struct tcc_frame *frame, int32_t index, const int64_t *dims) {
  return tcc_rt_output_ranked(frame, index, tcc_program.outputs[index].rank, dims);
}

static tcc_status check_outputs_made(struct tcc_context *context, tcc_error *error) {
  for (uint32_t i = 0; i < tcc_program.num_outputs; ++i)
    if (!context->outputs[i].plain)
      return tcc_set_error(error, TCC_INTERNAL, "output '%s' was not computed",
                           tcc_program.outputs[i].name);
  return TCC_OK;
}

static void hand_out(struct tcc_context *context) {
  for (uint32_t i = 0; i < tcc_program.num_outputs; ++i) {
    struct tcc_output_slot *slot = &context->outputs[i];
    if (slot->convert && !(tcc_program.outputs[i].flags & TCC_IO_DEVICE))
      tcc_store_plain(slot->plain, slot->elements, &slot->managed->dl_tensor);
    if (!slot->own)
      continue;
    struct tcc_output *output = slot->managed->manager_ctx;
    DLTensor *tensor = &slot->managed->dl_tensor;
    if (!tcc_is_host_memory(tensor->device))
      output->data = tcc_program.device_runtime->hand_out(context, tensor->data);
    output->head = tcc_heap_hand_out(context->heap, output);
    context->caller_outputs[i] = slot->managed;
  }
}

/* ---- the host function's view ---- */

void tcc_rt_fail(struct tcc_frame *frame, int32_t code, const char *message) {
  tcc_leave_run(frame->ctx,
                tcc_set_error(frame->ctx->error, code ? code : TCC_INTERNAL, "%s", message));
}

void tcc_leave_run(struct tcc_context *context, tcc_status status) {
  context->status = status;
  longjmp(context->failure, 1);
}

void *tcc_rt_alloc(struct tcc_frame *frame, int64_t bytes) {
  void *block = tcc_heap_alloc(frame->ctx->heap, bytes);
  if (block)
    return block;
  TEXT(message, 96);
  if (bytes < 0)
    tcc_text_add(&message, "the size of a tensor overflows");
  else
    tcc_text_add(&message, "no memory for a tensor of %lld bytes", (long long)bytes);
  tcc_rt_fail(frame, TCC_OUT_OF_MEMORY, message_bytes);
}

int64_t tcc_tensor_bytes(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                         const int64_t *dims) {
  DLDataType bytes = {kDLUInt, 8, 1};
  int64_t size, count = tcc_element_count((int32_t)rank, dims, bytes);
  if (count < 0 || __builtin_mul_overflow(count, element_bytes, &size)) {
    TEXT(message, 512);
    tcc_text_add(&message, "a tensor's shape is negative or too large: [");
    for (int64_t d = 0; d < rank; ++d)
      tcc_text_add(&message, "%s%lld", d ? ", " : "", (long long)dims[d]);
    tcc_text_add(&message, "]");
    tcc_rt_fail(frame, TCC_MODEL_ERROR, message_bytes);
  }
  return size;
}

void *tcc_rt_alloc_tensor(struct tcc_frame *frame, int64_t element_bytes, int64_t rank,
                          const int64_t *dims) {
  return tcc_rt_alloc(frame, tcc_tensor_bytes(frame, element_bytes, rank, dims));
}

void tcc_rt_free(struct tcc_frame *frame, void *block) { tcc_heap_free(frame->ctx->heap, block); }

static tcc_status call_entry(struct tcc_context *context) {
  if (setjmp(context->failure))
    return context->status;
  int32_t code = tcc_program.entry(&context->frame);
  if (code)
    return tcc_set_error(context->error, code, "the model failed with code %d", (int)code);
  return TCC_OK;
}

/* ---- one run ---- */

static tcc_status run_exclusive(struct tcc_context *context, const tcc_run_options *options,
                                const DLTensor *const *inputs, DLManagedTensor **outputs,
                                tcc_error *error) {
  memset(context->outputs, 0, tcc_program.num_outputs * sizeof *context->outputs);
  context->caller_outputs = outputs;
  context->error = error;
  context->frame = (struct tcc_frame){.ctx = context,
                                      .inputs = context->inputs,
                                      .weights = context->model->weights,
                                      .arena = context->arena,
                                      .state = context->state,
                                      .symbols = context->symbols,
                                      .ranks = context->ranks};
  tcc_status status = tcc_model_check_weights(context->model, error);
  if (!status && context->device)
    status = tcc_program.device_runtime->begin_run(context, options, error);
  if (!status)
    status = bind_inputs(context, inputs, error);
  if (status)
    return status;
  tcc_random_begin_run(&context->random);
  status = tcc_run_with_room(context, call_entry);
  if (!status)
    status = check_outputs_made(context, error);
  if (!status && context->device)
    status = tcc_program.device_runtime->finish(context, inputs, error);
  if (status)
    return status;
  tcc_random_keep_run(&context->random);
  write_back_inputs(context, inputs);
  hand_out(context);
  return TCC_OK;
}

static tcc_status check_counts(const DLTensor *const *inputs, uint32_t num_inputs,
                               DLManagedTensor **outputs, uint32_t num_outputs, tcc_error *error) {
  if (num_inputs != tcc_program.num_inputs || (num_inputs && !inputs))
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "this model takes %u inputs, got %u",
                         tcc_program.num_inputs, inputs ? num_inputs : 0);
  if (num_outputs != tcc_program.num_outputs || (num_outputs && !outputs))
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "this model gives %u outputs, room is for %u",
                         tcc_program.num_outputs, outputs ? num_outputs : 0);
  return TCC_OK;
}

static tcc_status place(struct tcc_context *context, const DLTensor *tensor,
                        DLManagedTensor **placed, tcc_error *error) {
  const tcc_run_options own = {0};
  struct tcc_io_desc desc = {.name = "placed", .dtype = tensor->dtype, .rank = tensor->ndim};
  DLDevice where;
  void *data;
  context->error = error;
  context->frame = (struct tcc_frame){.ctx = context};
  tcc_status status = check_tensor(context, "tensor", &desc, tensor, error);
  if (!status && tensor->dtype.bits < 8)
    status = tcc_set_error(error, TCC_INVALID_ARGUMENT,
                           "tensors of types below 8 bits cannot be placed on a device");
  if (!status)
    status = tcc_program.device_runtime->begin_run(context, &own, error);
  if (status)
    return status;
  int64_t count = tcc_element_count(tensor->ndim, tensor->shape, tensor->dtype);
  status = tcc_program.device_runtime->place(context, tensor, count, &where, &data, error);
  if (status)
    return status;
  if (setjmp(context->failure))
    return context->status;
  struct tcc_output *output = (struct tcc_output *)tcc_new_output(
      &context->frame, &desc, tensor->ndim, tensor->shape, count, data, where);
  output->data = tcc_program.device_runtime->hand_out(context, data);
  output->head = tcc_heap_hand_out(context->heap, output);
  *placed = &output->managed;
  return TCC_OK;
}

tcc_status tcc_context_place(tcc_context *context, const DLTensor *tensor, DLManagedTensor **placed,
                             tcc_error *error) {
  if (!context || !tensor || !placed)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "tcc_context_place: an argument is NULL");
  *placed = NULL;
  if (!context->device)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "tcc_context_place: this model runs on the CPU");
  if (atomic_exchange(&context->busy, true))
    return tcc_set_error(error, TCC_BUSY, "another thread runs this context: use one for each");
  tcc_status status = place(context, tensor, placed, error);
  tcc_program.device_runtime->end_run(context, status != TCC_OK);
  tcc_heap_end_run(context->heap);
  atomic_store(&context->busy, false);
  return status;
}

tcc_status tcc_context_synchronize(tcc_context *context, tcc_error *error) {
  if (!context)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "tcc_context_synchronize: context is NULL");
  if (!context->device)
    return TCC_OK;
  if (atomic_exchange(&context->busy, true))
    return tcc_set_error(error, TCC_BUSY, "another thread runs this context: use one for each");
  tcc_status status = tcc_program.device_runtime->synchronize(context, error);
  atomic_store(&context->busy, false);
  return status;
}

static tcc_status check_run_options(const tcc_context *context, const tcc_run_options *options,
                                    tcc_error *error) {
  if (options->flags & ~(TCC_RUN_ON_STREAM | TCC_RUN_OUTPUTS_ON_DEVICE))
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "tcc_run_on: unknown flags 0x%x",
                         options->flags);
  if (options->flags && !context->device)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "tcc_run_on: this model runs on the CPU, which has no streams and no "
                         "memory of its own");
  return TCC_OK;
}

tcc_status tcc_run(tcc_context *context, const DLTensor *const *inputs, uint32_t num_inputs,
                   DLManagedTensor **outputs, uint32_t num_outputs, tcc_error *error) {
  return tcc_run_on(context, NULL, inputs, num_inputs, outputs, num_outputs, error);
}

tcc_status tcc_run_on(tcc_context *context, const tcc_run_options *options,
                      const DLTensor *const *inputs, uint32_t num_inputs, DLManagedTensor **outputs,
                      uint32_t num_outputs, tcc_error *error) {
  if (!context)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "tcc_run: context is NULL");
  tcc_run_options known = {0};
  if (options) {
    size_t size = options->struct_size < sizeof known ? options->struct_size : sizeof known;
    memcpy(&known, options, size);
  }
  tcc_status status = check_counts(inputs, num_inputs, outputs, num_outputs, error);
  if (!status)
    status = check_run_options(context, &known, error);
  if (status)
    return status;
  if (atomic_exchange(&context->busy, true))
    return tcc_set_error(error, TCC_BUSY, "another thread runs this context: use one for each");
  uint64_t mode = tcc_fp_enter();
  status = run_exclusive(context, &known, inputs, outputs, error);
  if (context->device)
    tcc_program.device_runtime->end_run(context, status != TCC_OK);
  tcc_fp_leave(mode);
  tcc_heap_end_run(context->heap);
  if (!status)
    atomic_fetch_add(&context->runs, 1);
  atomic_store(&context->busy, false);
  return status;
}
