// SPDX-License-Identifier: Apache-2.0
// Empty ICU data, which the wheel carries instead of 30 MB. gantry uses ICU for case mapping and
// white space, which need no data file; the data has names, formats and collation. The layout is
// that of ICU's common data file: a header and a table of contents ("ToCP", version 1).
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
