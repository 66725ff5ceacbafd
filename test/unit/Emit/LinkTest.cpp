// The runtime tests' program, linked in this process and used as a user would: dlopen, run,
// dlclose.
#include "tcc/Emit/Link.h"
#include "../../runtime/Fixture.h"
#include "Runtime/WeightFile.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

static const tcc_api *current;
const tcc_api &rt::api() { return *current; }

namespace {

struct Folder {
  SmallString<128> path;
  Folder() { REQUIRE(!sys::fs::createUniqueDirectory("tcc-link-test", path)); }
  ~Folder() { sys::fs::remove_directories(path); }
  std::string file(StringRef name) const { return (path + "/" + name).str(); }
};

/// A loaded model whose table is `rt::api()` while this lives.
struct Library {
  void *handle;
  explicit Library(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    INFO((handle ? "" : dlerror()));
    REQUIRE(handle);
    auto get = reinterpret_cast<decltype(&tcc_get_api)>(dlsym(handle, "tcc_get_api"));
    REQUIRE(get);
    CHECK(get(99) == nullptr);
    current = get(TCC_ABI_VERSION);
    REQUIRE(current);
  }
  ~Library() {
    dlclose(handle);
    current = nullptr;
  }
};

std::unique_ptr<MemoryBuffer> object(StringRef name) {
  auto buffer = MemoryBuffer::getFile(TCC_TEST_OBJECTS "/" + name);
  REQUIRE(buffer);
  return std::move(*buffer);
}

WeightBlob blob(float first = 2.5f) {
  WeightBlob blob;
  blob.layout.add("w", DType::F32, {4}, 16);
  blob.read = [first](const WeightEntry &, uint64_t begin, uint64_t end, char *room) {
    float w[4] = {first};
    std::memcpy(room, reinterpret_cast<const char *>(w) + begin, end - begin);
    return StringRef(room, end - begin);
  };
  return blob;
}

std::string link(StringRef name, const std::string &path, const WeightBlob *weights = nullptr,
                 StringRef triple = "x86_64-unknown-linux-gnu", unsigned threads = 1) {
  auto buffer = object(name);
  LinkJob job;
  job.triple = Triple(triple);
  job.objects = {buffer->getMemBufferRef()};
  job.weights = weights;
  job.soname = sys::path::filename(path).str();
  job.threads = threads;
  return toString(linkModel(job, path));
}

std::string bytes(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

void writeWeights(const std::string &path, const WeightBlob &blob) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(file >= 0);
  REQUIRE(!writeSafetensors(blob, file));
  close(file);
}

void checkRun(float factor = 2.5f) {
  rt::Model model;
  INFO(model.error.message);
  REQUIRE(model.status == TCC_OK);
  rt::Context context(model, rt::withThreads(3));
  rt::Inputs in(50, 40, 9);
  rt::Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  CHECK(out.data<float>(0)[7] == 8 * factor);
  CHECK(out.data<float>(1)[49] == in.rowSum(49));
}

} // namespace

TEST_CASE("a linked model runs") {
  Folder folder;
  WeightBlob weights = blob();
  CHECK(link("embedded.o", folder.file("m.so"), &weights) == "");
  Library library(folder.file("m.so"));
  checkRun();
}

TEST_CASE("a model needs libc alone and shows its interface alone") {
  Folder folder;
  WeightBlob weights = blob();
  REQUIRE(link("embedded.o", folder.file("m.so"), &weights) == "");
  auto buffer = MemoryBuffer::getFile(folder.file("m.so"));
  auto file = cantFail(object::ELFObjectFile<object::ELF64LE>::create(**buffer));
  std::vector<std::string> exported, needed;
  for (object::ELFSymbolRef symbol : file.getDynamicSymbolIterators())
    if (!(cantFail(symbol.getFlags()) & object::SymbolRef::SF_Undefined))
      exported.push_back(cantFail(symbol.getName()).str());
  llvm::sort(exported);
  CHECK(exported ==
        std::vector<std::string>{"tcc_abi_version", "tcc_context_create", "tcc_context_destroy",
                                 "tcc_context_get_stats", "tcc_context_kernel", "tcc_context_place",
                                 "tcc_context_set_seed", "tcc_context_synchronize", "tcc_get_api",
                                 "tcc_model_close", "tcc_model_input", "tcc_model_manifest",
                                 "tcc_model_num_inputs", "tcc_model_num_outputs", "tcc_model_open",
                                 "tcc_model_output", "tcc_run", "tcc_run_on"});
  const auto &elf = file.getELFFile();
  auto entries = cantFail(elf.dynamicEntries());
  uint64_t strings = 0;
  for (const auto &entry : entries)
    if (entry.getTag() == ELF::DT_STRTAB)
      strings = entry.getPtr();
  const char *table = reinterpret_cast<const char *>(cantFail(elf.toMappedAddr(strings)));
  for (const auto &entry : entries)
    if (entry.getTag() == ELF::DT_NEEDED)
      needed.push_back(table + entry.getVal());
  CHECK(needed == std::vector<std::string>{"libc.so.6"});
}

TEST_CASE("same job, same bytes") {
  Folder a, b;
  WeightBlob weights = blob();
  REQUIRE(link("embedded.o", a.file("m.so"), &weights) == "");
  REQUIRE(link("embedded.o", b.file("m.so"), &weights, "x86_64-unknown-linux-gnu", 2) == "");
  CHECK(bytes(a.file("m.so")) == bytes(b.file("m.so")));
  CHECK(bytes(a.file("m.so")).find("/proc/self/fd") == std::string::npos);
  CHECK(bytes(a.file("m.so")).find(a.path.c_str()) == std::string::npos);
}

TEST_CASE("models come and go") {
  Folder folder;
  WeightBlob weights = blob();
  REQUIRE(link("embedded.o", folder.file("m.so"), &weights) == "");
  auto count = [](const char *folder) {
    auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all));
  };
  long threads = 0, files = 0;
  for (int i = 0; i < 40; ++i) {
    if (i == 1)
      threads = count("/proc/self/task"), files = count("/proc/self/fd");
    Library library(folder.file("m.so"));
    checkRun();
  }
  CHECK(count("/proc/self/task") == threads);
  CHECK(count("/proc/self/fd") == files);
  std::ifstream maps("/proc/self/maps");
  std::string all((std::istreambuf_iterator<char>(maps)), {});
  CHECK(all.find(folder.file("m.so")) == std::string::npos);
}

TEST_CASE("weights lie in a file beside the model and may be replaced") {
  Folder folder;
  REQUIRE(link("file.o", folder.file("m.so")) == "");
  writeWeights(folder.file("weights.safetensors"), blob());
  writeWeights(folder.file("other.safetensors"), blob(4.f));
  Library library(folder.file("m.so"));
  checkRun();
  rt::Model other(folder.file("other.safetensors").c_str());
  REQUIRE(other.status == TCC_OK);
  rt::Context context(other);
  rt::Inputs in(1, 1, 0);
  rt::Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  CHECK(out.data<float>(0)[0] == 4.f);
}

TEST_CASE("a weights file that is not the model's is refused") {
  Folder folder;
  REQUIRE(link("file.o", folder.file("m.so")) == "");
  std::string path = folder.file("weights.safetensors");
  Library library(folder.file("m.so"));
  auto message = [&] {
    rt::Model model;
    CHECK(model.status == TCC_IO_ERROR);
    return StringRef(model.error.message).str();
  };
  CHECK(message() == "weights file '" + path + "': No such file or directory");
  std::ofstream(path).close();
  CHECK(message() == "weights file '" + path + "' is empty or not a file");
  writeWeights(path, blob());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(StringRef(message()).contains("it is cut short or belongs to another model"));
  WeightBlob different = blob();
  different.layout = {};
  different.layout.add("v", DType::F32, {4}, 16);
  writeWeights(path, different);
  CHECK(StringRef(message()).contains("has another layout than this model's"));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK(StringRef(message()).contains("is empty or not a file"));
}

TEST_CASE("weights beside the model are those it was compiled with, unless they are named") {
  Folder folder;
  REQUIRE(link("file.o", folder.file("m.so")) == "");
  std::string path = folder.file("weights.safetensors");
  Library library(folder.file("m.so"));
  writeWeights(path, blob(4.f));
  rt::Model silently;
  CHECK(silently.status == TCC_IO_ERROR);
  CHECK(StringRef(silently.error.message).contains("its content differs"));
  CHECK(StringRef(silently.error.message).contains("weights_path"));
  rt::Model named(path.c_str());
  CHECK(named.status == TCC_OK);
  writeWeights(path, blob());
  std::filesystem::last_write_time(path, std::filesystem::file_time_type{}); // a copy
  checkRun();
  std::ofstream(path, std::ios::app) << "more";
  rt::Model longer;
  CHECK(StringRef(longer.error.message).contains("that of this model has 144"));
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  rt::Model fifo;
  CHECK(StringRef(fifo.error.message).contains("is empty or not a file"));
}

TEST_CASE("a weights file that changes while it is mapped is an error of the next run") {
  Folder folder;
  REQUIRE(link("file.o", folder.file("m.so")) == "");
  std::string path = folder.file("weights.safetensors");
  Library library(folder.file("m.so"));
  auto run = [](rt::Context &context) {
    rt::Inputs in(1, 1, 0);
    rt::Outputs out;
    return context.run(in, out);
  };
  writeWeights(path, blob());
  {
    rt::Model model;
    REQUIRE(model.status == TCC_OK);
    rt::Context context(model);
    CHECK(run(context) == TCC_OK);
    std::filesystem::resize_file(path, 64);
    CHECK(run(context) == TCC_IO_ERROR);
  }
  writeWeights(path, blob());
  rt::Model model;
  REQUIRE(model.status == TCC_OK);
  rt::Context context(model);
  writeWeights(folder.file("new.safetensors"), blob(4.f));
  std::filesystem::rename(folder.file("new.safetensors"), path);
  CHECK(run(context) == TCC_OK); // goes on with the file that it opened
}

TEST_CASE("samples lie within the weights, the first and the last bytes among them") {
  for (uint64_t size : {uint64_t(1), uint64_t(4096), uint64_t(4097), uint64_t(262144),
                        uint64_t(262145), uint64_t(1) << 33, (uint64_t(1) << 60) - 1}) {
    uint64_t before = 0;
    for (uint32_t i = 0; i < tcc_sample_count(size); ++i) {
      uint64_t offset = tcc_sample_offset(size, i);
      CHECK(tcc_sample_size(size, i) > 0);
      CHECK((i == 0 ? offset == 0 : offset >= before));
      before = offset + tcc_sample_size(size, i);
    }
    CHECK(before == size);
  }
}

TEST_CASE("two models in one process: one is opened and closed while the other runs") {
  Folder folder;
  WeightBlob first = blob(2.5f), second = blob(4);
  REQUIRE(link("embedded.o", folder.file("a.so"), &first) == "");
  REQUIRE(link("embedded.o", folder.file("b.so"), &second) == "");
  Library library(folder.file("a.so"));
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::thread other([&] { // by its own table: rt::api() is the other model's
    while (!done) {
      void *handle = dlopen(folder.file("b.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      auto get =
          handle ? reinterpret_cast<decltype(&tcc_get_api)>(dlsym(handle, "tcc_get_api")) : nullptr;
      const tcc_api *api = get ? get(TCC_ABI_VERSION) : nullptr;
      tcc_model *model = nullptr;
      tcc_context *context = nullptr;
      rt::Inputs in(50, 40, 9);
      DLManagedTensor *outputs[4] = {};
      bool good = api && api != current && api->model_open(nullptr, &model, nullptr) == TCC_OK &&
                  api->context_create(model, nullptr, &context, nullptr) == TCC_OK &&
                  api->run(context, in.pointers.data(), 5, outputs, 4, nullptr) == TCC_OK &&
                  static_cast<float *>(outputs[0]->dl_tensor.data)[7] == 8 * 4;
      failures += !good;
      for (DLManagedTensor *output : outputs)
        if (output)
          output->deleter(output);
      if (api) {
        api->context_destroy(context);
        api->model_close(model);
      }
      if (handle)
        dlclose(handle);
    }
  });
  for (int i = 0; i < 50; ++i)
    checkRun();
  done = true;
  other.join();
  CHECK(failures == 0);
}

TEST_CASE("a model for another CPU is refused by name") {
  Folder folder;
  REQUIRE(link("newcpu.o", folder.file("m.so")) == "");
  Library library(folder.file("m.so"));
  rt::Model model;
  CHECK(model.status == TCC_INCOMPATIBLE);
  CHECK(StringRef(model.error.message).contains("for CPUs with tbm, which this one lacks"));
}

TEST_CASE("other targets link here") {
  Folder folder;
  WeightBlob weights = blob();
  REQUIRE(link("aarch64.o", folder.file("m.so"), &weights, "aarch64-unknown-linux-gnu") == "");
  auto buffer = MemoryBuffer::getFile(folder.file("m.so"));
  auto file = cantFail(object::ELFObjectFile<object::ELF64LE>::create(**buffer));
  CHECK(file.getArch() == Triple::aarch64);
  CHECK(StringRef(link("aarch64.o", folder.file("n.so"), nullptr, "riscv64-linux-gnu"))
            .contains("no runtime for target"));
}

TEST_CASE("the weights' bytes are in the library, and the rest keeps its addresses") {
  for (StringRef machine : {"x86_64", "aarch64"}) {
    Folder folder;
    WeightBlob weights = blob();
    weights.layout.add("after a gap", DType::U8, {300000}, 300000);
    auto content = [](const WeightEntry &entry, uint64_t begin, uint64_t end, char *room) {
      for (uint64_t i = begin; i < end; ++i)
        room[i - begin] = char(i * 7 + entry.offset + 1);
      return StringRef(room, end - begin);
    };
    weights.read = content;
    std::string name = machine == "x86_64" ? "embedded.o" : "aarch64.o";
    REQUIRE(link(name, folder.file("m.so"), &weights, (machine + "-unknown-linux-gnu").str(), 2) ==
            "");
    auto buffer = MemoryBuffer::getFile(folder.file("m.so"));
    auto file = cantFail(object::ELFObjectFile<object::ELF64LE>::create(**buffer));
    const auto &elf = file.getELFFile();
    uint64_t filled = 0, size = (*buffer)->getBufferSize();
    for (const auto &segment : cantFail(elf.program_headers())) {
      if (segment.p_type != ELF::PT_LOAD)
        continue;
      CHECK((segment.p_offset - segment.p_vaddr) % segment.p_align == 0);
      CHECK(segment.p_offset >= filled);
      filled = segment.p_offset + segment.p_filesz;
      CHECK(filled <= size);
    }
    std::string expected(weights.layout.size(), '\0');
    for (const WeightEntry &entry : weights.layout.entries())
      content(entry, 0, entry.size, expected.data() + entry.offset);
    bool found = false;
    for (const object::ELFSectionRef section : file.sections()) {
      if (cantFail(section.getName()) == weightSection) {
        found = true;
        CHECK((cantFail(section.getContents()) == expected));
        CHECK(section.getType() == ELF::SHT_PROGBITS);
        CHECK(section.getAddress() % 64 == 0);
      }
      if (cantFail(section.getName()) == ".text")
        CHECK(elf.toMappedAddr(section.getAddress()).get() ==
              reinterpret_cast<const uint8_t *>(cantFail(section.getContents()).data()));
    }
    CHECK(found);
  }
}

TEST_CASE("what the linker says reaches the caller") {
  Folder folder;
  std::string text = link("embedded.o", folder.file("m.so")); // without weights
  CHECK(StringRef(text).contains("tcc_weights"));
  CHECK(!sys::fs::exists(folder.file("m.so")));
  WeightBlob weights = blob();
  CHECK(link("embedded.o", folder.file("m.so"), &weights) == ""); // and it works again
}

TEST_CASE("opening takes no time at 200 MB") {
  Folder folder;
  WeightBlob weights = blob();
  weights.layout.add("big", DType::U8, {200 << 20}, 200 << 20);
  weights.read = [](const WeightEntry &, uint64_t begin, uint64_t end, char *room) {
    std::memset(room, 0, end - begin);
    return StringRef(room, end - begin);
  };
  REQUIRE(link("embedded.o", folder.file("m.so"), &weights) == "");
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    Library library(folder.file("m.so"));
    rt::Model model;
    rt::Context context(model);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
  }
  CHECK(best < 10);
}

TEST_CASE("the C library has what the stubs promise") {
  auto list = MemoryBuffer::getFile(TCC_TEST_STUBS);
  REQUIRE(list);
  SmallVector<StringRef> lines, fields;
  (*list)->getBuffer().split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    fields.clear();
    line.split(fields, ' ');
    if (line.starts_with("#"))
      continue;
    REQUIRE(fields.size() == 3);
    void *library = dlopen((fields[0] + ".so.6").str().c_str(), RTLD_NOW);
    REQUIRE(library);
    CAPTURE(line.str());
    CHECK(dlvsym(library, fields[1].str().c_str(), ("GLIBC_" + fields[2]).str().c_str()));
    dlclose(library);
  }
}
