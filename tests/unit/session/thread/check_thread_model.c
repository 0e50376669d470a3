/* SPDX-License-Identifier: MIT */
/* Random lives of threads against a model of arrays: puts, batches, writes, copies,
 * retention, deleting, collecting; through two handles that are opened again at random,
 * and by a process that is killed. After each step all states are got and listed.
 *
 * Seeds: CAIRN_SEED is the first one (1); there are CAIRN_LIVES (4, and 100 with
 * CAIRN_TEST_LEVEL=full), of 100 steps each. */
#include "base/str.h"
#include "cairn.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, SPACES = 2, IDS = 9, CHANNELS = 3, TASKS = 2, INDEXES = 3 };

struct model_state {
    int made;                   /* number of its state and metadata; 0: there is none */
    int parent;                 /* id + 1, 0: none */
    int channels[CHANNELS];     /* numbers of values, 0: it lacks it */
    int writes[TASKS][INDEXES]; /* index -1, 0, 1 */
};

struct model {
    bool made[THREADS];
    struct model_state at[THREADS][SPACES][IDS];
    int values; /* numbers given so far */
};

extern char **environ;

static char dir[256];
static struct cairn_store *stores[2];
static struct cairn_error error;
static uint64_t first_seed;
static int lived, killed; /* with CK_FORK=no: of all */

static struct cairn_store *open_store(void)
{
    char path[300];
    struct cairn_store *store;
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    return cairn_store_open(&store, &options, &error) ? NULL : store;
}

static void close_stores(void)
{
    for (int i = 0; i < 2; i++) {
        cairn_store_close(stores[i]);
        stores[i] = NULL;
    }
}

/* ---- Names and values by number ---- */

static struct cairn_bytes name_of(char kind, int n)
{
    static char names[128][40];
    char *at = names[(kind * 7 + n) % 128];
    size_t length = kind == 'i' ? (size_t)snprintf(at, 40, "1ef-%04d-6abc-8000", n * 37)
                                : (size_t)snprintf(at, 40, "%c%d", kind, n);
    if (kind == 's' && n == 0)
        length = 0;
    if (kind == 't' && n == 1)
        at[0] = '\0'; /* bytes that are no text */
    return (struct cairn_bytes){at, length};
}

/* Few bytes, many, or very many; letters that hardly repeat. */
static struct cairn_bytes value_of(int n)
{
    static const size_t sizes[] = {0, 3, 40, 100, 300, 513, 900, 5000};
    static char values[64][5000];
    char *at = values[n % 64];
    size_t size = sizes[(size_t)n % (sizeof sizes / sizeof sizes[0])];
    uint64_t seed = (uint64_t)n;
    for (size_t i = 0; i < size; i++)
        at[i] = (char)help_next(&seed);
    return (struct cairn_bytes){at, size};
}

/* ---- Comparing ---- */

static bool same(struct cairn_bytes a, struct cairn_bytes b)
{
    return a.length == b.length &&
           (!a.length || memcmp(a.bytes, b.bytes, a.length) == 0);
}

struct wanted {
    const struct model_state *state;
    int thread, space, id;
    bool met, equal;
};

static bool equal_writes(const struct cairn_thread_found *found,
                         const struct model_state *wanted)
{
    size_t n = 0;
    for (int task = 0; task < TASKS; task++)
        for (int index = 0; index < INDEXES; index++) {
            if (!wanted->writes[task][index])
                continue;
            if (n == found->n_writes ||
                !same(found->writes[n].task, name_of('k', task)) ||
                found->writes[n].index != index - 1 ||
                !same(found->writes[n].value, value_of(wanted->writes[task][index])))
                return false;
            n++;
        }
    return n == found->n_writes;
}

static int compare(void *context, const struct cairn_thread_found *found)
{
    struct wanted *w = context;
    const struct cairn_thread_state *s = found->state;
    struct cairn_bytes none = {NULL, 0};
    size_t n = 0;
    w->met = true;
    w->equal =
        same(s->thread, name_of('t', w->thread)) &&
        same(s->space, name_of('s', w->space)) && same(s->id, name_of('i', w->id)) &&
        same(s->parent, w->state->parent ? name_of('i', w->state->parent - 1) : none) &&
        same(s->state, value_of(w->state->made)) &&
        same(s->metadata, value_of(w->state->made)) && equal_writes(found, w->state);
    for (int c = 0; c < CHANNELS; c++) {
        int value = w->state->channels[c];
        if (!value)
            continue;
        w->equal = w->equal && n < s->n_channels &&
                   same(s->channels[n].name, name_of('c', c)) &&
                   same(s->channels[n].value, value_of(value));
        n++;
    }
    w->equal = w->equal && n == s->n_channels;
    return 0;
}

struct listed {
    const struct model *model;
    int thread; /* or -1: all */
    int n;
    char before[64];
    bool ordered;
};

static int see(void *context, const struct cairn_thread_found *found)
{
    struct listed *l = context;
    char id[64];
    snprintf(id, sizeof id, "%.*s", (int)found->state->id.length,
             (const char *)found->state->id.bytes);
    l->ordered = l->ordered && (!l->n || strcmp(l->before, id) >= 0);
    memcpy(l->before, id, sizeof id);
    l->n++;
    return 0;
}

static int count_states(const struct model *model, int thread)
{
    int n = 0;
    for (int t = 0; t < THREADS; t++)
        for (int s = 0; s < SPACES; s++)
            for (int i = 0; i < IDS; i++)
                n += (thread < 0 || t == thread) && model->at[t][s][i].made;
    return n;
}

static const struct model_state none;

static bool get_equal(struct cairn_store *store, const struct model *model, int t,
                      int s, int i, bool newest)
{
    struct cairn_bytes id = name_of('i', i);
    struct wanted w = {
        .state = i < 0 ? NULL : &model->at[t][s][i], .thread = t, .space = s, .id = i};
    if (i < 0)
        w.state = &none;
    int rc = cairn_thread_get(store, name_of('t', t), name_of('s', s),
                              newest ? NULL : &id, compare, &w, &error);
    if (!w.state->made)
        return rc == CAIRN_ENOTFOUND;
    return rc == 0 && w.met && w.equal;
}

/* Why they differ, or NULL. */
static const char *difference(struct cairn_store *store, const struct model *model)
{
    for (int t = -1; t < THREADS; t++) {
        struct listed l = {.model = model, .thread = t, .ordered = true};
        struct cairn_bytes name =
            t < 0 ? (struct cairn_bytes){NULL, 0} : name_of('t', t);
        struct cairn_thread_filter filter = {.thread = t < 0 ? NULL : &name};
        if (cairn_thread_list(store, &filter, see, &l, &error))
            return error.text;
        if (!l.ordered || l.n != count_states(model, t))
            return "the list";
    }
    for (int t = 0; t < THREADS; t++)
        for (int s = 0; s < SPACES; s++) {
            int newest = -1;
            for (int i = 0; i < IDS; i++) {
                newest = model->at[t][s][i].made ? i : newest;
                if (!get_equal(store, model, t, s, i, false))
                    return "a state";
            }
            if (!get_equal(store, model, t, s, newest, true))
                return "the newest state";
        }
    return NULL;
}

/* ---- Steps ---- */

struct step {
    struct cairn_store *store; /* NULL: in the model alone */
    struct model *model;
    uint64_t *seed;
    int rc; /* of the call, where there is a store; WRONG: it is another one */
};

/* Where steps are made, no test may run. */
enum { WRONG = 1000 };

static void expect_code(struct step *step, int code)
{
    step->rc = step->rc == code ? 0 : WRONG;
}

static int below(struct step *step, uint32_t n)
{
    return (int)help_below(step->seed, n);
}

struct made_state {
    struct cairn_thread_state given;
    struct cairn_thread_channel channels[CHANNELS];
    bool refused; /* a channel is unchanged that the parent does not have */
};

/* Into the model at once: a later state of a batch may come after it. */
static void make_state(struct step *step, int t, int s, int i, int parent,
                       struct made_state *out)
{
    struct model *m = step->model;
    struct model_state now = m->at[t][s][i];
    *out = (struct made_state){0};
    now.made = ++m->values;
    now.parent = parent;
    out->given = (struct cairn_thread_state){.size = sizeof out->given,
                                             .thread = name_of('t', t),
                                             .space = name_of('s', s),
                                             .id = name_of('i', i),
                                             .kind = name_of('k', 0),
                                             .state = value_of(now.made),
                                             .metadata = value_of(now.made)};
    if (parent)
        out->given.parent = name_of('i', parent - 1);
    for (int c = 0; c < CHANNELS; c++) {
        struct cairn_thread_channel *channel = &out->channels[out->given.n_channels];
        int what = below(step, 5), before = 0;
        now.channels[c] = 0;
        if (what == 0)
            continue;
        if (parent && m->at[t][s][parent - 1].made)
            before = m->at[t][s][parent - 1].channels[c];
        channel->name = name_of('c', c);
        channel->unchanged = what > 2 && (before || below(step, 16) == 0);
        now.channels[c] = before;
        out->refused |= channel->unchanged && !before;
        if (!channel->unchanged) {
            now.channels[c] = ++m->values;
            channel->value = value_of(now.channels[c]);
        }
        out->given.n_channels++;
    }
    out->given.channels = out->channels;
    m->at[t][s][i] = now;
    m->made[t] = true;
}

static void put_states(struct step *step)
{
    struct made_state made[3];
    struct cairn_thread_state given[3];
    struct model before = *step->model;
    int n = below(step, 4) ? 1 : 3, t = below(step, THREADS), s = below(step, SPACES);
    bool only_new = n == 1 && below(step, 4) == 0;
    int code = 0;
    for (int k = 0; k < n; k++) {
        int i = below(step, IDS), parent = below(step, IDS + 2);
        if (only_new && step->model->at[t][s][i].made)
            code = CAIRN_EEXISTS;
        make_state(step, t, s, i, parent > IDS ? 0 : parent, &made[k]);
        if (!code && made[k].refused)
            code = CAIRN_ENOTFOUND;
        given[k] = made[k].given;
        given[k].channels = made[k].channels;
        given[k].only_new = only_new;
    }
    if (step->store)
        step->rc = cairn_thread_put(step->store, given, (size_t)n, NULL, 0, &error);
    if (!code)
        return;
    int values = step->model->values;
    *step->model = before;
    step->model->values = values;
    if (step->store)
        expect_code(step, code);
}

static void put_writes(struct step *step)
{
    struct model *m = step->model;
    struct cairn_thread_write writes[3] = {0};
    int n = 1 + below(step, 3), t = below(step, THREADS), s = below(step, SPACES),
        i = below(step, IDS);
    for (int k = 0; k < n; k++) {
        int task = below(step, TASKS), index = below(step, INDEXES);
        int value = ++m->values, *at = &m->at[t][s][i].writes[task][index];
        writes[k] = (struct cairn_thread_write){.task = name_of('k', task),
                                                .channel = name_of('c', 0),
                                                .value = value_of(value),
                                                .index = index - 1};
        *at = *at && index > 0 ? *at : value;
    }
    m->made[t] = true;
    const struct cairn_thread_writes set = {.thread = name_of('t', t),
                                            .space = name_of('s', s),
                                            .id = name_of('i', i),
                                            .writes = writes,
                                            .n_writes = (size_t)n};
    if (step->store)
        step->rc = cairn_thread_put(step->store, NULL, 0, &set, 1, &error);
}

static void copy_thread(struct step *step)
{
    struct model *m = step->model;
    int from = below(step, THREADS), to = below(step, THREADS);
    bool works = m->made[from] && !m->made[to];
    if (step->store) {
        step->rc = cairn_thread_copy(step->store, name_of('t', from), name_of('t', to),
                                     NULL, &error);
        if (!works)
            expect_code(step, m->made[from] ? CAIRN_EEXISTS : CAIRN_ENOTFOUND);
    }
    if (!works)
        return;
    m->made[to] = true;
    memcpy(m->at[to], m->at[from], sizeof m->at[to]);
}

static void prune_thread(struct step *step)
{
    struct model *m = step->model;
    int t = below(step, THREADS), keep = 1 + below(step, 4);
    uint64_t gone = 0, wanted = 0;
    if (step->store) {
        step->rc = cairn_thread_prune(step->store, name_of('t', t), (uint64_t)keep,
                                      &gone, &error);
        if (!m->made[t])
            expect_code(step, CAIRN_ENOTFOUND);
    }
    for (int s = 0; s < SPACES; s++)
        for (int i = IDS, left = keep; i-- > 0;) {
            struct model_state *state = &m->at[t][s][i];
            bool goes = !left;
            wanted += goes && state->made;
            left -= left && state->made;
            if (goes)
                *state = (struct model_state){0};
        }
    if (step->store && gone != wanted)
        step->rc = WRONG;
}

static void delete_thread(struct step *step)
{
    int t = below(step, THREADS);
    if (step->store)
        step->rc = cairn_thread_delete(step->store, name_of('t', t), NULL, &error);
    step->model->made[t] = false;
    memset(step->model->at[t], 0, sizeof step->model->at[t]);
}

static void make_step(struct step *step)
{
    int what = below(step, 40);
    if (what < 20)
        put_states(step);
    else if (what < 33)
        put_writes(step);
    else if (what < 35)
        copy_thread(step);
    else if (what < 38)
        prune_thread(step);
    else if (what < 39)
        delete_thread(step);
    else if (step->store)
        step->rc = cairn_gc(step->store, &(struct cairn_gc_options){0}, NULL, &error);
}

/* ---- A process that is killed ---- */

static const char *model_path(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/model", dir);
    return path;
}

/* This program again, with the model in a file. */
static pid_t start_killed(const struct model *model, uint64_t seed, int said)
{
    char number[24], part[] = "steps", self[] = "/proc/self/exe";
    char *argv[] = {self, part, dir, number, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    FILE *file = fopen(model_path(), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(model, sizeof *model, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, said, STDOUT_FILENO);
    ck_assert_int_eq(posix_spawn(&pid, self, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Until it is killed, or nobody hears it. */
static int play_steps(char **argv)
{
    struct model model;
    uint64_t seed = strtoull(argv[3], NULL, 10);
    snprintf(dir, sizeof dir, "%s", argv[2]);
    FILE *file = fopen(model_path(), "r");
    if (!file || fread(&model, sizeof model, 1, file) != 1 || fclose(file))
        return 2;
    struct step step = {.store = open_store(), .model = &model, .seed = &seed};
    if (!step.store)
        return 3;
    do
        make_step(&step);
    while (!step.rc && write(STDOUT_FILENO, "+", 1) == 1);
    return 1;
}

/* Was the step after those that were told made? Of one that cannot be seen, such as writes
 * for a state that is not there yet, nobody knows: its thread is deleted. */
static void take_last(struct model *model, uint64_t *seed)
{
    struct model next = *model;
    struct step step = {.model = &next, .seed = seed};
    make_step(&step);
    bool old = !difference(stores[0], model), now = !difference(stores[0], &next);
    if (now && !old)
        *model = next;
    for (int t = 0; t < THREADS && now && old; t++) {
        if (next.made[t] == model->made[t] &&
            memcmp(next.at[t], model->at[t], sizeof next.at[t]) == 0)
            continue;
        int rc = cairn_thread_delete(stores[0], name_of('t', t), NULL, &error);
        ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
        model->made[t] = false;
        memset(model->at[t], 0, sizeof model->at[t]);
    }
    model->values = next.values;
}

/* What it has said is there, and perhaps one step more. */
static void kill_one(struct model *model, uint64_t *seed)
{
    int ends[2], told = 0, wanted = 1 + (int)help_below(seed, 6);
    uint64_t own = help_next(seed);
    char byte;
    close_stores();
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = start_killed(model, own, ends[1]);
    close(ends[1]);
    while (told < wanted && read(ends[0], &byte, 1) == 1)
        told++;
    kill(pid, SIGKILL);
    while (read(ends[0], &byte, 1) == 1)
        told++;
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    stores[0] = open_store();
    stores[1] = open_store();
    ck_assert_int_ge(told, wanted);
    struct step replay = {.model = model, .seed = &own};
    for (int i = 0; i < told; i++)
        make_step(&replay);
    take_last(model, &own);
}

/* ---- Lives ---- */

static int note_problem(void *context, const struct cairn_problem *problem)
{
    snprintf(context, 500, "%s", problem->text);
    return 0;
}

static void verify(void)
{
    struct cairn_verify_result result = {0};
    char text[500] = "";
    int rc =
        cairn_checkpoint_verify(stores[0], NULL, note_problem, text, &result, &error);
    ck_assert_msg(rc == 0 && !result.damaged, "%s: %s", error.text, text);
}

START_TEST(lives)
{
    struct model model = {0};
    uint64_t seed = first_seed + (uint64_t)_i;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_thread_model.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    stores[0] = open_store();
    stores[1] = open_store();
    for (int i = 0; i < 100; i++) {
        int which = (int)help_below(&seed, 2);
        if (help_below(&seed, 8) == 0) {
            cairn_store_close(stores[which]);
            stores[which] = open_store();
        }
        struct step step = {.store = stores[which], .model = &model, .seed = &seed};
        if (help_below(&seed, 25) == 0)
            kill_one(&model, &seed), killed++;
        else
            make_step(&step);
        ck_assert_msg(step.rc == 0, "step %d: %d %s", i, step.rc, error.text);
        const char *why = difference(stores[!which], &model);
        ck_assert_msg(!why, "seed %d, step %d: %s differs", (int)first_seed + _i, i,
                      why);
    }
    verify();
    close_stores();
    remove_tree(dir);
    lived++;
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4)
        return play_steps(argv);
    const char *given = getenv("CAIRN_SEED");
    first_seed = given ? strtoull(given, NULL, 10) : 1;
    Suite *suite = suite_create("thread_model");
    TCase *tests = tcase_create("thread_model");
    tcase_set_timeout(tests, 300);
    const char *n = getenv("CAIRN_LIVES");
    tcase_add_loop_test(tests, lives, 0,
                        n ? (int)strtol(n, NULL, 10) : help_rounds(4, 100));
    suite_add_tcase(suite, tests);
    int status = help_run(suite);
    if (n)
        printf("lives %d, killed %d\n", lived, killed);
    return status;
}
