// FastCGITests
