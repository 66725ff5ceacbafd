//===- Gpu.cpp - GPU records ----------------------------------------------===//
#include "tcc/Target/Gpu.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
namespace tcc {
namespace {

constexpr int64_t KiB = 1024, MiB = KiB * KiB, GB = 1000 * 1000 * 1000;

// Sizes and rates as NVIDIA publishes them for the product that is named.
constexpr GpuArch archRows[] = {
    // A100
    {"sm_80", 80, false, 70, 108, 163 * KiB, 40 * MiB, 2039 * GB, MatrixUnit::MmaSync, false,
     false},
    // A40, RTX 3090
    {"sm_86", 86, false, 71, 84, 99 * KiB, 6 * MiB, 696 * GB, MatrixUnit::MmaSync, false, false},
    // L40, RTX 4090
    {"sm_89", 89, false, 78, 142, 99 * KiB, 96 * MiB, 864 * GB, MatrixUnit::MmaSync, false, false},
    // H100, H200
    {"sm_90a", 90, true, 84, 132, 227 * KiB, 50 * MiB, 4800 * GB, MatrixUnit::Wgmma, true, true},
    // B200
    {"sm_100", 100, false, 86, 148, 227 * KiB, 126 * MiB, 8000 * GB, MatrixUnit::MmaSync, true,
     true},
    // RTX 5090
    {"sm_120", 120, false, 87, 170, 99 * KiB, 96 * MiB, 1792 * GB, MatrixUnit::MmaSync, true, true},
};

// As sm_80, and no PTX.
constexpr GpuArch simulatedRow = {"sim",    0,         true,
                                  0,        108,       163 * KiB,
                                  40 * MiB, 2039 * GB, MatrixUnit::MmaSync,
                                  false,    false,     /*simulated=*/true};

std::string knownNames() {
  SmallVector<StringRef> names;
  for (const GpuArch &arch : archRows)
    names.push_back(arch.name);
  return join(names, ", ");
}

Error unknownName(StringRef name) {
  // sm_90 is what most other tools take for these GPUs.
  for (const GpuArch &arch : archRows)
    if (arch.specific && (name + "a").str() == arch.name)
      return userError("--arch: tcc's code for " + printable(name) + " is that of " + arch.name +
                       ": give --arch " + arch.name);
  return userError("--arch: unknown GPU architecture '" + printable(name) + "'; known are " +
                   knownNames());
}

Expected<GpuCode> parseCode(StringRef text) {
  GpuCode code{nullptr, text.consume_back("+ptx")};
  if (text.empty())
    return userError("--arch: a name is missing; known are " + knownNames());
  if (size_t plus = text.find('+'); plus != StringRef::npos)
    return userError("--arch: '" + printable(text.substr(plus)) + "' after " +
                     printable(text.take_front(plus)) +
                     ": only +ptx may follow an architecture, once");
  code.arch = GpuArch::find(text);
  if (!code.arch)
    return unknownName(text);
  if (code.ptx && code.arch->specific)
    return userError("--arch: PTX of " + Twine(code.arch->name) +
                     " runs on no later GPU; give +ptx to another architecture, such as sm_80+ptx");
  return code;
}

} // namespace

std::string GpuArch::features() const { return "+ptx" + std::to_string(ptxVersion); }

std::string GpuArch::key() const {
  return join_items(' ', std::string(name), features(), std::to_string(multiprocessors),
                    std::to_string(sharedBytes), std::to_string(l2Bytes),
                    std::to_string(bytesPerSecond), std::to_string(static_cast<int>(matrixUnit)),
                    std::string(tma ? "tma" : ""), std::string(pdl ? "pdl" : ""));
}

ArrayRef<GpuArch> GpuArch::all() { return archRows; }

const GpuArch *GpuArch::find(StringRef name) {
  if (name == simulatedRow.name)
    return &simulatedRow;
  const auto *found = find_if(archRows, [&](const GpuArch &arch) { return name == arch.name; });
  return found == std::end(archRows) ? nullptr : found;
}

std::string GpuTarget::key() const {
  std::string text;
  for (const GpuCode &code : codes)
    text += code.arch->key() + (code.ptx ? " +ptx;" : ";");
  return tf32 ? text + " tf32" : text;
}

Expected<GpuTarget> GpuTarget::parse(StringRef text) {
  GpuTarget target;
  for (StringRef part : split(text, ',')) {
    Expected<GpuCode> code = parseCode(part.trim());
    if (!code)
      return code.takeError();
    if (is_contained(map_range(target.codes, [](const GpuCode &c) { return c.arch; }), code->arch))
      return userError("--arch: " + Twine(code->arch->name) + " is given twice");
    target.codes.push_back(*code);
  }
  if (target.codes.size() > 1 &&
      any_of(target.codes, [](const GpuCode &c) { return c.arch->simulated; }))
    return userError("--arch: sim is this machine's CPU in the place of a GPU, and stands alone");
  sort(target.codes,
       [](const GpuCode &a, const GpuCode &b) { return a.arch->capability < b.arch->capability; });
  return target;
}

} // namespace tcc
