//===- CaseEngine.h - Random numbers of a test case --------------*- C++ -*-===//
#pragma once
#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace tcc::test {

/// A stream of the case that runs, one for each `seed`: its numbers are the same in every run,
/// whichever cases ran before.
inline std::mt19937 &caseEngine(unsigned seed) {
  static std::string running;
  static std::map<unsigned, std::mt19937> engines;
  std::string name = Catch::getResultCapture().getCurrentTestName();
  if (name != running)
    engines.clear();
  running = name;
  return engines.try_emplace(seed, seed).first->second;
}

} // namespace tcc::test
