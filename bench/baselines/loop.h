/* The frame of the baselines for commits: a thread for each group, which repeats its work until the time is over. */
#ifndef LOOP_H
#define LOOP_H

#include "connection.h"

#include <stdbool.h>

/* Runs `work` on a thread for each GROUP_ID among the arguments SECONDS GROUP_ID..., and prints the number of rounds per
 * second. A group may be named repeatedly. Returns the program's status. */
int run_loop(int count, char **arguments, void (*work)(MYSQL *connection, long long group_id));

/* Ends a round; returns whether there is time for another one. */
bool next_round(void);

/* Runs a statement without values, or ends the program. */
void run_text(MYSQL *connection, const char *sql);

/* Runs a prepared statement, or ends the program. */
void run_prepared(MYSQL_STMT *statement);

/* A random UUID. */
void new_uuid(struct field *field);

#endif
