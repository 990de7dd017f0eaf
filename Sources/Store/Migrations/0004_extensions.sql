-- Nothing yet.
DO 0;
