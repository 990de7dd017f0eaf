// The FastCGI application library (libfcgi): see fcgiapp.h.
#pragma once
#include <fcgiapp.h>
