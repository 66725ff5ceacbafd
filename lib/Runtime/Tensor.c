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

struct strided_copy {
  int32_t rank;
  int64_t dims[TCC_MAX_RANK], from[TCC_MAX_RANK], to[TCC_MAX_RANK]; /* strides in bytes */
  size_t size;                                                      /* of an element */
};

static void copy_row(const struct strided_copy *copy, const char *from, char *to) {
  int32_t last = copy->rank - 1;
  int64_t count = copy->dims[last], from_step = copy->from[last], to_step = copy->to[last];
  size_t size = copy->size;
  if (from_step == (int64_t)size && to_step == (int64_t)size) {
    memcpy(to, from, (size_t)count * size);
    return;
  }
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step)
    switch (size) {
    case 1:
      *to = *from;
      break;
    case 2:
      memcpy(to, from, 2);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    case 8:
      memcpy(to, from, 8);
      break;
    default:
      memcpy(to, from, size);
    }
}

static void copy_strided(const struct strided_copy *copy, const char *from, char *to) {
  int64_t index[TCC_MAX_RANK] = {0};
  int32_t outer = copy->rank - 1;
  for (;;) {
    copy_row(copy, from, to);
    int32_t d = outer - 1;
    for (; d >= 0; --d) {
      from += copy->from[d];
      to += copy->to[d];
      if (++index[d] < copy->dims[d])
        break;
      from -= copy->from[d] * copy->dims[d];
      to -= copy->to[d] * copy->dims[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/* The tensor has at least one element and whole-byte elements. */
static void copy_tensor(const DLTensor *tensor, char *plain, bool to_plain) {
  struct strided_copy copy = {.size = tensor->dtype.bits / 8u};
  int64_t compact = (int64_t)copy.size;
  copy.rank = tensor->ndim ? tensor->ndim : 1;
  copy.dims[0] = 1;
  for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
    int64_t stride = compact;
    if (tensor->shape[d] == 1)
      stride = 0; /* whatever the caller says: it is not walked */
    else if (tensor->strides)
      stride = tensor->strides[d] * (int64_t)copy.size;
    copy.dims[d] = tensor->shape[d];
    copy.from[d] = to_plain ? stride : compact;
    copy.to[d] = to_plain ? compact : stride;
    compact *= tensor->shape[d];
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
