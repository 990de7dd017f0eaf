// FastCGI
