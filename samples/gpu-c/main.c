/* Runs a model that was compiled for a GPU: inputs that many runs have in common are placed in the
 * GPU's memory once, outputs stay there or come back.
 *
 *   tcc linear-relu.onnx --arch sm_90a -o model.so        (made on any machine; sim needs no GPU)
 *   cc -std=c11 -I PREFIX/include main.c -o main && ./main ./model.so
 *
 * Programs that use CUDA themselves give tensors of kDLCUDA and their own stream instead: see
 * tcc_run_options.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <tcc/Runtime/tcc.h>

enum { FEATURES = 10, RESULTS = 2, BATCH = 3 };

static int failed(const char *what, const tcc_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

/* The output stays in the GPU's memory, for whatever comes next there. */
static int run_there(const tcc_api *api, tcc_context *context, const DLTensor *x) {
  const DLTensor *inputs[] = {x};
  DLManagedTensor *outputs[] = {NULL};
  tcc_run_options options = {.struct_size = sizeof options, .flags = TCC_RUN_OUTPUTS_ON_DEVICE};
  tcc_context_stats stats = {.struct_size = sizeof stats};
  tcc_error error;
  if (api->run_on(context, &options, inputs, 1, outputs, 1, &error))
    return failed("run on the device", &error);
  api->context_get_stats(context, &stats);
  const DLTensor *y = &outputs[0]->dl_tensor;
  printf("the output lies %s\n",
         y->device.device_type == stats.device.device_type ? "on the device" : "elsewhere");
  outputs[0]->deleter(outputs[0]);
  return 0;
}

/* The output comes back into memory of ours. */
static int run_back(const tcc_api *api, tcc_context *context, const DLTensor *x) {
  float results[BATCH * RESULTS] = {0};
  int64_t shape[] = {BATCH, RESULTS};
  DLManagedTensor y = {.dl_tensor = {.data = results,
                                     .device = {kDLCPU, 0},
                                     .ndim = 2,
                                     .dtype = {kDLFloat, 32, 1},
                                     .shape = shape}};
  const DLTensor *inputs[] = {x};
  DLManagedTensor *outputs[] = {&y};
  tcc_error error;
  if (api->run_on(context, NULL, inputs, 1, outputs, 1, &error))
    return failed("run", &error);
  for (int row = 0; row < BATCH; ++row)
    printf("row %d: %.4f %.4f\n", row, results[row * RESULTS], results[row * RESULTS + 1]);
  return 0;
}

static int run(const tcc_api *api, tcc_context *context) {
  float values[BATCH * FEATURES];
  for (int i = 0; i < BATCH * FEATURES; ++i)
    values[i] = 0.1f * (float)i - 1;
  int64_t shape[] = {BATCH, FEATURES};
  DLTensor x = {
      .data = values, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  DLManagedTensor *placed = NULL;
  tcc_error error;
  if (api->context_place(context, &x, &placed, &error))
    return failed("place", &error);
  int status = run_there(api, context, &placed->dl_tensor);
  if (!status)
    status = run_back(api, context, &placed->dl_tensor);
  placed->deleter(placed);
  return status;
}

int main(int argc, char **argv) {
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
  /* .device says which GPU; left out, it is the first one. */
  tcc_context_options options = {.struct_size = sizeof options};
  if (api->model_open(NULL, &model, &error))
    return failed("open", &error);
  if (api->context_create(model, &options, &context, &error))
    return failed("context", &error); /* no driver, no GPU, or one that there is no code for */
  int status = run(api, context);

  api->context_destroy(context);
  api->model_close(model);
  dlclose(library);
  return status;
}
