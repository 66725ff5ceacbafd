#include "Embedded.h"

using namespace llvm;

// From the generated Embedded.S.
#define TCC_EMBEDDED(target, file)                                                                 \
  extern "C" const char tcc_##target##_##file##_begin[], tcc_##target##_##file##_end[];
TCC_EMBEDDED(x86_64, runtime)
TCC_EMBEDDED(x86_64, device)
TCC_EMBEDDED(x86_64, libc)
TCC_EMBEDDED(x86_64, libm)
TCC_EMBEDDED(aarch64, runtime)
TCC_EMBEDDED(aarch64, device)
TCC_EMBEDDED(aarch64, libc)
TCC_EMBEDDED(aarch64, libm)
#undef TCC_EMBEDDED

#define TCC_BYTES(target, file)                                                                    \
  StringRef(tcc_##target##_##file##_begin,                                                         \
            tcc_##target##_##file##_end - tcc_##target##_##file##_begin)

namespace tcc::emit {

EmbeddedFiles embeddedFiles(const Triple &triple) {
  if (!triple.isOSLinux())
    return {};
  if (triple.getArch() == Triple::x86_64)
    return {TCC_BYTES(x86_64, runtime), TCC_BYTES(x86_64, device), TCC_BYTES(x86_64, libc),
            TCC_BYTES(x86_64, libm)};
  if (triple.getArch() == Triple::aarch64)
    return {TCC_BYTES(aarch64, runtime), TCC_BYTES(aarch64, device), TCC_BYTES(aarch64, libc),
            TCC_BYTES(aarch64, libm)};
  return {};
}

} // namespace tcc::emit
