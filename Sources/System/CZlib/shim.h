// zlib's gzip files.
#pragma once
#include <zlib.h>
