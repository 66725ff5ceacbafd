#include "WriteCode.h"
#include "tcc/Emit/Images.h"
#include "tcc/Emit/Link.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tcc;

bool tcc::kernelsAlone(EmitKind emit) { return emit == EmitKind::Ptx || emit == EmitKind::Cubin; }

CodeForm tcc::codeForm(EmitKind emit) {
  switch (emit) {
  case EmitKind::Asm:
  case EmitKind::Ptx:
  case EmitKind::Cubin: // all kernels are assembled as one
    return CodeForm::Assembly;
  case EmitKind::Llvm:
    return CodeForm::LlvmIr;
  default:
    return CodeForm::Object;
  }
}

/// The kernels for devices as one text: PTX has its head once for each architecture.
static std::string deviceText(const CompiledModel &compiled) {
  MapVector<StringRef, std::string> texts;
  for (const CompiledKernel &kernel : compiled.kernels)
    for (const CodeObject &object : kernel.code) {
      StringRef code(object.bytes.data(), object.bytes.size());
      std::string &text = texts[object.architecture];
      size_t head = text.empty() ? StringRef::npos : code.find(".address_size");
      text += head == StringRef::npos ? code : code.substr(code.find('\n', head) + 1);
    }
  std::string all;
  for (auto &[arch, text] : texts)
    all += text;
  return all;
}

/// The kernels for GPUs as data: KERNEL.ARCH.cubin or KERNEL.ARCH.ptx.
static std::vector<emit::Image> imagesOf(const CompiledModel &compiled) {
  std::vector<emit::Image> images;
  for (const CompiledKernel &kernel : compiled.kernels)
    for (const CodeObject &object : kernel.code) {
      bool isText = object.kind == CodeKind::Ptx;
      if (isText || object.kind == CodeKind::Cubin)
        images.push_back({kernel.symbol + "." + object.architecture + (isText ? ".ptx" : ".cubin"),
                          ArrayRef<char>(object.bytes), isText});
    }
  return images;
}

/// Compiled code as text, or as one relocatable object.
Error tcc::writeCode(const CompiledModel &compiled, const DriverOptions &options,
                     const Target &target, emit::OutputFiles &files) {
  if (options.emit == EmitKind::Obj) {
    auto path = files.create(options.output);
    if (!path)
      return path.takeError();
    emit::LinkJob job;
    job.triple = Triple(target.host.triple);
    job.soname = sys::path::filename(options.output).str();
    for (auto &object : compiled.objects)
      job.objects.push_back(MemoryBufferRef(StringRef(object.data(), object.size()), "object"));
    SmallVector<char, 0> data;
    if (std::vector<emit::Image> images = imagesOf(compiled); !images.empty()) {
      if (Error error = emit::emitImages(images, target.host).moveInto(data))
        return error;
      job.objects.push_back(MemoryBufferRef(StringRef(data.data(), data.size()), "images"));
    }
    return emit::linkRelocatable(job, *path);
  }
  std::string text;
  if (!kernelsAlone(options.emit))
    for (auto &object : compiled.objects)
      text.append(object.data(), object.size());
  text += deviceText(compiled);
  if (options.emit != EmitKind::Cubin)
    return files.write(options.output, text);
  auto ptxas = emit::Ptxas::find(options.ptxas);
  if (!ptxas)
    return ptxas.takeError();
  if (!*ptxas)
    return userError("--emit cubin needs NVIDIA's ptxas, and there is none (--ptxas names one)");
  auto cubin = (*ptxas)->assemble(text, *target.devices.codes.front().arch);
  if (!cubin)
    return cubin.takeError();
  return files.write(options.output, std::string(cubin->bytes.begin(), cubin->bytes.end()));
}
