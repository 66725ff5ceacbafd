/* Where a run finds stack for its kernels. They keep up to half a megabyte of panels and scores
 * there, which threads of a pool have. The caller's thread takes its part of each kernel and may
 * have less: other languages and C libraries give their threads 128 to 512 kB, and fibers fewer.
 * Where too little is left, a thread of the run's own takes the caller's part instead. What the
 * stack of a thread is, the system is asked once for each context and thread: for a first thread it
 * reads a file.
 */
#include "Internal.h"

#include <signal.h>

enum { LEAST_ROOM = 1 << 20 };

static bool has_room(struct tcc_stack *known) {
  const char *here = __builtin_frame_address(0);
  pthread_t self = pthread_self();
  if (!known->low || !pthread_equal(known->thread, self) || here < known->low ||
      here >= known->high) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(self, &attributes))
      return true; /* nothing is known */
    int failed = pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    if (failed)
      return true;
    *known = (struct tcc_stack){self, low, (const char *)low + size};
  }
  return here >= known->low && here < known->high && here - known->low >= LEAST_ROOM;
}

struct call {
  tcc_status (*run)(struct tcc_context *context);
  struct tcc_context *context;
  tcc_status status;
};

static void *call_here(void *argument) {
  struct call *call = argument;
  tcc_fp_enter();
  call->status = call->run(call->context);
  return NULL;
}

tcc_status tcc_run_with_room(struct tcc_context *context,
                             tcc_status (*run)(struct tcc_context *context)) {
  if (context->device || has_room(&context->stack))
    return run(context);
  struct call call = {run, context, TCC_OK};
  pthread_attr_t attributes;
  pthread_t thread;
  int failed = pthread_attr_init(&attributes);
  if (!failed) {
    pthread_attr_setstacksize(&attributes, TCC_STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, &attributes, call_here, &call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
  }
  if (failed)
    return tcc_set_error(context->error, TCC_OUT_OF_MEMORY,
                         "the calling thread has less than %d kB of stack left, and no thread with "
                         "more could be started: call with a larger stack",
                         LEAST_ROOM >> 10);
  pthread_join(thread, NULL);
  return call.status;
}
