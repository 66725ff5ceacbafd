/* DLPack tensors: sizes, layouts, and copies to and from the plain form that generated code reads
 * (compact, row-major, one byte for each element below 8 bits).
 */
#include "Internal.h"
#include "tcc/Runtime/dtype_names.h"

#include <string.h>

int64_t tcc_element_count(int32_t rank, const int64_t *dims, DLDataType dtype) {
  int64_t count = 1, bytes;
  bool empty = false;
  for (int32_t d = 0; d < rank; ++d) {
    if (dims[d] < 0)
      return -1;
    if (dims[d] == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, dims[d], &count))
      return -1;
  }
  if (__builtin_mul_overflow(count, (int64_t)dtype.bits * 2 + 64, &bytes))
    return -1;
  return empty ? 0 : count;
}

int64_t tcc_packed_bytes(int64_t elements, DLDataType dtype) {
  return (elements * dtype.bits + 7) / 8;
}

int64_t tcc_plain_bytes(int64_t elements, DLDataType dtype) {
  return elements * ((dtype.bits + 7) / 8);
}

/* Strides of dims that are not walked do not matter. */
bool tcc_is_compact(const DLTensor *tensor) {
  if (!tensor->strides)
    return true;
  int64_t expected = 1;
  for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
    if (tensor->shape[d] == 0)
      return true;
    if (tensor->shape[d] != 1 && tensor->strides[d] != expected)
      return false;
    expected *= tensor->shape[d];
  }
  return true;
}

static const char *data_of(const DLTensor *tensor) {
  return (const char *)tensor->data + tensor->byte_offset;
}

bool tcc_is_aligned(const DLTensor *tensor) {
  uintptr_t scalar = tensor->dtype.bits / 8u;
  if (tensor->dtype.code == kDLComplex)
    scalar /= 2;
  return scalar <= 1 || ((uintptr_t)tensor->data + tensor->byte_offset) % scalar == 0;
}

/* ---- strided copies ---- */

/* Axes from the innermost of what is compact outwards; those that lie behind each other on both
 * sides are one. The second is the innermost of the other side where that is not the first. */
struct strided_copy {
  int32_t rank;
  int64_t dims[TCC_MAX_RANK + 1], from[TCC_MAX_RANK + 1], to[TCC_MAX_RANK + 1]; /* bytes apart */
  size_t size;                                                                  /* of an element */
};

/* Of a plane that one side has turned, each line of a cache is read, or written, once for a tile.
 */
enum { TILE = 16 };

static inline __attribute__((always_inline)) void
copy_plane_of(const struct strided_copy *copy, const char *from, char *to, size_t size) {
  for (int64_t row = 0; row < copy->dims[1]; row += TILE)
    for (int64_t column = 0; column < copy->dims[0]; column += TILE) {
      int64_t rows = copy->dims[1] - row < TILE ? copy->dims[1] - row : TILE;
      int64_t columns = copy->dims[0] - column < TILE ? copy->dims[0] - column : TILE;
      for (int64_t r = row; r < row + rows; ++r) {
        const char *source = from + r * copy->from[1] + column * copy->from[0];
        char *target = to + r * copy->to[1] + column * copy->to[0];
        for (int64_t i = 0; i < columns; ++i, source += copy->from[0], target += copy->to[0])
          memcpy(target, source, size);
      }
    }
}

static void copy_plane(const struct strided_copy *copy, const char *from, char *to) {
  size_t size = copy->size;
  if (copy->from[0] == (int64_t)size && copy->to[0] == (int64_t)size)
    for (int64_t r = 0; r < copy->dims[1]; ++r)
      memcpy(to + r * copy->to[1], from + r * copy->from[1], (size_t)copy->dims[0] * size);
  else if (size == 1)
    copy_plane_of(copy, from, to, 1);
  else if (size == 2)
    copy_plane_of(copy, from, to, 2);
  else if (size == 4)
    copy_plane_of(copy, from, to, 4);
  else if (size == 8)
    copy_plane_of(copy, from, to, 8);
  else
    copy_plane_of(copy, from, to, size);
}

static void copy_strided(const struct strided_copy *copy, const char *from, char *to) {
  int64_t index[TCC_MAX_RANK + 1] = {0};
  for (;;) {
    copy_plane(copy, from, to);
    int32_t d = 2;
    for (; d < copy->rank; ++d) {
      from += copy->from[d];
      to += copy->to[d];
      if (++index[d] < copy->dims[d])
        break;
      from -= copy->from[d] * copy->dims[d];
      to -= copy->to[d] * copy->dims[d];
      index[d] = 0;
    }
    if (d >= copy->rank)
      return;
  }
}

static void add_axis(struct strided_copy *copy, int64_t dim, int64_t from, int64_t to) {
  int32_t last = copy->rank - 1;
  if (last >= 0 && from == copy->from[last] * copy->dims[last] &&
      to == copy->to[last] * copy->dims[last]) {
    copy->dims[last] *= dim;
    return;
  }
  copy->dims[copy->rank] = dim;
  copy->from[copy->rank] = from;
  copy->to[copy->rank++] = to;
}

static void swap(int64_t *values, int32_t i, int32_t j) {
  int64_t value = values[i];
  values[i] = values[j];
  values[j] = value;
}

/* The tensor has at least one element and whole-byte elements. */
static void copy_tensor(const DLTensor *tensor, char *plain, bool to_plain) {
  struct strided_copy copy = {.size = tensor->dtype.bits / 8u};
  int64_t size = (int64_t)copy.size, compact = size;
  for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
    int64_t dim = tensor->shape[d], stride = compact;
    if (dim == 1)
      continue; /* whatever its stride is: it is not walked */
    if (tensor->strides)
      stride = tensor->strides[d] * size;
    add_axis(&copy, dim, to_plain ? stride : compact, to_plain ? compact : stride);
    compact *= dim;
  }
  while (copy.rank < 2)
    copy.dims[copy.rank++] = 1; /* with strides of 0, not walked */
  if (copy.dims[0] == 1)
    copy.from[0] = copy.to[0] = size;
  const int64_t *strides = to_plain ? copy.from : copy.to;
  for (int32_t d = 1; d < copy.rank; ++d)
    if (strides[d] == size) {
      swap(copy.dims, 1, d);
      swap(copy.from, 1, d);
      swap(copy.to, 1, d);
      break;
    }
  char *data = (char *)tensor->data + tensor->byte_offset;
  copy_strided(&copy, to_plain ? data : plain, to_plain ? plain : data);
}

/* ---- elements below 8 bits ---- */

/* Element number of the i-th element in row-major order, through the strides. */
static int64_t position(const DLTensor *tensor, int64_t i) {
  if (!tensor->strides)
    return i;
  int64_t at = 0;
  for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
    if (tensor->shape[d] != 1)
      at += i % tensor->shape[d] * tensor->strides[d];
    i /= tensor->shape[d];
  }
  return at;
}

/* The byte and, in it, the bit of element number `at`, which is negative where strides go back
 * from `data`. `bits` divides 8 here: 1, 2 and 4; other widths are refused before. */
static int64_t byte_of(int64_t at, int64_t per_byte) {
  return at >= 0 ? at / per_byte : -((per_byte - 1 - at) / per_byte);
}

static unsigned bit_of(int64_t at, int64_t per_byte, unsigned bits) {
  return (unsigned)(at - byte_of(at, per_byte) * per_byte) * bits;
}

static void unpack(const DLTensor *from, int64_t elements, unsigned char *plain) {
  unsigned bits = from->dtype.bits, per_byte = 8 / bits, mask = (1u << bits) - 1;
  unsigned sign = from->dtype.code == kDLInt ? 1u << (bits - 1) : 0;
  const unsigned char *data = (const unsigned char *)data_of(from);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t at = position(from, i);
    unsigned value = data[byte_of(at, per_byte)] >> bit_of(at, per_byte, bits) & mask;
    plain[i] = (unsigned char)((value ^ sign) - sign);
  }
}

static void pack(const unsigned char *plain, int64_t elements, const DLTensor *to) {
  unsigned bits = to->dtype.bits, per_byte = 8 / bits, mask = (1u << bits) - 1;
  unsigned char *data = (unsigned char *)data_of(to);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t at = position(to, i);
    unsigned shift = bit_of(at, per_byte, bits);
    unsigned char *byte = &data[byte_of(at, per_byte)];
    *byte = (unsigned char)((*byte & ~(mask << shift)) | (plain[i] & mask) << shift);
  }
}

void tcc_load_plain(const DLTensor *from, int64_t elements, void *plain) {
  if (!elements)
    return;
  if (from->dtype.bits < 8)
    unpack(from, elements, plain);
  else
    copy_tensor(from, plain, true);
}

void tcc_store_plain(const void *plain, int64_t elements, const DLTensor *to) {
  if (!elements)
    return;
  if (to->dtype.bits < 8)
    pack(plain, elements, to);
  else
    copy_tensor(to, (char *)(uintptr_t)plain, false);
}

/* ---- text ---- */

void tcc_text_dtype(struct tcc_text *text, DLDataType dtype) {
  if (dtype.code >= sizeof tcc_dtype_names / sizeof *tcc_dtype_names)
    tcc_text_add(text, "dtype(%u, %u bits)", dtype.code, dtype.bits);
  else if (dtype.code < kDLBool)
    tcc_text_add(text, "%s%u", tcc_dtype_names[dtype.code], dtype.bits);
  else
    tcc_text_add(text, "%s", tcc_dtype_names[dtype.code]);
  if (dtype.lanes != 1)
    tcc_text_add(text, "x%u", dtype.lanes);
}

void tcc_text_expected(struct tcc_text *text, const struct tcc_io_desc *desc) {
  tcc_text_dtype(text, desc->dtype);
  if (desc->rank < 0) {
    tcc_text_add(text, " of any shape");
    return;
  }
  tcc_text_add(text, "[");
  for (int32_t d = 0; d < desc->rank; ++d) {
    int64_t dim = desc->dims[d];
    tcc_text_add(text, d ? ", " : "");
    if (dim >= 0)
      tcc_text_add(text, "%lld", (long long)dim);
    else if (dim != INT64_MIN && *tcc_program.symbols[-1 - dim].name)
      tcc_text_add(text, "%s", tcc_program.symbols[-1 - dim].name);
    else
      tcc_text_add(text, "?");
  }
  tcc_text_add(text, "]");
}

void tcc_text_given(struct tcc_text *text, DLDataType dtype, int32_t rank, const int64_t *dims) {
  tcc_text_dtype(text, dtype);
  tcc_text_add(text, "[");
  for (int32_t d = 0; d < rank && d < TCC_MAX_RANK; ++d)
    tcc_text_add(text, "%s%lld", d ? ", " : "", (long long)dims[d]);
  tcc_text_add(text, "]");
}
