//===- TorchExportMutator.cpp - Changes to .pt2 files that keep them zips of JSON -===//
//
// As with ONNX, the document is changed and not its bytes, and the checksums are made right again:
// what is to be tested lies behind them.
//
//===----------------------------------------------------------------------===//
#include "TorchExportMutator.h"
#include "Import/TorchExport/ZipArchive.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace llvm;
using tcc::torchexport::ZipArchive;
using tcc::torchexport::ZipEntry;

namespace {

/// Picks values anywhere in a document and replaces them by others of it, by
/// troublesome ones, or by none.
class JsonMutator {
public:
  JsonMutator(json::Value &root, std::minstd_rand &random) : random(random) { collect(root); }
  void run() {
    for (size_t left = 1 + below(4); left; --left)
      mutate(*values[below(values.size())]);
  }

private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }

  void collect(json::Value &value) {
    values.push_back(&value);
    if (auto *array = value.getAsArray())
      for (json::Value &element : *array)
        collect(element);
    if (auto *object = value.getAsObject())
      for (auto &member : *object)
        collect(member.second);
    if (auto text = value.getAsString())
      texts.push_back(text->str());
  }

  std::string text() {
    static const char *const kTexts[] = {"", "a b", "%s%n", "s0", "../x", "-1", "\xc3\xa4", "x\ny"};
    if (!texts.empty() && below(4))
      return texts[below(texts.size())];
    return kTexts[below(std::size(kTexts))];
  }

  json::Value scalar() {
    static constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, 7, 64, 65536, INT32_MAX, INT64_MIN};
    switch (below(5)) {
    case 0:
      return nullptr;
    case 1:
      return below(2) == 0;
    case 2:
      return text();
    default:
      return kNumbers[below(std::size(kNumbers))];
    }
  }

  /// A container only changes inside, so that what `values` points to stays alive until the end.
  void mutate(json::Value &value) {
    if (auto *array = value.getAsArray()) {
      if (array->size() > 1)
        std::swap((*array)[below(array->size())], (*array)[below(array->size())]);
      return;
    }
    if (value.getAsObject())
      return;
    if (value.getAsString() && below(8))
      value = text();
    else
      value = scalar();
  }

  std::minstd_rand &random;
  std::vector<json::Value *> values;
  std::vector<std::string> texts;
};

/// A zip of stored entries (APPNOTE.TXT 4.3), as small as it can be.
class ZipWriter {
public:
  void add(StringRef name, StringRef data) {
    std::string common;
    put(common, 0, 2); // flags
    put(common, 0, 2); // stored
    put(common, 0, 4); // time
    put(common, crc32(arrayRefFromStringRef(data)), 4);
    put(common, data.size(), 4);
    put(common, data.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2); // extra
    std::string central = "PK\x01\x02";
    put(central, 20, 2);
    put(central, 20, 2);
    central += common;
    put(central, 0, 10); // comment, disk, attributes
    put(central, out.size(), 4);
    directory += central + name.str();
    out += "PK\x03\x04";
    put(out, 20, 2);
    out += common + name.str() + data.str();
    ++count;
  }
  std::string finish() {
    uint64_t begin = out.size();
    out += directory + "PK\x05\x06";
    put(out, 0, 4);
    put(out, count, 2);
    put(out, count, 2);
    put(out, directory.size(), 4);
    put(out, begin, 4);
    put(out, 0, 2);
    return std::move(out);
  }

private:
  static void put(std::string &to, uint64_t value, unsigned bytes) {
    for (unsigned k = 0; k != bytes; ++k, value >>= 8)
      to += static_cast<char>(value & 0xff);
  }
  std::string out, directory;
  unsigned count = 0;
};

} // namespace

std::optional<std::string> tcc::test::mutateTorchExport(StringRef bytes, std::minstd_rand &random) {
  auto archive = ZipArchive::open(bytes);
  if (!archive) {
    consumeError(archive.takeError());
    return std::nullopt;
  }
  ZipWriter writer;
  bool found = false;
  for (const ZipEntry &entry : archive->entries()) {
    std::string text;
    if (StringRef(entry.name).ends_with("models/model.json")) {
      auto document = json::parse(entry.data);
      if (!document) {
        consumeError(document.takeError());
        return std::nullopt;
      }
      JsonMutator(*document, random).run();
      raw_string_ostream(text) << *document;
      found = true;
    }
    writer.add(entry.name, found && !text.empty() ? StringRef(text) : entry.data);
  }
  if (!found)
    return std::nullopt;
  return writer.finish();
}
