/* What a model knows of the weights file beside it, computed by the compiler when it writes the
 * file and by the runtime when it opens it: the hash of its head, and one of samples of the rest,
 * since hashing all of it would take longer than opening may. Both are FNV-1a; they tell files
 * that belong to a model from others, not from forgeries. */
#ifndef TCC_RUNTIME_WEIGHT_FILE_H
#define TCC_RUNTIME_WEIGHT_FILE_H
#include <stdint.h>

enum { TCC_SAMPLE_BYTES = 4096, TCC_SAMPLES = 64 };

#define TCC_HASH_BEGIN 0xcbf29ce484222325u

static inline uint64_t tcc_hash(uint64_t hash, const void *bytes, uint64_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

/* Samples lie evenly over the `size` bytes of weights, the first and the last among them; few
 * bytes are sampled whole. Sample i is the bytes from its offset on, at most TCC_SAMPLE_BYTES. */
static inline uint32_t tcc_sample_count(uint64_t size) {
  uint64_t blocks = (size + TCC_SAMPLE_BYTES - 1) / TCC_SAMPLE_BYTES;
  return (uint32_t)(blocks < TCC_SAMPLES ? blocks : TCC_SAMPLES);
}

static inline uint64_t tcc_sample_offset(uint64_t size, uint32_t i) {
  if (size <= (uint64_t)TCC_SAMPLES * TCC_SAMPLE_BYTES)
    return (uint64_t)i * TCC_SAMPLE_BYTES;
  uint64_t last = size - TCC_SAMPLE_BYTES;
  return last / (TCC_SAMPLES - 1) * i + last % (TCC_SAMPLES - 1) * i / (TCC_SAMPLES - 1);
}

static inline uint64_t tcc_sample_size(uint64_t size, uint32_t i) {
  uint64_t rest = size - tcc_sample_offset(size, i);
  return rest < TCC_SAMPLE_BYTES ? rest : TCC_SAMPLE_BYTES;
}

#endif
