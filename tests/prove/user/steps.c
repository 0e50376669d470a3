/* SPDX-License-Identifier: MIT */
/* One random step of a user. */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum how some_end(struct world *w)
{
    return one_in(w, 2) ? TO_ITS_END : (enum how)below(w, HOWS);
}

/* One that is begun by hand. */
static uint32_t some_flow(struct world *w)
{
    uint32_t flow = below(w, 2);
    return w->nested ? 2 * flow : flow;
}

static void step_run(struct world *w)
{
    struct session s = {.run = NO_RUN, .tag = "run", .by_file = true};
    if (w->n_runs == RUNS)
        return;
    s.flow = some_flow(w);
    s.param = below(w, PARAMS);
    s.how = some_end(w);
    session_do(w, &s);
}

void step_resume(struct world *w)
{
    struct session s = {.tag = "resume"};
    if (!w->n_runs)
        return;
    s.run = below(w, w->n_runs);
    if (w->n_runs > 3 && one_in(w, 2))
        s.run = w->n_runs - 1 - below(w, 3);
    s.flow = w->run[s.run].flow;
    s.param = w->run[s.run].param;
    s.how = some_end(w);
    session_do(w, &s);
}

static struct session some_session(struct world *w, uint32_t flow, const char *tag)
{
    struct session s = {
        .run = NO_RUN, .flow = flow, .param = below(w, PARAMS), .how = TO_ITS_END};
    snprintf(s.tag, sizeof s.tag, "%s", tag);
    s.by_file = one_in(w, 2);
    uint32_t run = w->n_runs ? below(w, w->n_runs) : 0;
    if (!s.by_file && w->n_runs && w->run[run].flow == flow) {
        s.run = run;
        s.param = w->run[run].param;
    }
    return s;
}

static void step_pair(struct world *w)
{
    struct session a = some_session(w, 0, "one");
    struct session b = some_session(w, w->nested ? 2 : 1, "two");
    if (w->n_runs + 4 > RUNS || w->in_place)
        return;
    a.how = some_end(w);
    session_pair(w, &a, &b);
}

static void step_plan(struct world *w)
{
    if (w->n_runs)
        check_plan(w, below(w, w->n_runs));
}

/* ---- By hand ---- */

static void put_same(const char *path, bool renamed)
{
    char beside[PATH_SIZE + 120];
    char *text = file_text(path);
    snprintf(beside, sizeof beside, "%s.new", path);
    if (text) {
        file_put(renamed ? beside : path, text);
        if (renamed && rename(beside, path))
            unlink(beside);
    }
    free(text);
}

/* Other content, mostly of the same size, sometimes with the old times. */
static void put_other(struct world *w, const char *path, bool renamed)
{
    char beside[PATH_SIZE + 120], text[TEXT_SIZE];
    struct stat st;
    bool known = stat(path, &st) == 0 && one_in(w, 2);
    snprintf(beside, sizeof beside, "%s.new", path);
    made_text(((uint64_t)below(w, UINT32_MAX) << 16) + below(w, 8), text, sizeof text);
    file_put(renamed ? beside : path, text);
    if (renamed && rename(beside, path))
        unlink(beside);
    if (known)
        utimensat(AT_FDCWD, path, (struct timespec[]){st.st_atim, st.st_mtim}, 0);
}

static void step_edit(struct world *w)
{
    static const char *const names[] = {
        "touch", "rewrite", "rename the same over", "change", "rename another over",
        "delete"};
    char name[32], path[PATH_SIZE + 96];
    uint32_t kind = below(w, 11) % 6; /* deleted least often */
    file_name(below(w, FILES), name, sizeof name);
    if (one_in(w, 4))
        file_name(below(w, SOURCES), name, sizeof name);
    file_path(w, name, path, sizeof path);
    /* Older kernels see changes only from one tick of their clock to the next. */
    pause_us(10000);
    w->changes++;
    say(w, "%s %s", names[kind], name);
    if (kind == 0)
        utimensat(AT_FDCWD, path, NULL, 0);
    if (kind == 1 || kind == 2)
        put_same(path, kind == 2);
    if (kind == 3 || kind == 4)
        put_other(w, path, kind == 4);
    if (kind == 5)
        unlink(path);
}

static void step_define(struct world *w)
{
    uint32_t flow = below(w, w->n_flows);
    struct task *task = &w->flow[flow].task[below(w, w->flow[flow].n)];
    task->salt = task->salt ? 0 : 1 + below(w, 2);
    say(w, "define %s t%u as %u", w->flow[flow].name,
        (unsigned)(task - w->flow[flow].task), task->salt);
    flow_write(w, flow);
}

/* What had ended when cairn was killed is taken over, at times before any file changes:
 * where it is, where the project was moved to, or after an edit of some task. */
static void go_on_at_once(struct world *w)
{
    for (uint32_t i = 0; i < w->n_runs; i++) {
        struct run *run = &w->run[i];
        struct session s = {
            .flow = run->flow, .param = run->param, .run = i, .tag = "on"};
        if (!run->noted || run->loose || run->changes != w->changes || !one_in(w, 3))
            continue;
        if (one_in(w, 3))
            step_move(w);
        if (one_in(w, 3))
            step_define(w);
        s.how = some_end(w);
        session_do(w, &s);
        return;
    }
}

/* ---- All ---- */

void step(struct world *w)
{
    static const struct {
        uint32_t share;
        void (*call)(struct world *w);
    } kinds[] = {{20, step_run},    {40, step_resume}, {30, step_edit},
                 {10, step_define}, {6, step_plan},    {8, step_pair},
                 {2, step_move},    {3, step_copy},    {5, step_tidy}};
    uint32_t all = 0, at;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        all += kinds[i].share;
    at = below(w, all);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (at < kinds[i].share) {
            kinds[i].call(w);
            break;
        }
        at -= kinds[i].share;
    }
    go_on_at_once(w);
    nested_look(w);
    w->steps++;
}
