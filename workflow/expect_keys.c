/* SPDX-License-Identifier: MIT */
/* The keys of a mapping: which there are, and what was meant by others. */
#include "workflow/expect_int.h"

#include <stdio.h>

/* What other tools call it. */
static struct str own_word(struct str word, const struct str names[], size_t n)
{
    static const struct {
        struct str theirs, ours;
    } words[] = {
        {NAME("depends_on"), NAME("needs")},  {NAME("depends"), NAME("needs")},
        {NAME("deps"), NAME("needs")},        {NAME("retry"), NAME("retries")},
        {NAME("command"), NAME("run")},       {NAME("cmd"), NAME("run")},
        {NAME("script"), NAME("run")},        {NAME("shell_command"), NAME("run")},
        {NAME("steps"), NAME("tasks")},       {NAME("stages"), NAME("tasks")},
        {NAME("environment"), NAME("env")},   {NAME("vars"), NAME("params")},
        {NAME("working_dir"), NAME("cwd")},   {NAME("workdir"), NAME("cwd")},
        {NAME("matrix"), NAME("foreach")},    {NAME("strategy"), NAME("foreach")},
        {NAME("condition"), NAME("if")},      {NAME("always"), NAME("finally")},
        {NAME("compensate"), NAME("undo")},   {NAME("rollback"), NAME("undo")},
        {NAME("artifacts"), NAME("outputs")}, {NAME("verify"), NAME("check")}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t k = 0; str_equal(word, words[i].theirs) && k < n; k++)
            if (str_equal(names[k], words[i].ours))
                return names[k];
    return (struct str){NULL, 0};
}

static int unknown_key(const struct parser *p, const struct node *key,
                       struct where where, const struct str names[], size_t n)
{
    char place[128] = "";
    if (where.name.ptr)
        snprintf(place, sizeof place, " in %s `%.*s`", where.text, SHOWN(where.name));
    else
        snprintf(place, sizeof place, " %s", where.text);
    struct str own = own_word(key->text, names, n);
    struct hint hint =
        own.len ? hint_nearest(own, &own, 1) : hint_nearest(key->text, names, n);
    return diagnose(&p->diagnostic, key->at, "unknown key `%.*s`%s%s", SHOWN(key->text),
                    place, hint.text);
}

int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        found[i] = NULL;
    for (const struct node *key = map->first; key; key = key->next->next) {
        size_t i = 0;
        while (i < n && !str_equal(key->text, names[i]))
            i++;
        if (i == n)
            return unknown_key(p, key, where, names, n);
        found[i] = key;
    }
    return 0;
}
