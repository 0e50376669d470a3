/* SPDX-License-Identifier: MIT */
/* Adding tasks to a run: what is added is parsed behind the workflow's file and what was
 * added before, as whoever goes on with the run will do. If that is good, one command is
 * stored, so all of it belongs to the run, or nothing does. A text that was added before
 * adds nothing: a task that was killed after it had added tasks adds them again when it
 * is repeated. If the run has an owner, that is woken, and opens the run again with the
 * new tasks (command_apply.c).
 *
 * So that an addition costs what it adds, only those before it are parsed with it whose
 * tasks it names; which these are, and that no name is there twice, is looked up
 * (runs/additions.h). Wherever that is not enough, because the file was edited, something
 * is wrong or a limit may be near, all is parsed, which gives the message. What is taken
 * the short way would be taken the long way, too: no task of an earlier addition can need
 * one of a later one, and earlier ones were checked with this very file. */
#include "executor/command_wait.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/struct_take.h"
#include "cairn/run.h"
#include "runs/additions.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "secrets/outside.h"
#include "secrets/secrets.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <stdlib.h>
#include <unistd.h>

struct adding {
    struct cairn_store *store;
    const struct cairn_addition *addition;
    struct arena arena;
    struct run_row row;
    struct cairn_workflow *workflow; /* of the run, with the addition */
    struct added_sum before;         /* of the additions before this one */
    bool known;             /* `before` holds, and its names can be looked up */
    struct added_sum sum;   /* with this one */
    bool same;              /* one of them has this very text */
    struct name_list names; /* of the text */
    char caller[LIMIT_NAME_BYTES + 1];
    struct cairn_added *out;
    struct cairn_error *error;
};

static struct str text_of(const struct adding *a)
{
    return (struct str){a->addition->text, a->addition->length};
}

/* Puts the text behind those that there are, and gives all to the workflow: the first
 * `n` have been checked before if they are not all of them. */
static int take_all(struct adding *a, struct addition *all, size_t n, bool some)
{
    const struct cairn_addition *given = a->addition;
    if (addition_init(&all[n], given->name ? given->name : "addition", text_of(a), 0)) {
        additions_free(all, n + 1);
        return error_nomem(a->error);
    }
    workflow_take_additions(a->workflow, a->row.run, all, n + 1);
    a->workflow->n_checked = some ? n : 0;
    return 0;
}

static int append(struct adding *a, struct addition *all, size_t n)
{
    a->before = (struct added_sum){.n = n, .last = additions_newest(all, n)};
    a->same = false;
    for (size_t i = 0; i < n; i++) {
        a->before.bytes += all[i].length;
        a->same |= !all[i].n_gone &&
                   str_equal((struct str){all[i].text, all[i].length}, text_of(a));
    }
    if (a->same) {
        additions_free(all, n);
        return 0;
    }
    int rc = take_all(a, all, n, false);
    uint64_t bytes = a->before.bytes + a->addition->length;
    if (rc || (n < LIMIT_ADDITIONS && bytes <= LIMIT_ADDED_BYTES))
        return rc;
    return error_set(
        a->error, CAIRN_ELIMIT,
        "run %llu has %zu additions of %llu bytes with this one: at most %d "
        "of %d bytes together",
        (unsigned long long)a->row.run, n + 1, (unsigned long long)bytes,
        LIMIT_ADDITIONS, LIMIT_ADDED_BYTES);
}

/* ---- What all of it comes to ---- */

static int digest_source(struct adding *a, struct digest *out)
{
    const struct cairn_workflow *w = a->workflow;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(a->error);
    sha256_begin(sha);
    sha256_add(sha, w->file, strlen(w->file) + 1);
    for (size_t i = 0; i <= w->included->n; i++) {
        const struct included_file *file = i ? &w->included->files[i - 1] : NULL;
        struct str text = buf_view(file ? &file->text : &w->source);
        struct str path = str_of(file ? file->path : "");
        sha256_add(sha, path.ptr, path.len + 1);
        sha256_add(sha, &text.len, sizeof text.len);
        sha256_add(sha, text.ptr, text.len);
    }
    sha256_end(sha, out);
    sha256_free(sha);
    return 0;
}

/* With what was parsed: all of it, or, `some`, as much that it is no less. */
static int sum_up(struct adding *a, bool some)
{
    const struct cairn_workflow *w = a->workflow;
    const struct definition *d = &w->definition;
    struct added_sum *sum = &a->sum;
    uint64_t services = 0;
    *sum = some ? a->before
                : (struct added_sum){.n = a->before.n, .bytes = a->before.bytes};
    sum->n++;
    sum->bytes += a->addition->length;
    sum->edges += w->graph.n_edges;
    sum->extended += d->n_extended;
    sum->value_bytes += d->value_bytes;
    for (size_t i = 0; some && i < a->names.n; i++) {
        uint32_t index = map_get(&d->by_id, a->names.at[i]);
        const struct task_def *def = index == MAP_NONE ? NULL : &d->defs[index];
        a->out->tasks += def ? def->members : 0;
        services += def && task_def_is_service(def) ? def->members : 0;
    }
    sum->tasks += some ? a->out->tasks : w->graph.n_tasks;
    sum->services += some ? services : w->graph.n_services;
    return digest_source(a, &sum->source);
}

static bool is_below_limits(const struct added_sum *sum)
{
    return sum->n <= LIMIT_ADDITIONS && sum->bytes <= LIMIT_ADDED_BYTES &&
           sum->tasks <= LIMIT_TASKS && sum->services <= LIMIT_SERVICES &&
           sum->edges <= LIMIT_EDGES && sum->extended <= LIMIT_EXTENDED &&
           sum->value_bytes <= LIMIT_FOREACH_BYTES;
}

/* ---- With those that it names ---- */

static int load_needed(struct adding *a)
{
    struct addition *all = NULL;
    size_t n = 0;
    int rc = additions_named(a->store, a->row.run, text_of(a), 0, &all, &n, a->error);
    return rc ? rc : take_all(a, all, n, true);
}

/* 1: a task has one of its names; or it is that very text. */
static int look_for_clash(struct adding *a)
{
    struct buf text = BUF_INIT;
    uint64_t id = 0, other = 0;
    bool all = true;
    int rc = 0;
    for (size_t i = 0; i < a->names.n && !rc; i++) {
        rc = added_name_find(a->store, a->row.run, a->names.at[i], &other, a->error);
        id = other ? other : id;
        all = all && other && other == id;
    }
    if (rc || !id)
        return rc;
    rc = addition_text(a->store, a->row.run, id, &text, a->error);
    a->same = !rc && all && str_equal(buf_view(&text), text_of(a));
    buf_release(&text);
    return rc ? rc : !a->same;
}

/* A value that is not known here cannot be looked for. */
static int check_given(const struct adding *a, const struct secrets *secrets)
{
    const struct definition *d = &a->workflow->definition;
    for (uint32_t i = 0; i < d->n_secrets; i++)
        if (!secrets_value(secrets, d->secrets[i]).ptr)
            return error_set(
                a->error, CAIRN_EUSAGE,
                "the secret %.*s is not given, so it cannot be checked that its value "
                "is not in the text, which is stored\nset it in the environment, or "
                "pass it with --secrets-fd; a task that adds tasks names it under "
                "`secrets`",
                (int)d->secrets[i].len, d->secrets[i].ptr);
    return 0;
}

/* A value of a secret in a text would be stored with it. */
static int check_secrets(const struct adding *a, const char *by)
{
    const struct cairn_run_options given = {.secrets = a->addition->secrets,
                                            .n_secrets = a->addition->n_secrets};
    struct secrets secrets = {0};
    int rc = secrets_load(&secrets, &a->workflow->definition, &given, a->error)
                 ?: check_given(a, &secrets);
    const struct outside outside = {.redactor = secrets.redactor};
    const struct outside_text texts[] = {
        {OUTSIDE_DATA,
         "the text of the tasks",
         {a->addition->text, a->addition->length},
         NULL},
        {OUTSIDE_NAME, "the name of who adds them", str_of(by), NULL}};
    for (int i = 0; i < 2 && !rc; i++)
        rc = outside_check(&outside, &texts[i], a->error);
    secrets_release(&secrets);
    return rc;
}

static int parse_all(struct adding *a)
{
    struct addition *all = NULL;
    bool from_file = false;
    size_t n = 0;
    int rc =
        cairn_workflow_of_run(&a->workflow, a->store, a->row.run, &from_file, a->error);
    if (!rc && !from_file)
        rc = error_set(a->error, CAIRN_EUSAGE,
                       "tasks are added behind those of the workflow's file, and that "
                       "of run %llu is gone",
                       (unsigned long long)a->row.run);
    uint32_t before = rc ? 0 : a->workflow->graph.n_tasks;
    if (!rc)
        rc = additions_load(a->store, a->row.run, &all, &n, a->error)
                 ?: append(a, all, n);
    if (!rc && a->same)
        return 0;
    if (!rc)
        rc = workflow_reparse(a->workflow, &a->workflow->definition, a->error);
    if (!rc)
        a->out->tasks = a->workflow->graph.n_tasks - before;
    return rc ? rc : sum_up(a, false);
}

/* 1: that is not enough. */
static int parse_some(struct adding *a)
{
    int rc = workflow_of_run_read(&a->workflow, a->store, &a->row, a->error);
    rc = rc < 0 ? rc : rc == 0;
    if (!rc)
        rc = load_needed(a)
             ?: workflow_parse_source(a->workflow, NULL, a->error)
             ?: sum_up(a, true);
    if (!rc)
        rc = !digest_equal(&a->sum.source, &a->before.source) ||
             !is_below_limits(&a->sum);
    return rc;
}

/* The short way is taken only if all earlier additions are in the index. Every error on
 * it, except a lack of memory, comes up again on the long way, which reports it. */
static int parse(struct adding *a, const char *by)
{
    struct cairn_error why = {0};
    int rc = addition_names(text_of(a), &a->arena, &a->names, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(a->error);
    int found = rc ? 1 : added_sum_get(a->store, a->row.run, &a->before, a->error);
    a->known = !rc && found > 0;
    rc = !a->known ? 1 : look_for_clash(a);
    if (!rc && !a->same)
        rc = parse_some(a);
    if (rc && rc != CAIRN_ENOMEM) {
        bool known = a->known;
        struct added_sum before = a->before;
        cairn_workflow_free(a->workflow);
        a->workflow = NULL;
        a->out->tasks = 0;
        rc = parse_all(a);
        a->known = known && before.n == a->before.n && before.last == a->before.last;
    }
    return rc || a->same ? rc : check_secrets(a, by);
}

/* ---- Storing it ---- */

static int put_names_of(struct adding *a, const struct addition *one)
{
    struct arena arena = ARENA_INIT;
    struct name_list names;
    int rc = addition_tasks(one, &arena, &names, a->error);
    for (size_t i = 0; !rc && i < names.n; i++)
        rc = added_name_put(a->store, a->row.run, names.at[i], one->id, a->error);
    arena_release(&arena);
    return rc;
}

/* Those of earlier ones, too, if they were not there. */
static int put_index(struct adding *a, uint64_t id)
{
    const struct cairn_workflow *w = a->workflow;
    int rc = 0;
    for (size_t i = 0; !a->known && i + 1 < w->n_additions && !rc; i++)
        rc = put_names_of(a, &w->additions[i]);
    for (size_t i = 0; i < a->names.n && !rc; i++)
        rc = added_name_put(a->store, a->row.run, a->names.at[i], id, a->error);
    a->sum.last = id;
    return rc ? rc : added_sum_put(a->store, a->row.run, &a->sum, a->error);
}

/* Whether nobody has added tasks meanwhile. */
static int is_as_before(struct adding *a, bool *same)
{
    struct added_sum sum;
    uint64_t last = 0;
    int rc = added_sum_get(a->store, a->row.run, &sum, a->error);
    *same = rc > 0 && sum.n == a->before.n && sum.last == a->before.last;
    if (rc < 0 || *same || a->known)
        return rc < 0 ? rc : 0;
    rc = additions_last(a->store, a->row.run, &last, a->error);
    *same = last == a->before.last;
    return rc;
}

/* 1: somebody has. */
static int put_addition(struct adding *a, const char *by, struct command_row *command)
{
    struct buf data = BUF_INIT;
    bool same = false;
    int rc = store_begin(a->store, -1, a->error);
    if (rc)
        return rc;
    addition_encode(str_of(by), text_of(a), &data);
    rc = buf_check(&data, a->error) ?: is_as_before(a, &same);
    *command = (struct command_row){.run = a->row.run,
                                    .verb = COMMAND_ADD,
                                    .gen = a->row.gen,
                                    .task = UINT32_MAX,
                                    .time_ns = clock_utc_ns(),
                                    .data = buf_view(&data)};
    if (!rc && same)
        rc = store_put_command(a->store, command, a->error);
    if (!rc && same)
        rc = put_index(a, command->id);
    rc = store_end(a->store, rc, a->error);
    buf_release(&data);
    return !rc && !same ? 1 : rc;
}

static int find_caller(struct adding *a, const char **by)
{
    bool given = *by && **by;
    int rc = given ? 0 : os_caller_name(a->caller, sizeof a->caller, a->error);
    *by = given ? *by : a->caller;
    if (!rc && strlen(*by) > LIMIT_NAME_BYTES)
        rc = error_set(a->error, CAIRN_EUSAGE,
                       "the name of who adds or withdraws is longer than %d bytes",
                       LIMIT_NAME_BYTES);
    return rc;
}

/* The owner of a live run may know secrets that are not known here. */
static int see_refusal(struct adding *a, uint64_t id)
{
    struct buf data = BUF_INIT;
    struct command_row row;
    int rc = !a->out->taken
                 ? 0
                 : store_get_command(a->store, a->row.run, id, &row, &data, a->error);
    if (!rc && a->out->taken && row.verb == COMMAND_REFUSED)
        rc = error_set(a->error, CAIRN_EUSAGE,
                       "nothing is added: the value of a secret that the owner of run "
                       "%llu was given is in the text, which was taken out of the "
                       "store again",
                       (unsigned long long)a->row.run);
    buf_release(&data);
    return rc;
}

static int add_all(struct adding *a, uint64_t run)
{
    struct command_row command = {0};
    const char *by = a->addition->by;
    int rc = find_caller(a, &by);
    bool again = !rc;
    while (again) {
        arena_release(&a->arena);
        a->out->tasks = 0;
        rc = run_row_get(&a->row, a->store, run, &a->arena, a->error) ?: parse(a, by);
        if (!rc && !a->same)
            rc = put_addition(a, by, &command);
        again = rc > 0;
        cairn_workflow_free(a->workflow);
        a->workflow = NULL;
    }
    a->out->run = a->row.run;
    a->out->same = a->same;
    int live = rc || !a->same ? 0 : run_live(a->store, &a->row, a->error);
    a->out->live = live > 0;
    rc = live < 0 ? live : rc;
    return rc || a->same ? rc
                         : command_offer(a->store, &command, &a->out->live,
                                         &a->out->taken, a->error)
                               ?: see_refusal(a, command.id);
}

int cairn_add(struct cairn_store *store, uint64_t run,
              const struct cairn_addition *addition, struct cairn_added *added,
              struct cairn_error *error)
{
    STRUCT_TAKE(cairn_addition, addition, error);
    struct cairn_added local = {0};
    struct adding a = {
        .store = store, .addition = addition, .out = &local, .error = error};
    if (!addition || !addition->text || !addition->length)
        return error_set(error, CAIRN_EUSAGE, "there are no tasks to add");
    int rc = add_all(&a, run);
    arena_release(&a.arena);
    if (!rc && added)
        *added = local;
    return rc;
}

/* ---- Withdrawing some ----
 *
 * What is left is parsed with the file. Where nobody owns the workflow, it is owned
 * meanwhile, so nobody starts a task that is gone. A live run's owner is asked by a
 * command, which it answers in one transaction: it withdraws all of them, or none where
 * one has started (owned_run.c). */

struct withdrawing {
    struct adding adding;
    const char *const *tasks;
    size_t n;
    const char *by;
    struct addition *all;
    size_t n_all;
    struct buf data;  /* of the command, ... */
    uint64_t command; /* ... which has this number, */
    uint8_t verb;     /* and this verb */
};

static int not_added(const struct withdrawing *w, const char *task)
{
    unsigned long long run = w->adding.row.run;
    const char *bracket = strchr(task, '[');
    if (bracket)
        return error_set(w->adding.error, CAIRN_EUSAGE,
                         "a group is withdrawn as a whole: `%.*s`",
                         (int)(bracket - task), task);
    return error_set(w->adding.error, CAIRN_ENOTFOUND,
                     "no task `%s` was added to run %llu, or it was withdrawn; what "
                     "stands in the workflow's file is taken out there",
                     task, run);
}

static bool is_named_before(const struct withdrawing *w, size_t i)
{
    size_t k = 0;
    while (k < i && strcmp(w->tasks[k], w->tasks[i]) != 0)
        k++;
    return k < i;
}

static bool has_name(const struct name_list *names, struct str name)
{
    size_t i = 0;
    while (i < names->n && !str_equal(names->at[i], name))
        i++;
    return i < names->n;
}

/* found[i]: its i-th task is in one of them. */
static int withdraw_from(struct withdrawing *w, struct addition *one, bool *found)
{
    struct arena arena = ARENA_INIT;
    struct name_list names;
    int rc = addition_tasks(one, &arena, &names, w->adding.error);
    for (size_t i = 0; i < w->n && !rc; i++) {
        struct str task = str_of(w->tasks[i]);
        if (found[i] || !has_name(&names, task))
            continue;
        found[i] = true;
        buf_varint(&w->data, one->id);
        buf_lstr(&w->data, task);
        if (addition_withdraw(one, task, 0))
            rc = error_nomem(w->adding.error);
    }
    arena_release(&arena);
    return rc;
}

static int withdraw_each(struct withdrawing *w)
{
    bool *found = calloc(w->n, sizeof *found);
    int rc = found ? 0 : error_nomem(w->adding.error);
    buf_lstr(&w->data, str_of(w->by));
    for (size_t k = w->n_all; k-- > 0 && !rc;)
        rc = withdraw_from(w, &w->all[k], found);
    for (size_t i = 0; i < w->n && !rc; i++)
        if (!found[i] && !is_named_before(w, i))
            rc = not_added(w, w->tasks[i]);
    free(found);
    return rc ? rc : buf_check(&w->data, w->adding.error);
}

/* The file with what is left must be right. */
static int check_rest(struct withdrawing *w)
{
    struct adding *a = &w->adding;
    int rc = workflow_of_run_read(&a->workflow, a->store, &a->row, a->error);
    if (rc == 0)
        return error_set(a->error, CAIRN_EUSAGE,
                         "the workflow's file of run %llu is gone, so the tasks that "
                         "would be left cannot be checked",
                         (unsigned long long)a->row.run);
    if (rc < 0)
        return rc;
    workflow_take_additions(a->workflow, a->row.run, w->all, w->n_all);
    w->all = NULL;
    rc = workflow_of_run_parse(a->workflow, a->store, &a->row, a->error);
    if (rc == CAIRN_EWORKFLOW)
        error_context(a->error, "nothing is withdrawn, for the rest would be wrong");
    return rc;
}

static int put_withdrawal(struct withdrawing *w)
{
    struct adding *a = &w->adding;
    struct command_row command = {.run = a->row.run,
                                  .verb = w->verb,
                                  .gen = a->row.gen,
                                  .task = UINT32_MAX,
                                  .time_ns = clock_utc_ns(),
                                  .data = buf_view(&w->data)};
    uint64_t last = 0;
    int rc = store_begin(a->store, -1, a->error);
    if (rc)
        return rc;
    rc = additions_last(a->store, a->row.run, &last, a->error);
    bool again = !rc && last != a->before.last;
    if (!rc && !again)
        rc = store_put_command(a->store, &command, a->error);
    if (!rc && !again && command.verb == COMMAND_WITHDRAW)
        rc = added_withdraw(a->store, a->row.run, command.id, command.data, a->error);
    w->command = command.id;
    rc = store_end(a->store, rc, a->error);
    return !rc && again ? 1 : rc;
}

/* Stores the command, with the check of what is left. */
static int give_withdrawal(struct withdrawing *w, uint8_t verb)
{
    struct adding *a = &w->adding;
    int rc;
    w->verb = verb;
    do {
        buf_clear(&w->data);
        rc = additions_load(a->store, a->row.run, &w->all, &w->n_all, a->error);
        a->before.last = rc ? 0 : additions_newest(w->all, w->n_all);
        if (!rc)
            rc = withdraw_each(w) ?: check_rest(w) ?: put_withdrawal(w);
        additions_free(w->all, w->all ? w->n_all : 0);
        w->all = NULL;
        cairn_workflow_free(a->workflow);
        a->workflow = NULL;
    } while (rc == 1);
    return rc;
}

static int refuse_live(struct adding *a)
{
    unsigned long long run = a->row.run, other = owner_run(a->store, a->row.workflow);
    unsigned long long live = other ? other : run;
    return error_set(a->error, CAIRN_EOWNED,
                     "run %llu of the workflow is live, so nothing is withdrawn from "
                     "run %llu\nwait for that one with `cairn watch %llu`, or end it "
                     "with `cairn cancel %llu`",
                     live, run, live, live);
}

/* Nobody has taken it: nobody will. */
static int call_off(struct withdrawing *w, const struct command_row *asked)
{
    struct adding *a = &w->adding;
    struct command_row row = *asked;
    bool taken = false;
    int rc = store_begin(a->store, -1, a->error);
    if (rc)
        return rc;
    row.argument = TAKE_BACK_CALLED_OFF;
    rc = store_command_taken(a->store, row.id, &taken, a->error);
    if (!rc && !taken)
        rc = store_answer_command(a->store, &row, a->error);
    return store_end(a->store, rc, a->error);
}

/* 1: to be tried again. */
static int read_answer(struct withdrawing *w, bool live)
{
    struct adding *a = &w->adding;
    struct buf data = BUF_INIT;
    struct command_row row;
    unsigned long long run = a->row.run;
    int rc = store_get_command(a->store, run, w->command, &row, &data, a->error);
    if (!rc && row.verb == COMMAND_TAKE_BACK && row.argument == TAKE_BACK_STARTED)
        rc = error_set(a->error, CAIRN_EOWNED,
                       "nothing is withdrawn: task `%.*s` of run %llu, which is live, "
                       "has started or ended\nit can be withdrawn when the run has "
                       "ended (`cairn cancel %llu` ends it)",
                       (int)row.data.len, row.data.len ? row.data.ptr : "", run, run);
    else if (!rc && row.argument == TAKE_BACK_CALLED_OFF && live)
        rc = error_set(a->error, CAIRN_EBUSY,
                       "nothing is withdrawn: the owner of run %llu has not answered "
                       "in time",
                       run);
    else if (!rc)
        rc = row.verb != COMMAND_WITHDRAW;
    buf_release(&data);
    return rc;
}

static int ask_for_withdrawal(struct withdrawing *w)
{
    struct adding *a = &w->adding;
    bool taken = false, live = false;
    int rc = run_live(a->store, &a->row, a->error);
    if (rc <= 0)
        return rc ? rc : refuse_live(a);
    rc = give_withdrawal(w, COMMAND_TAKE_BACK);
    struct command_row asked = {.run = a->row.run, .id = w->command};
    struct buf data = BUF_INIT;
    if (!rc)
        rc = command_offer(a->store,
                           &(struct command_row){.run = asked.run,
                                                 .id = asked.id,
                                                 .verb = COMMAND_TAKE_BACK},
                           &live, &taken, a->error);
    if (!rc && !taken)
        rc = store_get_command(a->store, asked.run, asked.id, &asked, &data, a->error)
                 ?: call_off(w, &asked);
    buf_release(&data);
    return rc ? rc : read_answer(w, live);
}

/* 1: to be tried again. */
static int try_to_withdraw(struct withdrawing *w, uint64_t run)
{
    struct adding *a = &w->adding;
    uint64_t workflow;
    int64_t offset;
    arena_release(&a->arena);
    int rc = run_row_get(&a->row, a->store, run, &a->arena, a->error)
                 ?: owner_acquire(a->store, a->row.workflow_name, &workflow, &offset,
                                  a->error);
    if (rc == CAIRN_EOWNED)
        return ask_for_withdrawal(w);
    if (!rc) {
        rc = give_withdrawal(w, COMMAND_WITHDRAW);
        owner_release(a->store, offset);
    }
    return rc;
}

int cairn_withdraw(struct cairn_store *store, uint64_t run, const char *const *tasks,
                   size_t n, const char *by, struct cairn_error *error)
{
    struct withdrawing w = {
        .adding = {.store = store, .error = error}, .tasks = tasks, .n = n, .by = by};
    struct adding *a = &w.adding;
    if (!n)
        return error_set(error, CAIRN_EUSAGE, "there are no tasks to withdraw");
    int rc = find_caller(a, &w.by);
    do {
        rc = rc < 0 ? rc : try_to_withdraw(&w, run);
    } while (rc == 1);
    buf_release(&w.data);
    arena_release(&a->arena);
    return rc;
}
