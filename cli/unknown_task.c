/* SPDX-License-Identifier: MIT */
/* Messages about a task that does not exist: it is a group, or a mistyped name. */
#include "cli/unknown_task.h"

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

enum { FEW = 12 }; /* tasks that are all named */

static const char *name_all(const struct cairn_workflow *workflow, char *out,
                            size_t size)
{
    struct cairn_node_info info = {0};
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < cairn_workflow_tasks(workflow) && used < size; i++)
        if (cairn_workflow_node(workflow, i, &info) == 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     info.id);
    return out;
}

/* ---- Members of a group by their values ---- */

/* `text` is the value or the end of it as a path, with or without its key. */
static bool is_value(const char *key, const char *value, const char *text, size_t n)
{
    size_t k = strlen(key), v = strlen(value);
    if (n > k && strncmp(text, key, k) == 0 && text[k] == '=') {
        text += k + 1;
        n -= k + 1;
    }
    return n > 0 && v >= n && memcmp(value + v - n, text, n) == 0 &&
           (v == n || value[v - n - 1] == '/');
}

static bool has_value(const struct cairn_workflow *workflow, uint32_t node,
                      const char *text, size_t n)
{
    const char *key, *value;
    for (uint32_t i = 0; cairn_workflow_value(workflow, node, i, &key, &value) == 0;
         i++)
        if (is_value(key, value, text, n))
            return true;
    return false;
}

/* All of `text`, or each part between commas, is a value of the member. */
static bool has_values(const struct cairn_workflow *workflow, uint32_t node,
                       const char *text, size_t n)
{
    if (has_value(workflow, node, text, n))
        return true;
    for (size_t part; n > 0; text += part, n -= part) {
        const char *comma = memchr(text, ',', n);
        part = comma ? (size_t)(comma - text) : n;
        if (!has_value(workflow, node, text, part))
            return false;
        part += comma != NULL;
    }
    return true;
}

enum { MEMBERS_NAMED = 3 };

struct members {
    const char *first[MEMBERS_NAMED];
    uint32_t n;
};

static void add_member(struct members *members, const char *id)
{
    if (members->n < MEMBERS_NAMED)
        members->first[members->n] = id;
    members->n++;
}

static int report_members(const struct cairn_workflow *workflow, const char *task,
                          const char *how, const struct members *members)
{
    char names[2048] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < members->n && i < MEMBERS_NAMED && used < sizeof names;
         i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 i > 0 ? ", " : "", members->first[i]);
    if (members->n > MEMBERS_NAMED && used < sizeof names)
        snprintf(names + used, sizeof names - used, " and %u more",
                 members->n - MEMBERS_NAMED);
    return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                          "there is no task %s in %s%s%s", task,
                          cairn_workflow_name(workflow), how, names);
}

/* `test[one]` where the group `test` has members: names those that may be meant, or the
 * first ones. 0: there is no such group, or *nearest tells more; it is set where only
 * one can be meant. */
static int unknown_member(const struct cairn_workflow *workflow, const char *task,
                          const char **nearest)
{
    size_t group = strcspn(task, "["), n = strlen(task);
    struct cairn_node_info info = {0};
    struct members all = {.n = 0}, fit = {.n = 0};
    char has[300];
    if (n < group + 3 || task[n - 1] != ']')
        return 0;
    for (uint32_t i = 0; i < cairn_workflow_tasks(workflow); i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0 ||
            strlen(info.group) != group || strncmp(info.group, task, group) != 0 ||
            strcmp(info.group, info.id) == 0)
            continue;
        add_member(&all, info.id);
        if (has_values(workflow, i, task + group + 1, n - group - 2))
            add_member(&fit, info.id);
    }
    if (fit.n == 1)
        *nearest = fit.first[0];
    if (fit.n > 1)
        return report_members(workflow, task, ": it could be ", &fit);
    /* With its key it is a member of which a letter is wrong. */
    if (fit.n == 1 || all.n == 0 || (*nearest && strchr(task, '=')))
        return 0;
    snprintf(has, sizeof has, "; %.*s has ", (int)(group < 200 ? group : 200), task);
    return report_members(workflow, task, has, &all);
}

int unknown_task(const struct cairn_workflow *workflow, const char *task)
{
    uint32_t tasks = cairn_workflow_tasks(workflow);
    struct cairn_node_info info = {0};
    struct nearest nearest;
    char names[FEW * 64];
    nearest_init(&nearest, task);
    for (uint32_t i = 0; i < tasks; i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0)
            continue;
        if (strcmp(info.group, task) == 0)
            return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                                  "%s is a group of tasks: name one, such as %s", task,
                                  info.id);
        nearest_try(&nearest, info.id);
        nearest_try(&nearest, info.group);
    }
    int status = unknown_member(workflow, task, &nearest.best);
    if (status != 0)
        return status;
    if (!nearest.best && tasks <= FEW)
        return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                              "there is no task %s in %s; its tasks: %s", task,
                              cairn_workflow_name(workflow),
                              name_all(workflow, names, sizeof names));
    return report_failure(
        EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
        "there is no task %s in %s%s%s%s", task, cairn_workflow_name(workflow),
        nearest.best ? ": did you mean " : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : ": `cairn plan FILE --fresh` lists them");
}

int missing_task(struct cairn_store *store, uint64_t run, const char *task,
                 const struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    bool from_file;
    int status;
    if (error->code == CAIRN_ENOTFOUND &&
        cairn_workflow_of_run(&workflow, store, run, &from_file, NULL) == 0 &&
        cairn_workflow_compile(workflow, NULL) == 0 &&
        cairn_workflow_find(workflow, task) == UINT32_MAX)
        status = unknown_task(workflow, task);
    else
        status = report_error(error);
    cairn_workflow_free(workflow);
    return status;
}
