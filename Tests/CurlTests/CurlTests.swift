// CurlTests
