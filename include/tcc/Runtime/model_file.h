/* Is the file what the compiler wrote?
 *
 * dlopen runs whatever it maps: code in which a disk or a copy has changed a byte ends the process,
 * or worse. So the compiler ends each model.so with a seal, and tcc_check_model_file holds the file
 * against it. A program calls it before it opens a model with dlopen, as tcc-run and the Python
 * loader do; it needs this header alone, and takes the time of reading the code (a millisecond for
 * 2 MB). It is no signature: it finds accidents, not forgeries.
 *
 * The seal is the last 32 bytes: a name, where the weights lie, and the CRC-32 (that of zlib, which
 * Python has) of all that stands before, of the weights only the samples below, since reading all
 * of them would take longer than opening may. A file that does not end with a seal passes:
 * compilers before this one wrote none, and a tool that writes a library anew (strip, objcopy)
 * drops it.
 */
#ifndef TCC_RUNTIME_MODEL_FILE_H
#define TCC_RUNTIME_MODEL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- samples of weights ---- */

enum { TCC_SAMPLE_BYTES = 4096, TCC_SAMPLES = 64 };

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

/* ---- the seal ---- */

#define TCC_SEAL_NAME "tcc seal"

struct tcc_seal {
  char name[8]; /* TCC_SEAL_NAME */
  uint64_t weights_place, weights_size;
  uint32_t unused; /* 0 */
  uint32_t crc;    /* of the file before the seal and of the seal up to here */
};

/* Eight bytes a step, by as many tables. */
struct tcc_crc {
  uint32_t table[8][256];
  uint32_t value;
};

static inline void tcc_crc_begin(struct tcc_crc *crc) {
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
    crc->table[0][i] = value;
  }
  for (int k = 1; k < 8; ++k)
    for (uint32_t i = 0; i < 256; ++i)
      crc->table[k][i] = crc->table[k - 1][i] >> 8 ^ crc->table[0][crc->table[k - 1][i] & 255];
  crc->value = ~0u;
}

static inline void tcc_crc_add(struct tcc_crc *crc, const void *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  uint32_t value = crc->value;
  for (; size >= 8; at += 8, size -= 8) {
    value ^= at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    value = crc->table[7][value & 255] ^ crc->table[6][value >> 8 & 255] ^
            crc->table[5][value >> 16 & 255] ^ crc->table[4][value >> 24] ^ crc->table[3][at[4]] ^
            crc->table[2][at[5]] ^ crc->table[1][at[6]] ^ crc->table[0][at[7]];
  }
  for (; size; ++at, --size)
    value = value >> 8 ^ crc->table[0][(value ^ *at) & 255];
  crc->value = value;
}

static inline int tcc_read_part(FILE *file, uint64_t begin, void *bytes, size_t size) {
  return fseek(file, (long)begin, SEEK_SET) == 0 && fread(bytes, 1, size, file) == size;
}

/* False where the file ends before, or cannot be read. */
static inline int tcc_crc_add_part(struct tcc_crc *crc, FILE *file, uint64_t begin, uint64_t end) {
  char part[1 << 14];
  while (begin < end) {
    size_t size = end - begin < sizeof part ? (size_t)(end - begin) : sizeof part;
    if (!tcc_read_part(file, begin, part, size))
      return 0;
    tcc_crc_add(crc, part, size);
    begin += size;
  }
  return 1;
}

/* The checksum that `seal`, whose place of the weights is set, has in a file whose bytes end at
 * `end`. False where they cannot be read, or the weights lie outside. */
static inline int tcc_seal_checksum(FILE *file, uint64_t end, const struct tcc_seal *seal,
                                    uint32_t *checksum) {
  uint64_t place = seal->weights_place, size = seal->weights_size;
  if (place > end || size > end - place)
    return 0;
  struct tcc_crc crc;
  tcc_crc_begin(&crc);
  int read = tcc_crc_add_part(&crc, file, 0, place);
  for (uint32_t i = 0; read && i < tcc_sample_count(size); ++i) {
    uint64_t begin = place + tcc_sample_offset(size, i);
    read = tcc_crc_add_part(&crc, file, begin, begin + tcc_sample_size(size, i));
  }
  read = read && tcc_crc_add_part(&crc, file, place + size, end);
  tcc_crc_add(&crc, seal, offsetof(struct tcc_seal, crc));
  *checksum = ~crc.value;
  return read;
}

/* ---- the check ---- */

/* Whether the file ends before what it says is mapped of it, or before its table of sections.
 * dlopen maps it all the same, and the first look at what is missing ends the process by SIGBUS. */
static inline int tcc_is_cut_short(FILE *file, uint64_t size) {
  char head[64]; /* ELF64: where its 56 bytes for each segment are, 64 for each section, how many */
  uint64_t place, sections, part[7];
  uint16_t count, section_count;
  if (!tcc_read_part(file, 0, head, sizeof head) || memcmp(head, "\177ELF", 4) != 0)
    return 0; /* not a library at all, as dlopen says */
  memcpy(&place, head + 32, sizeof place);
  memcpy(&count, head + 56, sizeof count);
  memcpy(&sections, head + 40, sizeof sections);
  memcpy(&section_count, head + 60, sizeof section_count);
  if (sections > size || section_count * UINT64_C(64) > size - sections)
    return 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (!tcc_read_part(file, place + i * sizeof part, part, sizeof part))
      return 1;
    uint64_t offset = part[1], stored = part[4];
    if ((uint32_t)part[0] == 1 && (offset > size || stored > size - offset)) /* PT_LOAD */
      return 1;
  }
  return 0;
}

/* By most of its name, so that damage there is damage too. */
static inline int tcc_is_seal(const struct tcc_seal *seal) {
  int equal = 0;
  for (size_t i = 0; i < sizeof seal->name; ++i)
    equal += seal->name[i] == TCC_SEAL_NAME[i];
  return equal >= 4;
}

/* NULL, or what is wrong with the file at `path`: "is cut short". */
static inline const char *tcc_check_model_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return "cannot be read";
  long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  uint64_t size = end < 0 ? 0 : (uint64_t)end;
  struct tcc_seal seal;
  uint32_t crc;
  const char *wrong = NULL;
  int sealed = size >= sizeof seal && tcc_read_part(file, size - sizeof seal, &seal, sizeof seal) &&
               tcc_is_seal(&seal);
  if (sealed && (!tcc_seal_checksum(file, size - sizeof seal, &seal, &crc) || crc != seal.crc))
    wrong = "is damaged: its checksum is not that of its content";
  else if (!sealed && tcc_is_cut_short(file, size))
    wrong = "is cut short";
  fclose(file);
  return wrong;
}

#endif
