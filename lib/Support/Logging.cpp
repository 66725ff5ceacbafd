#include "tcc/Support/Logging.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <memory>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

using namespace llvm;

namespace tcc::log {

namespace {

struct TopicInfo {
  StringLiteral name, what;
};

/// In the order of the enum.
constexpr TopicInfo kTopics[] = {
    {"import", "the files that are read, inputs and outputs, nodes by operator (+)"},
    {"phases", "every phase as it starts and ends, with the number of operators"},
    {"dynamic", "the dims that stay open and their ranges"},
    {"guards", "what the model checks of its inputs before every run"},
    {"fusion", "the kernels, with what each computes (+: and what it reads and gives)"},
    {"plan", "buffers and the arena"},
    {"codegen", "every kernel as it is compiled (+: its source)"},
    {"cache", "hits and misses of the kernel cache"},
    {"emit", "the files that are written"},
    {"verify", "what --verify runs and compares"},
    {"tuning", "what --mode max-autotune builds and measures"}};

class Loggers {
public:
  Loggers() {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    for (auto [i, topic] : enumerate(kTopics)) {
      loggers[i] = std::make_unique<spdlog::logger>(topic.name.str(), sink);
      loggers[i]->set_pattern("[%n] %v");
      loggers[i]->set_level(spdlog::level::off);
    }
  }
  spdlog::logger &operator[](size_t i) { return *loggers[i]; }

private:
  std::array<std::unique_ptr<spdlog::logger>, std::size(kTopics)> loggers;
};

} // namespace

static Loggers &loggers() {
  static Loggers all;
  return all;
}

static spdlog::level::level_enum levelOf(Level level) {
  return level == Level::Debug  ? spdlog::level::debug
         : level == Level::Info ? spdlog::level::info
                                : spdlog::level::err;
}

/// Whether any topic was ever turned on: the loggers are not made before.
static bool configured = false;

bool on(Topic topic, Level level) {
  return configured && loggers()[static_cast<size_t>(topic)].should_log(levelOf(level));
}

void write(Topic topic, const Twine &message, Level level) {
  if (on(topic, level))
    loggers()[static_cast<size_t>(topic)].log(levelOf(level), message.str());
}

Error configure(StringRef text) {
  SmallVector<StringRef> names;
  text.split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    name = name.trim();
    Level level = name.consume_front("+")   ? Level::Debug
                  : name.consume_front("-") ? Level::Error
                                            : Level::Info;
    bool found = false;
    for (auto [i, topic] : enumerate(kTopics))
      if (name == topic.name || name == "all") {
        loggers()[i].set_level(levelOf(level));
        found = true;
      }
    if (!found)
      return userError("--logs: there is no topic '" + printable(name) + "' (see --logs help)");
    configured = true;
  }
  return Error::success();
}

std::string help() {
  std::string text = "--logs TOPIC,+TOPIC,-TOPIC: a topic, with + in detail, with - errors only\n";
  for (const TopicInfo &topic : kTopics)
    text += formatv("  {0,-9} {1}\n", topic.name, topic.what);
  return text + "  all       every topic\n";
}

} // namespace tcc::log
