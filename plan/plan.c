/* SPDX-License-Identifier: MIT */
/* What a plan shows of one task beside the decision: its condition with the values that
 * decided, and the command that would run. */
#include "plan/sched.h"
#include "plan/situation_int.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/plan.h"
#include "graph/fingerprint.h"
#include "graph/lists.h"
#include "runs/owner.h"
#include "storage/rows_run.h"

#include <stdlib.h>

struct cairn_plan {
    struct situation situation;
    const struct cairn_workflow *workflow;
    struct arena arena; /* details that had to be made; failed: one is not right */
    char live[160];     /* a notice, or "" */
};

/* The arena and the lookup only cache: nothing that others see changes. */
static struct cairn_plan *cache_of(const struct cairn_plan *plan)
{
    return (struct cairn_plan *)(uintptr_t)plan;
}

/* Without what is found of the values of secrets. */
static const char *keep(const struct cairn_plan *plan, struct buf *text)
{
    struct buf clean = BUF_INIT;
    redact_text(plan->situation.secrets.redactor, buf_view(text), &clean);
    bool failed = text->failed || clean.failed;
    const char *kept =
        failed ? NULL : arena_text(&cache_of(plan)->arena, buf_view(&clean));
    buf_release(&clean);
    buf_release(text);
    if (!kept)
        cache_of(plan)->arena.failed = true;
    return kept;
}

int cairn_plan_check(const struct cairn_plan *plan, struct cairn_error *error)
{
    return plan->arena.failed ? error_nomem(error) : 0;
}

const char *cairn_plan_condition(const struct cairn_plan *plan, uint32_t node)
{
    const struct graph *g = &plan->workflow->graph;
    struct buf text = BUF_INIT;
    if (node >= g->n_tasks || !graph_def(g, node)->condition.len)
        return NULL;
    if (situation_show_condition(&cache_of(plan)->situation, plan->workflow, node,
                                 &text, NULL))
        text.failed = true;
    return keep(plan, &text);
}

/* With the values that are known now; one that is not stays as it is written. */
static void append_text(const struct scope *scope, struct str text, struct buf *out)
{
    struct buf whole = BUF_INIT;
    int rc = text_expand(scope, text, &whole, NULL);
    if (rc == 0)
        buf_str(out, buf_view(&whole));
    else
        text_expand_fixed(scope->definition, scope->def, scope->member, text, out);
    out->failed |= whole.failed || rc == CAIRN_ENOMEM;
    buf_release(&whole);
}

static void append_words(const struct scope *scope, struct buf *out)
{
    for (uint32_t i = 0; i < scope->def->n_argv; i++) {
        struct buf word = BUF_INIT;
        append_text(scope, scope->def->argv[i], &word);
        if (i)
            buf_text(out, " ");
        /* Of files each is a word. */
        struct str left = buf_view(&word);
        const char *end = text_is_files(scope->def->argv[i]) && left.len
                              ? memchr(left.ptr, '\n', left.len)
                              : NULL;
        while (end) {
            size_t n = (size_t)(end - left.ptr);
            buf_shell_word(out, (struct str){left.ptr, n});
            buf_text(out, " ");
            left = (struct str){end + 1, left.len - n - 1};
            end = memchr(left.ptr, '\n', left.len);
        }
        buf_shell_word(out, left);
        out->failed |= word.failed;
        buf_release(&word);
    }
}

const char *cairn_plan_command(const struct cairn_plan *plan, uint32_t node)
{
    const struct graph *g = &plan->workflow->graph;
    struct asker asker = {.lookup = &cache_of(plan)->situation.present.lookup,
                          .task = node};
    struct buf text = BUF_INIT;
    if (node >= g->n_tasks)
        return NULL;
    struct scope scope = lookup_scope(&asker);
    switch ((enum task_kind)scope.def->kind) {
    case TASK_RUN:
        buf_str(&text, scope.def->run);
        if (scope.def->n_argv) {
            buf_text(&text, " (args: ");
            append_words(&scope, &text);
            buf_byte(&text, ')');
        }
        break;
    case TASK_EXEC:
        append_words(&scope, &text);
        break;
    case TASK_EXTERNAL:
        append_text(&scope, scope.def->external, &text);
        break;
    default:
        return NULL;
    }
    return keep(plan, &text);
}

/* cairn_plan: the situation, put into words. */

/* Another process runs it now: what is shown of unfinished tasks holds only for this
 * moment.
 */
static int look_for_owner(struct cairn_plan *plan, struct cairn_store *store,
                          struct cairn_error *error)
{
    const struct run_row *row = &plan->situation.recorded.row;
    int live = row->run ? run_live(store, row, error) : 0;
    if (live > 0)
        snprintf(plan->live, sizeof plan->live,
                 "run %llu is running now (process %lld); this is what would run if it "
                 "ended at this moment",
                 (unsigned long long)row->run, (long long)row->owner_pid);
    return live < 0 ? live : 0;
}

/* What `cairn run` would refuse the run for. */
static void look_at_memory(struct cairn_plan *plan,
                           const struct cairn_run_options *options)
{
    struct cairn_error why = {0};
    const struct decisions *d = &plan->situation.decisions;
    uint32_t given = options ? options->memory_mib : 0;
    if (d->will + d->may && memory_check(&plan->workflow->definition, given, &why))
        situation_add_notice(&plan->situation, "nothing starts: %s", why.text);
}

int cairn_plan(struct cairn_plan **out, struct cairn_workflow *workflow,
               struct cairn_store *store, const struct cairn_run_options *options,
               struct cairn_error *error)
{
    STRUCT_TAKE(cairn_run_options, options, error);
    struct cairn_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return error_nomem(error);
    int rc = situation_load(&plan->situation, workflow, store, options, error);
    if (rc) {
        free(plan);
        return rc;
    }
    plan->workflow = workflow;
    look_at_memory(plan, options);
    rc = look_for_owner(plan, store, error);
    if (rc)
        cairn_plan_free(plan);
    else
        *out = plan;
    return rc;
}

void cairn_plan_free(struct cairn_plan *plan)
{
    if (!plan)
        return;
    situation_release(&plan->situation);
    arena_release(&plan->arena);
    free(plan);
}

uint64_t cairn_plan_run(const struct cairn_plan *plan)
{
    return plan->situation.recorded.row.run;
}

uint32_t cairn_plan_tasks(const struct cairn_plan *plan)
{
    return plan->situation.decisions.n;
}

uint32_t cairn_plan_will(const struct cairn_plan *plan)
{
    return plan->situation.decisions.will;
}

uint32_t cairn_plan_may(const struct cairn_plan *plan)
{
    return plan->situation.decisions.may;
}

const char *cairn_plan_notice(const struct cairn_plan *plan, size_t i)
{
    if (plan->live[0] && i == 0)
        return plan->live;
    return situation_notice(&plan->situation, plan->live[0] ? i - 1 : i);
}

/* ---- What changed ---- */

struct change_list {
    struct buf text; /* names of fields, joined */
};

static int name_change(void *context, const char *field, const char *old,
                       const char *now)
{
    struct change_list *list = context;
    (void)old;
    (void)now;
    if (list->text.size)
        buf_text(&list->text, ", ");
    buf_text(&list->text, field);
    return 0;
}

static int definition_changes(const struct cairn_plan *plan, uint32_t task,
                              int (*each)(void *, const char *, const char *,
                                          const char *),
                              void *context, struct cairn_error *error)
{
    const struct situation *s = &plan->situation;
    const struct graph *now = &plan->workflow->graph;
    if (!s->recorded.exists || s->present.old_task[task] == NODE_NONE ||
        s->recorded.same_graph)
        return 0;
    const struct graph *then = situation_old(s, plan->workflow);
    return task_changes(then, s->present.old_task[task], now, task, each, context,
                        error);
}

int cairn_plan_changes(const struct cairn_plan *plan, uint32_t node,
                       int (*each)(void *, const char *field, const char *old,
                                   const char *now),
                       void *context, struct cairn_error *error)
{
    const struct situation *s = &plan->situation;
    char field[LIMIT_NAME_BYTES + 4200];
    if (node >= s->decisions.n)
        return error_set(error, CAIRN_ENOTFOUND, "there is no task %u", node);
    uint8_t reason = s->decisions.reason[node];
    if (s->present.which && s->present.which[node] &&
        (reason == CAIRN_REASON_INPUT || reason == CAIRN_REASON_SECRET ||
         reason == CAIRN_REASON_OUTPUT)) {
        const char *what = reason == CAIRN_REASON_INPUT    ? "input"
                           : reason == CAIRN_REASON_SECRET ? "secret"
                                                           : "output";
        uint8_t evidence = s->present.evidence[node];
        bool missing = evidence == OUTPUT_MISSING || evidence == INPUT_MISSING;
        snprintf(field, sizeof field, "%s %s", what, s->present.which[node]);
        if (each(context, field, evidence == INPUT_NEW ? "not there" : "as recorded",
                 missing                 ? "missing"
                 : evidence == INPUT_NEW ? "new"
                                         : "different"))
            return 0;
    }
    return definition_changes(plan, node, each, context, error);
}

/* ---- In words ---- */

static const char *keep_text(struct arena *arena, struct buf *text, const char *instead)
{
    const char *copy = text->failed ? NULL : arena_text(arena, buf_view(text));
    buf_release(text);
    if (!copy)
        arena->failed = true; /* cairn_plan_check */
    return copy ? copy : instead;
}

/* Which fields of the definition differ; foreach values are the rest. */
static const char *describe_change(const struct cairn_plan *plan, uint32_t task,
                                   struct arena *arena)
{
    struct change_list list = {BUF_INIT};
    if (definition_changes(plan, task, name_change, &list, NULL))
        list.text.failed = true;
    if (list.text.size == 0)
        buf_text(&list.text, "the members of a group it needs, or their order,");
    buf_text(&list.text, " changed");
    return keep_text(arena, &list.text, "its definition changed");
}

static const char *describe_kept(const struct cairn_plan *plan, uint32_t task,
                                 struct arena *arena)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "completed; %s, but it is kept as it is",
               describe_change(plan, task, arena));
    return keep_text(arena, &text,
                     "completed; its definition changed, but it is kept as it is");
}

static const char *describe_reused(const struct cairn_plan *plan, uint32_t task,
                                   struct arena *arena)
{
    const struct situation *s = &plan->situation;
    const struct reused *reused = situation_reused(s, task);
    struct buf text = BUF_INIT;
    if (!reused || reused->own)
        return "it stays done: what it needs came out as it was";
    buf_format(&text, "run %llu has done it with all of the same%s",
               (unsigned long long)reused->origin,
               reused->put_back ? "; its outputs would be put back from there" : "");
    return keep_text(arena, &text, "another run has done it with all of the same");
}

/* A sentence about the task that the decision comes from. */
static const char *about_cause(const struct cairn_plan *plan, uint32_t task,
                               const char *format, const char *instead,
                               struct arena *arena)
{
    uint32_t cause = plan->situation.decisions.cause[task];
    struct buf text = BUF_INIT;
    if (cause == NODE_NONE)
        return instead;
    buf_format(&text, format, plan->workflow->graph.id[cause]);
    return keep_text(arena, &text, instead);
}

/* A sentence about the task that makes the list of this one. */
static const char *about_list(const struct task_def *def, const char *format,
                              struct arena *arena)
{
    struct buf text = BUF_INIT;
    struct list_spec spec;
    if (list_spec_of(task_def_made_key(def), &spec))
        buf_format(&text, format, (int)spec.task.len, spec.task.ptr);
    return keep_text(arena, &text, "");
}

static const char *describe_bad_list(const struct task_def *def, struct arena *arena)
{
    struct buf text = BUF_INIT;
    struct str why = STR("");
    for (uint32_t k = 0; k < def->n_foreach && !why.len; k++)
        why = def->foreach[k].why;
    buf_format(&text, "it fails, since its list is known: %.*s",
               (int)utf8_fit(why, 1000), why.ptr);
    return keep_text(arena, &text, "it fails, since its list is known");
}

static const char *describe_evidence(const struct cairn_plan *plan, uint32_t task,
                                     const char *format, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *which = plan->situation.present.which[task];
    buf_format(&text, format, which ? which : "");
    return keep_text(arena, &text, format);
}

static const char *describe_input(const struct cairn_plan *plan, uint32_t task,
                                  struct arena *arena)
{
    uint8_t evidence = plan->situation.present.evidence[task];
    return describe_evidence(plan, task,
                             evidence == INPUT_MISSING ? "its input %s is missing"
                             : evidence == INPUT_NEW
                                 ? "its input %s is new"
                                 : "the content of its input %s differs",
                             arena);
}

static const char *describe_changed_output(const struct cairn_plan *plan, uint32_t task,
                                           struct arena *arena)
{
    static const char differs[] = "the content of its output %s differs";
    const struct present *p = &plan->situation.present;
    struct buf text = BUF_INIT;
    if (!p->writer || !p->writer[task])
        return describe_evidence(plan, task, differs, arena);
    buf_format(&text, differs, p->which[task] ? p->which[task] : "");
    buf_format(&text, ": %s has written it since", p->writer[task]);
    return keep_text(arena, &text, "the content of one of its outputs differs");
}

static bool lost_result(const struct situation *s, uint32_t task)
{
    return s->present.evidence && s->present.evidence[task] == RESULT_LOST;
}

/* One that does not run, as it did not before. */
static bool only_passes_on(const struct cairn_plan *plan, uint32_t node)
{
    const struct states *states = &plan->situation.present.states;
    return !graph_is_barrier(&plan->workflow->graph, node) &&
           outcome_is_skipped(states->outcome[node]);
}

static const char *describe_upstream(const struct cairn_plan *plan, uint32_t task,
                                     struct arena *arena)
{
    const struct decisions *d = &plan->situation.decisions;
    uint32_t cause = d->cause[task];
    bool finally = graph_def(&plan->workflow->graph, task)->finally;
    if (finally && cause != NODE_NONE && d->fate[cause] & FATE_TURNED)
        return about_cause(plan, task, "%s does not run now, and it runs after that",
                           "other tasks do not run now", arena);
    if (finally)
        return about_cause(plan, task, "%s runs again, and it runs after that",
                           "other tasks run again", arena);
    if (cause != NODE_NONE && d->fate[cause] & FATE_TURNED &&
        only_passes_on(plan, cause))
        return about_cause(plan, task, "something that %s waits for runs again",
                           "something that it waits for runs again", arena);
    if (cause != NODE_NONE && d->fate[cause] & FATE_TURNED &&
        d->fate[cause] & FATE_COMPLETED)
        return about_cause(plan, task, "%s, which it needs, is reused from another run",
                           "something it needs is reused from another run", arena);
    if (cause != NODE_NONE && d->fate[cause] & FATE_TURNED)
        return about_cause(plan, task, "%s, which it needs, does not run now",
                           "something it needs does not run now", arena);
    return about_cause(plan, task, "%s, which it needs, runs again",
                       "something it needs runs again", arena);
}

static const char *describe_asked_about(const struct cairn_plan *plan, uint32_t task,
                                        struct arena *arena)
{
    const char *upstream = describe_upstream(plan, task, arena);
    struct buf text = BUF_INIT;
    if (!plan->situation.decisions.ask[task])
        return upstream;
    buf_format(
        &text, "%s; it has completed and must not run twice: %s when it can start",
        upstream,
        graph_def(&plan->workflow->graph, task)->check.len ? "its check decides"
                                                           : "it is asked about");
    return keep_text(arena, &text, upstream);
}

/* Who says whether it has done its work. */
static void add_decision(const struct cairn_plan *plan, uint32_t task, struct buf *text)
{
    uint64_t run = plan->situation.recorded.row.run;
    if (graph_def(&plan->workflow->graph, task)->check.len) {
        buf_text(text, "its check decides");
    } else if (!run) {
        buf_text(text, "it is asked about when the run has begun");
    } else {
        buf_format(text, "decide: cairn resolve %llu ", (unsigned long long)run);
        buf_shell_word(text, str_of(plan->workflow->graph.id[task]));
        buf_text(text, " done|failed|rerun");
    }
}

/* Recorded without its end, or with the end of an earlier graph of the run. */
static const char *describe_undecided(const struct cairn_plan *plan, uint32_t task,
                                      struct arena *arena)
{
    const struct situation *s = &plan->situation;
    uint8_t mark = situation_mark(s, task);
    uint32_t old = s->present.old_task[task];
    bool put_back =
        mark && (old == NODE_NONE || situation_is_put_back(s, plan->workflow, task));
    bool asked = old != NODE_NONE && s->recorded.kept[old].completed &&
                 s->present.states.outcome[task] == CAIRN_UNKNOWN;
    const char *why =
        put_back || asked      ? "it ran before, and must not run twice"
        : lost_result(s, task) ? "its stored result is damaged or gone, and it must "
                                 "not run twice"
        : mark & MARK_DAMAGED  ? "the checkpoint that recorded its end is damaged or "
                                 "gone, and it must not run twice"
                               : "it was interrupted and must not run twice";
    struct buf text = BUF_INIT;
    buf_format(&text, "%s; ", why);
    add_decision(plan, task, &text);
    return keep_text(arena, &text, why);
}

static const char *describe_excluded(const struct cairn_plan *plan, uint32_t task,
                                     struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *condition = cairn_plan_condition(plan, task);
    buf_format(&text, "its condition is not met%s%s", condition ? ": " : "",
               condition ? condition : "");
    return keep_text(arena, &text, "its condition is not met");
}

/* Why it cannot run: what it needs. */
static const char *describe_need(const struct cairn_plan *plan, uint32_t task,
                                 struct arena *arena)
{
    const struct graph *g = &plan->workflow->graph;
    const struct decisions *d = &plan->situation.decisions;
    uint32_t cause = d->cause[task];
    bool excluded = cause != NODE_NONE && d->fate[cause] & FATE_EXCLUDED;
    if (excluded && state_skipped_itself(&plan->situation.present.states, cause))
        return about_cause(plan, task, "%s, which it needs, had nothing to do",
                           "something it needs did not complete", arena);
    if (excluded && g->definition->all_need_all)
        return about_cause(plan, task,
                           "the condition of %s, which it needs, is not met, and this "
                           "run began when that counted as a skip",
                           "something it needs did not complete", arena);
    if (excluded && graph_def(g, task)->needs_all)
        return about_cause(plan, task,
                           "the condition of %s is not met, and it has `needs_all`",
                           "something it needs did not complete", arena);
    bool doomed = cause != NODE_NONE && d->fate[cause] & FATE_DOOMED;
    return about_cause(plan, task,
                       excluded ? "the condition of %s, which it needs, is not met"
                       : doomed ? "%s, which it needs, fails"
                                : "%s, which it needs, did not complete",
                       "something it needs did not complete", arena);
}

/* Of a service. */
static const char *describe_users(const struct cairn_plan *plan, uint32_t task,
                                  struct arena *arena)
{
    uint16_t fate = plan->situation.decisions.fate[task];
    return fate & FATE_LISTED ? "members of a list that is made again need it"
           : fate & (FATE_WILL | FATE_MAY)
               ? about_cause(plan, task, "%s, which needs it, runs",
                             "something that needs it runs", arena)
               : "nothing that needs it runs";
}

/* Its process runs already, or has ended. */
static const char *describe_adopted(const struct cairn_plan *plan, uint32_t task,
                                    struct arena *arena)
{
    uint8_t mark = situation_mark(&plan->situation, task);
    bool ended = mark & (MARK_ENDED | MARK_ENDED_BADLY);
    bool undecided = plan->situation.decisions.fate[task] & FATE_OPEN;
    const struct task_def *def = graph_def(&plan->workflow->graph, task);
    struct buf text = BUF_INIT;
    if (is_tried_again(&plan->situation.decisions, task, mark)) {
        return !def->retry.max
                   ? "it failed while cairn did not run; its fallback follows"
               : def->fallback.len
                   ? "it failed while cairn did not run; another try or its fallback "
                     "follows"
                   : "it failed while cairn did not run; another try follows";
    }
    if (undecided) {
        buf_format(&text,
                   "%s, but it was edited since it began, and must not run twice: %s",
                   ended ? "it has ended while cairn did not run"
                         : "it still runs, and is taken over",
                   ended ? "" : "when it has ended, ");
        add_decision(plan, task, &text);
        return keep_text(arena, &text, "it was edited, and must not run twice");
    }
    if (def->repeat.max && !(mark & MARK_ENDED_BADLY))
        return ended ? "it has ended while cairn did not run: that round counts, and "
                       "more may follow"
                     : "it still runs, and is taken over; more rounds may follow";
    return mark & MARK_ENDED_BADLY
               ? "it has ended while cairn did not run, and not with "
                 "0: that end counts"
           : mark & MARK_ENDED ? "it has ended while cairn did not run: that end "
                                 "counts"
                               : "it still runs, and is taken over";
}

static const char *describe_reason(const struct cairn_plan *plan, uint32_t task,
                                   struct arena *arena)
{
    const struct situation *s = &plan->situation;
    switch ((enum cairn_reason)s->decisions.reason[task]) {
    case CAIRN_REASON_DONE:
        return task_def_is_service(graph_def(&plan->workflow->graph, task))
                   ? describe_users(plan, task, arena)
                   : "completed and unchanged";
    case CAIRN_REASON_NEVER_RAN:
        if (s->present.nearest && s->present.nearest[task])
            return s->present.nearest[task];
        return s->recorded.exists && s->present.old_task[task] == NODE_NONE
                   ? "it is new in the workflow"
                   : "it never ran";
    case CAIRN_REASON_FAILED:
        return s->decisions.fate[task] & FATE_FAILED
                   ? "it failed, and is tried again once the run has ended"
                   : "it failed last time";
    case CAIRN_REASON_CANCELLED:
        return "it was cancelled last time";
    case CAIRN_REASON_SKIPPED:
        return situation_is_put_back(s, plan->workflow, task)
                   ? "it has completed before, and must not run twice: it is asked "
                     "about when it can start"
                   : "it was skipped last time because something it needs did not "
                     "complete";
    case CAIRN_REASON_INTERRUPTED:
        return situation_is_reset(s, task)
                   ? "it has run before, and is to run again"
                   : "it was running, or about to start, when the run was interrupted";
    case CAIRN_REASON_DAMAGED:
        return lost_result(s, task)
                   ? "its stored result (what it passed on, its outputs, its undo) is "
                     "damaged or gone"
                   : "the checkpoint that recorded its end is damaged or gone";
    case CAIRN_REASON_CHANGED:
        return describe_change(plan, task, arena);
    case CAIRN_REASON_OUTPUT:
        return s->present.evidence[task] == OUTPUT_MISSING
                   ? describe_evidence(plan, task, "its output %s is missing", arena)
                   : describe_changed_output(plan, task, arena);
    case CAIRN_REASON_INPUT:
        return describe_input(plan, task, arena);
    case CAIRN_REASON_SECRET:
        return describe_evidence(plan, task, "the value of the secret %s differs",
                                 arena);
    case CAIRN_REASON_KEPT:
        return describe_kept(plan, task, arena);
    case CAIRN_REASON_UPSTREAM:
        return describe_asked_about(plan, task, arena);
    case CAIRN_REASON_UNDONE:
        return "it was undone";
    case CAIRN_REASON_UNKNOWN:
        return describe_undecided(plan, task, arena);
    case CAIRN_REASON_EXCLUDED:
        return state_skipped_itself(&s->present.states, task)
                   ? "it ended with its `skip_exit`: there was nothing to do"
               : s->decisions.fate[task] & FATE_MAY
                   ? "its condition was not met last time"
                   : describe_excluded(plan, task, arena);
    case CAIRN_REASON_NEED_SKIPPED:
        return describe_need(plan, task, arena);
    case CAIRN_REASON_HANDLED:
        return graph_def(&plan->workflow->graph, task)->may_fail
                   ? "it failed, which it may (`may_fail`)"
                   : "it failed, and a task with `when: failed` handled it";
    case CAIRN_REASON_ASKED:
        return "it was asked to run again";
    case CAIRN_REASON_NOT_CHOSEN:
        return "it was not chosen, and nothing that was chosen needs it";
    case CAIRN_REASON_REUSED:
        return describe_reused(plan, task, arena);
    case CAIRN_REASON_SERVICE:
        return describe_users(plan, task, arena);
    case CAIRN_REASON_ADOPTED:
        return describe_adopted(plan, task, arena);
    }
    return "";
}

/* Why it is not sure that it runs. */
static const char *describe_doubt(const struct cairn_plan *plan, uint32_t task,
                                  struct arena *arena)
{
    const struct decisions *d = &plan->situation.decisions;
    const struct task_def *def = graph_def(&plan->workflow->graph, task);
    uint32_t cause = d->cause[task];
    uint16_t fate = cause == NODE_NONE ? 0 : d->fate[cause];
    if (d->fate[task] & FATE_LISTED && task_def_is_service(def))
        return "if something that needs it runs";
    if (d->fate[task] & FATE_LISTED && !task_def_is_unlisted(def))
        return task_def_made_key(def)
                   ? about_list(def, "depending on what %.*s makes", arena)
                   : "if what it needs runs again";
    if (d->ask[task])
        return def->check.len ? "if its check fails, and the run is resumed then"
                              : "if somebody decides so";
    if (task_def_is_service(def) && !def->condition.len)
        return "if something that needs it runs";
    if (def->kind == TASK_EXTERNAL)
        return "if somebody does it";
    if (def->finally && d->reason[task] == CAIRN_REASON_UPSTREAM)
        return "if any other task runs";
    if (def->when == WHEN_FAILED)
        return "if something it needs fails";
    if (def->when == WHEN_ALWAYS && def->condition.len && !(fate & FATE_OPEN))
        return "if its condition holds";
    if (d->fate[task] & FATE_SPARED && !def->condition.len)
        return def->reuse ? "unless it can be reused once what it needs has ended"
                          : "unless what it needs comes out as it was";
    bool adopted = fate & FATE_RISK &&
                   !graph_is_barrier(&plan->workflow->graph, cause) &&
                   d->reason[cause] == CAIRN_REASON_ADOPTED;
    if (adopted || fate & FATE_DOOMED)
        return about_cause(plan, task, "unless the failure of %s ends the run", "",
                           arena);
    if (fate & FATE_RISK)
        return about_cause(plan, task, "unless %s fails again", "", arena);
    if (fate & FATE_OPEN)
        return about_cause(plan, task, "depending on what becomes of %s", "", arena);
    if (fate & FATE_WILL && graph_def(&plan->workflow->graph, cause)->skip_exit)
        return about_cause(plan, task, "if %s, which it needs, has something to do", "",
                           arena);
    if (fate & FATE_MAY)
        return about_cause(plan, task, "if %s, which it needs, completes", "", arena);
    if (fate & FATE_FAILED)
        return about_cause(plan, task, "unless the failure of %s ends the run", "",
                           arena);
    if (def->finally && !def->condition.len)
        return "if the run comes to its end";
    if (task_def_is_unlisted(def))
        return about_list(def, "as many as %.*s gives", arena);
    return def->condition.len ? "if its condition holds"
                              : "unless another task fails before it";
}

static const char *describe_task(const struct cairn_plan *plan, uint32_t task,
                                 struct arena *arena)
{
    const char *reason = describe_reason(plan, task, arena);
    struct buf text = BUF_INIT;
    const struct situation *s = &plan->situation;
    uint32_t done = s->present.rounds ? s->present.rounds[task] : 0;
    if (done && s->decisions.fate[task] & (FATE_WILL | FATE_MAY)) {
        buf_format(&text, "%u of at most %u rounds %s done, and it goes on", done,
                   graph_def(&plan->workflow->graph, task)->repeat.max,
                   done == 1 ? "is" : "are");
        reason = keep_text(arena, &text, reason);
    }
    const struct task_def *def = graph_def(&plan->workflow->graph, task);
    uint16_t fate = s->decisions.fate[task];
    if (fate & FATE_DOOMED)
        reason = describe_bad_list(def, arena);
    if (fate & FATE_DOOMED && fate & FATE_WILL)
        return reason;
    bool listed = fate & FATE_WILL && task_def_is_unlisted(def);
    if (!(fate & (FATE_MAY | FATE_LISTED)) && !listed)
        return reason;
    buf_format(&text, "%s; %s",
               listed ? about_list(def, "as many as %.*s gives", arena)
                      : describe_doubt(plan, task, arena),
               reason);
    return keep_text(arena, &text, reason);
}

static enum cairn_will will_of(uint16_t fate)
{
    return fate & FATE_WILL                  ? CAIRN_WILL
           : fate & (FATE_MAY | FATE_LISTED) ? CAIRN_MAY
                                             : CAIRN_WILL_NOT;
}

void cairn_plan_get(const struct cairn_plan *plan, uint32_t node,
                    struct cairn_decision *decision)
{
    const struct decisions *d = &plan->situation.decisions;
    const struct graph *g = &plan->workflow->graph;
    if (node >= g->n_tasks) {
        *decision = (struct cairn_decision){.node = node};
        return;
    }
    uint32_t cause = d->cause[node];
    /* The arena only caches texts: nothing that others see changes. */
    struct arena *arena = (struct arena *)(uintptr_t)&plan->arena;
    *decision = (struct cairn_decision){
        .task = g->id[node],
        .node = node,
        .will = will_of(d->fate[node]),
        .reason = is_tried_again(d, node, situation_mark(&plan->situation, node))
                      ? CAIRN_REASON_FAILED
                      : d->reason[node],
        .cause = cause != NODE_NONE ? g->id[cause] : NULL,
        .detail = describe_task(plan, node, arena)};
}
