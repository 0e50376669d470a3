/* SPDX-License-Identifier: MIT */
/* Finding out where a workflow stands. Order: which run, its states, its definition;
 * then situation_decide.c. First: a workflow that is run by a task of another run in
 * the same store. */
#include "plan/situation.h"

#include "plan/situation_int.h"

#include "cairn/outcome.h"
#include "cairn/plan.h"
#include "checkpoint/annotations.h"
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "graph/definition_codec.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "graph/lists.h"
#include "graph/match.h"
#include "runs/additions.h"
#include "runs/marks.h"
#include "runs/stored.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- Is one attempt the repetition of another? ---- */

/* The run whose task began another: its definitions at the time of two attempts of that
 * task. */
struct outer_run {
    struct arena arena; /* texts of the row */
    struct run_row row;
    const struct run_parent *was, *here;
    struct past_definition then, now;
    uint64_t since; /* turn */
    bool again;
    struct cairn_store *store;
    struct cairn_error *error;
};

static bool is_task(const void *context, uint32_t dependent)
{
    return dependent == *(const uint32_t *)context;
}

/* Does what the task needs give it something, by its values or its files? A service does
 * not. What is needed only for the order does if the task has inputs: who made which of
 * them is not looked up here. */
static bool gives_something(const struct graph *g, uint32_t task, uint32_t need)
{
    const struct task_def *def = graph_def(g, need);
    bool reads = task_def_has_inputs(graph_def(g, task)) && !task_def_is_service(def),
         gives = false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !gives; e++) {
        uint32_t node = g->needs[e];
        bool leads = node == need;
        for (uint32_t i = g->dependent_start[need];
             graph_is_barrier(g, node) && i < g->dependent_start[need + 1] && !leads;
             i++)
            leads = g->dependents[i] == node;
        gives = leads && (reads || !graph_need_is_order(g, task, e));
    }
    return gives;
}

/* Of whichever generation, in the numbers of which the attempt is. */
static int look_at_needed(void *context, const struct attempt_row *row)
{
    struct outer_run *o = context;
    if (row->gen < o->was->gen || row->start_turn <= o->since)
        return 0;
    int rc = past_definition_load(&o->now, o->store, &o->row, row->gen, o->error);
    if (rc)
        return rc;
    uint32_t task = graph_find(&o->now.graph, str_of(o->here->id));
    o->again = row->task < o->now.graph.n_tasks && task != NODE_NONE &&
               graph_any_dependent(&o->now.graph, row->task, is_task, &task) &&
               gives_something(&o->now.graph, task, row->task);
    return o->again;
}

/* Is the task another one by now? What else was edited, and where the file is, does not
 * matter. */
static int was_edited(struct outer_run *o, bool *edited)
{
    const struct run_parent *was = o->was, *here = o->here;
    *edited = false;
    if (was->gen == here->gen)
        return 0;
    int rc =
        past_definition_load(&o->then, o->store, &o->row, was->gen, o->error)
            ?: past_definition_load(&o->now, o->store, &o->row, here->gen, o->error);
    if (rc)
        return rc;
    *edited = true;
    if (was->task >= o->then.graph.n_tasks || here->task >= o->now.graph.n_tasks)
        return 0;
    return task_is_changed(&o->then.graph, was->task, &o->now.graph, here->task, edited,
                           o->error);
}

/* Has the task been edited, or something that it needs run since? A definition that is
 * lost tells nothing. */
static int is_given_something_else(struct outer_run *o, bool *otherwise)
{
    int rc = run_row_get(&o->row, o->store, o->was->run, &o->arena, o->error)
                 ?: was_edited(o, otherwise);
    if (!rc && !*otherwise) {
        rc = store_each_new_attempt(o->store, o->was->run, o->since, look_at_needed, o,
                                    o->error);
        *otherwise = o->again;
    }
    return rc < 0 ? rc : 0;
}

static int is_given_the_same(struct cairn_store *store, const struct run_parent *was,
                             const struct run_parent *here, uint64_t since,
                             struct cairn_error *error)
{
    struct cairn_error local = {0};
    struct outer_run o = {.arena = ARENA_INIT,
                          .was = was,
                          .here = here,
                          .since = since,
                          .store = store,
                          .error = &local};
    bool otherwise = true;
    int rc = is_given_something_else(&o, &otherwise);
    past_definition_release(&o.then);
    past_definition_release(&o.now);
    arena_release(&o.arena);
    if (rc == CAIRN_ENOTFOUND || (rc == CAIRN_EDAMAGED && was->gen != here->gen))
        return 0;
    return rc ? error_set(error, rc, "%s", local.text) : !otherwise;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    *(struct attempt_row *)context = *row; /* its texts are not used */
    return 0;
}

/* CAIRN_ENOTFOUND. */
static int get_attempt(struct cairn_store *store, const struct run_parent *of,
                       struct attempt_row *row, struct cairn_error *error)
{
    const struct attempt_row key = {
        .run = of->run, .gen = of->gen, .task = of->task, .number = of->attempt};
    struct cairn_error local = {0};
    int rc = store_get_attempt(store, &key, note_attempt, row, &local);
    return rc && rc != CAIRN_ENOTFOUND ? error_set(error, rc, "%s", local.text) : rc;
}

/* Are they one attempt, perhaps taken over after an edit? */
static int is_one_attempt(struct cairn_store *store, const struct run_parent *was,
                          const struct run_parent *here, struct cairn_error *error)
{
    struct attempt_row row = {0};
    if (was->gen == here->gen || was->attempt != here->attempt)
        return same_attempt(was, here);
    int rc = get_attempt(store, here, &row, error);
    return rc ? rc : (row.flags & ATTEMPT_ADOPTED) != 0;
}

/* ---- Which run goes on ---- */

static bool is_cut_off(const struct attempt_row *row)
{
    return attempt_is_open(row) || row->flags & ATTEMPT_INTERRUPTED ||
           row->outcome == CAIRN_CANCELLED;
}

/* Has the run completed behind the end of the attempt that had begun it: resumed or
 * decided by hand? Its task has not seen that end yet. */
static int completed_since(struct loader *l, const struct attempt_row *row, bool *since)
{
    uint64_t seq = 0;
    int rc = store_last_seq(l->store, NAMESPACE_WORKFLOW, l->s->recorded.row.run, &seq,
                            l->error);
    *since = row->outcome == CAIRN_FAILED && row->checkpoint && seq > row->checkpoint;
    return rc;
}

/* Did a check judge the attempt `row`, or is it or that of now one of a check or an
 * undo command? These look anew; and a check that said no asks for the whole work
 * again. */
static int is_judged(struct loader *l, const struct attempt_row *row)
{
    struct attempt_row here = {0};
    int rc = get_attempt(l->store, &l->s->inside, &here, l->error);
    return rc && rc != CAIRN_ENOTFOUND
               ? rc
               : ((row->flags | here.flags) & (ATTEMPT_CHECK | ATTEMPT_UNDO)) != 0;
}

/* Begun in the attempt `row` of the task: does the run go on in the attempt of now? If
 * the task did not complete in that one, and what its tasks were given is what they
 * would be given now. 1 yes, 0 no, <0 error. */
static int goes_on_after(struct loader *l, const struct run_parent *was,
                         const struct attempt_row *row)
{
    bool since = true;
    if (!is_cut_off(row)) {
        bool completed = l->s->recorded.row.state == CAIRN_RUN_COMPLETED;
        int rc = completed ? is_judged(l, row) : 0;
        if (rc > 0)
            rc = completed_since(l, row, &since);
        if (rc || !since || row->outcome == CAIRN_COMPLETED)
            return rc;
    }
    return is_given_the_same(l->store, was, &l->s->inside, row->start_turn, l->error);
}

/* The same for the run in recorded.row. A second call of one attempt begins another if
 * it has completed. */
static int goes_on_inside(struct loader *l, const struct run_parent *was)
{
    bool completed = l->s->recorded.row.state == CAIRN_RUN_COMPLETED;
    struct attempt_row row = {0};
    int rc = is_one_attempt(l->store, was, &l->s->inside, l->error);
    if (rc > 0 || rc == CAIRN_ENOTFOUND)
        return !completed;
    if (!rc)
        rc = get_attempt(l->store, was, &row, l->error);
    if (rc == CAIRN_ENOTFOUND)
        return !completed;
    return rc ? rc : goes_on_after(l, was, &row);
}

static int note_row(void *context, const struct run_row *row)
{
    *(struct run_row *)context = *row; /* its texts are not used */
    return 0;
}

/* Had the task completed in the attempt when the record `seq` was made? */
static int had_completed(struct loader *l, const struct run_parent *was, uint64_t seq,
                         bool *completed)
{
    struct attempt_row row = {0};
    int rc = get_attempt(l->store, was, &row, l->error);
    *completed = !rc && row.outcome == CAIRN_COMPLETED && row.checkpoint &&
                 row.checkpoint <= seq;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

/* In a fork: the run that the task has begun in what it forks from. If the task had not
 * completed there, what must not run twice is asked about. */
static int find_in_source(struct loader *l, const struct inside_query *here)
{
    struct run_parent parent = l->s->inside, was;
    const struct inside_query query = {here->workflow, here->params, &parent};
    struct begun_earlier *earlier = &l->s->earlier;
    struct cairn_error local = {0};
    int rc = 0;
    while (!rc && !earlier->run) {
        struct run_row row = {0};
        bool completed = false;
        rc = store_get_run(l->store, parent.run, note_row, &row, &local);
        if (rc || !row.from_run || row.from_run >= parent.run)
            break;
        parent.run = row.from_run;
        rc = store_find_inside(l->store, &query, &earlier->run, &was, &local);
        if (!rc && earlier->run)
            rc = had_completed(l, &was, row.from_seq, &completed);
        earlier->ask = earlier->run && !completed;
    }
    return !rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED
               ? 0
               : error_set(l->error, rc, "%s", local.text);
}

/* The newest run of the workflow and params that the task which this process runs in
 * has begun goes on inside it, or another begins, which is told of the earlier one. */
int situation_find_begun_before(struct loader *l, const struct digest *params)
{
    struct inside_query query = {.params = params, .parent = &l->s->inside};
    struct cairn_error local = {0};
    struct run_parent was;
    uint64_t run = 0;
    int rc = store_workflow_id(l->store, l->w->definition.name, false, &query.workflow,
                               &local);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : error_set(l->error, rc, "%s", local.text);
    rc = store_find_inside(l->store, &query, &run, &was, l->error);
    if (!rc && !run)
        return find_in_source(l, &query);
    if (!rc)
        rc = run_row_get(&l->s->recorded.row, l->store, run, &l->s->arena, l->error)
                 ?: goes_on_inside(l, &was);
    l->s->begun_before = rc > 0;
    if (rc <= 0) {
        l->s->earlier.run = run;
        l->s->recorded.row = (struct run_row){0};
    }
    return rc < 0 ? rc : 0;
}

/* What a task of another run has begun goes on there: clears recorded.row. */
static int situation_leave_to_other_task(struct loader *l)
{
    struct run_parent parent;
    uint64_t run = l->s->recorded.row.run;
    int rc = run && l->s->inside.run
                 ? store_get_parent(l->store, run, &parent, l->error)
                 : 0;
    if (!rc && run && l->s->inside.run && parent.run)
        l->s->recorded.row = (struct run_row){0};
    return rc;
}

static int note_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

static int notice_completed_inside(struct loader *l, const struct run_parent *parent)
{
    struct buf fresh = BUF_INIT;
    definition_put_fresh(&l->w->definition, &fresh);
    int rc = buf_check(&fresh, l->error);
    if (!rc)
        situation_add_notice(l->s,
                             "task %s of run %llu began run %llu, which has completed: "
                             "what is done stays done; to begin another: `%s`",
                             parent->id, (unsigned long long)parent->run,
                             (unsigned long long)l->s->recorded.row.run, fresh.data);
    buf_release(&fresh);
    return rc;
}

/* Says where the run that goes on was begun. */
static int situation_notice_parent(struct loader *l)
{
    struct run_parent parent;
    uint8_t state = CAIRN_RUN_COMPLETED;
    unsigned long long run = l->s->recorded.row.run;
    int rc = store_get_parent(l->store, run, &parent, l->error);
    if (rc || !parent.run)
        return rc;
    if (l->s->inside.run && l->s->recorded.row.state == CAIRN_RUN_COMPLETED)
        return notice_completed_inside(l, &parent);
    if (l->s->inside.run) {
        situation_add_notice(l->s,
                             "task %s of run %llu began run %llu, which continues",
                             parent.id, (unsigned long long)parent.run, run);
        return 0;
    }
    rc = store_get_run(l->store, parent.run, note_state, &state, NULL);
    situation_add_notice(
        l->s, "run %llu was begun by task %s of run %llu%s", run, parent.id,
        (unsigned long long)parent.run,
        !rc && state != CAIRN_RUN_COMPLETED ? ", which has not completed itself" : "");
    return 0;
}

/* ---- Which run ---- */

static int keep_row(void *context, const struct run_row *row)
{
    struct loader *l = context;
    return run_row_copy(&l->s->recorded.row, row, &l->s->arena, l->error);
}

static int newest_run(struct loader *l, const struct digest *params)
{
    uint64_t id = 0;
    struct cairn_error local = {0};
    l->s->recorded.row = (struct run_row){0};
    int rc = store_workflow_id(l->store, l->w->definition.name, false, &id, &local);
    if (rc == CAIRN_ENOTFOUND)
        return 0; /* it has no runs */
    if (rc)
        return error_set(l->error, rc, "%s", local.text);
    struct run_filter filter = {.workflow = id, .params = params, .limit = 1};
    return store_each_run(l->store, &filter, keep_row, l, l->error);
}

static int check_owner(struct loader *l, struct str name, const char *what, uint64_t id)
{
    struct str own = l->w->definition.name;
    if (str_equal(name, own))
        return 0;
    return error_set(
        l->error, CAIRN_EUSAGE, "%s %llu belongs to workflow `%.*s`, not to `%.*s`",
        what, (unsigned long long)id, (int)name.len, name.ptr, (int)own.len, own.ptr);
}

static int find_given_run(struct loader *l)
{
    uint64_t run = l->options->run;
    int rc =
        run ? store_get_run(l->store, run, keep_row, l, l->error) : newest_run(l, NULL);
    if (rc)
        return rc;
    if (!l->s->recorded.row.run)
        return error_set(l->error, CAIRN_ENOTFOUND,
                         "workflow `%.*s` has no run to resume; start one with `cairn "
                         "run`",
                         (int)l->w->definition.name.len, l->w->definition.name.ptr);
    return check_owner(l, l->s->recorded.row.workflow_name, "run",
                       l->s->recorded.row.run);
}

/* A new run begins, and has none of what was added to that one. What is damaged there
 * does not concern it. */
static int notice_added(struct loader *l, unsigned long long run)
{
    struct cairn_error why = {0};
    char words[RESUME_WORDS];
    uint32_t n = 0;
    int rc = additions_waiting(l->store, run, &n, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(l->error);
    if (!rc && n)
        situation_add_notice(
            l->s,
            "run %llu, which has completed, has %u added task%s that ha%s not run: %s",
            run, n, n == 1 ? "" : "s", n == 1 ? "s" : "ve",
            definition_resume_words(words, &l->w->definition, run, ""));
    return 0;
}

/* Also where the project was moved or copied with its store. */
static bool is_of_this_file(const struct loader *l)
{
    struct str file = l->w->definition.file;
    struct buf path = BUF_INIT;
    bool same = file.len && str_equal(file, l->s->recorded.row.file);
    if (file.len && !same)
        same = moved_store_find(l->store, &l->s->recorded.row, &path, NULL) > 0 &&
               str_equal(file, str_of(path.data));
    buf_release(&path);
    return same;
}

static int find_auto_run(struct loader *l)
{
    struct buf text = BUF_INIT;
    struct digest params;
    int rc = definition_params(&l->w->definition, &text, &params, l->error);
    buf_release(&text);
    if (!rc && l->s->inside.run)
        rc = situation_find_begun_before(l, &params);
    if (rc || l->s->recorded.row.run)
        return rc;
    rc = newest_run(l, &params);
    if (!rc && l->s->recorded.row.state == CAIRN_RUN_COMPLETED &&
        l->w->definition.again == AGAIN_ALWAYS) {
        /* With a key, a run that was recorded without one only counts as history; but a
         * damaged or forged one is an error, because it may be unfinished. */
        rc = run_trust(l->store, &l->s->recorded.row, l->error);
        if (rc == CAIRN_EUSAGE)
            rc = 0;
        if (!rc && !l->s->inside.run && is_of_this_file(l))
            situation_add_notice(
                l->s,
                "run %llu of this file is completed, and a new run begins: `cairn "
                "resume %llu` runs only what has changed",
                (unsigned long long)l->s->recorded.row.run,
                (unsigned long long)l->s->recorded.row.run);
        if (!rc)
            rc = notice_added(l, l->s->recorded.row.run);
        l->s->recorded.row = (struct run_row){0};
    }
    return rc ? rc : situation_leave_to_other_task(l);
}

/* ---- Its states ---- */

int situation_advise_fresh(int rc, const struct cairn_workflow *w,
                           struct cairn_error *error)
{
    struct buf command = BUF_INIT;
    size_t n = error ? strlen(error->text) : 0;
    if (rc != CAIRN_EUSAGE || !error)
        return rc;
    buf_text(&command, ", or start another run with `");
    definition_put_fresh(&w->definition, &command);
    buf_byte(&command, '`');
    /* Half a command would be another one. */
    if (!buf_check(&command, NULL) && n + command.size < sizeof error->text)
        snprintf(error->text + n, sizeof error->text - n, "%s", command.data);
    buf_release(&command);
    return rc;
}

static int check_label(struct loader *l, uint64_t seq)
{
    char number[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_WORKFLOW, seq, number);
    return l->options->force ? 0
                             : checkpoint_check_broken(l->store, seq, number, l->error);
}

static int load_recovery(struct loader *l)
{
    struct situation *s = l->s;
    int rc = run_trust(l->store, &s->recorded.row, l->error);
    if (rc)
        return l->as_is ? rc : situation_advise_fresh(rc, l->w, l->error);
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(l->error);
    rc = outcomes_recover(l->store, sha, s->recorded.row.run, &s->recorded.recovery,
                          l->error);
    sha256_free(sha);
    s->recorded.recovery.head.chain.in.sha = NULL; /* the engine brings its own */
    if (rc == CAIRN_ENOTFOUND)
        return run_no_checkpoint(s->recorded.row.run, l->error);
    if (rc)
        return rc;
    s->recorded.recovered = s->recorded.exists = true;
    if (!l->as_is)
        rc = check_label(l, s->recorded.recovery.newest.seq);
    if (rc)
        return rc;
    if (s->recorded.row.keyed && !store_key(l->store) && !l->as_is)
        situation_add_notice(
            s,
            "run %llu is recorded with a key: to continue it, give the "
            "key with --key FILE or CAIRN_KEY",
            (unsigned long long)s->recorded.row.run);
    for (size_t i = 0; i < s->recorded.recovery.n_damaged; i++)
        situation_add_notice(s,
                             "checkpoint workflow:%llu is damaged and was skipped: %s",
                             (unsigned long long)s->recorded.recovery.damaged[i],
                             s->recorded.recovery.reasons[i]);
    if (s->recorded.recovery.n_damaged) {
        char id[CAIRN_ID_MAX];
        checkpoint_id(NAMESPACE_WORKFLOW, s->recorded.recovery.newest.seq,
                      &s->recorded.recovery.newest.digest, id);
        situation_add_notice(s, "going on from %s, the last valid checkpoint", id);
    }
    return states_copy(&s->recorded.states, &s->recorded.recovery.states, l->error);
}

static int load_fork(struct loader *l, struct digest *graph)
{
    struct situation *s = l->s;
    struct outcomes outcomes = {0};
    struct rebuilt at = {0};
    int rc = checkpoint_find(l->store, l->options->from, &s->recorded.from_seq,
                             l->error)
             ?: check_label(l, s->recorded.from_seq)
             ?: outcomes_rebuild(l->store, s->recorded.from_seq, &outcomes, &at,
                                 l->error);
    if (!rc) {
        s->recorded.states = outcomes.states;
        *graph = outcomes.graph;
        rc = store_get_run(l->store, at.header.stream, keep_row, l, l->error);
    }
    if (!rc)
        rc = run_trust(l->store, &s->recorded.row, l->error)
                 ?: check_owner(l, s->recorded.row.workflow_name, "checkpoint",
                                s->recorded.from_seq);
    if (rc)
        return rc;
    s->recorded.exists = true;
    s->recorded.from_run = at.header.stream;
    s->recorded.from_digest = at.ref.digest;
    s->recorded.row = (struct run_row){0};
    return 0;
}

/* ---- Whose it is ---- */

static struct str directory_of(struct str path)
{
    while (path.len > 1 && path.ptr[path.len - 1] != '/')
        path.len--;
    return path;
}

/* Whether two paths lead to two things that are there. */
static bool are_two(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 &&
           (x.st_dev != y.st_dev || x.st_ino != y.st_ino);
}

static bool lie_apart(const char *file, const char *other, struct cairn_error *error,
                      int *rc)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    buf_str(&a, directory_of(str_of(file)));
    buf_str(&b, directory_of(str_of(other)));
    *rc = buf_check(&a, error);
    if (!*rc)
        *rc = buf_check(&b, error);
    bool apart = !*rc && are_two(a.data, b.data);
    buf_release(&a);
    buf_release(&b);
    return apart;
}

/* A workflow of the same name in another directory is another workflow: what it has
 * done counts for nothing here. Not so where its file is not there any more, since the
 * project was moved, or lies beside, since it was renamed or copied. */
static int check_place(struct loader *l)
{
    const struct run_row *row = &l->s->recorded.row;
    struct str file = l->w->definition.file;
    struct buf path = BUF_INIT, fresh = BUF_INIT;
    struct cairn_error why = {0};
    if (l->as_is || !file.len || !row->file.len || str_equal(file, row->file))
        return 0;
    int found = moved_store_find(l->store, row, &path, &why), rc = 0;
    if (found < 0 && found != CAIRN_ENOTFOUND)
        rc = error_set(l->error, found, "%s", why.text);
    if (found > 0 && are_two(path.data, file.ptr) &&
        lie_apart(path.data, file.ptr, l->error, &rc)) {
        definition_put_fresh(&l->w->definition, &fresh);
        rc = error_set(l->error, CAIRN_EUSAGE,
                       "run %llu of workflow `%.*s` is one of %s, which is another "
                       "workflow than %.*s: give one of them another `name:`, or "
                       "start a run of this one with `%s`",
                       (unsigned long long)row->run, (int)row->workflow_name.len,
                       row->workflow_name.ptr, path.data, (int)file.len, file.ptr,
                       buf_check(&fresh, NULL) || fresh.size > 300
                           ? "cairn run FILE --fresh"
                           : fresh.data);
    }
    buf_release(&fresh);
    buf_release(&path);
    return rc;
}

/* ---- Its definition ---- */

static int encode_definition(struct loader *l)
{
    struct situation *s = l->s;
    s->present.digest = l->w->digest;
    if (l->w->digested)
        return 0;
    buf_clear(&s->present.encoded);
    int rc = definition_encode(&l->w->definition, &s->present.encoded, l->error);
    return rc ? rc
              : sha256_of(s->present.encoded.data, s->present.encoded.size,
                          &s->present.digest, l->error);
}

/* A run goes on with the rule for excluded members that it began with: what was settled
 * by that rule stays settled. */
static void keep_rule(struct loader *l)
{
    struct definition *d = &l->w->definition;
    d->all_need_all =
        l->s->recorded.definition.all_need_all && definition_wants_groups(d);
}

/* ---- Tasks that were added to the run ---- */

/* Those of another run, or of this one by its last call. */
static int forget_additions(struct loader *l)
{
    bool same =
        l->options->start == CAIRN_START_RESUME && l->options->run == l->w->added_run;
    if (!l->w->n_additions || same)
        return 0;
    workflow_take_additions(l->w, 0, NULL, 0);
    return workflow_reparse(l->w, NULL, l->error);
}

static int leave_out(struct loader *l, struct addition *one)
{
    struct arena arena = ARENA_INIT;
    struct name_list names;
    int rc = addition_tasks(one, &arena, &names, l->error);
    for (size_t i = 0; i < names.n && !rc; i++)
        if (addition_withdraw(one, names.at[i], 0))
            rc = error_nomem(l->error);
    arena_release(&arena);
    return rc;
}

/* The workflow has its tasks. */
static bool is_known(const struct cairn_workflow *w, const struct addition *one)
{
    size_t i = 0;
    while (i < w->n_additions && w->additions[i].id != one->id)
        i++;
    return i < w->n_additions && w->additions[i].n_gone == one->n_gone;
}

/* A live run goes on without new tasks that would end it, because the value of a secret
 * is in them, and without those behind, which may need them; until it is resumed. The
 * owner refuses the former (owned_run.c), so that of these only the latter are left. */
static int leave_out_secret(struct loader *l, struct addition *all, size_t n)
{
    struct secrets secrets;
    uint64_t known = additions_up_to(l->w, l->s->recorded.row.run);
    bool left = false;
    if (!l->w->going_on)
        return 0;
    int rc = secrets_load(&secrets, &l->w->definition, l->options, l->error);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct str text = {all[i].text, all[i].length};
        bool behind = l->w->refused && all[i].id > l->w->refused &&
                      all[i].id <= l->w->refused_up_to;
        left |= all[i].id > known && redactor_finds(secrets.redactor, text);
        if (left || (behind && !is_known(l->w, &all[i])))
            rc = leave_out(l, &all[i]);
    }
    secrets_release(&secrets);
    if (left && !rc)
        situation_add_notice(l->s,
                             "the value of a secret is in tasks that were added: the "
                             "run goes on without them");
    return rc;
}

/* *grown: the workflow was parsed without all that belongs to the run. A program's own
 * workflow has no file that they could be behind. */
static int take_additions(struct loader *l, bool *grown)
{
    uint64_t run = l->s->recorded.row.run;
    struct addition *all = NULL;
    size_t n = 0;
    *grown = false;
    if (l->as_is || !l->s->recorded.recovered || !l->w->name)
        return 0;
    int rc = additions_load(l->store, run, &all, &n, l->error);
    if (rc)
        return rc;
    *grown = n && additions_newest(all, n) != additions_up_to(l->w, run);
    if (*grown)
        rc = leave_out_secret(l, all, n);
    if (*grown && !rc)
        workflow_take_additions(l->w, run, all, n);
    else
        additions_free(all, n);
    return rc;
}

/* Loads the recorded definition if it is not the present one; foreach members found on
 * disk are taken as they were recorded, which may make the two the same after all. */
static int load_old_graph(struct loader *l, const struct digest *recorded)
{
    struct situation *s = l->s;
    bool grown = false;
    int rc = take_additions(l, &grown);
    bool lists = !l->as_is && definition_has_lists(&l->w->definition);
    s->recorded.same_graph = !grown && digest_equal(recorded, &s->present.digest);
    if (rc || (s->recorded.same_graph && !lists))
        return rc;
    rc = states_graph_load(l->store, s->recorded.row.run, recorded,
                           &s->recorded.definition, &s->recorded.graph, l->error);
    if (rc)
        return rc;
    s->recorded.graph_loaded = true;
    if (!s->recorded.same_graph)
        rc = workflow_reparse(l->w, &s->recorded.definition, l->error);
    lists = !l->as_is && definition_has_lists(&l->w->definition);
    if (!rc && lists)
        rc = situation_give_lists(l);
    if (!rc) {
        keep_rule(l);
        rc = encode_definition(l);
    }
    s->recorded.same_graph = digest_equal(recorded, &s->present.digest);
    return rc;
}

static int load_all(struct loader *l)
{
    struct situation *s = l->s;
    struct digest graph;
    if (l->w->name) /* what comes from a file: keep_rule may have set it before */
        l->w->definition.all_need_all = false;
    int rc = l->as_is ? 0 : forget_additions(l);
    if (!rc && !l->as_is)
        rc = situation_forget_lists(l);
    if (!rc)
        rc = encode_definition(l);
    if (rc || !l->store)
        return rc ? rc : situation_decide(l);
    rc = l->as_is ? 0 : run_parent_here(l->store, &s->inside, l->error);
    if (rc)
        return rc;
    if (l->options->start != CAIRN_START_RESUME)
        rc = newest_run(l, NULL);
    s->recorded.latest_run = s->recorded.row.run;
    /* It may be the one to continue. */
    if (!rc && s->recorded.row.run && !s->recorded.row.sum_ok &&
        l->options->start == CAIRN_START_AUTO)
        rc = run_trust(l->store, &s->recorded.row, l->error);
    s->recorded.row = (struct run_row){0};
    if (!rc && l->options->start == CAIRN_START_RESUME)
        rc = find_given_run(l);
    else if (!rc && l->options->start == CAIRN_START_AUTO)
        rc = find_auto_run(l);
    else if (!rc && l->options->start == CAIRN_START_FROM)
        rc = load_fork(l, &graph);
    if (!rc && s->recorded.row.run) {
        rc = load_recovery(l) ?: check_place(l);
        graph = s->recorded.recovery.graph;
    }
    if (!rc && s->recorded.exists)
        rc = load_old_graph(l, &graph);
    if (!rc && s->recorded.recovered && !l->as_is)
        rc = situation_notice_parent(l);
    return rc ? rc : situation_decide(l);
}

static int load_situation(struct loader *l)
{
    int rc = cairn_workflow_compile(l->w, l->error);
    *l->s = (struct situation){0};
    if (!rc && l->store)
        rc = store_begin_read(l->store, l->error);
    if (rc)
        return rc;
    rc = load_all(l);
    if (l->store)
        store_end_read(l->store);
    past_definition_release(&l->past);
    if (!rc && l->s->notices.failed)
        rc = error_nomem(l->error);
    if (rc)
        situation_release(l->s);
    return rc;
}

static struct loader loader_of(struct situation *s, struct cairn_workflow *w,
                               struct cairn_store *store,
                               const struct cairn_run_options *options,
                               struct cairn_error *error)
{
    static const struct cairn_run_options defaults;
    return (struct loader){.s = s,
                           .w = w,
                           .store = store,
                           .options = options ? options : &defaults,
                           .error = error};
}

int situation_load_again(struct situation *s, struct cairn_workflow *w,
                         struct cairn_store *store,
                         const struct cairn_run_options *options,
                         struct past_attempts *past, struct cairn_error *error)
{
    struct loader l = loader_of(s, w, store, options, error);
    l.attempts = past;
    return load_situation(&l);
}

int situation_load(struct situation *s, struct cairn_workflow *w,
                   struct cairn_store *store, const struct cairn_run_options *options,
                   struct cairn_error *error)
{
    struct loader l = loader_of(s, w, store, options, error);
    l.explains = true;
    return load_situation(&l);
}

int situation_load_as_is(struct situation *s, struct cairn_workflow *w,
                         struct cairn_store *store, uint64_t run,
                         const struct cairn_run_options *given,
                         struct cairn_error *error)
{
    struct cairn_run_options options = {
        .start = CAIRN_START_RESUME, .run = run, .ignore_outputs = true};
    if (given) {
        options.secrets = given->secrets;
        options.n_secrets = given->n_secrets;
    }
    struct loader l = {.s = s,
                       .w = w,
                       .store = store,
                       .options = &options,
                       .as_is = true,
                       .error = error};
    return load_situation(&l);
}

bool situation_is_put_back(const struct situation *s, const struct cairn_workflow *w,
                           uint32_t task)
{
    const struct states *states = &s->present.states;
    bool skipped =
        outcome_is_skipped(states->outcome[task]) || state_is_put_back(states, task);
    return s->present.old_task && s->present.old_task[task] != NODE_NONE && skipped &&
           task_is_unknown(graph_def(&w->graph, task), CAIRN_PENDING,
                           situation_mark(s, task));
}

uint32_t situation_task_now(const struct situation *s, const struct cairn_workflow *w,
                            uint32_t old)
{
    const struct graph *graph = situation_old(s, w);
    return old < graph->n_tasks ? map_task(graph, old, &w->graph) : NODE_NONE;
}

static struct change recorded_state(const struct situation *s, uint32_t task)
{
    const struct states *states = &s->present.states;
    struct change change = {.task = task,
                            .outcome = states->outcome[task],
                            .attempts = states->attempts[task]};
    if (states->outputs)
        change.outputs = states->outputs[task];
    return change;
}

static struct put_back put_back_of(const struct situation *s, uint32_t task)
{
    return s->present.put_back ? s->present.put_back[task] : (struct put_back){0};
}

static struct change state_to_start_from(const struct situation *s,
                                         const struct cairn_workflow *w, uint32_t task)
{
    bool unknown = s->decisions.reason[task] == CAIRN_REASON_UNKNOWN;
    bool reset = s->decisions.reset[task] || s->present.old_task[task] == NODE_NONE;
    bool was_unknown = s->present.states.outcome[task] == CAIRN_UNKNOWN;
    struct put_back before = put_back_of(s, task);
    struct change change = recorded_state(s, task);
    if (unknown && !was_unknown)
        change.outputs = before.outputs;
    else if (s->decisions.ask[task])
        change.outcome = CAIRN_PENDING; /* state_is_put_back */
    else if (!unknown && reset && situation_is_put_back(s, w, task))
        change = (struct change){
            .task = task, .attempts = before.number, .outputs = before.outputs};
    else if (!unknown && reset)
        change = (struct change){.task = task};
    change.outcome = unknown ? (uint8_t)CAIRN_UNKNOWN : change.outcome;
    return change;
}

int situation_extend(struct situation *s, struct cairn_workflow *w,
                     const struct digest *digest, struct cairn_error *error)
{
    struct present *p = &s->present;
    uint32_t before = s->decisions.n, n = w->graph.n_tasks;
    p->digest = w->digest = *digest;
    w->digested = true;
    int rc = states_extend(&p->states, n, error);
    if (rc)
        return rc;
    if (decisions_extend(&s->decisions, &w->graph) ||
        !array_extend(&p->old_task, before, n, sizeof *p->old_task) ||
        !array_extend(&p->new_marks, before, n, sizeof *p->new_marks) ||
        !array_extend(&p->new_attempts, before, n, sizeof *p->new_attempts) ||
        !array_extend(&p->put_back, before, n, sizeof *p->put_back) ||
        !array_extend(&p->rounds, before, n, sizeof *p->rounds) ||
        !array_extend(&p->evidence, before, n, sizeof *p->evidence) ||
        !array_extend(&p->which, before, n, sizeof *p->which) ||
        !array_extend(&p->writer, before, n, sizeof *p->writer) ||
        !array_extend(&p->first_maker, before + 1, n + 1, sizeof *p->first_maker) ||
        !array_extend(&p->reused, before, n, sizeof(void *)) ||
        !array_extend(&p->nearest, before, n, sizeof *p->nearest))
        return error_nomem(error);
    for (uint32_t task = before; task < n; task++) {
        p->old_task[task] = NODE_NONE;
        if (p->first_maker)
            p->first_maker[task + 1] = p->first_maker[before];
    }
    return 0;
}

int situation_states(const struct situation *s, const struct cairn_workflow *w,
                     struct states *states, struct cairn_error *error)
{
    int rc = states_init(states, w->graph.n_tasks, error);
    for (uint32_t task = 0; task < w->graph.n_tasks && !rc; task++) {
        struct change change = state_to_start_from(s, w, task);
        rc = states_apply(states, &change, error);
    }
    if (rc)
        states_release(states);
    return rc;
}

void situation_release(struct situation *s)
{
    if (s->recorded.recovered)
        recovery_release(&s->recorded.recovery);
    states_release(&s->recorded.states);
    if (s->recorded.graph_loaded) {
        graph_release(&s->recorded.graph);
        definition_release(&s->recorded.definition);
    }
    free(s->present.old_task);
    free(s->recorded.marks);
    free(s->recorded.noted);
    free(s->recorded.kept);
    free(s->present.new_marks);
    free(s->present.new_attempts);
    free(s->present.put_back);
    free(s->recorded.last_attempt);
    free(s->present.rounds);
    free(s->present.evidence);
    free(s->present.first_maker);
    buf_release(&s->present.makers);
    free(s->present.which);
    free(s->present.writer);
    free(s->present.reused);
    free(s->present.nearest);
    free(s->present.index_path);
    output_index_release(&s->present.index);
    stale_gone_release(&s->present.gone);
    lookup_release(&s->present.lookup);
    states_release(&s->present.states);
    secrets_release(&s->secrets);
    decisions_release(&s->decisions);
    buf_release(&s->notices);
    buf_release(&s->present.encoded);
    arena_release(&s->arena);
    *s = (struct situation){0};
}
