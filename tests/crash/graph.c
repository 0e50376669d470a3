/* SPDX-License-Identifier: MIT */
/* Random workflows: the same seed always gives the same one. */
#include "crash.h"

/* splitmix64 */
static uint64_t rng_next(struct rng *rng)
{
    uint64_t x = rng->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t rng_below(struct rng *rng, uint32_t n)
{
    return (uint32_t)(rng_next(rng) % n);
}

bool rng_one_in(struct rng *rng, uint32_t n)
{
    return rng_below(rng, n) == 0;
}

static void make_needs(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    uint32_t wanted = index ? rng_below(rng, NEEDS_MAX) : 0;
    for (uint32_t i = 0; i < wanted; i++) {
        /* Mostly a near one, so that the graph gets depth. */
        uint32_t reach = index < 6 || rng_one_in(rng, 4) ? index : 6;
        uint32_t target = index - 1 - rng_below(rng, reach);
        bool known = false;
        for (uint32_t k = 0; k < def->n_needs; k++)
            known |= def->needs[k] == target;
        if (known)
            continue;
        def->element[def->n_needs] = def->members &&
                                     w->defs[target].members >= def->members &&
                                     !rng_one_in(rng, 3);
        def->needs[def->n_needs++] = target;
    }
}

static uint32_t make_flags(struct rng *rng, const struct shape *shape, bool failures)
{
    static const struct {
        uint32_t flag, one_in;
    } often[] = {{DEF_SHELL, 3},
                 {DEF_OUTPUT, 5},
                 {DEF_CHILD, 8},
                 {DEF_SESSION, 12},
                 {DEF_STUBBORN, 20}};
    uint32_t flags = 0;
    if (shape->plain)
        return 0;
    for (size_t i = 0; i < sizeof often / sizeof often[0]; i++)
        if (rng_one_in(rng, often[i].one_in))
            flags |= often[i].flag;
    if (failures && rng_one_in(rng, 10))
        return (flags & ~(uint32_t)DEF_OUTPUT) | DEF_FAILS;
    /* A further attempt follows at once, so nothing of the first may hold the lock. */
    if (rng_one_in(rng, 15))
        flags = (flags & ~(uint32_t)(DEF_CHILD | DEF_SESSION)) | DEF_FLAKY;
    return flags;
}

/* Ways to end, for what outlives cairn. None of them keeps the lock of its attempt. */
static void make_end(struct def *def, struct rng *rng)
{
    static const uint32_t signals[] = {1, 2, 9, 10, 15};
    enum { SIGNALS = 1000, EXITS = 80 };
    def->flags = DEF_PRINTS;
    if (rng_one_in(rng, 4))
        def->flags |= DEF_ONCE;
    if (rng_one_in(rng, 3))
        def->flags |= DEF_SHELL;
    /* One that must not run twice is unknown at its time limit, each time anew. */
    if (rng_one_in(rng, 14) && !(def->flags & DEF_ONCE))
        def->flags |= DEF_TIMEOUT | DEF_FAILS;
    else if (rng_one_in(rng, 7)) {
        def->flags |= DEF_EXIT | DEF_FAILS;
        def->code = rng_one_in(rng, 2) ? 1 + rng_below(rng, EXITS)
                                       : SIGNALS + signals[rng_below(rng, 5)];
    } else if (rng_one_in(rng, 10))
        def->flags |= DEF_FLAKY;
    else if (rng_one_in(rng, 8))
        def->flags |= DEF_CHILD;
    else if (rng_one_in(rng, 5))
        def->flags |= DEF_CHECK;
}

static void name_tasks(struct workflow *w, uint32_t index)
{
    const struct def *def = &w->defs[index];
    uint32_t n = def->members ? def->members : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t task = def->first + i;
        w->def_of[task] = index;
        if (def->members)
            snprintf(w->id[task], ID_MAX, "t%u[part=%u]", index, i + 1);
        else
            snprintf(w->id[task], ID_MAX, "t%u", index);
    }
}

void workflow_make(struct workflow *w, struct rng *rng, const struct shape *shape)
{
    uint32_t tasks = shape->least + rng_below(rng, shape->most - shape->least + 1);
    bool failures = !shape->plain && rng_one_in(rng, 8);
    memset(w, 0, sizeof *w);
    w->ends = shape->ends;
    w->adopt = shape->adopt;
    while (w->n_tasks < tasks) {
        struct def *def = &w->defs[w->n_defs];
        uint32_t left = tasks - w->n_tasks;
        def->first = w->n_tasks;
        if (!shape->plain && rng_one_in(rng, 4))
            def->members = 1 + rng_below(rng, left < 15 ? left : 15);
        def->flags = make_flags(rng, shape, failures);
        if (shape->ends)
            make_end(def, rng);
        def->sleep_ms = rng_one_in(rng, 3) ? 0 : rng_below(rng, shape->sleep_ms + 1);
        if (!shape->wide)
            make_needs(w, w->n_defs, rng);
        w->fails |= (def->flags & DEF_FAILS) != 0;
        w->n_tasks += def->members ? def->members : 1;
        name_tasks(w, w->n_defs++);
    }
}

/* ---- As YAML ---- */

static void flag_letters(uint32_t flags, char letters[16])
{
    size_t n = 0;
    if (flags & DEF_PRINTS)
        letters[n++] = 'p';
    if (flags & DEF_EXIT)
        letters[n++] = 'e';
    if (flags & DEF_TIMEOUT)
        letters[n++] = 'w';
    if (flags & DEF_CHILD)
        letters[n++] = 'c';
    if (flags & DEF_SESSION)
        letters[n++] = 's';
    if (flags & DEF_STUBBORN)
        letters[n++] = 't';
    if (flags & DEF_FAILS && !(flags & DEF_PRINTS))
        letters[n++] = 'f';
    if (flags & DEF_FLAKY)
        letters[n++] = 'y';
    if (flags & DEF_OUTPUT)
        letters[n++] = 'o';
    if (n == 0)
        letters[n++] = '-';
    letters[n] = '\0';
}

static void write_needs(FILE *file, const struct def *def)
{
    if (!def->n_needs)
        return;
    fprintf(file, "    needs: [");
    for (uint32_t i = 0; i < def->n_needs; i++)
        fprintf(file, def->element[i] ? "%s\"t%u[part=${{ part }}]\"" : "%st%u",
                i ? ", " : "", def->needs[i]);
    fprintf(file, "]\n");
}

static void write_end(FILE *file, const struct def *def, const char *task_path)
{
    enum { CHECK_MS = 20, LIMIT_MS = 120 };
    if (def->flags & DEF_ONCE)
        fprintf(file, "    once: true\n");
    if (def->flags & DEF_CHECK)
        fprintf(file, "    check: 'exec \"%s\" k %d'\n", task_path, CHECK_MS);
    if (def->flags & DEF_TIMEOUT)
        fprintf(file, "    timeout: {after: %dms, grace: 1s}\n", LIMIT_MS);
    if (def->n_needs)
        fprintf(file,
                "    env: {GOT: \"${{ default(tasks.t%u.outputs.v, 'none') }}\"}\n",
                def->needs[0]);
}

static void write_def(FILE *file, const struct workflow *w, uint32_t index,
                      const char *task_path)
{
    const struct def *def = &w->defs[index];
    char letters[16];
    flag_letters(def->flags, letters);
    fprintf(file, "  t%u:\n", index);
    if (def->members)
        fprintf(file, "    foreach: {part: {range: [1, %u]}}\n", def->members);
    if (def->flags & DEF_SHELL)
        fprintf(file, "    run: '%s\"%s\" %s %u %u'\n", w->ends ? "exec " : "",
                task_path, letters, def->sleep_ms, def->code);
    else
        fprintf(file, "    exec: [\"%s\", \"%s\", \"%u\", \"%u\"]\n", task_path,
                letters, def->sleep_ms, def->code);
    write_needs(file, def);
    if (w->ends)
        write_end(file, def, task_path);
    if (def->flags & DEF_FLAKY)
        fprintf(file, "    retries: {max: 3, delay: 1ms}\n");
    if ((def->flags & DEF_OUTPUT) && def->members)
        fprintf(file, "    outputs: [\"out/t%u[part=${{ part }}]\"]\n", index);
    else if (def->flags & DEF_OUTPUT)
        fprintf(file, "    outputs: [\"out/t%u\"]\n", index);
}

bool workflow_write(const struct workflow *w, const char *dir, const char *task_path)
{
    char path[DIR_SIZE + 16];
    snprintf(path, sizeof path, "%s/flow.yaml", dir);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fprintf(file, "name: crash\n%s%stasks:\n",
            w->fails || w->ends ? "on_failure: continue\n" : "",
            w->adopt ? "on_crash: adopt\n" : "");
    for (uint32_t i = 0; i < w->n_defs; i++)
        write_def(file, w, i, task_path);
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

/* ---- Questions ---- */

uint32_t workflow_find(const struct workflow *w, const char *id)
{
    for (uint32_t i = 0; i < w->n_tasks; i++)
        if (strcmp(w->id[i], id) == 0)
            return i;
    return UINT32_MAX;
}

void workflow_needs(const struct workflow *w, uint32_t task,
                    void (*each)(void *, uint32_t), void *context)
{
    const struct def *def = &w->defs[w->def_of[task]];
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct def *target = &w->defs[def->needs[i]];
        uint32_t n = target->members ? target->members : 1;
        if (def->element[i])
            each(context, target->first + (task - def->first));
        for (uint32_t k = 0; k < n && !def->element[i]; k++)
            each(context, target->first + k);
    }
}

struct expectation {
    enum cairn_outcome *outcomes;
    bool skip;
};

static void look_at_need(void *context, uint32_t need)
{
    struct expectation *expectation = context;
    expectation->skip |= expectation->outcomes[need] != CAIRN_COMPLETED;
}

/* Needs always have smaller numbers. */
void workflow_expect(const struct workflow *w, enum cairn_outcome *outcomes)
{
    for (uint32_t task = 0; task < w->n_tasks; task++) {
        struct expectation expectation = {outcomes, false};
        workflow_needs(w, task, look_at_need, &expectation);
        bool fails = w->defs[w->def_of[task]].flags & DEF_FAILS;
        outcomes[task] = expectation.skip ? CAIRN_SKIPPED
                         : fails          ? CAIRN_FAILED
                                          : CAIRN_COMPLETED;
    }
}
