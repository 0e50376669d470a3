/* SPDX-License-Identifier: MIT */
#include "storage/rows_stats.h"

#include "storage/rows_int.h"

#include <assert.h>

/* As in storage/sqlite/sql.c, which has nanoseconds. */
const double stat_times[STAT_TIMES] = {0.001, 0.01, 0.1,  1,     10,
                                       60,    600,  3600, 21600, 86400};
const double stat_sizes[STAT_SIZES] = {1024,   4096,    16384,  65536,
                                       262144, 1048576, 4194304};

static const enum sql_id statements[STORE_STATS] = {
    [STAT_CONTENTS] = SQL_STAT_CONTENTS,
    [STAT_RUNS] = SQL_STAT_RUNS,
    [STAT_RUN_STARTS] = SQL_STAT_RUN_STARTS,
    [STAT_RUN_TIMES] = SQL_STAT_RUN_TIMES,
    [STAT_ATTEMPTS] = SQL_STAT_ATTEMPTS,
    [STAT_CHECKPOINTS] = SQL_STAT_CHECKPOINTS,
    [STAT_DELETED] = SQL_STAT_DELETED,
    [STAT_QUARANTINED] = SQL_STAT_QUARANTINED,
    [STAT_EVENTS] = SQL_STAT_EVENTS,
    [STAT_SESSIONS] = SQL_STAT_SESSIONS,
    [STAT_ITEMS] = SQL_STAT_ITEMS,
    [STAT_SESSION_LOG] = SQL_STAT_SESSION_LOG,
    [STAT_MESSAGES] = SQL_STAT_MESSAGES,
    [STAT_WAITS] = SQL_STAT_WAITS,
    [STAT_COMMANDS] = SQL_STAT_COMMANDS,
    [STAT_SESSION_TIMES] = SQL_STAT_SESSION_TIMES,
};

int store_each_stat(struct cairn_store *store, enum store_stat stat,
                    int (*each)(void *, const struct stat_row *), void *context,
                    struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert((unsigned)stat < STORE_STATS);
    query_start(&query, store->db, statements[stat], NO_VALUES, error);
    while (query_step(&query)) {
        struct stat_row row = {.text = query_text(&query, 0),
                               .key = query_int(&query, 1)};
        assert(query.columns <= 2 + STAT_NUMBERS);
        for (int i = 2; i < query.columns; i++)
            row.numbers[i - 2] = query_u64(&query, i);
        query.rc = each(context, &row);
    }
    return query_end(&query);
}
