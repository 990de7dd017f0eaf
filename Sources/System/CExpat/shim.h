// Expat, an XML parser.
#pragma once
#include <expat.h>

// XML_GetUserData is a macro that reads the parser's first member, which Swift cannot import.
static inline void *shim_xml_user_data(XML_Parser parser) { return XML_GetUserData(parser); }
