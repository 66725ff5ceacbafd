//===- TargetOptions.cpp - What the command line compiles for -------------===//
#include "TargetOptions.h"
#include "WriteCode.h"
#include "tcc/Support/Error.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace tcc;

static Expected<GpuTarget> devicesOf(const DriverOptions &options) {
  GpuTarget devices;
  if (!options.archs.empty())
    if (Error error = GpuTarget::parse(options.archs).moveInto(devices))
      return std::move(error);
  devices.ptxas = options.ptxas;
  devices.tf32 = options.precision == Precision::TF32;
  std::string emit = options.emit == EmitKind::Ptx ? "--emit ptx" : "--emit cubin";
  if (devices.empty() && kernelsAlone(options.emit))
    return userError(emit + " needs --arch: the GPU that the kernels are for");
  if (kernelsAlone(options.emit) && (devices.codes.size() > 1 || devices.simulated()))
    return userError(emit + " writes the kernels for one GPU: give one --arch");
  if (devices.empty() && options.noFallback)
    return userError("--no-fallback is for models that run on a GPU: give an --arch");
  return devices;
}

/// A model for a GPU is seldom built on the machine that runs it, and little of it runs on a CPU:
/// it is for the CPUs that GPUs of our architectures are found beside.
static std::string cpuBesideGpus(StringRef tripleText) {
  Triple triple(tripleText.empty() ? sys::getDefaultTargetTriple() : tripleText.str());
  return triple.getArch() == Triple::x86_64 ? "x86-64-v3" : "generic";
}

Expected<Target> tcc::targetOf(const DriverOptions &options) {
  Target target;
  if (Error error = devicesOf(options).moveInto(target.devices))
    return std::move(error);
  bool elsewhere = !target.devices.empty() && !target.devices.simulated();
  std::string cpu = options.cpu.empty() && elsewhere ? cpuBesideGpus(options.target) : options.cpu;
  if (Error error = CpuTarget::create(cpu, options.target).moveInto(target.host))
    return std::move(error);
  return target;
}
