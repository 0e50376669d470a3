/* SPDX-License-Identifier: MIT */
/* The run that this engine owns. */
#include "executor/state/engine.h"

#include "base/clock.h"
#include "graph/definition_codec.h"
#include "runs/additions.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "secrets/declared.h"
#include "secrets/outside.h"
#include "storage/object.h"
#include "storage/rows_command.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Lock, directory, situation ---- */

int owned_run_make_temporary(struct engine *e, struct cairn_error *error)
{
    const char *base = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.XXXXXX", base && *base ? base : "/tmp");
    if (path.failed)
        return error_nomem(error);
    if (!mkdtemp(path.data)) {
        int saved = errno;
        buf_release(&path);
        return error_sys(error, saved, "cannot make a temporary directory");
    }
    e->run.temporary = path.data;
    e->run.live_dir = e->run.temporary;
    uint64_t identity;
    int rc = random_bytes(&identity, sizeof identity, error);
    if (!rc)
        snprintf(e->run.identity, sizeof e->run.identity, "%016llx",
                 (unsigned long long)identity);
    return rc;
}

struct live_search {
    uint64_t run; /* the newest that has not ended; 0: none */
    struct digest params;
};

static int note_live(void *context, const struct run_row *row)
{
    struct live_search *live = context;
    if (row->state != CAIRN_RUN_UNFINISHED)
        return 0;
    *live = (struct live_search){row->run, row->params};
    return 1;
}

/* The workflow is owned: whoever begins a run with other params may want both at once. */
static void advise_concurrency(const struct engine *e, struct cairn_error *error)
{
    const struct definition *d = &e->request.workflow->definition;
    struct live_search live = {0};
    struct digest params;
    struct buf ignored = BUF_INIT;
    struct run_filter filter = {.limit = 100};
    bool wanted = error && e->request.mode == MODE_RUN && d->n_params && d->file.len &&
                  e->request.options->start != CAIRN_START_RESUME &&
                  !(d->name.len && d->name.ptr[d->name.len - 1] == ']');
    if (wanted &&
        store_workflow_id(e->request.store, d->name, false, &filter.workflow, NULL) ==
            0 &&
        definition_params(d, &ignored, &params, NULL) == 0 &&
        store_each_run(e->request.store, &filter, note_live, &live, NULL) >= 0 &&
        live.run && !digest_equal(&live.params, &params)) {
        size_t n = strlen(error->text);
        snprintf(error->text + n, sizeof error->text - n,
                 "\nThat run has other params: with `concurrency: params` in the file "
                 "both can live at once");
    }
    buf_release(&ignored);
}

int owned_run_lock(struct engine *e, struct cairn_error *error)
{
    if (!e->request.store)
        return 0;
    int rc = store_bind_thread(e->request.store, &e->run.bound, error);
    if (rc)
        return rc;
    e->run.live_dir = store_live_dir(e->request.store);
    snprintf(e->run.identity, sizeof e->run.identity, "%s", store_id(e->request.store));
    if (store_read_only(e->request.store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    rc = owner_acquire(e->request.store, e->request.graph->definition->name,
                       &e->run.row.workflow, &e->run.lock_offset, error);
    if (rc == CAIRN_EOWNED)
        advise_concurrency(e, error);
    return rc ? rc
              : store_newest_command(e->request.store, &e->run.earlier_commands, error);
}

int owned_run_load(struct engine *e, struct cairn_error *error)
{
    const struct request *r = &e->request;
    struct situation *s = &e->run.situation;
    int rc =
        r->mode == MODE_RUN
            ? situation_load_again(s, r->workflow, r->store, r->options, r->past, error)
            : situation_load_as_is(s, r->workflow, r->store, r->run, r->options, error);
    if (!rc && s->present.root_gone)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "the directory of the workflow is gone: %s\nPut it back, or "
                       "name the file where it is now: `cairn run FILE`",
                       r->workflow->definition.root.ptr);
    return rc;
}

void owned_run_note_outlived(struct engine *e, uint32_t old_task)
{
    struct recorded *r = &e->run.situation.recorded;
    r->marks[old_task] = MARK_OUTLIVED;
    r->n_outlived++;
}

void owned_run_note_orderly(struct engine *e, bool orderly)
{
    e->run.orderly = orderly;
}

bool owned_run_lost(struct engine *e)
{
    static const char nowhere[] = "/dev/null/live"; /* below what is no directory */
    if (e->run.lost || !e->request.store || store_in_place(e->request.store))
        return e->run.lost;
    e->run.lost = true;
    e->run.live_dir = nowhere;
    return true;
}

void owned_run_watch_store(struct engine *e)
{
    enum { LOOK_EVERY_NS = 1000000 };
    int64_t now_ns = loop_now_ns(e);
    if (now_ns - e->run.looked_ns < LOOK_EVERY_NS)
        return;
    e->run.looked_ns = now_ns;
    (void)owned_run_lost(e);
}

void owned_run_release(struct engine *e)
{
    if (e->run.temporary)
        rmdir(e->run.temporary);
    free(e->run.temporary);
    situation_release(&e->run.situation);
    if (e->run.bound)
        store_unbind_thread(e->request.store);
    if (e->run.lock_offset)
        owner_release(e->request.store, e->run.lock_offset);
    owned_run_drop_waiting(e);
    buf_release(&e->run.growth.bytes);
    sha256_free(e->run.growth.sha);
    free(e->run.refused);
    buf_release(&e->run.asked.data);
    added_names_release(&e->run.former);
    arena_release(&e->run.arena);
}

/* ---- Its row ---- */

void owned_run_keep_recorded_row(struct engine *e)
{
    e->run.row = e->run.situation.recorded.row;
}

int owned_run_take_row(struct engine *e, struct cairn_error *error)
{
    struct run_row *row = &e->run.row;
    struct owner_text *owner = arena_take(&e->run.arena, 1, sizeof *owner);
    uint64_t workflow = row->workflow;
    if (!owner)
        return error_nomem(error);
    if (e->run.situation.recorded.recovered)
        *row = e->run.situation.recorded.row;
    row->workflow = workflow;
    row->workflow_name = e->request.graph->definition->name;
    row->file = e->request.graph->definition->file;
    owner_describe(row, owner);
    return 0;
}

/* Appends what takes back an addition with the value of a secret; nothing: none has. */
static int name_withdrawal(const struct engine *e, struct buf *out,
                           struct cairn_error *error)
{
    const struct redactor *redactor = e->run.situation.secrets.redactor;
    const struct cairn_workflow *w = e->request.workflow;
    struct buf tasks = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < w->n_additions && !rc && !tasks.size; i++) {
        const struct addition *one = &w->additions[i];
        const struct str text = {one->text, one->length};
        struct arena arena = ARENA_INIT;
        struct name_list names = {0};
        if (redactor_finds(redactor, text))
            rc = addition_tasks(one, &arena, &names, error);
        for (size_t k = 0; k < names.n; k++)
            buf_format(&tasks, " %.*s", (int)names.at[k].len, names.at[k].ptr);
        arena_release(&arena);
    }
    if (tasks.size) {
        buf_format(out, "cairn add --withdraw %llu", (unsigned long long)w->added_run);
        redact_text(redactor, buf_view(&tasks), out);
    }
    out->failed |= tasks.failed;
    buf_release(&tasks);
    return rc ? rc : buf_check(out, error);
}

/* What is stored of a workflow is stored as it is: its texts, and the values of its
 * lists, of which the names of tasks are made. */
static int refuse_secret(const struct engine *e, struct cairn_error *error)
{
    const struct redactor *redactor = e->run.situation.secrets.redactor;
    const struct graph *g = e->request.graph;
    struct buf id = BUF_INIT, withdrawal = BUF_INIT;
    uint32_t task = 0;
    while (task < g->n_tasks && !redactor_finds(redactor, str_of(g->id[task])))
        task++;
    if (task < g->n_tasks)
        redact_text(redactor, str_of(g->id[task]), &id);
    int rc = name_withdrawal(e, &withdrawal, error) ?: buf_check(&id, error);
    if (!rc && withdrawal.size)
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "the value of a secret is in tasks that were added to the run: "
                       "take them back with `%.600s`, and add them without it",
                       withdrawal.data);
    else if (!rc && id.size)
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "the value of a secret is in the name of task %.300s, which is "
                       "stored and shown: take it out of the list that it comes from",
                       id.data);
    else if (!rc)
        rc =
            error_set(error, CAIRN_EWORKFLOW,
                      "the value of a secret is in the workflow, which is stored as it "
                      "is: take it out of the file, or out of the lists and files that "
                      "its values come from");
    buf_release(&id);
    buf_release(&withdrawal);
    return rc;
}

/* So are its path and the params. */
static int check_given(const struct engine *e, struct cairn_error *error)
{
    struct outside outside = {.redactor = e->run.situation.secrets.redactor};
    const struct outside_text texts[] = {
        {OUTSIDE_NAME, "the path of the workflow file", e->run.row.file, NULL},
        {OUTSIDE_DATA, "the params", e->run.row.params_text,
         "list it under `secrets` of the tasks that need it"}};
    int rc = outside_check(&outside, &texts[0], error);
    return rc ? rc : outside_check(&outside, &texts[1], error);
}

/* `as_stored`: that very graph is the run's already. */
static int put_graph(struct engine *e, bool as_stored, struct cairn_error *error)
{
    struct buf *encoded = &e->run.situation.present.encoded;
    const struct redactor *redactor = e->run.situation.secrets.redactor;
    int rc = 0;
    if (!encoded->size)
        rc = definition_encode(&e->request.workflow->definition, encoded, error);
    if (!rc && !as_stored && redactor && redactor_finds(redactor, buf_view(encoded)))
        rc = refuse_secret(e, error);
    if (!rc)
        rc = store_put_object(e->request.store, buf_view(encoded), &e->run.row.graph,
                              error);
    buf_release(encoded);
    e->run.row.tasks = e->request.graph->n_tasks;
    if (!rc)
        rc = store_put_run_graph(e->request.store, e->run.row.run, e->run.row.gen,
                                 &e->run.row.graph, error)
                 ?: secrets_declare(e->request.store, &e->request.workflow->definition,
                                    error);
    return rc ? rc
              : parse_cache_note(e->request.workflow, e->request.store, &e->run.row,
                                 error);
}

/* Attempts are numbered by task index, so another graph needs another generation; also
 * when damage made the run fall back to an older graph than its newest one. */
static bool new_generation(const struct situation *s)
{
    const struct recorded *r = &s->recorded;
    return !digest_equal(&r->row.graph, &s->present.digest) ||
           !digest_equal(&r->row.graph, &r->recovery.graph);
}

int owned_run_put_row(struct engine *e, struct cairn_error *error)
{
    struct situation *s = &e->run.situation;
    bool fresh = !s->recorded.recovered;
    struct buf params = BUF_INIT;
    e->run.row.state = CAIRN_RUN_UNFINISHED;
    e->run.row.ended_ns = 0;
    int rc = definition_params(&e->request.workflow->definition, &params,
                               &e->run.row.params, error);
    if (!rc && !fresh) /* it may have been removed since it was read */
        rc = store_get_run(e->request.store, e->run.row.run, NULL, NULL, error);
    e->run.row.params_text = arena_str(&e->run.arena, buf_view(&params));
    buf_release(&params);
    if (!rc && e->run.arena.failed)
        rc = error_nomem(error);
    if (!rc && fresh)
        rc = check_given(e, error);
    if (!rc && fresh) {
        e->run.row.gen = 1;
        e->run.row.graph = s->present.digest;
        e->run.row.tasks = e->request.graph->n_tasks;
        e->run.row.started_ns = loop_utc_ns(e);
        e->run.row.from_run = s->recorded.from_run;
        e->run.row.from_seq = s->recorded.from_seq;
        rc = store_add_run(e->request.store, &e->run.row, error)
                 ?: run_put_given(e->request.store, &e->run.row, e->request.workflow,
                                  error);
    } else if (!rc && new_generation(s))
        e->run.row.gen++;
    if (!rc)
        rc = put_graph(e, !fresh && !new_generation(s), error);
    if (!rc && !fresh)
        rc = store_set_run(e->request.store, &e->run.row, error);
    if (!rc && e->run.row.file.len)
        rc = moved_store_note(e->request.store, error);
    return rc;
}

int owned_run_had_task(struct engine *e, struct str name, struct cairn_error *error)
{
    struct owned_run *run = &e->run;
    int rc = 0;
    while (run->n_former + 1 < run->row.gen && !rc) {
        struct definition then;
        struct graph graph;
        rc = generation_load(e->request.store, &run->row, run->n_former + 1, &then,
                             &graph, error);
        if (rc)
            break;
        for (uint32_t i = 0; i < then.n_defs && !rc; i++)
            rc = added_names_note(&run->former, then.defs[i].id, error);
        graph_release(&graph);
        definition_release(&then);
        run->n_former++;
    }
    return rc ? rc : added_names_have(&run->former, name);
}

/* The first time all of it, then only what is new. */
static int grow(struct growth *growth, const struct definition *d, uint32_t defs,
                struct cairn_error *error)
{
    size_t before = growth->bytes.size;
    int rc = before ? definition_encode_added(d, defs, &growth->bytes, error)
                    : definition_encode(d, &growth->bytes, error);
    if (!growth->sha)
        growth->sha = sha256_new();
    if (rc || !growth->sha)
        return error_nomem(error);
    if (!before)
        sha256_begin(growth->sha);
    sha256_add(growth->sha, growth->bytes.data + before, growth->bytes.size - before);
    sha256_so_far(growth->sha, &growth->digest);
    return 0;
}

int owned_run_extend(struct engine *e, uint32_t defs, struct cairn_error *error)
{
    struct growth *growth = &e->run.growth;
    struct cairn_workflow *w = e->request.workflow;
    int rc = grow(growth, &w->definition, defs, error)
                 ?: situation_extend(&e->run.situation, w, &growth->digest, error);
    e->run.grown = true;
    e->run.row.graph = e->run.situation.present.digest;
    e->run.row.tasks = e->request.graph->n_tasks;
    return rc;
}

/* How many of those below the newest object the next one is made from. 0: it is put
 * whole, and counted as the first. */
static unsigned base_of_next(const struct growth *growth)
{
    uint32_t base = growth->n & (growth->n - 1);
    unsigned n = growth->n ? growth->n_below : 0;
    while (n && growth->below[n - 1].n != base)
        n--;
    return n < LIMIT_OBJECT_BASES ? n : 0;
}

int owned_run_put_extended(struct engine *e, struct cairn_error *error)
{
    struct cairn_store *store = e->request.store;
    const struct run_row *row = &e->run.row;
    struct growth *growth = &e->run.growth;
    struct shorter_object *put = &growth->put;
    unsigned base = base_of_next(growth);
    struct str bytes = buf_view(&growth->bytes);
    *put = (struct shorter_object){.size = bytes.len};
    int rc = base ? store_put_object_longer(store, bytes, &growth->digest,
                                            &growth->below[base - 1].object, put, error)
                  : store_put_object(store, bytes, &put->digest, error);
    return rc ?: store_put_run_graph(store, row->run, row->gen, &row->graph, error)
           ?: store_set_run(store, row, error);
}

/* ---- What was added ---- */

int owned_run_let_wait(struct engine *e, const char *name, struct str text,
                       uint64_t addition)
{
    struct owned_run *run = &e->run;
    struct addition *waiting =
        array_room(run->waiting, run->n_waiting, &run->waiting_room, sizeof *waiting);
    if (!waiting)
        return CAIRN_ENOMEM;
    run->waiting = waiting;
    return addition_init(&waiting[run->n_waiting++], name, text, addition);
}

void owned_run_drop_waiting(struct engine *e)
{
    additions_free(e->run.waiting, e->run.n_waiting);
    e->run.waiting = NULL;
    e->run.n_waiting = e->run.waiting_room = 0;
}

/* ---- Answers to who adds and withdraws ---- */

int owned_run_refuse(struct engine *e, uint64_t addition)
{
    struct owned_run *run = &e->run;
    uint64_t *refused =
        array_room(run->refused, run->n_refused, &run->refused_room, sizeof *refused);
    if (!refused)
        return CAIRN_ENOMEM;
    run->refused = refused;
    refused[run->n_refused++] = addition;
    if (!e->request.workflow->refused)
        e->request.workflow->refused = addition;
    e->request.workflow->refused_up_to = UINT64_MAX; /* until it is committed */
    return 0;
}

bool owned_run_take_back(struct engine *e, const struct command_row *row)
{
    struct take_back *asked = &e->run.asked;
    if (asked->command)
        return false;
    buf_clear(&asked->data);
    buf_str(&asked->data, row->data);
    asked->command = row->id;
    asked->granted = false;
    if (asked->data.failed)
        engine_break(e);
    return true;
}

static int put_refusals(struct engine *e, struct cairn_error *error)
{
    struct owned_run *run = &e->run;
    int rc = 0;
    for (size_t i = 0; i < run->n_refused && !rc; i++)
        rc = addition_refuse(e->request.store, run->row.run, run->refused[i], error);
    /* What is added later is checked without them. */
    if (!rc && run->n_refused)
        rc = store_newest_command(e->request.store, &e->request.workflow->refused_up_to,
                                  error);
    return rc;
}

/* Nothing of it was, or is about to be, started, and it has not ended. */
static bool is_untouched(const struct engine *e, uint32_t task)
{
    switch ((enum sched_state)e->progress.sched.state[task]) {
    case WAITING:
    case READY:
    case PARKED:
    case SHELVED:
    case IDLE:
    case AWAITING:
        return !e->turn.attempts[task];
    case TAKEN:
    case HELD:
    case OFFERED:
    case ENDED:
    case UP:
        break;
    }
    return false;
}

/* An added task that the run has not taken up yet has no number. */
static bool find_added(const struct engine *e, struct str name, uint32_t *first,
                       uint32_t *end)
{
    const struct graph *g = e->request.graph;
    uint32_t def = map_get(&g->definition->by_id, name);
    if (def != MAP_NONE) {
        *first = g->first[def];
        *end = g->first[def + 1];
    }
    return def != MAP_NONE;
}

/* 0: all of them can be withdrawn, 1: `name` has started, or an error. */
static int look_at_asked(const struct engine *e, struct str *name,
                         struct cairn_error *error)
{
    const struct take_back *asked = &e->run.asked;
    struct reader reader = reader_of(asked->data.data, asked->data.size);
    uint64_t id;
    uint32_t task, end;
    (void)read_lstr(&reader);
    while (withdrawal_next(&reader, &id, name))
        if (find_added(e, *name, &task, &end))
            for (; task < end; task++)
                if (!is_untouched(e, task))
                    return 1;
    return reader_done(&reader)
               ? 0
               : error_set(error, CAIRN_EDAMAGED, "command %llu to run %llu is damaged",
                           (unsigned long long)asked->command,
                           (unsigned long long)e->run.row.run);
}

/* What was added or withdrawn since who asks has checked it may need one of them, or be
 * another one of that name. */
static int put_take_back(struct engine *e, struct cairn_error *error)
{
    struct cairn_store *store = e->request.store;
    struct take_back *asked = &e->run.asked;
    uint64_t run = e->run.row.run, last = 0;
    struct buf data = BUF_INIT;
    struct command_row row;
    struct str name = STR("");
    int rc = store_get_command(store, run, asked->command, &row, &data, error)
                 ?: additions_last(store, run, &last, error);
    int started = rc ? rc : look_at_asked(e, &name, error);
    rc = started < 0 ? started : rc;
    asked->granted = !rc && !started && last < asked->command &&
                     row.verb == COMMAND_TAKE_BACK && !row.argument;
    if (asked->granted)
        row.verb = COMMAND_WITHDRAW;
    else if (!rc && started)
        row.data = name;
    if (!rc && !asked->granted && !row.argument)
        row.argument = started ? TAKE_BACK_STARTED : TAKE_BACK_OTHERS;
    if (!rc)
        rc = store_answer_command(store, &row, error);
    if (asked->granted && !rc)
        rc = added_withdraw(store, run, row.id, row.data, error);
    buf_release(&data);
    return rc;
}

int owned_run_put_answers(struct engine *e, struct cairn_error *error)
{
    return put_refusals(e, error) ?: e->run.asked.command ? put_take_back(e, error) : 0;
}

static int drop_asked(struct engine *e, struct cairn_error *error)
{
    const struct take_back *asked = &e->run.asked;
    struct cairn_workflow *w = e->request.workflow;
    struct reader reader = reader_of(asked->data.data, asked->data.size);
    struct buf said = BUF_INIT;
    struct str by = read_lstr(&reader), name;
    uint32_t *tasks = NULL, n = 0, task = 0, end = 0;
    size_t room = 0;
    uint64_t id;
    int rc = 0;
    buf_format(&said, "by %.*s:", (int)by.len, by.len ? by.ptr : "");
    while (!rc && withdrawal_next(&reader, &id, &name)) {
        buf_format(&said, " %.*s", (int)name.len, name.ptr);
        for (size_t i = 0; i < w->n_additions && !rc; i++)
            if (w->additions[i].id == id)
                rc = addition_withdraw(&w->additions[i], name, asked->command);
        if (asked->command > w->newest_addition)
            w->newest_addition = asked->command;
        for (bool has = find_added(e, name, &task, &end); has && !rc && task < end;) {
            uint32_t *grown = array_room(tasks, n, &room, sizeof *grown);
            tasks = grown ? grown : tasks;
            rc = grown ? 0 : CAIRN_ENOMEM;
            if (grown)
                grown[n++] = task++;
        }
    }
    if (!rc && said.failed)
        rc = CAIRN_ENOMEM;
    if (!rc && n)
        rc = progress_drop(e, tasks, n, error);
    free(tasks);
    if (!rc)
        audit_event(e, EVENT_COMMAND, COMMAND_WITHDRAW, UINT32_MAX, buf_view(&said));
    buf_release(&said);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
}

int owned_run_note_answers(struct engine *e, struct cairn_error *error)
{
    struct owned_run *run = &e->run;
    int rc = run->asked.command && run->asked.granted ? drop_asked(e, error) : 0;
    if (run->asked.command && run->asked.granted)
        loop_set_timer(e, TIMER_COMMIT, 0, 0, 0);
    run->asked.command = 0;
    run->n_refused = 0;
    return rc;
}

void owned_run_note_extended(struct engine *e)
{
    struct growth *growth = &e->run.growth;
    if (!e->run.grown)
        return;
    growth->n_below = base_of_next(growth);
    growth->n = growth->n_below ? growth->n : 0;
    growth->below[growth->n_below++] = (struct grown_object){growth->n++, growth->put};
    e->run.grown = false;
}

int owned_run_put_parent(struct engine *e, struct cairn_error *error)
{
    const struct run_parent *inside = &e->run.situation.inside;
    return inside->run
               ? store_set_parent(e->request.store, e->run.row.run, inside, error)
               : 0;
}

void owned_run_end(struct engine *e, enum cairn_run_state state)
{
    e->run.row.state = (uint8_t)state;
}

int owned_run_put_end(struct engine *e, struct cairn_error *error)
{
    const struct run_parent *inside = &e->run.situation.inside;
    e->run.row.ended_ns = loop_utc_ns(e);
    int rc = store_set_run(e->request.store, &e->run.row, error);
    if (!rc && inside->run && e->run.row.state == CAIRN_RUN_CANCELLED)
        rc =
            store_set_cancelled_inside(e->request.store, inside, e->run.row.run, error);
    return rc;
}
