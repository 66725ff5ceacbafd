//===- Progress.h - The line that tells what is being done -------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <mutex>

namespace tcc {

/// One line on the terminal, written over and gone at the end; nothing where stderr is no
/// terminal. Thread-safe.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  void show(const llvm::Twine &what);
  void clear();

private:
  const bool terminal;
  bool shown = false;
  std::mutex mutex;
};

} // namespace tcc
