/* Sorting for kernels (lib/Codegen/Cpu/Order/SortKernel.cpp): a word is an element's key in the
 * upper half and its place in the line in the lower one. No two are equal, so that whatever sorts
 * them keeps equal keys in the order of their places.
 *
 * Few words are inserted one after the other. More are distributed by one byte after the other, the
 * lowest first, between the line and a block on the stack, or the room that the caller has for the
 * line or half of it: then each half, and they are merged. Keys of long lines are distributed by
 * digits of more bits, in one pass less. With less room the line is first cut in place
 * by its highest byte (McIlroy, Bostic and McIlroy 1993), and each part sorted by the rest; places
 * are then in no order, and their bytes count too.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FEW = 24, BLOCK = 8192, BYTES = 8, KEY = 4, VALUES = 256 };
/* Of lines of LONG words and more the counts of digits are the smaller part; those of up to ROOMY
 * words stay in caches while they go from one place to 2,048 others. */
enum { DIGITS = 3, DIGIT = 11, DIGIT_VALUES = 1 << DIGIT, LONG = 3072, ROOMY = 1 << 19 };

void tcc_sort_words(uint64_t *words, int64_t count, char *room, int64_t bytes);

static unsigned byte_of(uint64_t word, unsigned byte) { return word >> (8 * byte) & 0xff; }

/* The words from `begin` on into those before, which are in order. */
static void insert(uint64_t *words, int64_t begin, int64_t count) {
  for (int64_t i = begin; i < count; ++i) {
    uint64_t word = words[i];
    int64_t to = i;
    for (; to > 0 && words[to - 1] > word; --to)
      words[to] = words[to - 1];
    words[to] = word;
  }
}

/* By the bytes from `first` to below `end`, all others being equal or in order already. */
static void distribute(uint64_t *words, int64_t count, unsigned first, unsigned end,
                       uint64_t *room) {
  uint64_t *from = words, *to = room;
  uint32_t counts[BYTES][VALUES];
  memset(counts[first], 0, (end - first) * sizeof counts[0]);
  for (int64_t i = 0; i < count; ++i)
    for (unsigned byte = first; byte < end; ++byte)
      ++counts[byte][byte_of(words[i], byte)];
  for (unsigned byte = first; byte < end; ++byte) {
    uint32_t *at = counts[byte], next = 0;
    if (at[byte_of(words[0], byte)] == count)
      continue;
    for (unsigned value = 0; value < VALUES; ++value) {
      uint32_t here = at[value];
      at[value] = next;
      next += here;
    }
    for (int64_t i = 0; i < count; ++i)
      to[at[byte_of(from[i], byte)]++] = from[i];
    uint64_t *other = from;
    from = to;
    to = other;
  }
  if (from != words)
    memcpy(words, from, (size_t)count * sizeof *words);
}

/* By keys, places being in order: in three passes, of 11, 11 and 10 bits. */
static void distribute_keys(uint64_t *words, int64_t count, uint64_t *room) {
  if (count < LONG) {
    distribute(words, count, KEY, BYTES, room);
    return;
  }
  uint64_t *from = words, *to = room;
  uint32_t counts[DIGITS][DIGIT_VALUES];
  memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < count; ++i)
    for (unsigned digit = 0; digit < DIGITS; ++digit)
      ++counts[digit][words[i] >> (8 * KEY + DIGIT * digit) & (DIGIT_VALUES - 1)];
  for (unsigned digit = 0; digit < DIGITS; ++digit) {
    unsigned shift = 8 * KEY + DIGIT * digit;
    uint32_t *at = counts[digit], next = 0;
    if (at[words[0] >> shift & (DIGIT_VALUES - 1)] == count)
      continue;
    for (unsigned value = 0; value < DIGIT_VALUES; ++value) {
      uint32_t here = at[value];
      at[value] = next;
      next += here;
    }
    for (int64_t i = 0; i < count; ++i)
      to[at[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    uint64_t *other = from;
    from = to;
    to = other;
  }
  if (from != words)
    memcpy(words, from, (size_t)count * sizeof *words);
}

static void distribute_in_block(uint64_t *words, int64_t count, unsigned first, unsigned end) {
  uint64_t block[BLOCK];
  if (first == KEY && end == BYTES)
    distribute_keys(words, count, block);
  else
    distribute(words, count, first, end, block);
}

/* The first `left` words and the others, each in order, into one. */
static void merge(uint64_t *words, int64_t left, int64_t count, uint64_t *room) {
  memcpy(room, words, (size_t)left * sizeof *words);
  int64_t i = 0, j = left, k = 0;
  while (i < left && j < count) {
    uint64_t x = room[i], y = words[j];
    bool right = y < x;
    words[k++] = right ? y : x;
    i += !right;
    j += right;
  }
  memcpy(words + k, room + i, (size_t)(left - i) * sizeof *words);
}

/* Words that are equal from byte `top` + 1 on and may be in no order. */
static void sort_part(uint64_t *words, int64_t count, int top) {
  if (count <= FEW)
    return insert(words, 1, count);
  if (count <= BLOCK)
    return distribute_in_block(words, count, 0, (unsigned)top + 1);
  int64_t ends[VALUES] = {0}, next[VALUES];
  for (int64_t i = 0; i < count; ++i)
    ++ends[byte_of(words[i], (unsigned)top)];
  int64_t end = 0;
  for (unsigned value = 0; value < VALUES; ++value) {
    next[value] = end;
    end = ends[value] += end;
  }
  /* Each word goes to the next free place of its part, and the one from there is next. */
  for (unsigned value = 0; value < VALUES; ++value)
    while (next[value] < ends[value]) {
      uint64_t word = words[next[value]];
      for (unsigned part; (part = byte_of(word, (unsigned)top)) != value;) {
        uint64_t displaced = words[next[part]];
        words[next[part]++] = word;
        word = displaced;
      }
      words[next[value]++] = word;
    }
  int64_t begin = 0;
  for (unsigned value = 0; top > 0 && value < VALUES; ++value) {
    sort_part(words + begin, ends[value] - begin, top - 1);
    begin = ends[value];
  }
}

/* Places ascend when this is called; `room` is `bytes` that nobody needs. */
void tcc_sort_words(uint64_t *words, int64_t count, char *room, int64_t bytes) {
  int64_t word = sizeof *words, skipped = -(int64_t)(uintptr_t)room & (word - 1);
  int64_t half = bytes > skipped ? (bytes - skipped) / word : 0;
  if (count > FEW && count <= BLOCK)
    return distribute_in_block(words, count, KEY, BYTES);
  if (count <= FEW || 2 * half + FEW < count)
    return sort_part(words, count, BYTES - 1);
  uint64_t *block = (uint64_t *)(void *)(room + skipped);
  if (half >= count && count <= ROOMY) {
    distribute_keys(words, count, block);
    return;
  }
  if (half > count / 2)
    half = count / 2;
  distribute_keys(words, half, block);
  distribute_keys(words + half, half, block);
  merge(words, half, 2 * half, block);
  insert(words, 2 * half, count);
}
