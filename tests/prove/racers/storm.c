/* SPDX-License-Identifier: MIT */
/* Many processes open, write, read and close one store that was not there a moment ago,
 * and some are killed while they do. What breaks here are the files beside the
 * database: the marker of open writers, the WAL that comes and goes, the making of the
 * store.
 *
 *   racers storm DIR WORKERS ROUNDS SEED
 *
 * Each round has a new store in DIR/store. A worker (`racers worker`) writes down each
 * checkpoint that it was told is durable; at the end of the round all of them must be
 * there and the whole store sound. Prints `storm ROUNDS WORKERS KILLS ACKNOWLEDGED LOST
 * OTHER` and, for what went wrong, lines that begin with '#'. */
#include "tests/prove/racers/racers.h"

#include "cairn.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS_MAX = 200, STEPS = 6, ROUND_S = 60 };

static uint32_t state = 1;

static uint32_t draw(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % limit;
}

/* ---- A worker ---- */

struct worker {
    const char *store, *log;
    char name[32];
    int acks;
};

static int ignore_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    (void)problem;
    return 0;
}

/* Nothing but these may happen to who only wants to look. */
static bool allowed(int code, bool reader)
{
    return code == 0 || (reader && code == CAIRN_ENOTFOUND);
}

static int complain(const struct worker *w, const char *what, int code,
                    const struct cairn_error *error)
{
    FILE *log = fopen(w->log, "a");
    if (!log)
        return 2;
    fprintf(log, "# %s: %s: %s: %s\n", w->name, what, cairn_code_name(code),
            error->text);
    return fclose(log) ? 2 : 1;
}

static int save(const struct worker *w, struct cairn_recorder *recorder)
{
    struct cairn_error error = {0};
    char line[CAIRN_ID_MAX + 1];
    for (uint32_t i = 0; i < STEPS; i++) {
        struct cairn_change change = {i, CAIRN_COMPLETED, 1};
        int code = cairn_recorder_save(recorder, &change, 1, line, &error);
        if (code)
            return complain(w, "save", code, &error);
        size_t n = strlen(line);
        line[n] = '\n';
        if (write(w->acks, line, n + 1) != (ssize_t)n + 1)
            return 2;
    }
    return 0;
}

static int record(const struct worker *w, struct cairn_store *store)
{
    struct cairn_error error = {0};
    struct cairn_workflow *workflow;
    struct cairn_recorder *recorder;
    int code = cairn_workflow_new(&workflow, w->name, &error);
    if (code)
        return complain(w, "workflow", code, &error);
    for (uint32_t i = 0; i < STEPS && !code; i++) {
        char id[16];
        snprintf(id, sizeof id, "t%u", (unsigned)i);
        code = cairn_workflow_add(
            workflow, &(struct cairn_task){.id = id, .run = "true"}, &error);
    }
    if (!code)
        code = cairn_recorder_open(&recorder, workflow, store, &error);
    int result = code ? complain(w, "recorder", code, &error) : save(w, recorder);
    if (!code) {
        code = cairn_recorder_close(recorder, CAIRN_RUN_COMPLETED, &error);
        if (code)
            result = complain(w, "close", code, &error);
    }
    cairn_workflow_free(workflow);
    return result;
}

static int write_once(const struct worker *w)
{
    struct cairn_error error = {0};
    struct cairn_store *store;
    struct cairn_store_options options = {.path = w->store, .create = true};
    int code = cairn_store_open(&store, &options, &error);
    if (!allowed(code, false))
        return complain(w, "open to write", code, &error);
    int result = draw(4) ? record(w, store) : 0;
    cairn_store_close(store);
    return result;
}

static int count_run(void *context, const struct cairn_run_info *info)
{
    unsigned *n = context;
    *n += info->run > 0;
    return 0;
}

static int read_once(const struct worker *w)
{
    struct cairn_error error = {0};
    struct cairn_store *store;
    struct cairn_store_options options = {.path = w->store, .read_only = true};
    unsigned n = 0;
    int code = cairn_store_open(&store, &options, &error);
    if (!allowed(code, true))
        return complain(w, "open to read", code, &error);
    if (code)
        return 0;
    struct cairn_page page = {.all = true};
    struct cairn_verify_result verified;
    code = cairn_runs(store, NULL, &page, count_run, &n, NULL, &error);
    int result = code ? complain(w, "runs", code, &error) : 0;
    if (!result && draw(3) == 0) {
        code = cairn_checkpoint_verify(store, NULL, ignore_problem, NULL, &verified,
                                       &error);
        result = code ? complain(w, "verify", code, &error) : 0;
    }
    cairn_store_close(store);
    return result;
}

/* racers worker STORE LOG NAME GATE SEED: waits until GATE can be read. */
int worker_main(char **args)
{
    struct worker w = {.store = args[0], .log = args[1]};
    snprintf(w.name, sizeof w.name, "%s", args[2]);
    char byte, path[4096];
    state = (uint32_t)strtoul(args[4], NULL, 10) | 1;
    snprintf(path, sizeof path, "%s.%s.acks", w.log, w.name);
    w.acks = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* Not waiting for somebody who opens it to write: it may be open already. */
    int gate = open(args[3], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (w.acks < 0 || gate < 0 || fcntl(gate, F_SETFL, 0))
        return 2;
    while (read(gate, &byte, 1) < 0 && errno == EINTR)
        continue;
    bool reads = draw(3) == 0;
    unsigned times = 3 + draw(6);
    int result = 0;
    for (unsigned i = 0; i < times && !result; i++)
        result = reads ? read_once(&w) : write_once(&w);
    return result;
}

/* ---- The rounds ---- */

struct storm {
    const char *dir;
    unsigned workers, kills, acknowledged, lost, other;
    char store[2048], log[2048], gate[2048];
    pid_t pid[WORKERS_MAX];
};

static int start_workers(struct storm *s)
{
    for (unsigned i = 0; i < s->workers; i++) {
        char name[32], seed[16];
        snprintf(name, sizeof name, "w%u", i);
        snprintf(seed, sizeof seed, "%u", (unsigned)draw(UINT32_MAX));
        const char *const args[] = {"worker", s->store, s->log, name,
                                    s->gate,  seed,     NULL};
        s->pid[i] = start_self(args);
        if (s->pid[i] < 0)
            return -1;
    }
    return 0;
}

static void pause_us(unsigned us)
{
    nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

/* A third of the workers is killed at any moment, and a third stopped for a while; the
 * others, and those that were stopped, come to their end. */
static void disturb(struct storm *s)
{
    for (unsigned i = 0; i < s->workers / 3; i++) {
        pid_t killed = s->pid[draw(s->workers)], stopped = s->pid[draw(s->workers)];
        pause_us(draw(5000));
        if (kill(stopped, SIGSTOP) == 0) {
            pause_us(draw(8) ? draw(10000) : draw(600000));
            kill(stopped, SIGCONT);
        }
        if (kill(killed, SIGKILL) == 0)
            s->kills++;
    }
}

static void await_workers(struct storm *s)
{
    for (unsigned i = 0; i < s->workers; i++) {
        int status = wait_within(s->pid[i], ROUND_S);
        bool good =
            status >= 0 && ((WIFEXITED(status) && WEXITSTATUS(status) <= 1) ||
                            (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        if (!good) {
            printf("# worker w%u ended with wait status %d\n", i, status);
            s->other++;
        }
    }
}

static void check_acks(struct storm *s, struct cairn_store *store)
{
    char path[4096], id[CAIRN_ID_MAX + 2];
    struct cairn_checkpoint_info info;
    struct cairn_error error = {0};
    for (unsigned i = 0; i < s->workers; i++) {
        snprintf(path, sizeof path, "%s.w%u.acks", s->log, i);
        FILE *acks = fopen(path, "r");
        while (acks && fgets(id, sizeof id, acks)) {
            id[strcspn(id, "\n")] = 0;
            s->acknowledged++;
            int code = cairn_checkpoint_get(store, id, &info, &error);
            if (code) {
                printf("# %s of w%u was acknowledged: %s\n", id, i, error.text);
                s->lost++;
            }
        }
        if (acks)
            fclose(acks);
        unlink(path);
    }
}

static int print_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    printf("# verify: %s\n", problem->text);
    return 0;
}

static void check_store(struct storm *s)
{
    struct cairn_error error = {0};
    struct cairn_store *store;
    struct cairn_verify_result verified;
    struct cairn_store_options options = {.path = s->store, .create = true};
    int code = cairn_store_open(&store, &options, &error);
    if (code) {
        printf("# opening it at the end: %s\n", error.text);
        s->other++;
        return;
    }
    check_acks(s, store);
    if (cairn_checkpoint_verify(store, NULL, print_problem, NULL, &verified, &error)) {
        printf("# verify at the end: %s\n", error.text);
        s->other++;
    }
    cairn_store_close(store);
}

static void take_complaints(struct storm *s)
{
    char line[2048];
    FILE *log = fopen(s->log, "r");
    while (log && fgets(line, sizeof line, log)) {
        s->other += line[0] == '#';
        printf("%s%s", line[0] == '#' ? "" : "# ", line);
    }
    if (log)
        fclose(log);
    unlink(s->log);
}

static int one_round(struct storm *s, unsigned round)
{
    unsigned bad = s->other + s->lost;
    unlink(s->gate);
    if (mkfifo(s->gate, 0600))
        return -1;
    /* Both ends, so that no opening of it waits. The gate opens when both are closed.
     */
    int gate = open(s->gate, O_RDWR | O_CLOEXEC);
    if (gate < 0 || start_workers(s))
        return -1;
    pause_us(50000 + 1000 * s->workers);
    close(gate);
    disturb(s);
    await_workers(s);
    check_store(s);
    take_complaints(s);
    if (s->other + s->lost > bad) {
        printf("# in round %u\n", round);
        char kept[4096];
        snprintf(kept, sizeof kept, "%s/store.bad.%u", s->dir, round);
        rename(s->store, kept);
    }
    return !remove_tree(s->store);
}

int storm_main(char **args)
{
    static struct storm s;
    s.dir = args[0];
    s.workers = (unsigned)strtoul(args[1], NULL, 10);
    unsigned rounds = (unsigned)strtoul(args[2], NULL, 10);
    state = (uint32_t)strtoul(args[3], NULL, 10) | 1;
    if (s.workers < 3 || s.workers > WORKERS_MAX)
        return 2;
    snprintf(s.store, sizeof s.store, "%s/store", s.dir);
    snprintf(s.log, sizeof s.log, "%s/log", s.dir);
    snprintf(s.gate, sizeof s.gate, "%s/gate", s.dir);
    for (unsigned round = 1; round <= rounds; round++)
        if (one_round(&s, round)) {
            printf("# round %u could not be run: %s\n", round, strerror(errno));
            s.other++;
            break;
        }
    printf("storm %u %u %u %u %u %u\n", rounds, s.workers, s.kills, s.acknowledged,
           s.lost, s.other);
    return s.lost || s.other;
}
