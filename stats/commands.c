/* SPDX-License-Identifier: MIT */
/* How long commands of `cairn exec` and the last runs of checks took. */
#include "session/board/item.h"
#include "stats/stats_int.h"

enum command_end { COMPLETED, FAILED, COMMAND_ENDS };

struct times {
    uint64_t counts[STAT_TIMES], n;
    double sum;
};
struct command_times {
    struct times of[ITEM_KINDS_END][COMMAND_ENDS];
};

static void add_time(struct times *times, uint64_t ms)
{
    double seconds = (double)ms / 1000;
    times->n++;
    times->sum += seconds;
    for (int i = 0; i < STAT_TIMES; i++)
        times->counts[i] += seconds <= stat_times[i];
}

/* What is damaged is not counted, nor a check that was never run. */
static int add_command(void *context, const struct stat_row *row)
{
    struct command_times *all = context;
    struct arena arena = ARENA_INIT;
    struct cairn_error none;
    struct item item;
    bool check = row->key == ITEM_CHECK;
    const struct item_ref id = {(uint8_t)row->key, (uint32_t)row->numbers[0]};
    if (item_decode(&arena, id, row->text, &item, &none) == 0) {
        const struct item_value *took =
            &item.values[check ? (int)CHECK_DURATION : (int)COMMAND_DURATION];
        uint64_t code = item.values[check ? (int)CHECK_EXIT : (int)COMMAND_EXIT].count;
        if (took->present)
            add_time(&all->of[id.kind][code == 0 ? COMPLETED : FAILED], took->count);
    }
    arena_release(&arena);
    return 0;
}

static int tell_times(struct counting *c, uint8_t kind, enum command_end end,
                      const struct times *times)
{
    const struct cairn_stat_buckets buckets = {.bounds = stat_times,
                                               .counts = times->counts,
                                               .n = STAT_TIMES,
                                               .count = times->n,
                                               .sum = times->sum};
    const struct cairn_stat stat = {
        .family = "command_seconds",
        .help = "commands of sessions and last runs of checks, by how long they took",
        .labels = {{"kind", item_kind_info(kind)->name},
                   {"end", end == COMPLETED ? "completed" : "failed"}},
        .n_labels = 2,
        .buckets = &buckets};
    return times->n > 0 ? stats_tell(c, &stat) : 0;
}

int stats_tell_commands(struct counting *c)
{
    static const uint8_t kinds[] = {ITEM_COMMAND, ITEM_CHECK};
    struct command_times all = {0};
    int rc = store_each_stat(c->store, STAT_COMMANDS, add_command, &all, c->error);
    for (size_t i = 0; i < sizeof kinds && !rc; i++)
        for (int end = 0; end < COMMAND_ENDS && !rc; end++)
            rc = tell_times(c, kinds[i], (enum command_end)end, &all.of[kinds[i]][end]);
    return rc;
}
