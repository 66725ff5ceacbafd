//===- Manifest.cpp - The manifest as JSON -------------------------------===//
//
// Guards are derived from inputs and symbols while they are written, as the runtime derives its
// checks from the same: listing them apart would be a second truth. Text from models is made valid
// UTF-8, since names are the exporter's.
//
//===----------------------------------------------------------------------===//
#include "tcc/Emit/Manifest.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace tcc::emit {

namespace {

/// Input and dimension where a symbol appears.
using Place = std::pair<StringRef, size_t>;

} // namespace

/// JSON is UTF-8; a name that is not keeps its valid parts.
static std::string utf8(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

static void writeAmount(json::OStream &json, StringRef key, const ManifestAmount &amount) {
  if (const int64_t *number = std::get_if<int64_t>(&amount))
    json.attribute(key, *number);
  else
    json.attribute(key, utf8(std::get<std::string>(amount)));
}

static void writeStrings(json::OStream &json, StringRef key, ArrayRef<std::string> strings) {
  json.attributeArray(key, [&] {
    for (const std::string &string : strings)
      json.value(utf8(string));
  });
}

static void writeShape(json::OStream &json, ArrayRef<ManifestDim> shape) {
  json.attributeArray("shape", [&] {
    for (const ManifestDim &dim : shape)
      if (const int64_t *size = std::get_if<int64_t>(&dim))
        json.value(*size);
      else if (const std::string &symbol = std::get<std::string>(dim); !symbol.empty())
        json.value(utf8(symbol));
      else
        json.value(nullptr);
  });
}

static void writeTensors(json::OStream &json, StringRef key, ArrayRef<ManifestTensor> tensors) {
  json.attributeArray(key, [&] {
    for (const ManifestTensor &tensor : tensors)
      json.object([&] {
        json.attribute("name", utf8(tensor.name));
        json.attribute("dtype", dtypeName(tensor.dtype));
        writeShape(json, tensor.shape);
        if (tensor.written)
          json.attribute("written", true);
      });
  });
}

static void writeSymbols(json::OStream &json, ArrayRef<ManifestSymbol> symbols) {
  json.attributeArray("symbols", [&] {
    for (const ManifestSymbol &symbol : symbols)
      json.object([&] {
        json.attribute("name", utf8(symbol.name));
        json.attribute("min", symbol.min);
        if (symbol.max)
          json.attribute("max", *symbol.max);
      });
  });
}

// ---- guards ----

static void guard(json::OStream &json, StringRef kind, function_ref<void()> rest) {
  json.object([&] {
    json.attribute("kind", kind);
    rest();
  });
}

static void writeInputGuards(json::OStream &json, const ManifestTensor &input,
                             std::vector<std::pair<std::string, std::vector<Place>>> &symbols) {
  guard(json, "dtype", [&] {
    json.attribute("input", utf8(input.name));
    json.attribute("value", dtypeName(input.dtype));
  });
  guard(json, "rank", [&] {
    json.attribute("input", utf8(input.name));
    json.attribute("value", int64_t(input.shape.size()));
  });
  for (auto [d, dim] : enumerate(input.shape)) {
    if (const int64_t *size = std::get_if<int64_t>(&dim)) {
      guard(json, "size", [&, d = d] {
        json.attribute("input", utf8(input.name));
        json.attribute("dimension", int64_t(d));
        json.attribute("value", *size);
      });
      continue;
    }
    const std::string &symbol = std::get<std::string>(dim);
    if (symbol.empty())
      continue;
    auto known = find_if(symbols, [&](const auto &entry) { return entry.first == symbol; });
    if (known == symbols.end())
      known = symbols.insert(symbols.end(), {symbol, {}});
    known->second.emplace_back(input.name, d);
  }
}

static void writeGuards(json::OStream &json, const Manifest &manifest) {
  std::vector<std::pair<std::string, std::vector<Place>>> places;
  json.attributeArray("guards", [&] {
    for (const ManifestTensor &input : manifest.inputs)
      writeInputGuards(json, input, places);
    for (const auto &[symbol, where] : places) {
      if (where.size() < 2)
        continue;
      guard(json, "equal", [&, &symbol = symbol, &where = where] {
        json.attribute("symbol", utf8(symbol));
        json.attributeArray("places", [&] {
          for (const auto &[input, dimension] : where)
            json.object([&, &input = input, dimension = dimension] {
              json.attribute("input", utf8(input));
              json.attribute("dimension", int64_t(dimension));
            });
        });
      });
    }
    for (const ManifestSymbol &symbol : manifest.symbols)
      if (!symbol.name.empty() && (symbol.min > 0 || symbol.max))
        guard(json, "range", [&] {
          json.attribute("symbol", utf8(symbol.name));
          json.attribute("min", symbol.min);
          if (symbol.max)
            json.attribute("max", *symbol.max);
        });
  });
}

// ---- code, memory, weights ----

static void writeCode(json::OStream &json, ArrayRef<ManifestCode> code) {
  json.attributeArray("code", [&] {
    for (const ManifestCode &one : code)
      json.object([&] {
        json.attribute("arch", one.arch);
        writeStrings(json, "kinds", one.kinds);
        for (const auto &[name, value] : one.facts)
          json.attribute(name, value);
      });
  });
}

static void writeKernels(json::OStream &json, ArrayRef<ManifestKernel> kernels) {
  json.attributeArray("kernels", [&] {
    for (const ManifestKernel &kernel : kernels)
      json.object([&] {
        json.attribute("name", utf8(kernel.name));
        json.attribute("target", utf8(kernel.target));
        writeStrings(json, "sources", kernel.sources);
        json.attribute("launches", int64_t(kernel.launches));
        writeAmount(json, "flops", kernel.flops);
        writeAmount(json, "bytes", kernel.bytes);
        if (!kernel.code.empty())
          writeCode(json, kernel.code);
      });
  });
}

static void writeMemory(json::OStream &json, const ManifestMemory &memory) {
  json.attributeObject("memory", [&] {
    json.attribute("arena_bytes", int64_t(memory.arenaBytes));
    if (memory.deviceArenaBytes)
      json.attribute("device_arena_bytes", int64_t(memory.deviceArenaBytes));
    json.attribute("state_bytes", int64_t(memory.stateBytes));
    json.attribute("dynamic", memory.dynamic);
    writeAmount(json, "peak_bytes", memory.peakBytes);
  });
}

static void writeCrossings(json::OStream &json, const ManifestCrossings &crossings) {
  json.attributeObject("crossings", [&] {
    json.attribute("stalls", int64_t(crossings.stalls));
    json.attribute("in_loops", int64_t(crossings.inLoops));
    json.attribute("at_end", int64_t(crossings.atEnd));
  });
}

static void writeWeights(json::OStream &json, const Manifest &manifest) {
  ArrayRef<WeightEntry> entries = manifest.weights.entries();
  json.attributeObject("weights", [&] {
    json.attribute("placement", entries.empty()                ? "none"
                                : manifest.weightsFile.empty() ? "embedded"
                                                               : "file");
    if (!entries.empty() && !manifest.weightsFile.empty())
      json.attribute("file", utf8(manifest.weightsFile));
    json.attribute("size", int64_t(manifest.weights.size()));
    json.attributeArray("tensors", [&] {
      for (const WeightEntry &entry : entries)
        json.object([&] {
          json.attribute("name", utf8(entry.name));
          json.attribute("dtype", dtypeName(entry.dtype));
          json.attribute("role", roleName(entry.role));
          json.attributeArray("shape", [&] {
            for (int64_t dim : entry.shape)
              json.value(dim);
          });
          json.attribute("offset", int64_t(entry.offset));
          json.attribute("size", int64_t(entry.size));
        });
    });
  });
}

std::string manifestJson(const Manifest &manifest) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("manifest_version", 1);
    json.attributeObject("tool", [&] {
      json.attribute("name", "tcc");
      json.attribute("version", utf8(manifest.toolVersion));
      writeStrings(json, "flags", manifest.flags);
    });
    json.attributeObject("input", [&] {
      json.attribute("format", utf8(manifest.inputFormat));
      json.attribute("sha256", utf8(manifest.inputSha256));
    });
    json.attributeObject("target", [&] {
      json.attribute("triple", utf8(manifest.triple));
      json.attribute("cpu", utf8(manifest.cpu));
      writeStrings(json, "features", manifest.features);
      if (!manifest.archs.empty())
        writeStrings(json, "archs", manifest.archs);
    });
    writeTensors(json, "inputs", manifest.inputs);
    writeTensors(json, "outputs", manifest.outputs);
    writeSymbols(json, manifest.symbols);
    writeGuards(json, manifest);
    writeKernels(json, manifest.kernels);
    writeMemory(json, manifest.memory);
    if (manifest.crossings)
      writeCrossings(json, *manifest.crossings);
    writeWeights(json, manifest);
  });
  return text + "\n";
}

} // namespace tcc::emit
