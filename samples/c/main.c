/* Runs a compiled model from C: opens it, prints what it takes, and runs it on batches of two
 * sizes.
 *
 *   tcc linear-relu.onnx -o model.so
 *   cc -std=c11 -I PREFIX/include main.c -o main && ./main ./model.so
 *
 * The model is opened with dlopen, so that a program can use several; one that uses a single model
 * may link to it and call tcc_model_open and the others directly.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <tcc/Runtime/model_file.h>
#include <tcc/Runtime/tcc.h>

enum { FEATURES = 10, MAX_BATCH = 3 };

static int failed(const char *what, const tcc_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

static void print_info(const tcc_api *api, const tcc_model *model) {
  tcc_tensor_info info = {.struct_size = sizeof info};
  for (uint32_t i = 0; i < api->model_num_inputs(model); ++i) {
    api->model_input(model, i, &info);
    printf("input %u: %d dimensions, %u bits\n", i, info.ndim, info.dtype.bits);
  }
  for (uint32_t i = 0; i < api->model_num_outputs(model); ++i) {
    api->model_output(model, i, &info);
    printf("output %u: %d dimensions, %u bits\n", i, info.ndim, info.dtype.bits);
  }
}

/* Inputs are described in place, never copied; the output is made by the model. */
static int run(const tcc_api *api, tcc_context *context, int64_t batch) {
  float values[MAX_BATCH * FEATURES];
  for (int i = 0; i < batch * FEATURES; ++i)
    values[i] = 0.1f * (float)i - 1;
  int64_t shape[] = {batch, FEATURES};
  DLTensor x = {
      .data = values, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  const DLTensor *inputs[] = {&x};
  DLManagedTensor *outputs[] = {NULL};
  tcc_error error;
  if (api->run(context, inputs, 1, outputs, 1, &error))
    return failed("run", &error);

  const DLTensor *y = &outputs[0]->dl_tensor;
  const float *result = (const float *)((const char *)y->data + y->byte_offset);
  for (int64_t row = 0; row < y->shape[0]; ++row) {
    printf("batch of %d, row %d:", (int)batch, (int)row);
    for (int64_t column = 0; column < y->shape[1]; ++column)
      printf(" %.4f", result[row * y->shape[1] + column]);
    printf("\n");
  }
  outputs[0]->deleter(outputs[0]);
  return 0;
}

int main(int argc, char **argv) {
  const char *wrong = argc == 2 ? tcc_check_model_file(argv[1]) : NULL;
  if (wrong) {
    fprintf(stderr, "%s %s\n", argv[1], wrong);
    return 2;
  }
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "usage: main ./model.so (%s)\n", argc == 2 ? dlerror() : "no model");
    return 2;
  }
  const tcc_api *(*get_api)(uint32_t) = NULL;
  *(void **)&get_api = dlsym(library, "tcc_get_api");
  const tcc_api *api = get_api ? get_api(TCC_ABI_VERSION) : NULL;
  if (!api) {
    fprintf(stderr, "%s does not speak version %u of the interface\n", argv[1], TCC_ABI_VERSION);
    return 2;
  }

  tcc_error error;
  tcc_model *model;
  tcc_context *context;
  tcc_context_options options = {.struct_size = sizeof options, .threads = 2};
  if (api->model_open(NULL, &model, &error))
    return failed("open", &error);
  if (api->context_create(model, &options, &context, &error))
    return failed("context", &error);
  print_info(api, model);
  int status = run(api, context, 1) || run(api, context, MAX_BATCH);

  api->context_destroy(context);
  api->model_close(model);
  dlclose(library);
  return status;
}
