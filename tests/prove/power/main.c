/* SPDX-License-Identifier: MIT */
/* The command line, and the choice of moments: right before and after every sync, right
 * after every outcome that was reported, and others. */
#include "power.h"
#include "tests/support/remove_tree.h"

#include <stdlib.h>
#include <sys/stat.h>

struct sweep {
    struct log log;
    struct disk *disk;
    struct history history;
    struct judge judge;
    struct tally tally;
    const char *words[4]; /* BASE LOG WORK SYNC, for failures */
    uint64_t seed;
    const char *dir;
    bool keep;
};

static int usage(void)
{
    fprintf(stderr, "usage: power record|sweep|one|list ... (see power.h)\n");
    return 2;
}

static int judge_cut(struct sweep *s, uint32_t cut, uint32_t variant)
{
    char how[200], name[900];
    remove_tree(s->dir);
    if (mkdir(s->dir, 0700) ||
        disk_image(s->disk, mix(s->seed) ^ cut, variant, s->dir, how)) {
        perror(s->dir);
        return -1;
    }
    snprintf(name, sizeof name, "%s %s, cut %u variant %u (%s)", s->words[2],
             s->words[3], cut, variant, how);
    s->judge.name = name;
    s->judge.resume = s->keep || variant % 3 == 0;
    s->judge.network = s->judge.work->network && variant % 2 == 0;
    if (!s->keep)
        judge_image(&s->judge, s->dir);
    else
        printf("%s: %s\n", s->dir, name);
    return 0;
}

/* How many images of each moment: evenly over those that matter most. */
static uint32_t *choose(const struct sweep *s, uint32_t images, uint32_t *moments)
{
    uint32_t *n = calloc(s->log.count + 1, sizeof *n), found = 0;
    bool *chosen = calloc(s->log.count + 1, sizeof *chosen);
    uint64_t random = s->seed;
    for (uint32_t i = 0; n && chosen && i < s->log.count; i++) {
        struct event event = log_event(&s->log, i, NULL);
        if (event.type == EV_SYNC)
            chosen[i] = true;
        if (event.type == EV_SYNC || event.type == EV_ACK || event.type == EV_RENAME ||
            event.type == EV_UNLINK)
            chosen[i + 1] = true;
    }
    for (uint32_t i = 0; n && chosen && i <= s->log.count; i++)
        found += chosen[i];
    *moments = found;
    for (uint32_t i = 0; n && chosen && found && i <= s->log.count; i++) {
        /* The share of this one, rounded by chance. */
        uint32_t share = images * 9 / 10;
        if (chosen[i])
            n[i] = share / found + (below(&random, found) < share % found);
    }
    for (uint32_t i = 0; n && i < images / 10; i++)
        n[below(&random, s->log.count + 1)]++;
    free(chosen);
    return n;
}

static void print_tally(const struct sweep *s, uint32_t moments)
{
    const struct tally *t = &s->tally;
    printf("tally %u %u %u %u %u named %u losing %u worst %u resumed %u moments %u "
           "acks %u\n",
           t->images, t->lost, t->repeated, t->undetected, t->other, t->named,
           t->losing, t->worst, t->resumed, moments, s->history.acks);
}

static int sweep_run(struct sweep *s, uint32_t images)
{
    uint32_t moments = 0, *n = choose(s, images, &moments);
    int rc = n ? 0 : -1;
    for (uint32_t i = 0; !rc && i <= s->log.count; i++) {
        uint32_t first = n[i] > 3 ? 0 : (uint32_t)(mix(s->seed ^ i) % 40);
        for (uint32_t j = 0; !rc && j < n[i]; j++)
            rc = judge_cut(s, i, first + j);
        if (i == s->log.count)
            break;
        disk_apply(s->disk, i);
        struct event event = log_event(&s->log, i, NULL);
        history_apply(&s->history, &event);
    }
    if (!rc)
        print_tally(s, moments);
    free(n);
    return rc ? 3 : 0;
}

static int sweep_one(struct sweep *s, uint32_t cut, uint32_t variant)
{
    for (uint32_t i = 0; i < cut && i < s->log.count; i++)
        disk_apply(s->disk, i);
    s->keep = true;
    return judge_cut(s, cut, variant) ? 3 : 0;
}

static int sweep(char **words, bool one)
{
    static struct sweep s;
    s.words[2] = words[2];
    s.words[3] = words[3];
    s.judge.work = work_find(words[2]);
    if (!s.judge.work || work_sync(words[3], &s.judge.sync))
        return usage();
    s.seed = strtoull(words[4], NULL, 10);
    s.dir = one ? words[5] : words[6];
    s.judge.history = &s.history;
    s.judge.tally = &s.tally;
    if (log_load(&s.log, words[1]) || history_init(&s.history, &s.log))
        return 3;
    s.disk = disk_new(&s.log);
    record_skip_syncs();
    int status = one ? sweep_one(&s, (uint32_t)strtoul(words[6], NULL, 10),
                                 (uint32_t)strtoul(words[7], NULL, 10))
                     : sweep_run(&s, (uint32_t)strtoul(words[5], NULL, 10));
    disk_free(s.disk);
    history_release(&s.history);
    log_release(&s.log);
    return status;
}

static int record(int argc, char **argv)
{
    const struct work *work = work_find(argv[4]);
    enum cairn_sync sync;
    if (!work || work_sync(argv[5], &sync) ||
        record_start(argv[2], argv[3], argc > 8 ? strtol(argv[8], NULL, 10) : 0))
        return usage();
    int rc = work_session(work, argv[2], sync, (uint32_t)strtoul(argv[6], NULL, 10),
                          strtoull(argv[7], NULL, 10));
    record_stop();
    return rc ? 1 : 0;
}

static int list(void)
{
    const struct work *work;
    for (size_t i = 0; (work = work_number(i)); i++)
        printf("%s %u %u\n", work->name, work->sessions, work->racers + !work->racers);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc >= 8 && argc <= 9 && strcmp(argv[1], "record") == 0)
        return record(argc, argv);
    if (argc == 9 && strcmp(argv[1], "sweep") == 0)
        return sweep(argv + 2, false);
    if (argc == 10 && strcmp(argv[1], "one") == 0)
        return sweep(argv + 2, true);
    return usage();
}
