/* SPDX-License-Identifier: MIT */
/* What a plan shows of one task beside the decision: its condition with the values that
 * decided, and the command that would run. */
#include "base/shell_word.h"
#include "plan/plan_int.h"

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
