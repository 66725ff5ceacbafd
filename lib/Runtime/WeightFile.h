/* What a model knows of the weights file beside it, computed by the compiler when it writes the
 * file and by the runtime when it opens it: the hash of its head, and one of samples of the rest,
 * since hashing all of it would take longer than opening may. Both are FNV-1a; they tell files
 * that belong to a model from others, not from forgeries. */
#ifndef TCC_RUNTIME_WEIGHT_FILE_H
#define TCC_RUNTIME_WEIGHT_FILE_H
#include "tcc/Runtime/model_file.h"
#include <stdint.h>

#define TCC_HASH_BEGIN 0xcbf29ce484222325u

static inline uint64_t tcc_hash(uint64_t hash, const void *bytes, uint64_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

#endif
