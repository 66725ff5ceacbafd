// Names in a model reach the terminal of whoever compiles it: what would turn, hide or break a
// line is escaped.
#include "tcc/Support/Error.h"
#include <catch2/catch.hpp>

using tcc::printable;

TEST_CASE("text of the input is shown as one line that reads as it is written") {
  CHECK(printable("a name") == "a name");
  CHECK(printable("größe, 長さ, 🙂") == "größe, 長さ, 🙂");
  CHECK(printable("a\x1b[31m\n\x7f") == "a\\x1b[31m\\x0a\\x7f");
  CHECK(printable("a\\b") == "a\\x5cb");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80"); // half of a surrogate pair
}

TEST_CASE("characters that turn or hide text are escaped") {
  for (const char *hidden : {"\u0085", "\u00ad", "\u061c", "\u200b", "\u200f", "\u2028", "\u202e",
                             "\u2066", "\ufeff", "\U000e0041"}) {
    std::string text = printable(std::string("a") + hidden + "b");
    INFO(text);
    CHECK(text.find(hidden) == std::string::npos);
    CHECK(text.rfind("a\\x", 0) == 0);
    CHECK(text.back() == 'b');
  }
}
