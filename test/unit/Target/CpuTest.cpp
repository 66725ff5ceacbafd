// --cpu and --target as text, and what the table says of the CPUs that they name.
#include "tcc/Target/Cpu.h"
#include <catch2/catch.hpp>

using tcc::CpuTarget;

static CpuTarget get(llvm::StringRef cpu, llvm::StringRef triple = "") {
  return llvm::cantFail(CpuTarget::create(cpu, triple));
}

static std::string messageOf(llvm::StringRef cpu, llvm::StringRef triple = "") {
  llvm::Expected<CpuTarget> target = CpuTarget::create(cpu, triple);
  REQUIRE(!target);
  return llvm::toString(target.takeError());
}

TEST_CASE("x86-64 levels") {
  CpuTarget v2 = get("v2", "x86_64-linux"), v3 = get("x86-64-v3", "x86_64-linux"),
            v4 = get("v4", "x86_64-linux");
  CHECK(v2.vectorBits == 128);
  CHECK(!v2.fma);
  CHECK(v3.vectorBits == 256);
  CHECK(v3.fma);
  CHECK(v3.vectorRegisters == 16);
  CHECK(v4.vectorBits == 512);
  CHECK(v4.vectorRegisters == 32);
  CHECK(v4.lanes(32) == 16);
  CHECK(v4.key() != v3.key());
}

TEST_CASE("named CPUs and other architectures") {
  CHECK(get("znver4", "x86_64-linux").l2Bytes == 1 << 20);
  CHECK(get("znver4", "x86_64-linux").byteDot == tcc::ByteDot::UnsignedSigned);
  CpuTarget arm = get("", "aarch64-linux");
  CHECK(arm.triple == "aarch64-unknown-linux-gnu");
  CHECK(arm.name == "generic");
  CHECK(arm.vectorBits == 128);
  CHECK(arm.vectorRegisters == 32);
  CHECK(arm.fma);
  CHECK(get("neoverse-n1", "aarch64-linux").byteDot == tcc::ByteDot::Same);
}

TEST_CASE("the last cache is of all cores that share it") {
  CHECK(get("znver5", "x86_64-linux").lastBytes == 32 << 20);
  CHECK(get("znver2", "x86_64-linux").lastBytes == 16 << 20);
  CpuTarget server = get("icelake-server", "x86_64-linux");
  CHECK(server.lastBytes == 40 * server.l3Bytes);
  CHECK(get("x86-64-v3", "x86_64-linux").lastBytes == 32 << 20); // of no known name
}

TEST_CASE("no SSE4a beside AVX, whose registers it stalls") {
  CpuTarget zen = get("znver3");
  CHECK(llvm::StringRef(zen.features).contains("-sse4a"));
  CHECK_FALSE(llvm::StringRef(zen.required).contains("sse4a"));
  CHECK(get("x86-64-v3").features.empty());
}

TEST_CASE("the host") {
  CpuTarget host = get("native");
  CHECK(!host.name.empty());
  CHECK(host.key() == get("").key());
  CHECK(host.l1Bytes >= 8 << 10);
}

TEST_CASE("wrong names") {
  CHECK_THAT(messageOf("znver44", "x86_64-linux"), Catch::Contains("znver4"));
  CHECK_THAT(messageOf("v3", "aarch64-linux"), Catch::Contains("unknown CPU"));
  CHECK_THAT(messageOf("", "pdp11-unix"), Catch::Contains("unknown target"));
  CHECK_THAT(messageOf("native", "aarch64-linux"), Catch::Contains("host"));
}
