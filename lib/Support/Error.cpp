#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc {

char UserError::ID = 0;

void UserError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code UserError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

llvm::Error userError(const llvm::Twine &message) {
  return llvm::make_error<UserError>(message.str());
}

/// Length of the valid, printable UTF-8 sequence at the head of `text`, or 0.
static size_t cleanSequence(llvm::StringRef text) {
  auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80)
    return byte >= 0x20 && byte != 0x7f && byte != '\\' ? 1 : 0;
  unsigned length = llvm::getNumBytesForUTF8(byte);
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (length > text.size() || !llvm::isLegalUTF8Sequence(begin, begin + length))
    return 0;
  // U+0080..U+009F are control characters too.
  bool control = byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  return control ? 0 : length;
}

std::string printable(llvm::StringRef text, size_t limit) {
  std::string out;
  while (!text.empty() && out.size() < limit) {
    if (size_t length = cleanSequence(text)) {
      out += text.take_front(length);
      text = text.drop_front(length);
      continue;
    }
    auto byte = static_cast<unsigned char>(text[0]);
    out += "\\x";
    out += llvm::hexdigit(byte >> 4, true);
    out += llvm::hexdigit(byte & 15, true);
    text = text.drop_front();
  }
  if (!text.empty())
    out += "...";
  return out;
}

} // namespace tcc
