// ISA-L's compressor, of Intel's Intelligent Storage Acceleration Library.
#pragma once
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

// The size of the working memory for level 1, an expression that Swift does not import. With more, blocks are longer, and
// their bytes leave later.
enum { isal_level_1_bytes = ISAL_DEF_LVL1_SMALL };
