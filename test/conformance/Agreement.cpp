#include "Agreement.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tcc;
using reference::Tensor;

namespace {

bool close(double have, double want, double rtol, double atol) {
  if (std::isnan(have) || std::isnan(want))
    return std::isnan(have) && std::isnan(want);
  if (std::isinf(have) || std::isinf(want))
    return have == want;
  return std::fabs(have - want) <= atol + rtol * std::fabs(want);
}

std::optional<std::string> compare(const Tensor &have, const Tensor &want, double rtol,
                                   double atol) {
  if (have.dtype() != want.dtype())
    return llvm::formatv("is {0}, expected {1}", dtypeName(have.dtype()), dtypeName(want.dtype()));
  if (have.shape() != want.shape())
    return llvm::formatv("has shape {0}, expected {1}", reference::shapeText(have.shape()),
                         reference::shapeText(want.shape()));
  bool complex = isComplex(have.dtype());
  bool integer = !complex && !isFloat(have.dtype());
  int64_t wrong = 0, first = 0;
  for (int64_t i = 0; i < have.elements(); ++i) {
    bool ok;
    if (complex)
      ok = close(have.complex(i).real(), want.complex(i).real(), rtol, atol) &&
           close(have.complex(i).imag(), want.complex(i).imag(), rtol, atol);
    else if (integer && have.integer(i) == want.integer(i))
      ok = true;
    else
      ok = close(have.real(i), want.real(i), rtol, atol);
    if (!ok && wrong++ == 0)
      first = i;
  }
  if (wrong == 0)
    return std::nullopt;
  return llvm::formatv("{0} of {1} differ, first [{2}]: {3} for {4}", wrong, have.elements(), first,
                       complex ? have.complex(first).real() : have.real(first),
                       complex ? want.complex(first).real() : want.real(first));
}

} // namespace

std::optional<std::string> conformance::disagreement(llvm::ArrayRef<Tensor> have,
                                                     llvm::ArrayRef<Tensor> want, double rtol,
                                                     double atol) {
  if (have.size() != want.size())
    return llvm::formatv("{0} outputs, expected {1}", have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i)
    if (auto what = compare(have[i], want[i], rtol, atol))
      return llvm::formatv("output {0} {1}", i, *what);
  return std::nullopt;
}
