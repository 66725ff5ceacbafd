//===- main.cpp - Loads a model.so, describes it, runs it, compares it, times it -===//
//
// The exit code says whether outputs match. Expected outputs that are missing are an error,
// because a comparison with nothing must not pass.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"
#include "Compare.h"
#include "Inputs.h"
#include "Model.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>

using namespace tcc::run;

namespace {

enum ExitCode { Good = 0, OurFault = 1, BadInput = 2, Differs = 3 };

struct Arguments {
  std::string model, data, outputDir;
  bool describe = false, bench = false, json = false, runOnly = false;
  double seconds = 3;
  Options options;
  InputOptions inputs;
  Tolerance tolerance;
};

/// NaN is neither above nor below a bound, as CLI::Range has it.
std::string notNegative(const std::string &text) {
  char *end;
  double value = strtod(text.c_str(), &end);
  return *end == 0 && value >= 0 && value <= std::numeric_limits<double>::max()
             ? ""
             : "'" + printable(text) + "' is no number from 0 on";
}

void define(CLI::App &app, Arguments &args) {
  app.add_option("model", args.model, "the model.so")->required();
  app.add_flag("--describe", args.describe, "print inputs and outputs; with --json the manifest");
  app.add_option("--data", args.data,
                 "run input_N.pb of this folder and compare with output_N.pb (ONNX's test form)");
  app.add_flag("--run-only", args.runOnly,
               "compare what --data has and do not ask for the outputs that it lacks");
  app.add_option("--rtol", args.tolerance.rtol, "relative tolerance, of floats")
      ->capture_default_str()
      ->check(notNegative);
  app.add_option("--atol", args.tolerance.atol, "absolute tolerance")
      ->capture_default_str()
      ->check(notNegative);
  app.add_option("--input", args.inputs.files, "x=a.npy (or .pb); inputs without a file are random")
      ->take_all();
  app.add_option("--output-dir", args.outputDir, "write every output there as NAME.npy");
  app.add_flag("--bench", args.bench, "print the time per run");
  app.add_option("--shape", args.inputs.shapes, "x=1x3x224x224: the shape of a random input");
  app.add_option("--dim", args.inputs.dims, "N=4: the size of an open dimension");
  app.add_option("--seed", args.options.seed,
                 "of random inputs (floats in [0, 1), integers and booleans 0 or 1; default 0) and "
                 "of the model's own random numbers (default: others each time)");
  app.add_option("--device", args.options.device,
                 "where it runs: cpu, cuda, cuda:N, sim (default: where its code is for)");
  app.add_option("--threads", args.options.threads, "0: one a core")->capture_default_str();
  app.add_option("--seconds", args.seconds, "how long --bench measures")
      ->capture_default_str()
      ->check(notNegative);
  app.add_flag("--json", args.json, "print one JSON object");
  app.add_flag("--profile", args.options.profile, "print the time per kernel");
  app.add_flag("--nvtx", args.options.ranges,
               "put a range with the nodes of the model around every launch on a GPU, for NVIDIA's "
               "profilers");
  app.add_option("--weights", args.options.weights, "other weights of the same layout");
}

/// Refuses options of which one would be passed over: a run on other data than was meant looks like
/// a right one.
void checkTogether(const CLI::App &app) {
  static const std::pair<const char *, const char *> apart[] = {
      {"--data", "--input"},      {"--data", "--shape"},         {"--data", "--dim"},
      {"--data", "--output-dir"}, {"--bench", "--output-dir"},   {"--describe", "--data"},
      {"--describe", "--bench"},  {"--describe", "--input"},     {"--describe", "--shape"},
      {"--describe", "--dim"},    {"--describe", "--output-dir"}};
  for (auto [one, other] : apart)
    if (app.count(one) && app.count(other))
      throw DataError(std::string(one) + " and " + other + " do not go together");
  if (app.count("--run-only") && !app.count("--data"))
    throw DataError("--run-only is for --data");
}

void describe(const Model &model) {
  auto list = [](const char *title, const std::vector<TensorInfo> &infos) {
    printf("%s:\n", title);
    for (const TensorInfo &info : infos)
      printf("  %s: %s%s\n", printable(info.name).c_str(), info.text().c_str(),
             info.written ? " (written)" : "");
  };
  list("inputs", model.inputs);
  list("outputs", model.outputs);
  tcc_context_stats stats = model.stats();
  printf("static memory: %llu bytes\n",
         (unsigned long long)stats.static_bytes + stats.device_static_bytes);
}

/// An answer that nobody knows is not a good one.
void checkExpected(const Model &model, const TestData &data) {
  std::string missing;
  for (size_t i = 0; i < data.hasOutput.size(); ++i)
    if (!data.hasOutput[i])
      missing += (missing.empty() ? "" : ", ") + std::to_string(i) + " ('" +
                 printable(model.outputs[i].name) + "')";
  if (!missing.empty())
    throw DataError("'" + printable(data.folder.string()) + "' has no file for output " + missing +
                    "; --run-only runs without comparing what is missing");
}

ExitCode compareData(Model &model, const Arguments &args) {
  bool matches = true;
  size_t compared = 0;
  std::vector<TestData> sets = readTestData(model, args.data);
  for (const TestData &data : sets)
    if (!args.runOnly)
      checkExpected(model, data);
  for (const TestData &data : sets) {
    Outputs outputs = model.run(views(data.inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!data.hasOutput[i])
        continue;
      ++compared;
      Comparison result = compare(data.outputs[i], outputs[i], args.tolerance);
      if (result.matches)
        continue;
      matches = false;
      printf("%s: output '%s': %s\n", printable(data.folder.string()).c_str(),
             printable(model.outputs[i].name).c_str(), result.problem.c_str());
    }
  }
  if (matches && compared == 0)
    printf("ran on %zu set%s of inputs, nothing to compare\n", sets.size(),
           sets.size() == 1 ? "" : "s");
  else if (matches)
    printf("%zu output%s match%s (rtol %g, atol %g)\n", compared, compared == 1 ? "" : "s",
           compared == 1 ? "es" : "", args.tolerance.rtol, args.tolerance.atol);
  return matches ? Good : Differs;
}

/// A name as a file's name: what a file system or a shell may mistake becomes '_'.
std::string fileName(const std::string &name, std::set<std::string> &used) {
  std::string base;
  for (unsigned char c : name.substr(0, 200))
    base += isalnum(c) || c == '-' || c == '.' || c >= 0x80 ? char(c) : '_';
  if (base.empty() || base[0] == '.')
    base = "_" + base;
  std::string unique = base;
  for (int n = 2; !used.insert(unique).second; ++n)
    unique = base + "_" + std::to_string(n);
  return unique + ".npy";
}

void writeOutputs(const Model &model, const Outputs &outputs, const std::string &folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    throw DataError("cannot make '" + printable(folder) + "': " + code.message());
  std::set<std::string> used;
  for (size_t i = 0; i < outputs.size(); ++i)
    writeNpy(std::filesystem::path(folder) / fileName(model.outputs[i].name, used), outputs[i]);
}

void printOutputs(const Model &model, const Outputs &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DLTensor &tensor = outputs[i];
    std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
    size_t count = elementCount(shape), shown = std::min<size_t>(count, 8);
    printf("%s: %s%s", printable(model.outputs[i].name).c_str(), dtypeName(tensor.dtype).c_str(),
           shapeText(shape).c_str());
    const char *bytes = static_cast<const char *>(tensor.data) + tensor.byte_offset;
    for (size_t e = 0; e < shown; ++e)
      printf("%s%s", e ? " " : " = ", elementText(tensor.dtype, bytes, e).c_str());
    printf(shown < count ? " ...\n" : "\n");
  }
}

ExitCode runBench(Model &model, const Arguments &args) {
  std::vector<Array> inputs =
      args.data.empty() ? makeInputs(model, args.inputs) : readTestData(model, args.data)[0].inputs;
  Timing timing = bench(model, views(inputs), args.seconds);
  fputs((args.json ? timingJson(timing, model) : timingText(timing, model)).c_str(), stdout);
  return Good;
}

ExitCode runOnce(Model &model, const Arguments &args) {
  std::vector<Array> inputs = makeInputs(model, args.inputs);
  Outputs outputs = model.run(views(inputs));
  if (args.outputDir.empty())
    printOutputs(model, outputs);
  else
    writeOutputs(model, outputs, args.outputDir);
  return Good;
}

ExitCode act(Model &model, const Arguments &args) {
  if (args.describe && args.json)
    return puts(model.manifest().c_str()) < 0 ? OurFault : Good;
  if (args.describe)
    return describe(model), Good;
  ExitCode code = args.bench           ? runBench(model, args)
                  : !args.data.empty() ? compareData(model, args)
                                       : runOnce(model, args);
  if (args.options.profile)
    fputs(profileText(model).c_str(), stdout);
  return code;
}

int report(const char *text, ExitCode code) {
  fflush(stdout);
  fprintf(stderr, "error: %s\n", text);
  return code;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs a model that tcc compiled.\n"
               "Exit code 0: good, or all outputs match; 1: a fault of the model or of tcc-run;\n"
               "2: wrong use, or inputs that the model does not take; 3: an output differs.",
               "tcc-run");
  Arguments args;
  define(app, args);
  try {
    app.parse(argc, argv);
    checkTogether(app);
    args.inputs.seed = args.options.seed.value_or(0);
    args.options.timeDevice = args.bench;
    Model model(args.model, args.options);
    return act(model, args);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return report(error.what(), BadInput);
  } catch (const DataError &error) {
    return report(error.what(), BadInput);
  } catch (const ModelError &error) {
    bool given = error.status == TCC_INVALID_ARGUMENT || error.status == TCC_IO_ERROR ||
                 error.status == TCC_INCOMPATIBLE || error.status == TCC_MODEL_ERROR;
    return report(error.what(), given ? BadInput : OurFault);
  } catch (const std::bad_alloc &) {
    return report("not enough memory", OurFault);
  } catch (const std::exception &error) {
    return report(error.what(), OurFault);
  }
}
