/* Error text: formatted once, kept to one clean line of UTF-8, cut at a character's start. */
#include "Internal.h"

#include <stdarg.h>
#include <stdio.h>

/* Control characters become spaces; a sequence cut by the buffer's end is dropped. */
static void clean(char *text) {
  size_t length = 0;
  for (; text[length]; ++length)
    if ((unsigned char)text[length] < 0x20 || text[length] == 0x7f)
      text[length] = ' ';
  size_t tail = 0;
  while (tail < 3 && tail < length && ((unsigned char)text[length - 1 - tail] & 0xc0) == 0x80)
    ++tail;
  if (tail == length)
    return;
  unsigned char lead = (unsigned char)text[length - 1 - tail];
  size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  if (tail < wanted)
    text[length - 1 - tail] = 0;
}

tcc_status tcc_set_error(tcc_error *error, tcc_status code, const char *format, ...) {
  if (!error)
    return code;
  va_list list;
  va_start(list, format);
  error->code = code;
  if (vsnprintf(error->message, sizeof error->message, format, list) < 0)
    error->message[0] = 0;
  va_end(list);
  clean(error->message);
  return code;
}

void tcc_text_add(struct tcc_text *text, const char *format, ...) {
  if (text->used + 1 >= text->size)
    return;
  va_list list;
  va_start(list, format);
  int written = vsnprintf(text->begin + text->used, text->size - text->used, format, list);
  va_end(list);
  if (written < 0)
    return;
  text->used += (size_t)written;
  if (text->used >= text->size)
    text->used = text->size - 1;
}
