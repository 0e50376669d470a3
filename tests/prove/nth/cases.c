/* SPDX-License-Identifier: MIT */
/* The commands that are swept, and the projects in which. */
#include "sweep.h"

#include <unistd.h>

static const char *const run[] = {"run", "--json", NULL};
static const char *const fresh[] = {"run", "--fresh", "--json", "--keep", "0", NULL};
static const char *const required[] = {"run", "--json", "--checkpoint=required", NULL};
static const char *const resume[] = {"resume", "--json", NULL};
static const char *const prune[] = {"checkpoint", "prune", "--keep", "1", NULL};
static const char *const verify[] = {"checkpoint", "verify", NULL};
static const char *const doctor[] = {"doctor", NULL};
static const char *const undo[] = {"undo", "1", NULL};
static const char *const added[] = {"add", "1", "extra.json", NULL};
static const char *const withdrawn[] = {"add", "--withdraw", "1", "extra", NULL};
static const char *const done[] = {"resolve", "1", "pay", "done", NULL};

/* ---- Projects ---- */

static bool make_empty(struct world *world)
{
    return world_empty(world) && flow_write(world->dir, false) && world_keep(world);
}

static bool make_adopting(struct world *world)
{
    return world_empty(world) && flow_write(world->dir, true) && world_keep(world);
}

/* `cairn ARGUMENTS`, killed before its call `nth`. */
static bool killed_at(const struct world *world, const char *const *arguments,
                      uint64_t nth, uint64_t *calls)
{
    static struct command command;
    struct outcome outcome;
    struct order order = {.what = nth ? KILL_AT_ENTRY : COUNT_ONLY,
                          .nth = nth,
                          .timeout_ms = PATIENCE_MS};
    command_make(&command, world, "0", arguments);
    bool good = trace(&command.start, &order, &outcome);
    *calls = outcome.calls;
    return none_left(GONE_MS, NULL, 0) && good && !outcome.hung;
}

static bool note_token(struct world *world)
{
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/token", world->dir);
    FILE *file = fopen(path, "re");
    bool good = file && fgets(world->token, sizeof world->token, file);
    world->token[strcspn(world->token, "\n")] = '\0';
    if (file)
        fclose(file);
    return good;
}

static bool is_half(const struct snapshot *now)
{
    unsigned completed = 0, interrupted = 0;
    for (size_t i = 0; i < TASKS; i++) {
        completed += now->outcome[i] == CAIRN_COMPLETED;
        interrupted += now->interrupted[i];
    }
    return completed >= 3 && interrupted >= 1;
}

static bool is_paying(const struct snapshot *now)
{
    return now->interrupted[PAY] || now->outcome[PAY] == CAIRN_UNKNOWN;
}

/* A run that a kill left as `wanted` tells; session 0. `keep` is the project before. */
static bool make_killed(struct world *world, const char *const *arguments,
                        bool (*wanted)(const struct snapshot *))
{
    uint64_t calls, total;
    struct snapshot now;
    world->session = 0;
    if (!world_keep(world) || !killed_at(world, arguments, 0, &total))
        return false;
    for (uint64_t nth = total / 3; nth < total + total / 2; nth += 5) {
        if (!world_reset(world) || !killed_at(world, arguments, nth, &calls))
            return false;
        snapshot_take(world, &now);
        if (now.run && wanted(&now))
            return note_token(world) && world_keep(world);
    }
    return false;
}

static bool make_half(struct world *world)
{
    return make_empty(world) && world_reset(world) && make_killed(world, run, is_half);
}

/* The same, with a task that can be added to it. */
static bool make_to_add(struct world *world)
{
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/extra.json", world->dir);
    if (!make_half(world))
        return false;
    FILE *file = fopen(path, "we");
    return file &&
           fputs("{\"tasks\": {\"extra\": {\"needs\": \"prepare\", \"exec\": "
                 "[\"true\"]}}}\n",
                 file) >= 0 &&
           fclose(file) == 0 && world_keep(world);
}

static bool make_to_withdraw(struct world *world)
{
    return make_to_add(world) && cairn(world, "0", added) == 0 && world_keep(world);
}

static bool make_paying(struct world *world)
{
    if (!make_empty(world) || !world_reset(world) ||
        !make_killed(world, run, is_paying))
        return false;
    return cairn(world, "0", resume) == 8 && world_keep(world);
}

static bool make_done(struct world *world)
{
    return make_empty(world) && world_reset(world) && cairn(world, "0", fresh) == 0 &&
           world_keep(world);
}

/* Two finished runs, and one that is not. */
static bool make_old(struct world *world)
{
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/log", world->dir);
    return make_done(world) && cairn(world, "0", fresh) == 0 && unlink(path) == 0 &&
           make_killed(world, fresh, is_half);
}

/* ---- Before each fault ---- */

static void leave_process(struct trial *trial)
{
    plant(trial->world);
}

/* Adoption needs what lives: killed anew each time, somewhere else. How many calls come
 * before the run is there is not the same each time: then it was too early. */
static void kill_adopting(struct trial *trial)
{
    static uint64_t total;
    static struct command command;
    struct outcome outcome;
    struct snapshot made = {.run = false};
    struct order order = {.what = KILL_AT_ENTRY, .timeout_ms = PATIENCE_MS};
    trial->world->session = 0;
    command_make(&command, trial->world, "0", run);
    if (total == 0) {
        order.what = COUNT_ONLY;
        trace(&command.start, &order, &outcome);
        total = outcome.calls;
        world_reset(trial->world);
        order.what = KILL_AT_ENTRY;
    }
    order.nth = total / 3 + trial->nth * 37 % (total / 2);
    while (!made.run && order.nth < total) {
        world_reset(trial->world);
        trace(&command.start, &order, &outcome);
        snapshot_take(trial->world, &made);
        order.nth += total / 8;
    }
}

const struct sweep_case cases[] = {
    {"run", "G1 G2 G3 G4 G5", "a run", make_empty, NULL, run, go_on, .runs = true},
    {"resume", "G1 G2 G3 G4 G5", "a resume of a half-finished run with left-overs",
     make_half, leave_process, resume, go_on, .runs = true},
    {"adopt", "G1 G2 G3 G4 G5", "a run with adoption", make_adopting, NULL, run, go_on,
     .runs = true, .adopts = true},
    {"adopting", "G1 G2 G3 G4 G5", "a resume that adopts", make_adopting, kill_adopting,
     resume, go_on, .runs = true, .adopts = true},
    {"required", "G1 G2 G3 G4", "a run with --checkpoint=required", make_empty, NULL,
     required, go_on, .runs = true},
    {"prune", "G1 G2", "checkpoint prune", make_old, NULL, prune, judge_unchanged,
     .runs = false},
    {"verify", "G1 G6", "checkpoint verify", make_old, NULL, verify, judge_unchanged,
     .read_only = true},
    {"doctor", "G1 G6", "doctor", make_old, NULL, doctor, judge_unchanged,
     .read_only = true},
    {"undo", "G1 G2", "undo", make_done, NULL, undo, judge_undo, .undoes = true},
    {"add", "G1 G2", "an addition to a run", make_to_add, NULL, added, judge_added,
     .runs = false},
    {"withdraw", "G1 G2", "a withdrawal of an added task", make_to_withdraw, NULL,
     withdrawn, judge_withdrawn, .runs = false},
    {"resolve", "G1 G2", "resolve of an unknown task", make_paying, NULL, done,
     judge_resolve, .resolves = true},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, .runs = false},
};
