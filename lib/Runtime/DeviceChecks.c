/* Checks of data that no run waits for: "an index is out of range" is found by a kernel.
 *
 * The kernel writes its truth value to a flag in memory that host and device share. A run in the
 * caller's stream returns when it is queued, and its flags say NOT_YET until the device gets there;
 * each later call of the context looks at those that came meanwhile, and the first that says that
 * its run failed is the call's error. A run that waits for the device finds its own before it
 * returns.
 *
 * Flags lie in a ring, a part for each run: no later run writes where an earlier one was not read.
 * Where the ring is full the oldest run is waited for. A run that is captured in a graph may write
 * its flags at any time: they lie behind the ring and are not read. A flag says everything there is
 * to know, so that the driver need not be asked how far the device is.
 */
#include "DeviceParts.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 64, NOT_YET = 2 };

struct tcc_device_checks {
  _Atomic unsigned char *flags; /* RUNS times TCC_RUN_FLAGS, and those of captured runs */
  tcc_device_address address;   /* of them, for kernels */
  uint64_t used[RUNS];          /* which flags a run has */
  /* Runs by number: those from `oldest` on were not read, `current` is the one that runs. */
  uint64_t oldest, current;
  struct {
    const char *message;
    bool bad; /* the value that says that the run failed */
  } checks[TCC_RUN_FLAGS];
};

static uint64_t *used_by(struct tcc_device_checks *checks, uint64_t run) {
  return &checks->used[run % RUNS];
}

static _Atomic unsigned char *flags_of(struct tcc_device_checks *checks, uint64_t run) {
  return checks->flags + run % RUNS * TCC_RUN_FLAGS;
}

static tcc_status make(struct tcc_device_context *device, tcc_error *error) {
  const struct tcc_device_model *model = device->model;
  struct tcc_device_checks *checks = calloc(1, sizeof *checks);
  if (!checks)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for checks of data");
  void *shared = NULL;
  tcc_status status = model->driver->share(model->device, (size_t)(RUNS + 1) * TCC_RUN_FLAGS,
                                           &shared, &checks->address, error);
  if (status) {
    free(checks);
    return status;
  }
  checks->flags = shared;
  device->checks = checks;
  return TCC_OK;
}

void tcc_device_end_checks(struct tcc_device_context *device) {
  if (device->checks)
    device->model->driver->unshare(device->model->device, (void *)device->checks->flags);
  free(device->checks);
  device->checks = NULL;
}

/* Whether all flags of `run` came; *failed is the first that says that it failed, or NULL. */
static bool read_flags(struct tcc_device_checks *checks, uint64_t run, const char **failed) {
  bool all = true;
  for (uint32_t i = TCC_RUN_FLAGS; i--;) {
    if (!(*used_by(checks, run) >> i & 1))
      continue;
    unsigned char value = atomic_load(&flags_of(checks, run)[i]);
    if (value == NOT_YET)
      all = false;
    else if ((value != 0) == checks->checks[i].bad)
      *failed = checks->checks[i].message;
  }
  return all;
}

tcc_status tcc_device_read_checks(struct tcc_device_context *device, bool done, tcc_error *error) {
  struct tcc_device_checks *checks = device->checks;
  const char *first = NULL;
  for (; checks && checks->oldest < checks->current; ++checks->oldest) {
    const char *failed = NULL;
    if (!read_flags(checks, checks->oldest, &failed) && !done)
      break;
    *used_by(checks, checks->oldest) = 0;
    first = first ? first : failed;
  }
  return first ? tcc_set_error(error, TCC_MODEL_ERROR, "%s", first) : TCC_OK;
}

void tcc_device_keep_checks(struct tcc_device_context *device) {
  struct tcc_device_checks *checks = device->checks;
  if (checks && *used_by(checks, checks->current))
    ++checks->current;
}

void tcc_device_drop_checks(struct tcc_device_context *device) {
  if (device->checks)
    *used_by(device->checks, device->checks->current) = 0;
}

static tcc_status prepare(struct tcc_device_context *device, tcc_error *error) {
  if (!device->checks)
    TCC_TRY(make(device, error));
  if (device->captured)
    return TCC_OK;
  /* The next run must not begin where the oldest was not read. */
  if (device->checks->current - device->checks->oldest < RUNS - 1)
    return TCC_OK;
  TCC_TRY(tcc_device_wait_for_last(device, error));
  return tcc_device_read_checks(device, true, error);
}

void *tcc_rt_flag(struct tcc_frame *frame, uint32_t number, int32_t bad, const char *message) {
  struct tcc_context *context = frame->ctx;
  struct tcc_device_context *device = context->device;
  tcc_status status = prepare(device, context->error);
  if (status)
    tcc_leave_run(context, status);
  struct tcc_device_checks *checks = device->checks;
  if (device->captured)
    return (void *)(uintptr_t)(checks->address + RUNS * TCC_RUN_FLAGS + number);
  checks->checks[number].message = message;
  checks->checks[number].bad = bad;
  *used_by(checks, checks->current) |= UINT64_C(1) << number;
  atomic_store(&flags_of(checks, checks->current)[number], NOT_YET);
  uint64_t at = checks->current % RUNS * TCC_RUN_FLAGS + number;
  return (void *)(uintptr_t)(checks->address + at);
}
