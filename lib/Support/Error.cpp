#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
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

/// Characters that change how the text around them is shown or are not shown themselves: controls,
/// direction marks and overrides, joiners, separators of lines, tags. A name with one of them could
/// make an error read as another one.
static bool isInvisible(llvm::UTF32 c) {
  struct Range {
    llvm::UTF32 first, last;
  };
  static constexpr Range ranges[] = {
      {0x80, 0x9f},       {0xad, 0xad},      {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
      {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
      {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
      {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  return llvm::any_of(ranges, [&](Range r) { return r.first <= c && c <= r.last; });
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
  llvm::UTF32 c = 0, *out = &c;
  if (llvm::ConvertUTF8toUTF32(&begin, begin + length, &out, out + 1, llvm::strictConversion) !=
      llvm::conversionOK)
    return 0;
  return isInvisible(c) ? 0 : length;
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
