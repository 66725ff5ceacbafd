/* Blocks that are kept from run to run.
 *
 * The static arena covers what the compiler could plan; this heap serves the rest: tensors of
 * run-time size, copies of strided inputs, and the outputs handed to the caller. The same sizes
 * come back every run, and fresh pages cost more than many kernels (64 MB: 16 k page faults), so a
 * freed block is kept by size class: multiples of 64 bytes up to 1 KiB, then eight steps per power
 * of two.
 *
 * Blocks in use by the run are on one list, so that a run that failed anywhere leaks nothing. A
 * block handed out (an output) is on no list; it counts as a reference to the heap, comes back from
 * any thread when its deleter is called, and is simply freed when the context has gone meanwhile.
 * A block that no run has used for KEEP_RUNS runs is given up. With an allocator of the caller,
 * outputs are not kept: their `free` follows the deleter at once.
 *
 * Large blocks of our own are aligned to and advised for huge pages. The heads of blocks in memory
 * that the host cannot read, a device's, lie elsewhere and are found by walking the list of those
 * in use, which is short.
 */
#include "Internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
  SMALL_CLASSES = 16,
  STEPS = 8,
  MIN_EXPONENT = 10,
  MAX_EXPONENT = 46,
  NUM_CLASSES = SMALL_CLASSES + (MAX_EXPONENT - MIN_EXPONENT) * STEPS,
  KEEP_RUNS = 16,
  HUGE_PAGE = 2 << 20
};

/* Lies before the bytes of every block that the host can read. */
struct tcc_block {
  struct tcc_block *next, *previous; /* of the run's list, or next of the free list */
  struct tcc_heap *heap;
  char *bytes;
  uint64_t size;     /* with this header, where it lies before the bytes */
  uint64_t last_run; /* that used it */
  uint32_t size_class;
  bool stays; /* until the heap is closed */
};
_Static_assert(sizeof(struct tcc_block) <= TCC_ALIGNMENT, "the header keeps the alignment");

struct tcc_heap {
  pthread_mutex_t lock;
  tcc_allocator allocator;   /* of the host's memory */
  struct tcc_memory foreign; /* .alloc not NULL: memory that the host cannot read */
  struct tcc_block in_use;   /* list head */
  struct tcc_block *free_blocks[NUM_CLASSES];
  uint64_t run, held, peak;
  uint64_t references; /* the context and every block handed out */
  bool closed;
  bool stays; /* what the run takes */
};

void *tcc_memory_alloc(const tcc_allocator *allocator, size_t size) {
  if (allocator->alloc)
    return allocator->alloc(allocator->user, size, TCC_ALIGNMENT);
  void *memory;
  size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : TCC_ALIGNMENT;
  if (posix_memalign(&memory, alignment, size))
    return NULL;
  if (size >= HUGE_PAGE)
    madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void tcc_memory_free(const tcc_allocator *allocator, void *pointer, size_t size) {
  if (!pointer)
    return;
  if (allocator->alloc)
    allocator->free(allocator->user, pointer, size);
  else
    free(pointer);
}

/* False when no class is large enough. */
static bool classify(int64_t bytes, uint32_t *size_class, uint64_t *rounded) {
  if (bytes < 0 || bytes > (int64_t)1 << MAX_EXPONENT)
    return false;
  uint64_t size = bytes ? (uint64_t)bytes : 1;
  if (size <= 1024) {
    *size_class = (uint32_t)((size - 1) / 64);
    *rounded = (*size_class + 1) * 64ull;
    return true;
  }
  uint32_t exponent = 63 - (uint32_t)__builtin_clzll(size - 1);
  uint64_t base = 1ull << exponent, step = base / STEPS;
  uint32_t index = (uint32_t)((size - 1 - base) / step);
  *size_class = SMALL_CLASSES + (exponent - MIN_EXPONENT) * STEPS + index;
  *rounded = base + (index + 1) * step;
  return true;
}

static void unlink_block(struct tcc_block *block) {
  block->previous->next = block->next;
  block->next->previous = block->previous;
}

static void give_up(struct tcc_heap *heap, struct tcc_block *block) {
  heap->held -= block->size;
  if (!heap->foreign.alloc) {
    tcc_memory_free(&heap->allocator, block, block->size);
    return;
  }
  heap->foreign.free(heap->foreign.user, block->bytes, block->size);
  free(block);
}

static void keep(struct tcc_heap *heap, struct tcc_block *block) {
  block->next = heap->free_blocks[block->size_class];
  heap->free_blocks[block->size_class] = block;
}

/* Frees the kept blocks that no run since `oldest` has used and that need not stay. */
static void trim(struct tcc_heap *heap, uint64_t oldest) {
  for (uint32_t i = 0; i < NUM_CLASSES; ++i)
    for (struct tcc_block **link = &heap->free_blocks[i]; *link;) {
      struct tcc_block *block = *link;
      if (block->last_run >= oldest || (block->stays && !heap->closed)) {
        link = &block->next;
        continue;
      }
      *link = block->next;
      give_up(heap, block);
    }
}

static struct tcc_block *foreign_block(struct tcc_heap *heap, uint64_t size) {
  struct tcc_block *block = malloc(sizeof *block);
  if (!block)
    return NULL;
  block->bytes = heap->foreign.alloc(heap->foreign.user, size);
  block->size = size;
  if (block->bytes)
    return block;
  free(block);
  return NULL;
}

static struct tcc_block *own_block(struct tcc_heap *heap, uint64_t size) {
  struct tcc_block *block = tcc_memory_alloc(&heap->allocator, size + TCC_ALIGNMENT);
  if (!block)
    return NULL;
  block->bytes = (char *)block + TCC_ALIGNMENT;
  block->size = size + TCC_ALIGNMENT;
  return block;
}

static struct tcc_block *fresh_block(struct tcc_heap *heap, uint64_t size) {
  struct tcc_block *(*make)(struct tcc_heap *, uint64_t) =
      heap->foreign.alloc ? foreign_block : own_block;
  struct tcc_block *block = make(heap, size);
  if (!block) {
    trim(heap, UINT64_MAX);
    block = make(heap, size);
  }
  if (!block)
    return NULL;
  block->heap = heap;
  block->stays = false;
  heap->held += block->size;
  if (heap->held > heap->peak)
    heap->peak = heap->held;
  return block;
}

static struct tcc_block *take(struct tcc_heap *heap, uint32_t size_class, uint64_t rounded) {
  struct tcc_block *block = heap->free_blocks[size_class];
  if (block)
    heap->free_blocks[size_class] = block->next;
  else
    block = fresh_block(heap, rounded);
  if (!block)
    return NULL;
  block->size_class = size_class;
  block->last_run = heap->run;
  block->stays |= heap->stays;
  block->next = heap->in_use.next;
  block->previous = &heap->in_use;
  block->next->previous = block;
  heap->in_use.next = block;
  return block;
}

void *tcc_heap_alloc(struct tcc_heap *heap, int64_t bytes) {
  uint32_t size_class;
  uint64_t rounded;
  if (!classify(bytes, &size_class, &rounded))
    return NULL;
  pthread_mutex_lock(&heap->lock);
  struct tcc_block *block = take(heap, size_class, rounded);
  pthread_mutex_unlock(&heap->lock);
  return block ? block->bytes : NULL;
}

/* Of bytes that the run has in use. */
static struct tcc_block *block_of(struct tcc_heap *heap, void *bytes) {
  if (!heap->foreign.alloc)
    return (struct tcc_block *)(void *)((char *)bytes - TCC_ALIGNMENT);
  struct tcc_block *block = heap->in_use.next;
  while (block->bytes != bytes)
    block = block->next;
  return block;
}

void tcc_heap_free(struct tcc_heap *heap, void *bytes) {
  if (!bytes)
    return;
  pthread_mutex_lock(&heap->lock);
  struct tcc_block *block = block_of(heap, bytes);
  unlink_block(block);
  keep(heap, block);
  pthread_mutex_unlock(&heap->lock);
}

struct tcc_block *tcc_heap_hand_out(struct tcc_heap *heap, void *bytes) {
  pthread_mutex_lock(&heap->lock);
  struct tcc_block *block = block_of(heap, bytes);
  unlink_block(block);
  ++heap->references;
  pthread_mutex_unlock(&heap->lock);
  return block;
}

/* Unlocks, and frees the heap itself after its last reference. */
static void drop_reference(struct tcc_heap *heap) {
  bool last = --heap->references == 0;
  pthread_mutex_unlock(&heap->lock);
  if (!last)
    return;
  pthread_mutex_destroy(&heap->lock);
  if (heap->foreign.gone)
    heap->foreign.gone(heap->foreign.user);
  free(heap);
}

void tcc_heap_return(struct tcc_block *block) {
  struct tcc_heap *heap = block->heap;
  pthread_mutex_lock(&heap->lock);
  if (heap->closed || heap->allocator.alloc)
    give_up(heap, block);
  else
    keep(heap, block);
  drop_reference(heap);
}

void tcc_heap_begin_run(struct tcc_heap *heap, bool stays) {
  pthread_mutex_lock(&heap->lock);
  heap->stays = stays;
  pthread_mutex_unlock(&heap->lock);
}

void tcc_heap_end_run(struct tcc_heap *heap) {
  pthread_mutex_lock(&heap->lock);
  while (heap->in_use.next != &heap->in_use) {
    struct tcc_block *block = heap->in_use.next;
    unlink_block(block);
    keep(heap, block);
  }
  ++heap->run;
  if (heap->run % KEEP_RUNS == 0 && heap->run > KEEP_RUNS && !heap->stays)
    trim(heap, heap->run - KEEP_RUNS);
  pthread_mutex_unlock(&heap->lock);
}

void tcc_heap_usage(struct tcc_heap *heap, uint64_t *held, uint64_t *peak) {
  pthread_mutex_lock(&heap->lock);
  *held = heap->held;
  *peak = heap->peak;
  pthread_mutex_unlock(&heap->lock);
}

struct tcc_heap *tcc_heap_create(const tcc_allocator *allocator) {
  struct tcc_heap *heap = calloc(1, sizeof *heap);
  if (!heap)
    return NULL;
  if (pthread_mutex_init(&heap->lock, NULL)) {
    free(heap);
    return NULL;
  }
  if (allocator)
    heap->allocator = *allocator;
  heap->in_use.next = heap->in_use.previous = &heap->in_use;
  heap->references = 1;
  return heap;
}

struct tcc_heap *tcc_heap_create_foreign(const struct tcc_memory *memory) {
  struct tcc_heap *heap = tcc_heap_create(NULL);
  if (heap)
    heap->foreign = *memory;
  return heap;
}

void tcc_heap_release(struct tcc_heap *heap) {
  if (!heap)
    return;
  tcc_heap_end_run(heap);
  pthread_mutex_lock(&heap->lock);
  heap->closed = true;
  trim(heap, UINT64_MAX);
  drop_reference(heap);
}
