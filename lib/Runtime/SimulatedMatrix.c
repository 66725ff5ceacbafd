/* Matrix instructions and asynchronous copies of the simulated device.
 *
 * A copy that was started happens somewhere between its start and the wait for it. Threads of
 * every other block do it at once, which shows what is overwritten too early, those of the others
 * as late as they may, which shows what is read before it was waited for.
 *
 * The lanes of a warp exchange the addresses of what they hold. A lane may be one exchange ahead
 * of another, not two, so what it holds lies in two places in turn.
 */
#include "Simulated.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, MOST_THREADS = 1024, MOST_WORDS = 16 };

static uint32_t given[MOST_WORDS], taken[4];

void tcc_sim_give(uint32_t index, uint32_t word) { given[index] = word; }
uint32_t tcc_sim_take(uint32_t index) { return taken[index]; }

/* ---- numbers ---- */

static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float of_half(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00)
    return of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x0400)
    return of_bits(sign | ((rest << 13) + (112u << 23)));
  float small = (float)rest * 0x1p-24f;
  return sign ? -small : small;
}

/* Element `index` of the four bytes of `word`. */
static float real_at(uint32_t word, uint32_t kind, uint32_t index) {
  uint32_t half = word >> (16 * index) & 0xffff;
  return kind == TCC_SIM_BF16 ? of_bits(half << 16) : of_half(half);
}

static int32_t integer_at(uint32_t word, uint32_t kind, uint32_t index) {
  uint32_t byte = word >> (8 * index) & 0xff;
  return kind == TCC_SIM_U8 ? (int32_t)byte : (int32_t)(int8_t)byte;
}

/* ---- what lanes hold ---- */

static struct held {
  uint32_t turn, words[2][6];
} held[MOST_THREADS];

/* To nearest, halves away from 0. */
uint32_t tcc_sim_round_tf32(uint32_t bits) {
  bool is_number = (bits & 0x7fffffff) < 0x7f800000;
  return is_number ? (bits + 0x1000) & 0xffffe000 : bits;
}

/* 2 to the power of a number; 0 where that is less than any normal one. */
uint32_t tcc_sim_exp2(uint32_t bits) {
  float x = of_bits(bits);
  if (x != x)
    return 0x7fffffff;
  if (x >= 128)
    return 0x7f800000;
  if (x < -126)
    return 0;
  int32_t whole = (int32_t)(x + (x < 0 ? -0.5f : 0.5f));
  double y = ((double)x - whole) * 0.69314718055994531, sum = 1, term = 1;
  for (int n = 1; n < 12; ++n) {
    term *= y / n;
    sum += term;
  }
  for (int32_t n = whole; n > 0; --n)
    sum *= 2;
  for (int32_t n = whole; n < 0; ++n)
    sum /= 2;
  float result = (float)sum;
  memcpy(&bits, &result, sizeof bits);
  return bits;
}

static float dot_real(const uint32_t *left, const uint32_t *right, uint32_t kind, float sum) {
  for (uint32_t word = 0; kind == TCC_SIM_TF32 && word < 8; ++word)
    sum += of_bits(left[word] & 0xffffe000) * of_bits(right[word] & 0xffffe000);
  if (kind == TCC_SIM_TF32)
    return sum;
  for (uint32_t word = 0; word < 8; ++word)
    for (uint32_t i = 0; i < 2; ++i)
      sum += real_at(left[word], kind, i) * real_at(right[word], kind, i);
  return sum;
}

static uint32_t dot_integer(const uint32_t *left, const uint32_t *right, uint32_t left_kind,
                            uint32_t right_kind, uint32_t sum) {
  for (uint32_t word = 0; word < 8; ++word)
    for (uint32_t i = 0; i < 4; ++i)
      sum +=
          (uint32_t)(integer_at(left[word], left_kind, i) * integer_at(right[word], right_kind, i));
  return sum;
}

/* Of f64, eight rows by eight columns over four of k: words 0 and 1 of what was given are the left
 * operand, 2 and 3 the right one, 4 to 7 two sums. */
static void multiply_doubles(const uint64_t *lanes, const uint32_t *given_sums) {
  uint32_t lane = tcc_sim_thread() % WARP;
  for (uint32_t i = 0; i < 2; ++i) {
    uint32_t row = lane / 4, column = lane % 4 * 2 + i;
    double sum;
    memcpy(&sum, given_sums + 2 * i, sizeof sum);
    for (uint32_t k = 0; k < 4; ++k) {
      double left, right;
      memcpy(&left, (const uint32_t *)(uintptr_t)lanes[row * 4 + k], sizeof left);
      memcpy(&right, (const uint32_t *)(uintptr_t)lanes[column * 4 + k] + 2, sizeof right);
      sum += left * right;
    }
    memcpy(taken + 2 * i, &sum, sizeof sum);
  }
}

/* Words 0 to 3 of what was given are of the left operand, 4 and 5 of the right one, 6 to 9 sums. */
void tcc_sim_multiply(uint32_t left_kind, uint32_t right_kind) {
  struct held *mine = &held[tcc_sim_thread()];
  uint32_t *own = mine->words[mine->turn++ % 2], sums[4];
  memcpy(own, given, sizeof mine->words[0]);
  memcpy(sums, given + (left_kind == TCC_SIM_F64 ? 4 : 6), sizeof sums);
  uint64_t lanes[WARP];
  tcc_sim_share((uint64_t)(uintptr_t)own, lanes);
  if (left_kind == TCC_SIM_F64) {
    multiply_doubles(lanes, sums);
    return;
  }
  uint32_t lane = tcc_sim_thread() % WARP;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t row = lane / 4, half = i / 2, column = lane % 4 * 2 + i % 2, left[8], right[8];
    for (uint32_t word = 0; word < 8; ++word) {
      const uint32_t *l = (const uint32_t *)(uintptr_t)lanes[row * 4 + word % 4];
      const uint32_t *r = (const uint32_t *)(uintptr_t)lanes[column * 4 + word % 4];
      left[word] = l[half + word / 4 * 2];
      right[word] = r[4 + word / 4];
    }
    if (left_kind != TCC_SIM_S8 && left_kind != TCC_SIM_U8) {
      float sum = dot_real(left, right, left_kind, of_bits(sums[i]));
      memcpy(&taken[i], &sum, sizeof sum);
    } else {
      taken[i] = dot_integer(left, right, left_kind, right_kind, sums[i]);
    }
  }
}

void tcc_sim_load_matrices(uint64_t address, uint32_t count, uint32_t transposed) {
  uint64_t lanes[WARP];
  tcc_sim_share(address, lanes);
  uint32_t lane = tcc_sim_thread() % WARP, row = lane / 4, word = lane % 4;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t *rows = lanes + 8 * i;
    if (!transposed) {
      memcpy(&taken[i], (const char *)(uintptr_t)rows[row] + 4 * word, 4);
      continue;
    }
    uint16_t halves[2];
    for (uint32_t j = 0; j < 2; ++j)
      memcpy(&halves[j], (const char *)(uintptr_t)rows[2 * word + j] + 2 * row, 2);
    taken[i] = halves[0] | (uint32_t)halves[1] << 16;
  }
}

/* ---- asynchronous copies ---- */

struct copy {
  char *to;
  const char *from;
  uint32_t bytes, inside, group;
};

static struct copies {
  struct copy *list;
  uint32_t count, capacity, groups;
} copies[MOST_THREADS];
static bool late;

void tcc_sim_begin_block(uint32_t number) {
  late = number % 2 == 0;
  for (uint32_t i = 0; i < MOST_THREADS; ++i)
    copies[i].count = copies[i].groups = 0;
}

static void perform(const struct copy *copy) {
  memset(copy->to, 0, copy->bytes);
  memcpy(copy->to, copy->from, copy->inside);
}

static bool keep(struct copies *mine, struct copy copy) {
  if (mine->count == mine->capacity) {
    uint32_t capacity = mine->capacity ? 2 * mine->capacity : 16;
    struct copy *list = realloc(mine->list, capacity * sizeof *list);
    if (!list)
      return false;
    mine->list = list;
    mine->capacity = capacity;
  }
  mine->list[mine->count++] = copy;
  return true;
}

void tcc_sim_copy_async(uint64_t to, uint64_t from, uint32_t bytes, uint32_t inside) {
  struct copies *mine = &copies[tcc_sim_thread()];
  struct copy copy = {(char *)(uintptr_t)to, (const char *)(uintptr_t)from, bytes, inside,
                      mine->groups};
  if (!late || !keep(mine, copy))
    perform(&copy);
}

void tcc_sim_commit_copies(void) { ++copies[tcc_sim_thread()].groups; }

void tcc_sim_await_copies(uint32_t groups) {
  struct copies *mine = &copies[tcc_sim_thread()];
  uint32_t done = 0;
  while (done < mine->count && mine->list[done].group + groups < mine->groups)
    perform(&mine->list[done++]);
  mine->count -= done;
  if (mine->count && done)
    memmove(mine->list, mine->list + done, mine->count * sizeof *mine->list);
}
