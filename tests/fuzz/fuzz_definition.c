/* SPDX-License-Identifier: MIT */
/* The compiled definition, as it lies in the content pool, and everything that is done
 * with it before a task runs: graph, ids, fingerprints, texts. What is taken encodes to
 * a form that reads back as itself. */
#include "graph/definition.h"
#include "graph/definition_codec.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "graph/text_expand.h"
#include "tests/fuzz/fuzz.h"

static int no_name(void *context, const struct name *name, struct value *out,
                   struct cairn_error *error)
{
    (void)context;
    (void)name;
    (void)error;
    *out = (struct value){.type = VALUE_MISSING};
    return 0;
}

static int changed(void *context, const char *field, const char *old, const char *now)
{
    (void)context;
    (void)old;
    (void)now;
    fprintf(stderr, "%s differs from itself\n", field);
    return CAIRN_EDAMAGED;
}

static void expand(const struct scope *scope, struct str text)
{
    struct buf out = BUF_INIT;
    struct cairn_error error = {0};
    int code = text_expand(scope, text, &out, &error);
    if (code)
        EXPLAINED(code, error);
    buf_release(&out);
}

static void look_at_task(const struct graph *graph, uint32_t task)
{
    const struct definition *definition = graph->definition;
    const struct task_def *def = graph_def(graph, task);
    struct scope scope = {.definition = definition,
                          .def = def,
                          .member = graph_member(graph, task),
                          .lookup = no_name};
    struct cairn_error error = {0};
    bool holds;
    HOLDS(graph_find(graph, str_of(graph->id[task])) == task);
    for (uint32_t i = 0; i < def->n_argv; i++)
        expand(&scope, def->argv[i]);
    for (uint32_t i = 0; i < def->n_env; i++)
        expand(&scope, def->env[i].value);
    for (uint32_t i = 0; i < def->n_outputs; i++)
        expand(&scope, def->outputs[i]);
    expand(&scope, def->cwd);
    expand(&scope, def->external);
    if (def->condition.len) {
        int code = condition_holds(&scope, scope.def->condition, &holds, &error);
        if (code)
            EXPLAINED(code, error);
    }
    HOLDS(fingerprint_changes(definition, def, definition, def, changed, NULL,
                              &error) == 0);
}

static void look_at_graph(const struct definition *definition)
{
    enum { MOST = 40 };
    struct graph graph;
    struct cairn_error error = {0};
    int code = graph_build(&graph, definition, &error);
    if (code) {
        EXPLAINED(code, error);
        return;
    }
    struct digest *digests = calloc(graph.n_tasks, sizeof *digests);
    HOLDS(digests && graph_fingerprints(&graph, digests, &error) == 0);
    for (uint32_t task = 0; task < graph.n_tasks && task < MOST; task++)
        look_at_task(&graph, task);
    free(digests);
    graph_release(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct definition first, second;
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct cairn_error error = {0};
    int code = definition_decode((struct str){copy.ptr, size}, &first, &error);
    unfence(&copy);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
        return 0;
    }
    HOLDS(definition_encode(&first, &once, &error) == 0);
    HOLDS(definition_decode(buf_view(&once), &second, &error) == 0);
    HOLDS(definition_encode(&second, &twice, &error) == 0);
    HOLDS(str_equal(buf_view(&once), buf_view(&twice)));
    if (data[DEFINITION_MAGIC_BYTES] == (uint8_t)once.data[DEFINITION_MAGIC_BYTES])
        HOLDS(str_equal(buf_view(&once), (struct str){(const char *)data, size}));
    look_at_graph(&first);
    buf_release(&once);
    buf_release(&twice);
    definition_release(&first);
    definition_release(&second);
    return 0;
}
