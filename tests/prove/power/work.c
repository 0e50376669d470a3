/* SPDX-License-Identifier: MIT */
/* The workloads. Each is a number of sessions, one process each (or several at a time),
 * that open one store, continue with what is there, and close it. What the library
 * reports on the way goes into the log: from then on it is promised. */
#include "base/os.h"
#include "cairn/checkpoint.h"
#include "cairn/maintenance.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "power.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <zstd.h>

/* sessions, racers; the rest as in power.h */
static const struct work works[] = {
    {.name = "first", .tasks = 12, .chain = 1, .sessions = 1},
    {.name = "begun", .tasks = 8, .chain = 2, .sessions = 8},
    {.name = "runs", .tasks = 60, .chain = 5, .sessions = 5, .transfer = 60},
    {.name = "killed", .tasks = 80, .chain = 3, .sessions = 8, .transfer = 40},
    {.name = "racers", .tasks = 10, .chain = 2, .sessions = 3, .racers = 3},
    {.name = "network", .tasks = 30, .chain = 2, .sessions = 4, .network = true},
    {.name = "old", .tasks = 20, .chain = 2, .sessions = 2, .old = true},
    {.name = "process", .tasks = 12, .chain = 3, .sessions = 2, .processes = true},
    {.name = "prune",
     .tasks = 60,
     .chain = 4,
     .sessions = 6,
     .prunes = true,
     .transfer = 40},
    {.name = "recorder", .tasks = 30, .chain = 1, .sessions = 2, .recorder = true},
    {.name = "long", .tasks = TASKS_MAX, .chain = 2, .sessions = 1},
};

const struct work *work_number(size_t i)
{
    return i < sizeof works / sizeof works[0] ? &works[i] : NULL;
}

const struct work *work_find(const char *name)
{
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        if (strcmp(works[i].name, name) == 0)
            return &works[i];
    return NULL;
}

int work_sync(const char *name, enum cairn_sync *sync)
{
    static const char *const names[] = {"full", "normal", "off"};
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], name) == 0) {
            *sync = (enum cairn_sync)i;
            return 0;
        }
    return -1;
}

/* ---- The workflow ---- */

struct task_plan {
    const char *kind; /* of the session */
    uint32_t number;
};

/* Some fail at first, some fail for good in one session. */
static enum cairn_outcome call(void *context, struct cairn_attempt *attempt)
{
    const struct task_plan *plan = context;
    if (strcmp(plan->kind, "plain") != 0 && plan->number % 5 == 2 &&
        cairn_attempt_number(attempt) % 2 == 1)
        return CAIRN_FAILED;
    if (strcmp(plan->kind, "failing") == 0 && plan->number % 7 == 3)
        return CAIRN_FAILED;
    return CAIRN_COMPLETED;
}

static int add_task(struct cairn_workflow *workflow, const struct work *work,
                    struct task_plan *plan, struct cairn_error *error)
{
    char id[16], before[16];
    const char *needs[] = {before, NULL};
    snprintf(id, sizeof id, "t%u", plan->number);
    snprintf(before, sizeof before, "t%u", plan->number - 1);
    struct cairn_task task = {.id = id, .retries = plan->number % 5 == 2};
    if (plan->number > 0 && plan->number % work->chain == 0)
        task.needs = needs;
    if (work->processes) {
        task.run = "echo \"n=$$\" >>\"$CAIRN_OUTPUT\"; echo said";
    } else {
        task.call = call;
        task.context = plan;
    }
    return cairn_workflow_add(workflow, &task, error);
}

static int build(struct cairn_workflow **out, const struct work *work, uint32_t which,
                 const char *kind, struct cairn_error *error)
{
    static struct task_plan plans[TASKS_MAX];
    char name[16];
    snprintf(name, sizeof name, "w%u", which);
    int rc = cairn_workflow_new(out, name, error);
    for (uint32_t i = 0; !rc && i < work->tasks; i++) {
        plans[i] = (struct task_plan){kind, i};
        rc = add_task(*out, work, &plans[i], error);
    }
    return rc;
}

/* ---- A session ---- */

struct session {
    const struct work *work;
    const char *base, *kind;
    struct cairn_store *store;
    struct cairn_stop *stop;
    enum cairn_sync sync;
    uint32_t which, acks;
};

static int open_store(const struct session *s, struct cairn_store **store,
                      bool read_only, struct cairn_error *error)
{
    char path[500];
    snprintf(path, sizeof path, "%s/.cairn", s->base);
    struct cairn_store_options options = {
        .path = path, .create = !read_only, .read_only = read_only, .sync = s->sync};
    return store_open_at(store, &options,
                         s->work->network ? STORE_NETWORK : STORE_LOCAL, error);
}

static int count_run(void *context, const struct cairn_run_info *info)
{
    (void)info;
    ++*(uint32_t *)context;
    return 0;
}

/* Others come and go while the run lives. */
static void visit(const struct session *s, bool read_only)
{
    struct cairn_store *store = NULL;
    struct cairn_page page = {.all = true};
    uint32_t n = 0;
    if (open_store(s, &store, read_only, NULL) == 0)
        cairn_runs(store, NULL, &page, count_run, &n, NULL, NULL);
    cairn_store_close(store);
}

static void note(enum event_type type, const struct cairn_event *event, uint32_t b,
                 uint32_t c)
{
    struct event ev = {
        .type = type, .a = event->run, .b = b, .c = c, .d = event->checkpoint};
    record_event(&ev, NULL);
}

static void observe(void *context, const struct cairn_event *event)
{
    struct session *s = context;
    if (event->kind == CAIRN_EVENT_RUN_STARTED)
        note(EV_RUN, event, s->which, 0);
    else if (event->kind == CAIRN_EVENT_TASK_STARTED)
        note(EV_START, event, event->node, event->attempt);
    if (event->kind != CAIRN_EVENT_TASK_FINISHED)
        return;
    note(EV_ACK, event, event->node, event->outcome);
    s->acks++;
    if (s->work->transfer) /* it goes back to the usual with each new WAL */
        s->store->transfer_pages = s->work->transfer;
    if (s->acks % 11 == 5)
        visit(s, true);
    if (s->acks % 23 == 7)
        visit(s, false);
    if (strcmp(s->kind, "stopped") == 0 && s->acks == s->work->tasks / 3)
        cairn_stop_request(s->stop);
}

static int note_digest(void *context, const struct cairn_checkpoint_info *info)
{
    struct event event = {.type = EV_DIGEST, .a = info->seq, .size = 64};
    (void)context;
    if (!info->damaged)
        record_event(&event, info->digest);
    return 0;
}

static int note_digests(struct cairn_store *store, struct cairn_error *error)
{
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    return cairn_checkpoint_list(store, &all, note_digest, NULL, NULL, error);
}

static int run_graph(struct session *s, bool fresh, struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_run_result result;
    struct cairn_run_options options = {.start = fresh ? CAIRN_START_FRESH
                                                       : CAIRN_START_AUTO,
                                        .jobs = 2,
                                        .keep_all = !s->work->prunes,
                                        .keep = 5,
                                        .stop = s->stop,
                                        .observe = observe,
                                        .observe_context = s};
    int rc = build(&workflow, s->work, s->which, s->kind, error);
    if (s->work->prunes)
        record_event(&(struct event){.type = EV_PRUNE}, NULL);
    if (!rc)
        rc = cairn_run(workflow, s->store, &options, &result, error);
    cairn_workflow_free(workflow);
    return rc;
}

static int run_recorder(struct session *s, struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_recorder *recorder = NULL;
    struct cairn_run_info info;
    int rc = build(&workflow, s->work, s->which, s->kind, error);
    if (!rc)
        rc = cairn_recorder_open(&recorder, workflow, s->store, error);
    if (!rc)
        rc = cairn_run_get(s->store, 0, &info, error);
    struct cairn_event event = {.run = info.run};
    if (!rc)
        note(EV_RUN, &event, s->which, 0);
    for (uint32_t i = 0; !rc && i < s->work->tasks; i++) {
        struct cairn_change change = {.task = i, .outcome = CAIRN_COMPLETED};
        rc = cairn_recorder_save(recorder, &change, 1, NULL, error);
        if (!rc)
            note(EV_ACK, &event, i, CAIRN_COMPLETED);
    }
    if (recorder)
        cairn_recorder_close(recorder, CAIRN_RUN_COMPLETED, NULL);
    cairn_workflow_free(workflow);
    return rc;
}

/* The store of an older release, as it lay on the disk. */
static int put_old(const char *base)
{
    static char plain[100000];
    const char *root = getenv("root");
    struct buf packed = BUF_INIT;
    struct event event = {.type = EV_FOUND};
    static const char name[] = ".cairn/cairn.db";
    char path[500];
    snprintf(path, sizeof path, "%s/tests/data/store-v1.db.zst", root ? root : ".");
    if (os_read_file(path, sizeof plain, &packed, NULL))
        return -1;
    size_t size = ZSTD_decompress(plain, sizeof plain, packed.data, packed.size);
    if (ZSTD_isError(size))
        return -1;
    buf_clear(&packed);
    buf_add(&packed, name, sizeof name);
    buf_add(&packed, plain, size);
    snprintf(path, sizeof path, "%s/.cairn", base);
    if (packed.failed || os_make_dir(path, 0700, NULL) < 0)
        return -1;
    event.size = (uint32_t)packed.size;
    record_event(&event, packed.data);
    snprintf(path, sizeof path, "%s/%s", base, name);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
    bool good = fd >= 0 && syscall(SYS_write, fd, plain, size) == (long)size;
    buf_release(&packed);
    return good && syscall(SYS_close, fd) == 0 ? 0 : -1;
}

int work_session(const struct work *work, const char *base, enum cairn_sync sync,
                 uint32_t session, uint64_t seed)
{
    static const char *const kinds[] = {"stopped", "failing", "plain", "retrying"};
    struct cairn_error error = {0};
    struct session s = {.work = work,
                        .base = base,
                        .sync = sync,
                        .which = (uint32_t)seed % WORKFLOWS_MAX,
                        .kind = kinds[work->sessions > 1 ? session % 4 : 2]};
    record_event(&(struct event){.type = EV_SESSION}, NULL);
    int rc = work->old && session == 0 ? put_old(base) : 0;
    if (!rc)
        rc = cairn_stop_new(&s.stop, &error);
    if (!rc)
        rc = open_store(&s, &s.store, false, &error);
    if (!rc)
        rc = work->recorder ? run_recorder(&s, &error)
                            : run_graph(&s, session % 4 == 3, &error);
    if (!rc)
        rc = note_digests(s.store, &error);
    if (!rc && work->prunes)
        rc = cairn_checkpoint_prune(s.store, &(struct cairn_prune_options){.keep = 3},
                                    &(struct cairn_prune_result){0}, &error);
    cairn_store_close(s.store);
    cairn_stop_free(s.stop);
    if (rc)
        fprintf(stderr, "power: %s, session %u: %s\n", work->name, session, error.text);
    return rc;
}

int work_resume(const struct work *work, struct cairn_store *store, uint32_t which,
                cairn_observe_fn *watch, void *context, struct cairn_run_result *result,
                struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_run_options options = {.start = CAIRN_START_RESUME,
                                        .jobs = 2,
                                        .keep_all = true,
                                        .observe = watch,
                                        .observe_context = context};
    int rc = build(&workflow, work, which, "plain", error);
    if (!rc)
        rc = cairn_run(workflow, store, &options, result, error);
    cairn_workflow_free(workflow);
    return rc;
}
