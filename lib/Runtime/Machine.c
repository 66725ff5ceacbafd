/* What the running machine offers: CPU features, cores, floating-point mode.
 *
 * A model compiled for a newer CPU must be refused by name, not killed by an illegal instruction,
 * so the features it was compiled for are checked when it is opened.
 */
#include "Internal.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct feature {
  const char *name; /* as LLVM calls it */
  uint8_t word, bit;
};

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { L1_ECX, L1_EDX, L7_EBX, L7_ECX, L7_EDX, L71_EAX, L71_EDX, EXT_ECX, NUM_WORDS };

static const struct feature features[] = {
    {"sse3", L1_ECX, 0},
    {"pclmul", L1_ECX, 1},
    {"ssse3", L1_ECX, 9},
    {"fma", L1_ECX, 12},
    {"cx16", L1_ECX, 13},
    {"sse4.1", L1_ECX, 19},
    {"sse4.2", L1_ECX, 20},
    {"movbe", L1_ECX, 22},
    {"popcnt", L1_ECX, 23},
    {"aes", L1_ECX, 25},
    {"xsave", L1_ECX, 26},
    {"avx", L1_ECX, 28},
    {"f16c", L1_ECX, 29},
    {"bmi", L7_EBX, 3},
    {"avx2", L7_EBX, 5},
    {"bmi2", L7_EBX, 8},
    {"avx512f", L7_EBX, 16},
    {"avx512dq", L7_EBX, 17},
    {"adx", L7_EBX, 19},
    {"avx512ifma", L7_EBX, 21},
    {"avx512cd", L7_EBX, 28},
    {"sha", L7_EBX, 29},
    {"avx512bw", L7_EBX, 30},
    {"avx512vl", L7_EBX, 31},
    {"avx512vbmi", L7_ECX, 1},
    {"avx512vbmi2", L7_ECX, 6},
    {"gfni", L7_ECX, 8},
    {"vaes", L7_ECX, 9},
    {"vpclmulqdq", L7_ECX, 10},
    {"avx512vnni", L7_ECX, 11},
    {"avx512bitalg", L7_ECX, 12},
    {"avx512vpopcntdq", L7_ECX, 14},
    {"avx512vp2intersect", L7_EDX, 8},
    {"amx-bf16", L7_EDX, 22},
    {"avx512fp16", L7_EDX, 23},
    {"amx-tile", L7_EDX, 24},
    {"amx-int8", L7_EDX, 25},
    {"avxvnni", L71_EAX, 4},
    {"avx512bf16", L71_EAX, 5},
    {"amx-fp16", L71_EAX, 21},
    {"avxifma", L71_EAX, 23},
    {"avxvnniint8", L71_EDX, 4},
    {"avxneconvert", L71_EDX, 5},
    {"avxvnniint16", L71_EDX, 10},
    {"lzcnt", EXT_ECX, 5},
    {"sse4a", EXT_ECX, 6},
    {"fma4", EXT_ECX, 16},
    {"tbm", EXT_ECX, 21},
};

static uint64_t enabled_state(uint32_t leaf1_ecx) {
  if (!(leaf1_ecx & 1u << 27))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* Features whose registers the system does not save count as absent. */
static bool is_enabled(const char *name, uint64_t state) {
  if (!strncmp(name, "avx512", 6))
    return (state & 0xe6) == 0xe6;
  if (!strncmp(name, "amx", 3))
    return (state & 0x60000) == 0x60000;
  if (!strncmp(name, "avx", 3) || !strncmp(name, "fma", 3) || !strcmp(name, "f16c") ||
      !strcmp(name, "vaes") || !strcmp(name, "vpclmulqdq"))
    return (state & 6) == 6;
  return true;
}

static void read_words(uint32_t *words, uint64_t *state) {
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d))
    words[L1_ECX] = c, words[L1_EDX] = d;
  *state = enabled_state(words[L1_ECX]);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    words[L7_EBX] = b, words[L7_ECX] = c, words[L7_EDX] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
      words[L71_EAX] = a, words[L71_EDX] = d;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    words[EXT_ECX] = c;
}

uint64_t tcc_fp_enter(void) {
  uint32_t saved = _mm_getcsr();
  if ((saved & 0xffc0) != 0x1f80)
    _mm_setcsr(0x1f80);
  return saved;
}

void tcc_fp_leave(uint64_t saved) {
  if ((saved & 0xffc0) != 0x1f80)
    _mm_setcsr((uint32_t)saved);
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

enum { HWCAP, HWCAP2, NUM_WORDS };

static const struct feature features[] = {
    {"fp-armv8", HWCAP, 0}, {"neon", HWCAP, 1},       {"aes", HWCAP, 3},       {"sha2", HWCAP, 6},
    {"crc", HWCAP, 7},      {"lse", HWCAP, 8},        {"fullfp16", HWCAP, 10}, {"rdm", HWCAP, 12},
    {"jsconv", HWCAP, 13},  {"complxnum", HWCAP, 14}, {"rcpc", HWCAP, 15},     {"sha3", HWCAP, 17},
    {"dotprod", HWCAP, 20}, {"sve", HWCAP, 22},       {"fp16fml", HWCAP, 23},  {"sve2", HWCAP2, 1},
    {"i8mm", HWCAP2, 13},   {"bf16", HWCAP2, 14},     {"sme", HWCAP2, 23},
};

static bool is_enabled(const char *name, uint64_t state) {
  (void)name, (void)state;
  return true;
}

static void read_words(uint32_t *words, uint64_t *state) {
  words[HWCAP] = (uint32_t)getauxval(AT_HWCAP);
  words[HWCAP2] = (uint32_t)getauxval(AT_HWCAP2);
  *state = 0;
}

/* Keeps the trap bits; clears rounding mode, flush-to-zero and default NaN. */
uint64_t tcc_fp_enter(void) {
  uint64_t saved;
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  if (saved & 0x7c80000)
    __asm__ volatile("msr fpcr, %0" ::"r"(saved & ~(uint64_t)0x7c80000));
  return saved;
}

void tcc_fp_leave(uint64_t saved) {
  if (saved & 0x7c80000)
    __asm__ volatile("msr fpcr, %0" ::"r"(saved));
}
#endif

/* Names that the table does not know (tuning flags) need nothing of the machine. */
static bool has_feature(const char *name, size_t length, const uint32_t *words, uint64_t state) {
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i) {
    const struct feature *f = &features[i];
    if (strlen(f->name) == length && !memcmp(f->name, name, length))
      return (words[f->word] >> f->bit & 1) && is_enabled(f->name, state);
  }
  return true;
}

bool tcc_claim_matrix_unit(const char *names) {
#if defined(__x86_64__) && defined(__linux__)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  if (names && strstr(names, "amx-tile"))
    return !syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA);
#endif
  (void)names;
  return true;
}

bool tcc_cpu_has(const char *names, char *missing, size_t size) {
  uint32_t words[NUM_WORDS] = {0};
  uint64_t state = 0;
  if (!names || !*names)
    return true;
  read_words(words, &state);
  while (*names) {
    size_t length = strcspn(names, ",");
    if (!has_feature(names, length, words, state)) {
      snprintf(missing, size, "%.*s", (int)length, names);
      return false;
    }
    names += length + (names[length] == ',');
  }
  return true;
}

/* ---- cores ---- */

static bool read_text(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = read(file, text, size - 1);
  close(file);
  if (length < 0)
    return false;
  text[length] = 0;
  return true;
}

/* Whole cores that the control group's quota allows, rounded up; 0: no limit. */
static uint32_t quota_in(const char *folder) {
  char path[512], text[64];
  snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
  long long quota, period;
  if (!read_text(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2)
    return 0;
  if (quota <= 0 || period <= 0)
    return 0;
  return (uint32_t)((quota + period - 1) / period);
}

static uint32_t quota(void) {
  char text[512];
  uint32_t own = 0;
  if (read_text("/proc/self/cgroup", text, sizeof text)) {
    char *line = strstr(text, "0::/");
    if (line) {
      line[strcspn(line, "\n")] = 0;
      own = quota_in(line + 3);
    }
  }
  return own ? own : quota_in("");
}

/* The first of the hardware threads that share a core with `cpu`. */
static int first_sibling(int cpu) {
  char path[96], text[64];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  return read_text(path, text, sizeof text) ? atoi(text) : cpu;
}

/* Hardware threads of one core share its arithmetic units, so one thread a core is enough. */
uint32_t tcc_usable_cores(void) {
  cpu_set_t usable, cores;
  if (sched_getaffinity(0, sizeof usable, &usable))
    return 1;
  CPU_ZERO(&cores);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &usable)) {
      int core = first_sibling(cpu);
      if (core >= 0 && core < CPU_SETSIZE)
        CPU_SET(core, &cores);
    }
  uint32_t count = (uint32_t)CPU_COUNT(&cores), limit = quota();
  if (limit && limit < count)
    count = limit;
  return count ? count : 1;
}
