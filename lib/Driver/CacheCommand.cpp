#include "CacheCommand.h"
#include "tcc/Driver/Driver.h"
#include "tcc/Support/DiskCache.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>
#include <ctime>

using namespace llvm;
using namespace tcc;

namespace {

struct Arguments {
  std::string folder;
  bool stats = false, prune = false;
  std::optional<uint64_t> limit; ///< megabytes
};

} // namespace

static constexpr double kMegabyte = 1e6;

static void define(CLI::App &app, Arguments &args) {
  app.set_help_flag("-h,--help", "Print this help and stop");
  app.add_flag("--stats", args.stats, "Print how much the cache holds");
  app.add_flag("--prune", args.prune,
               "Remove what was not used for longest, until the limit is kept");
  app.add_option("--limit", args.limit,
                 "Megabytes that --prune leaves, 0 for none (default: $TCC_CACHE_LIMIT, else 1000)")
      ->check([](const std::string &text) { // strtoull takes -1 for a large number
        return text.starts_with('-') ? "is negative" : std::string();
      });
  app.add_option("--cache", args.folder,
                 "The folder (default: $TCC_CACHE_DIR, else ~/.cache/tcc/kernels)");
}

static constexpr const char *kWhat = "Looks after the folder of compiled kernels";

std::string tcc::cacheCommandHelp() {
  Arguments args;
  CLI::App app(kWhat, "tcc cache");
  define(app, args);
  return app.help();
}

static std::string statsText(const std::string &folder, const CacheStats &stats, uint64_t limit) {
  std::string text =
      formatv("folder   {0}\nentries  {1}\nsize     {2:f1} of {3:f0} MB\n", printable(folder, 1000),
              stats.entries, static_cast<double>(stats.bytes) / kMegabyte,
              static_cast<double>(limit) / kMegabyte)
          .str();
  constexpr int64_t day = 24 * 3600;
  if (stats.entries)
    text += formatv("unused   for up to {0} days\n", (time(nullptr) - stats.oldestUse) / day).str();
  return text;
}

Expected<std::string> tcc::cacheCommand(int argc, const char *const *argv) {
  Arguments args;
  args.folder = defaultCacheDir();
  CLI::App app(kWhat, "tcc cache");
  define(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return app.help();
  } catch (const CLI::ParseError &error) {
    return userError(printable(error.what()) + " (see tcc cache --help)");
  }
  if (!args.stats && !args.prune)
    return userError("tcc cache takes --stats or --prune (see tcc cache --help)");
  if (args.limit && !args.prune)
    return userError("--limit goes with --prune");
  if (Error error = checkCacheLimit())
    return std::move(error);
  uint64_t limit = args.limit ? *args.limit * static_cast<uint64_t>(kMegabyte) : cacheLimit();
  std::string text;
  if (args.prune) {
    Expected<CacheStats> removed = pruneCache(args.folder, limit);
    if (!removed)
      return removed.takeError();
    text = formatv("removed  {0} entries, {1:f1} MB\n", removed->entries,
                   static_cast<double>(removed->bytes) / kMegabyte)
               .str();
  }
  if (args.stats) {
    Expected<CacheStats> stats = cacheStats(args.folder);
    if (!stats)
      return stats.takeError();
    text += statsText(args.folder, *stats, cacheLimit());
  }
  return text;
}
