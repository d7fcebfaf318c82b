// SPDX-License-Identifier: Apache-2.0
// ICU's data without an entry, in the wheel instead of 30 MB. What gantry asks ICU, the case of
// letters in a language and what is white space, is in ICU's code; its data are names, formats and
// orders. Laid out as ICU's common data file: a header and a table of contents ("ToCP", version 1).
#include <stdint.h>
#include <unicode/udata.h>

struct EmptyData {
  uint16_t header_bytes;
  uint8_t magic[2];
  UDataInfo info;
  uint32_t padding[2];
  uint32_t entry_count;
  uint32_t reserved;
};

extern const struct EmptyData U_ICUDATA_ENTRY_POINT;

__attribute__((visibility("default"))) const struct EmptyData U_ICUDATA_ENTRY_POINT = {
    .header_bytes = 32,
    .magic = {0xda, 0x27},
    .info = {.size = sizeof(UDataInfo),
             .isBigEndian = U_IS_BIG_ENDIAN,
             .charsetFamily = U_CHARSET_FAMILY,
             .sizeofUChar = sizeof(UChar),
             .dataFormat = {'T', 'o', 'C', 'P'},
             .formatVersion = {1}},
};
