// --arch as text, and what the table says of the architectures that it names.
#include "tcc/Target/Gpu.h"
#include "tcc/Support/Error.h"
#include <catch2/catch.hpp>

using tcc::GpuArch;
using tcc::GpuTarget;
using tcc::MatrixUnit;

static std::string messageOf(llvm::StringRef text) {
  llvm::Expected<GpuTarget> target = GpuTarget::parse(text);
  REQUIRE(!target);
  llvm::Error error = target.takeError();
  CHECK(error.isA<tcc::UserError>());
  return llvm::toString(std::move(error));
}

TEST_CASE("several architectures, PTX for some, in ascending order") {
  GpuTarget target = llvm::cantFail(GpuTarget::parse("sm_90a, sm_100+ptx,sm_80"));
  REQUIRE(target.codes.size() == 3);
  CHECK(target.codes[0].arch == GpuArch::find("sm_80"));
  CHECK(target.codes[1].arch == GpuArch::find("sm_90a"));
  CHECK(target.codes[2].arch == GpuArch::find("sm_100"));
  CHECK(!target.codes[1].ptx);
  CHECK(target.codes[2].ptx);
  CHECK(target.key() == llvm::cantFail(GpuTarget::parse("sm_80,sm_90a,sm_100+ptx")).key());
  CHECK(target.key() != llvm::cantFail(GpuTarget::parse("sm_80,sm_90a,sm_100")).key());
}

TEST_CASE("what the table says of an architecture") {
  const GpuArch *hopper = GpuArch::find("sm_90a");
  REQUIRE(hopper);
  CHECK(hopper->matrixUnit == MatrixUnit::Wgmma);
  CHECK(hopper->tma);
  CHECK(hopper->pdl);
  CHECK(hopper->features() == "+ptx84");
  CHECK(hopper->sharedBytes == 232448);
  const GpuArch *ampere = GpuArch::find("sm_80");
  REQUIRE(ampere);
  CHECK(ampere->matrixUnit == MatrixUnit::MmaSync);
  CHECK(!ampere->tma);
  for (size_t i = 1; i < GpuArch::all().size(); ++i)
    CHECK(GpuArch::all()[i - 1].capability < GpuArch::all()[i].capability);
}

TEST_CASE("a wrong --arch is one clear sentence") {
  CHECK(messageOf("sm_85") == "--arch: unknown GPU architecture 'sm_85'; known are sm_80, sm_86, "
                              "sm_89, sm_90a, sm_100, sm_120");
  CHECK(messageOf("sm_90") == "--arch: tcc's code for sm_90 is that of sm_90a: give --arch sm_90a");
  CHECK(messageOf("sm_80,sm_90a,sm_80+ptx") == "--arch: sm_80 is given twice");
  CHECK(messageOf("sm_90a+ptx") == "--arch: PTX of sm_90a runs on no later GPU; give +ptx to "
                                   "another architecture, such as sm_80+ptx");
  CHECK(messageOf("sm_80+sass") ==
        "--arch: '+sass' after sm_80: only +ptx may follow an architecture, once");
  CHECK(messageOf("sm_80,") == "--arch: a name is missing; known are sm_80, sm_86, sm_89, sm_90a, "
                               "sm_100, sm_120");
  CHECK(messageOf("sm_80,sim") ==
        "--arch: sim is this machine's CPU in the place of a GPU, and stands alone");
  CHECK(messageOf("").find("a name is missing") != std::string::npos);
  CHECK(messageOf("sm\n80").find("\\x0a") != std::string::npos);
}
