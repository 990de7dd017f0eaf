// MariaDBTests
