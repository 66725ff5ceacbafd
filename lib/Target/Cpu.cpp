//===- Cpu.cpp - CPU records ----------------------------------------------===//
//
// A record is made in three steps: the name is resolved against LLVM's own list
// of processors, the instruction-set table gives vector width and abilities from
// the features that LLVM derives for that name, and the cache table gives sizes.
// Everything that differs between CPUs is in the two tables.
//
//===----------------------------------------------------------------------===//
#include "tcc/Target/Cpu.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <mutex>
#include <unistd.h>

using namespace llvm;
namespace tcc {
namespace {

/// Instruction sets, best first; the first row whose features are all present
/// decides. `fma` names the feature that brings fused multiply-add ("" = always).
struct IsaRow {
  Triple::ArchType arch;
  const char *needs;
  unsigned vectorBits, registers;
  const char *fma;
  bool masked;
};
constexpr IsaRow isaRows[] = {
    {Triple::x86_64, "+avx512f,+avx512vl,+avx512bw,+avx512dq", 512, 32, "", true},
    {Triple::x86_64, "+avx", 256, 16, "+fma", false},
    {Triple::x86_64, "+sse2", 128, 16, "+fma", false},
    {Triple::aarch64, "+neon", 128, 32, "", false},
};

/// Abilities beside plain f32 vectors, all of them looked up in the same way; the last
/// row that sets a field decides.
struct AbilityRow {
  Triple::ArchType arch;
  const char *needs;
  void (*set)(CpuTarget &);
};
constexpr AbilityRow abilityRows[] = {
    {Triple::x86_64, "+f16c", [](CpuTarget &t) { t.halfConversion = true; }},
    {Triple::x86_64, "+avx512fp16", [](CpuTarget &t) { t.halfArithmetic = true; }},
    {Triple::x86_64, "+avx512bf16", [](CpuTarget &t) { t.bfloatDot = true; }},
    {Triple::x86_64, "+avx512f,+amx-tile,+amx-bf16", [](CpuTarget &t) { t.bfloatTiles = true; }},
    {Triple::x86_64, "+avx512f,+amx-tile,+amx-int8", [](CpuTarget &t) { t.byteTiles = true; }},
    {Triple::x86_64, "+sse2", [](CpuTarget &t) { t.byteDot = ByteDot::Pairs; }},
    {Triple::x86_64, "+avx512vnni", [](CpuTarget &t) { t.byteDot = ByteDot::UnsignedSigned; }},
    {Triple::x86_64, "+avxvnni", [](CpuTarget &t) { t.byteDot = ByteDot::UnsignedSigned; }},
    {Triple::aarch64, "+neon", [](CpuTarget &t) { t.halfConversion = true; }},
    {Triple::aarch64, "+fullfp16", [](CpuTarget &t) { t.halfArithmetic = true; }},
    {Triple::aarch64, "+bf16", [](CpuTarget &t) { t.bfloatDot = true; }},
    {Triple::aarch64, "+dotprod", [](CpuTarget &t) { t.byteDot = ByteDot::Same; }},
};

/// Cache sizes in KiB by CPU name; the last level is one core's share, of as many
/// as share it in the largest of the name. A name that is not here keeps the
/// record's defaults: shares that every CPU of the last ten years has at least.
struct CacheRow {
  const char *name;
  unsigned l1, l2, l3, sharers;
};
constexpr CacheRow cacheRows[] = {
    {"znver1", 32, 512, 2048, 4},           {"znver2", 32, 512, 4096, 4},
    {"znver3", 32, 512, 4096, 8},           {"znver4", 32, 1024, 4096, 8},
    {"znver5", 48, 1024, 4096, 8},          {"haswell", 32, 256, 2048, 18},
    {"broadwell", 32, 256, 2048, 24},       {"skylake", 32, 256, 2048, 8},
    {"skylake-avx512", 32, 1024, 1408, 28}, {"cascadelake", 32, 1024, 1408, 28},
    {"icelake-server", 48, 1280, 1536, 40}, {"sapphirerapids", 48, 2048, 1920, 60},
    {"emeraldrapids", 48, 2048, 5120, 64},  {"graniterapids", 48, 2048, 4096, 120},
    {"alderlake", 48, 1280, 3072, 10},      {"raptorlake", 48, 2048, 3072, 12},
    {"x86-64-v4", 32, 1024, 1408, 28},      {"neoverse-n1", 64, 1024, 1024, 32},
    {"neoverse-v1", 64, 1024, 1024, 32},    {"neoverse-n2", 64, 1024, 1024, 64},
    {"neoverse-v2", 64, 2048, 1536, 72},    {"apple-m1", 128, 3072, 2048, 4},
    {"apple-m2", 128, 4096, 2048, 4},       {"apple-m3", 128, 4096, 2048, 4},
    {"cortex-a72", 32, 512, 512, 4},        {"cortex-a76", 64, 256, 512, 4},
};

void initializeTargetsOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
  });
}

/// "aarch64-linux" says enough for a person; LLVM wants the environment too.
Triple completeTriple(StringRef text) {
  Triple host(sys::getDefaultTargetTriple());
  if (text.empty())
    return host;
  Triple triple(Triple::normalize(text));
  if (triple.getOS() == Triple::UnknownOS)
    triple.setOS(Triple::Linux);
  if (triple.isOSLinux() && triple.getEnvironment() == Triple::UnknownEnvironment)
    triple.setEnvironment(Triple::GNU);
  return triple;
}

std::string hostFeatures() {
  SmallVector<std::string> names;
  for (const StringMapEntry<bool> &feature : sys::getHostCPUFeatures())
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(names, [](StringRef a, StringRef b) { return a.drop_front() < b.drop_front(); });
  return join(names, ",");
}

Error unknownCpu(StringRef cpu, const Triple &triple, const MCSubtargetInfo &info) {
  SmallVector<std::pair<unsigned, StringRef>> byDistance;
  for (const SubtargetSubTypeKV &known : info.getAllProcessorDescriptions())
    byDistance.emplace_back(cpu.edit_distance(known.Key), known.Key);
  llvm::sort(byDistance);
  std::string near;
  for (const auto &[distance, name] : ArrayRef(byDistance).take_front(5))
    near += (near.empty() ? "" : ", ") + name.str();
  return userError("unknown CPU '" + printable(cpu, 60) + "' for " + triple.str() +
                   "; near names: " + near + " (or native)");
}

void readCaches(CpuTarget &target, bool native) {
  for (const CacheRow &row : cacheRows)
    if (target.name == row.name) {
      target.l1Bytes = int64_t(row.l1) << 10;
      target.l2Bytes = int64_t(row.l2) << 10;
      target.l3Bytes = int64_t(row.l3) << 10;
      target.lastBytes = target.l3Bytes * row.sharers;
      return;
    }
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  // The last level is not asked for: a virtual machine reports the whole socket's.
  if (native) {
    if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
      target.l1Bytes = bytes;
    if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
      target.l2Bytes = bytes;
  }
#endif
}

void readAbilities(CpuTarget &target, const Triple &triple, const MCSubtargetInfo &info) {
  for (const IsaRow &row : isaRows)
    if (row.arch == triple.getArch() && info.checkFeatures(row.needs)) {
      target.vectorBits = row.vectorBits;
      target.vectorRegisters = row.registers;
      target.fma = !*row.fma || info.checkFeatures(row.fma);
      target.maskedMemory = row.masked;
      break;
    }
  for (const AbilityRow &row : abilityRows)
    if (row.arch == triple.getArch() && info.checkFeatures(row.needs))
      row.set(target);
}

/// The names that the runtime can check (lib/Runtime/Machine.c).
constexpr StringLiteral checkedFeatures[] = {
    "sse3", "pclmul", "ssse3", "fma", "cx16", "sse4.1", "sse4.2", "movbe", "popcnt", "aes", "xsave",
    "avx", "f16c", "bmi", "avx2", "bmi2", "avx512f", "avx512dq", "adx", "avx512ifma", "avx512cd",
    "sha", "avx512bw", "avx512vl", "avx512vbmi", "avx512vbmi2", "gfni", "vaes", "vpclmulqdq",
    "avx512vnni", "avx512bitalg", "avx512vpopcntdq", "avx512vp2intersect", "amx-bf16", "avx512fp16",
    "amx-tile", "amx-int8", "avxvnni", "avx512bf16", "amx-fp16", "avxifma", "avxvnniint8",
    "avxneconvert", "avxvnniint16", "lzcnt", "sse4a", "fma4", "tbm",
    // AArch64
    "fp-armv8", "neon", "sha2", "crc", "lse", "fullfp16", "rdm", "jsconv", "complxnum", "rcpc",
    "sha3", "dotprod", "sve", "fp16fml", "sve2", "i8mm", "bf16", "sme"};

std::string requiredFeatures(const MCSubtargetInfo &info) {
  SmallVector<StringRef> names;
  for (const SubtargetFeatureKV &feature : info.getEnabledProcessorFeatures())
    if (is_contained(checkedFeatures, StringRef(feature.Key)))
      names.push_back(feature.Key);
  llvm::sort(names);
  return join(names, ",");
}

std::string resolveName(StringRef cpu, const Triple &triple) {
  if (cpu == "v2" || cpu == "v3" || cpu == "v4")
    return ("x86-64-" + cpu).str();
  if (!cpu.empty())
    return cpu.str();
  return triple.getArch() == Triple::x86_64 ? "x86-64-v2" : "generic";
}

} // namespace

std::string CpuTarget::key() const {
  return triple + "|" + name + "|" + features + "|" + std::to_string(vectorBits) + "|" +
         std::to_string(l1Bytes) + "|" + std::to_string(l2Bytes) + "|" + std::to_string(l3Bytes) +
         "|" + std::to_string(lastBytes);
}

Expected<CpuTarget> CpuTarget::create(StringRef cpu, StringRef tripleText) {
  initializeTargetsOnce();
  Triple triple = completeTriple(tripleText);
  Triple host(sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, message);
  bool described =
      llvm::any_of(isaRows, [&](const IsaRow &row) { return row.arch == triple.getArch(); });
  if (!target || !described)
    return userError("unknown target '" + printable(tripleText, 60) +
                     "': x86_64-linux and aarch64-linux are supported");

  bool isHost = triple.getArch() == host.getArch();
  bool native = cpu == "native" || (cpu.empty() && tripleText.empty());
  if (native && !isHost)
    return userError("--cpu native is for the host, which is " + host.getArchName() +
                     ": name a CPU for target " + triple.str());

  CpuTarget result;
  result.triple = triple.str();
  result.name = native ? sys::getHostCPUName().str() : resolveName(cpu, triple);
  result.features = native ? hostFeatures() : "";

  std::unique_ptr<MCSubtargetInfo> names(target->createMCSubtargetInfo(triple, "", ""));
  if (!names->isCPUStringValid(result.name))
    return unknownCpu(result.name, triple, *names);
  std::unique_ptr<MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, result.name, result.features));
  // Its instructions have no form of AVX's encoding, and each one among such costs hundreds of
  // cycles; what LLVM takes them for (moving the bytes of half a register) is a shuffle.
  if (triple.getArch() == Triple::x86_64 && info->checkFeatures("+avx,+sse4a")) {
    result.features += result.features.empty() ? "-sse4a" : ",-sse4a";
    info.reset(target->createMCSubtargetInfo(triple, result.name, result.features));
  }
  readAbilities(result, triple, *info);
  result.required = requiredFeatures(*info);
  readCaches(result, native);
  // Some CPUs' tuning avoids 512-bit registers in general code; ours is chosen
  // by `vectorBits` and must not be split behind our back.
  if (result.vectorBits == 512)
    result.features += result.features.empty() ? "-prefer-256-bit" : ",-prefer-256-bit";
  return result;
}

} // namespace tcc
