// MariaDB
