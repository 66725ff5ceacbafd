// What tuning measures beside the model's own choice for a GPU: other ways of the templates for
// wgmma.
#include "KernelTexts.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/Target/Gpu.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Form;
using codegen::device::Schedule;

static kernel::LaunchOp launchOf(ModuleOp module) {
  kernel::LaunchOp launch;
  module.walk([&](kernel::LaunchOp op) { launch = op; });
  return launch;
}

static llvm::SmallVector<Schedule> othersOf(kernel::LaunchOp launch, const GpuArch &arch) {
  auto own = codegen::device::schedulesFor(launch, arch);
  auto others = codegen::device::otherSchedulesFor(launch, arch, own);
  for (Schedule other : others) {
    CHECK(!llvm::is_contained(own, other));
    CHECK(llvm::count(others, other) == 1);
  }
  return others;
}

TEST_CASE("other ways of wgmma are few, of its templates, and none that is there") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  constexpr size_t kMost = 16; // of both templates
  for (const std::string &text : {product("bf16", "bf16", 4096, 3072, 768, true),
                                  product("bf16", "bf16", 64, 4096, 4096, true),
                                  product("f16", "f32", 1000, 200, 512, false)}) {
    INFO(text);
    auto module = fused(text);
    auto others = othersOf(launchOf(*module), arch);
    CHECK(others.size() > 1);
    CHECK(others.size() <= kMost);
    CHECK(llvm::all_of(others, [](Schedule s) { return s.getForm() == Form::Wgmma; }));
    // Tuning has them behind the model's choice, which they do not change.
    codegen::GpuScheduleModel model(llvm::cantFail(GpuTarget::parse("sm_90a")));
    using Asked = ScheduleModel::Asked;
    auto all = model.candidates(launchOf(*module), Asked::All);
    CHECK(all.front() == model.candidates(launchOf(*module), Asked::Best).front());
    CHECK(all.size() > others.size());
  }
}

TEST_CASE("other ways of wgmma do not spill", "[long]") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (const std::string &text : {product("bf16", "bf16", 4096, 3072, 768, true),
                                  product("bf16", "bf16", 64, 4096, 4096, true)}) {
    auto module = fused(text);
    kernel::LaunchOp launch = launchOf(*module);
    for (Schedule other : othersOf(launch, arch)) {
      INFO(other.getRows() << " x " << other.getColumns() << " in " << other.getThreads());
      auto code = kernelModule(launch, "k", other, arch);
      REQUIRE(code);
      REQUIRE(succeeded(codegen::device::lowerKernelModule(*code, other)));
      checkAssembles(llvm::cantFail(emit::emitPtx(*code, arch)), arch);
    }
  }
}

TEST_CASE("there are no other ways where no template for wgmma takes a launch") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (const std::string &text :
       {product("f32", "f32", 512, 512, 512, true), softmax("64", "300")}) {
    INFO(text);
    auto module = fused(text);
    CHECK(othersOf(launchOf(*module), arch).empty());
  }
  auto module = fused(product("bf16", "bf16", 512, 512, 512, true));
  CHECK(othersOf(launchOf(*module), *GpuArch::find("sm_80")).empty());
}
