// libcurl. Variadic functions cannot be called from Swift; each gets a typed shim per argument type.
#pragma once
#include <curl/curl.h>
