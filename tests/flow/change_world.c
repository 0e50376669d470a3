/* SPDX-License-Identifier: MIT */
/* Changes of files and secrets, and of tuning. */
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files and secrets ---- */

/* Calls for every output of the task. */
static void each_output(const struct making *m, uint32_t index,
                        void (*each)(const char *path))
{
    const struct def *def = &m->w->defs[index];
    char path[DIR_SIZE + 32];
    for (uint32_t i = 0; i < (def->n_members ? def->n_members : 1); i++) {
        if (def->n_members)
            snprintf(path, sizeof path, "%s/out/%u-%u", m->dir, index, def->member[i]);
        else
            snprintf(path, sizeof path, "%s/out/%u", m->dir, index);
        each(path);
    }
}

static void delete_file(const char *path)
{
    unlink(path);
}

static void lengthen_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0 && write(fd, "more\n", 5) != 5)
        perror(path);
    if (fd >= 0)
        close(fd);
}

static void hit(struct making *m, uint32_t index, const char *reason)
{
    m->change->hit[index] = true;
    m->change->reason = reason;
}

static bool has_output(const struct def *def)
{
    return def->output;
}

void change_output_deleted(struct making *m)
{
    struct def *def = picked_any(m, has_output);
    if (!def)
        return;
    hit(m, (uint32_t)(def - m->w->defs), "output");
    each_output(m, (uint32_t)(def - m->w->defs), delete_file);
}

void change_output_content(struct making *m)
{
    struct def *def = picked_any(m, has_output);
    if (!def)
        return;
    hit(m, (uint32_t)(def - m->w->defs), "output");
    def->disturbed = true;
    each_output(m, (uint32_t)(def - m->w->defs), lengthen_file);
}

/* A task that has not run yet has made no file. What is touched and then written anew may
 * have been there before: a start does not read it. */
static void touch_file(const char *path)
{
    if (utimensat(AT_FDCWD, path, NULL, 0) && errno != ENOENT)
        perror(path);
}

void change_output_touched(struct making *m)
{
    struct def *def = picked(m, has_output);
    if (!def)
        return;
    def->disturbed = true;
    each_output(m, (uint32_t)(def - m->w->defs), touch_file);
}

static bool has_input(const struct def *def)
{
    return (def->input && def->input_of == NONE) || def->depfile;
}

void change_input_content(struct making *m)
{
    struct def *def = picked_any(m, has_input);
    char path[DIR_SIZE + 32];
    if (!def)
        return;
    hit(m, (uint32_t)(def - m->w->defs), "input");
    snprintf(path, sizeof path, "%s/in/%u", m->dir, (uint32_t)(def - m->w->defs));
    lengthen_file(path);
}

void change_input_touched(struct making *m)
{
    struct def *def = picked(m, has_input);
    char path[DIR_SIZE + 32];
    if (!def)
        return;
    snprintf(path, sizeof path, "%s/in/%u", m->dir, (uint32_t)(def - m->w->defs));
    touch_file(path);
}

void change_secret(struct making *m)
{
    uint32_t which = rng_below(m->rng, SECRETS_MAX);
    m->w->secret[which]++;
    m->change->reason = "secret";
    for (uint32_t i = 0; i < m->w->n_defs; i++)
        m->change->hit[i] =
            !m->w->defs[i].removed && m->w->defs[i].secrets >> which & 1;
}

/* ---- Tuning ---- */

void change_timeout(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->timeout_s = def->timeout_s ? def->timeout_s + 1 : 200;
}

void change_retries(struct making *m)
{
    picked(m, NULL)->retries++;
}

void change_pool(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->pool = (def->pool + 1) % (POOLS + 2);
}

void change_places(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->pool = POOLS + 1;
    def->places = 3 - def->places;
}

void change_slots(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->slots = (def->slots + 2) % 6;
}

void change_memory(struct making *m)
{
    picked(m, NULL)->memory = 1 + rng_below(m->rng, 4);
}

void change_scope(struct making *m)
{
    m->w->shared = !m->w->shared;
}

void change_artifacts(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->artifacts = !def->artifacts;
}

void change_pool_limit(struct making *m)
{
    m->w->pool_limit[rng_below(m->rng, POOLS)]++;
}

void change_priority(struct making *m)
{
    picked(m, NULL)->priority++;
}

void change_jobs(struct making *m)
{
    m->w->jobs = m->w->jobs % 4 + 1;
}

void change_comments(struct making *m)
{
    m->w->comments++;
}

void change_note(struct making *m)
{
    m->w->note++;
}

/* The order of members is an edit for who is given their files. */
void change_order(struct making *m)
{
    for (uint32_t i = 0; i < m->w->n_defs; i++) {
        const struct def *def = &m->w->defs[i];
        if (!def->removed && def->args_of != NONE &&
            m->w->defs[def->args_of].n_members > 1)
            m->change->made = false;
    }
    if (!m->change->made)
        return;
    m->w->reversed = !m->w->reversed;
}

void change_undo(struct making *m)
{
    picked(m, NULL)->undo++;
}

/* The params of a run are recorded: another default is for other runs. */
void change_param(struct making *m)
{
    m->w->param[0] += 3;
}

void change_nothing(struct making *m)
{
    (void)m;
}

/* What was added stays with the run that has it. */
void change_param_run(struct making *m)
{
    for (uint32_t i = 0; i < m->w->n_defs; i++)
        m->w->defs[i].removed |= m->w->defs[i].added;
    change_param(m);
}

void change_rounds_more(struct making *m)
{
    picked(m, NULL)->rounds_more++;
}

void change_again(struct making *m)
{
    m->w->again_never = !m->w->again_never;
}

void change_stale(struct making *m)
{
    struct def *def = picked(m, has_output);
    if (!def)
        return;
    def->stale = (enum stale)rng_below(m->rng, 4);
    m->w->stale = (enum stale)rng_below(m->rng, 4);
}
