/* A model on a device. Opened by the first context there and shared by all: the architecture is
 * chosen, kernels are loaded and the weights, where they lie in the mapped file, are copied over.
 * It ends with the model, or with the last output of a context that is still held.
 */
#include "DeviceParts.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the architecture ---- */

static bool has_code(uint32_t arch, bool ptx) {
  if (!tcc_program.num_device_kernels)
    return true;
  const struct tcc_device_image *image = &tcc_program.device_kernels[0].images[arch];
  return ptx ? image->ptx != NULL : image->code != NULL;
}

/* How well code for `arch` suits the device; 0: not at all. Machine code runs on later GPUs of the
 * same generation, PTX on all later ones, and both on one alone where they use what is specific
 * to it. */
static uint32_t suits(uint32_t arch, const struct tcc_device_info *info,
                      const struct tcc_device_driver *driver) {
  enum { SPECIFIC = 10000, MACHINE = 1000 };
  const struct tcc_device_arch *code = &tcc_program.device_archs[arch];
  if ((code->flags & TCC_ARCH_SIMULATED) != driver->arch_flags)
    return 0;
  if (code->flags & TCC_ARCH_SIMULATED)
    return SPECIFIC;
  uint32_t have = (uint32_t)info->capability;
  if (code->flags & TCC_ARCH_SPECIFIC)
    return code->capability == have ? SPECIFIC : 0;
  if (code->capability > have)
    return 0;
  if (has_code(arch, false) && code->capability / 10 == have / 10)
    return MACHINE + code->capability;
  return has_code(arch, true) ? code->capability : 0;
}

static tcc_status choose_arch(struct tcc_device_model *on, tcc_error *error) {
  uint32_t best = 0;
  for (uint32_t i = 0; i < tcc_program.num_device_archs; ++i) {
    uint32_t suitable = suits(i, &on->info, on->driver);
    if (suitable > best) {
      best = suitable;
      on->arch = i;
    }
  }
  if (best)
    return TCC_OK;
  char names[256] = "";
  struct tcc_text text = {names, sizeof names, 0};
  for (uint32_t i = 0; i < tcc_program.num_device_archs; ++i)
    tcc_text_add(&text, "%s%s%s", i ? ", " : "", tcc_program.device_archs[i].name,
                 has_code(i, true) ? "+ptx" : "");
  return tcc_set_error(error, TCC_INCOMPATIBLE,
                       "GPU: %s has compute capability %d.%d, this model has code for %s: compile "
                       "it with an --arch that suits",
                       on->info.name, on->info.capability / 10, on->info.capability % 10, names);
}

/* ---- loading ---- */

/* Several kernels may share an image: it is loaded once. */
static tcc_status load_image(struct tcc_device_model *on, uint32_t kernel, const void **loaded,
                             tcc_error *error) {
  const struct tcc_device_image *image = on->kernels[kernel].image;
  const void *code = image->code ? image->code : image->ptx;
  if (*loaded == code && !(tcc_program.device_archs[on->arch].flags & TCC_ARCH_SIMULATED))
    return TCC_OK;
  TCC_TRY(on->driver->load(on->device, code, &on->codes[on->num_codes], error));
  ++on->num_codes;
  *loaded = code;
  return TCC_OK;
}

static tcc_status load_kernels(struct tcc_device_model *on, tcc_error *error) {
  uint32_t count = tcc_program.num_device_kernels;
  on->kernels = calloc(count + 1, sizeof *on->kernels);
  on->codes = calloc(count + 1, sizeof *on->codes);
  if (!on->kernels || !on->codes)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for the model's kernels");
  const void *loaded = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    const struct tcc_device_kernel_desc *desc = &tcc_program.device_kernels[i];
    struct tcc_loaded_kernel *kernel = &on->kernels[i];
    for (uint32_t arch = 0; arch < on->arch; ++arch) {
      const struct tcc_device_image *other = &desc->images[arch];
      kernel->geometry += 2;
      for (uint32_t map = 0; map < other->num_maps; ++map)
        kernel->geometry += other->maps[map].rank;
    }
    kernel->image = &desc->images[on->arch];
    TCC_TRY(load_image(on, i, &loaded, error));
    TCC_TRY(on->driver->kernel(on->device, on->codes[on->num_codes - 1], desc->name, kernel->image,
                               &kernel->kernel, &kernel->narrow, error));
  }
  return TCC_OK;
}

static tcc_status copy_weights(struct tcc_device_model *on, const char *weights,
                               struct tcc_device_stream *stream, tcc_error *error) {
  TCC_TRY(on->driver->copy_in(on->device, stream, on->weights, weights, tcc_program.weights_size,
                              error));
  return on->driver->synchronize(on->device, stream, error);
}

static tcc_status load_weights(struct tcc_device_model *on, const char *weights, tcc_error *error) {
  if (!tcc_program.weights_size)
    return TCC_OK;
  tcc_status status = on->driver->alloc(on->device, tcc_program.weights_size, &on->weights, error);
  if (status == TCC_OUT_OF_MEMORY)
    return tcc_set_error(error, status,
                         "GPU: no memory on %s for the model's weights, %" PRIu64 " bytes",
                         on->info.name, tcc_program.weights_size);
  if (status)
    return status;
  struct tcc_device_stream *stream;
  TCC_TRY(on->driver->stream_create(on->device, &stream, error));
  status = copy_weights(on, weights, stream, error);
  on->driver->stream_destroy(on->device, stream);
  return status;
}

static tcc_status fill(struct tcc_device_model *on, const struct tcc_model *model,
                       tcc_error *error) {
  TCC_TRY(on->driver->open(on->ordinal, &on->device, &on->info, error));
  TCC_TRY(choose_arch(on, error));
  TCC_TRY(load_kernels(on, error));
  return load_weights(on, model->weights, error);
}

/* ---- life ---- */

static tcc_status open_new(struct tcc_model *model, int32_t ordinal,
                           struct tcc_device_model **opened, tcc_error *error) {
  struct tcc_device_model *on = calloc(1, sizeof *on);
  if (!on)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory to open a device");
  atomic_init(&on->references, 1);
  on->driver = tcc_program.device_driver;
  on->ordinal = ordinal;
  tcc_status status = fill(on, model, error);
  if (status) {
    tcc_device_model_release(on);
    return status;
  }
  on->next = model->devices;
  model->devices = on;
  *opened = on;
  return TCC_OK;
}

tcc_status tcc_device_model_open(struct tcc_model *model, int32_t ordinal,
                                 struct tcc_device_model **opened, tcc_error *error) {
  tcc_status status = TCC_OK;
  pthread_mutex_lock(&model->lock);
  struct tcc_device_model *on = model->devices;
  while (on && on->ordinal != ordinal)
    on = on->next;
  if (!on)
    status = open_new(model, ordinal, &on, error);
  if (!status) {
    atomic_fetch_add(&on->references, 1);
    *opened = on;
  }
  pthread_mutex_unlock(&model->lock);
  return status;
}

void tcc_device_model_release(struct tcc_device_model *on) {
  if (atomic_fetch_sub(&on->references, 1) != 1)
    return;
  if (on->device) {
    if (on->weights)
      on->driver->free(on->device, on->weights);
    for (uint32_t i = 0; i < on->num_codes; ++i)
      on->driver->unload(on->device, on->codes[i]);
    on->driver->close(on->device);
  }
  free(on->codes);
  free(on->kernels);
  free(on);
}

void tcc_device_release_all(struct tcc_model *model) {
  while (model->devices) {
    struct tcc_device_model *on = model->devices;
    model->devices = on->next;
    tcc_device_model_release(on);
  }
}
