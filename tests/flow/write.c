/* SPDX-License-Identifier: MIT */
/* A model as YAML. Every field that counts has one text, which is also what the models
 * are compared by. */
#include "flow.h"

#include <stdarg.h>

static void put(char text[FIELD_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(char text[FIELD_SIZE], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, FIELD_SIZE - used, format, arguments);
    va_end(arguments);
}

/* ---- Fields ---- */

static void put_sleep(const struct def *def, char text[FIELD_SIZE])
{
    if (def->sleep_ms)
        put(text, "sleep 0.%03u; ", def->sleep_ms);
}

/* Fails so often first: a directory is made by one attempt only. */
static void put_flaky(const struct def *def, uint32_t index, char text[FIELD_SIZE])
{
    uint32_t times = def->service ? def->false_starts : def->flaky;
    if (!times)
        return;
    put(text, "for n in");
    for (uint32_t i = 1; i <= times; i++)
        put(text, " %u", i);
    put(text,
        "; do if mkdir \"$FLOW_DIR/flaky/%u-$n-${part-}\" 2>/dev/null; then exit 4; "
        "fi; "
        "done; ",
        index);
}

/* "t.3" as in $CAIRN_PORT_T_3. */
static void put_port(const struct def *service, char text[FIELD_SIZE])
{
    put(text, "$CAIRN_PORT_");
    for (const char *at = service->id; *at; at++)
        put(text, "%c", *at == '.' ? '_' : *at == 't' ? 'T' : *at == 'n' ? 'N' : *at);
}

/* Looks whether its services are there. Of a group, only of the member that it needs. */
static void put_look(const struct workflow *w, const struct def *def,
                     char text[FIELD_SIZE])
{
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct def *need = &w->defs[def->needs[i]];
        if (!need->service || (need->n_members && !def->element[i]))
            continue;
        put(text,
            "read -r start pid <\"$FLOW_DIR/up%u%s\"; kill -0 \"$pid\" || exit 9; ",
            def->needs[i], need->n_members ? "-$part" : "");
        if (need->port) {
            put(text, "test \"");
            put_port(need, text);
            put(text, "\" -gt 0 || exit 9; ");
        }
    }
}

static void put_script(const struct workflow *w, uint32_t index, char text[FIELD_SIZE])
{
    const struct def *def = &w->defs[index];
    put(text, "echo \"$CAIRN_TASK\" >>\"$FLOW_DIR/log\"; : %u; ", def->version);
    put_look(w, def, text);
    if (def->service) {
        if (def_has_sheet(w, def))
            put(text, ": $told; ");
        put_sleep(def, text);
        put_flaky(def, index, text);
        put(text,
            def->fails ? "exit 3"
                       : "echo \"$CAIRN_RUN.$CAIRN_ATTEMPT $$\" "
                         ">\"$FLOW_DIR/up%u${part+-$part}\"; exec sleep 600",
            index);
        return;
    }
    if (def_has_sheet(w, def))
        put(text, ": $told; ");
    put_sleep(def, text);
    put_flaky(def, index, text);
    if (def->gives)
        put(text, "echo \"v=%u\" >>\"$CAIRN_OUTPUT\"; ", def->version % 3);
    if (def->gives && def->passed != NONE)
        put(text, "echo \"got=$GOT\" >>\"$CAIRN_OUTPUT\"; ");
    if (def_makes_list(w, def)) {
        put(text, "echo \"l=[");
        for (uint32_t i = 0; i < def->n_list; i++)
            put(text, "%s\\\"%u\\\"", i ? "," : "", def->list[i]);
        put(text, "]\" >>\"$CAIRN_OUTPUT\"; ");
    }
    if (def->depfile)
        put(text, "echo \"x: in/%u\" >\"out/%u${part+-$part}.d\"; ", index, index);
    if (def->output)
        put(text, "echo \"%u ${GOT-}%s\" >\"out/%u${part+-$part}\"; ", def->version,
            def->args ? " $*" : "", index);
    if (def->adds)
        put(text, "\"$FLOW_CAIRN\" add \"$CAIRN_RUN\" \"$FLOW_DIR/added.yaml\" "
                  ">/dev/null || exit 8; ");
    if (def->rounds)
        put(text, "echo \"round=$CAIRN_ROUND\" >>\"$CAIRN_OUTPUT\"; ");
    if (def->fails && !def->rounds)
        put(text, "exit 3; ");
    if (def->skips)
        put(text, "exit 77; ");
    put(text, "true");
}

/* In single quotes of YAML; the scripts have none of their own. */
static void put_command(const struct workflow *w, uint32_t index, char text[FIELD_SIZE])
{
    const struct def *def = &w->defs[index];
    put(text, def->exec ? "exec: [sh, -c, '" : "run: '");
    put_script(w, index, text);
    put(text, def->exec ? "', sh, x%u]" : "'", def->version);
}

static void put_env(const struct workflow *w, const struct def *def,
                    char text[FIELD_SIZE])
{
    const char *before = "";
    if (def->env) {
        put(text, "E: \"%u\"", def->env);
        before = ", ";
    }
    if (def->env_more) {
        put(text, "%sMORE: \"%u\"", before, def->env_more);
        before = ", ";
    }
    if (def->passed != NONE)
        put(text, "%sGOT: \"${{ default(tasks['%s'].outputs.v, 'none') }}\"", before,
            w->defs[def->passed].id);
}

static void put_condition(const struct workflow *w, const struct def *def,
                          char text[FIELD_SIZE])
{
    const char *need = w->defs[def->condition_need].id;
    if (def->condition == COND_MEMBER)
        put(text, "\"part != '%u'\"", def->condition_value + 1);
    else if (def->condition == COND_PARAM)
        put(text, "\"params.p0 != '%u'\"", def->condition_value);
    else if (def->condition == COND_VALUE)
        put(text, "\"default(tasks['%s'].outputs.v, '1') != '%u'\"", need,
            def->condition_value);
    else if (def->condition == COND_STATUS)
        put(text, "\"tasks['%s'].status %s 'completed'\"", need,
            def->condition_value ? "==" : "!=");
}

static void put_gate(const struct def *def, char text[FIELD_SIZE])
{
    static const char *const confidence[] = {"", "", "0.9", "0.8", "0.5"};
    if (def->gate == GATE_EXIT)
        put(text, "': %u'", def->gate_version);
    else if (def->gate != GATE_NONE)
        put(text, "': %u; echo \"{\\\"confidence\\\": %s}\"'", def->gate_version,
            confidence[def->gate]);
}

static void put_needs(const struct workflow *w, const struct def *def,
                      char text[FIELD_SIZE])
{
    for (uint32_t i = 0; i < def->n_needs; i++) {
        uint32_t at = w->reversed ? def->n_needs - 1 - i : i;
        const struct def *need = &w->defs[def->needs[at]];
        /* The whole of a group with two keys is a part of it, too. */
        bool side = need->sided && (def - w->defs + def->needs[at]) % 2;
        bool soft = def_is_soft(def, at), map = soft || def->order[at];
        put(text, "%s%s\"%s%s\"%s%s%s", i ? ", " : "", map ? "{task: " : "", need->id,
            def->element[at] ? "[part=${{ part }}]"
            : side           ? "[side=x]"
                             : "",
            def->order[at] ? ", order: true" : "", soft ? ", soft: true" : "",
            map ? "}" : "");
    }
}

static void put_args(const struct workflow *w, const struct def *def,
                     char text[FIELD_SIZE])
{
    if (def->args)
        put(text, "\"a %u\"", def->args);
    if (def->args && def->args_of != NONE)
        put(text, ", \"${{ tasks['%s'].files }}\"", w->defs[def->args_of].id);
}

static void put_set(uint32_t set, const char *name, char text[FIELD_SIZE])
{
    const char *before = "";
    for (uint32_t i = 0; i < 32; i++)
        if (set >> i & 1) {
            put(text, "%s%s%u", before, name, i);
            before = ", ";
        }
}

void field_text(const struct workflow *w, uint32_t index, enum field field,
                char text[FIELD_SIZE])
{
    static const char *const whens[] = {"", "failed", "always"};
    const struct def *def = &w->defs[index];
    text[0] = '\0';
    switch (field) {
    case FIELD_COMMAND:
        put_command(w, index, text);
        break;
    case FIELD_ARGS:
        put_args(w, def, text);
        break;
    case FIELD_REPEAT:
        if (def->rounds)
            put(text, "outputs.round == %u", def->rounds + (def->fails ? 1 : 0));
        break;
    case FIELD_SHELL:
        put(text, "%s", def->shell ? def->shell > 1 ? "sh, -e, -c" : "sh, -u, -c" : "");
        break;
    case FIELD_ENV:
        put_env(w, def, text);
        break;
    case FIELD_OUTPUTS:
        if (def->output)
            put(text, def->n_members ? "\"out/%u-${{ part }}\"" : "out/%u", index);
        break;
    case FIELD_INPUTS:
        if (def->input && def->input_of != NONE)
            put(text, "out/%u", def->input_of);
        else if (def->input)
            put(text, "in/%u", index);
        break;
    case FIELD_DEPFILE:
        if (def->depfile)
            put(text, def->n_members ? "\"out/%u-${{ part }}.d\"" : "out/%u.d", index);
        break;
    case FIELD_PARAMS:
        put_set(def->own_params, "p", text);
        break;
    case FIELD_IF:
        put_condition(w, def, text);
        break;
    case FIELD_WHEN:
        put(text, "%s", whens[def->when]);
        break;
    case FIELD_CHECK:
        put_gate(def, text);
        break;
    case FIELD_SECRETS:
        put_set(def->secrets, "SECRET_", text);
        break;
    case FIELD_SKIP_EXIT:
        put(text, "%s", def->skip_exit ? "77" : "");
        break;
    case FIELD_FALLBACK:
        if (def->fallback)
            put(text, "'echo \"v=f\" >>\"$CAIRN_OUTPUT\"; : %u'", def->fallback);
        if (def->fallback && def->depfile) {
            text[strlen(text) - 1] = '\0';
            put(text, "; echo \"x: in/%u\" >\"out/%u${part+-$part}.d\"'", index, index);
        }
        break;
    case FIELD_NEEDS:
        put_needs(w, def, text);
        break;
    case FIELDS:
        break;
    }
}

/* ---- The file ---- */

static void write_service(FILE *file, const struct def *def, uint32_t index)
{
    fprintf(file,
            "    service: true\n    ready: {run: 'read -r start pid "
            "<\"$FLOW_DIR/up%u${part+-$part}\"; test \"$start\" = "
            "\"$CAIRN_RUN.$CAIRN_ATTEMPT\"', every: 10ms, within: 50s}\n",
            index);
    if (def->restart)
        fprintf(file, "    restart: %u\n", def->restart);
    if (def->port)
        fprintf(file, "    port: true\n");
}

static void write_tuning(FILE *file, const struct workflow *w, const struct def *def)
{
    static const char *const stale[] = {"", "warn", "remove", "keep"};
    if (def->service)
        write_service(file, def, (uint32_t)(def - w->defs));
    if (def->stale)
        fprintf(file, "    stale: %s\n", stale[def->stale]);
    if (def->timeout_s)
        fprintf(file, "    timeout: %us\n", def->timeout_s);
    if (def->retries)
        fprintf(file, "    retries: {max: %u}\n", def->retries);
    if (def->slots)
        fprintf(file, "    slots: %u\n", def->slots);
    if (def->pool > POOLS)
        fprintf(file, "    pool: {pool1: %u, pool0: %u}\n",
                def->places < w->pool_limit[1] ? def->places : w->pool_limit[1],
                def->places < w->pool_limit[0] ? def->places : w->pool_limit[0]);
    else if (def->pool)
        fprintf(file, "    pool: pool%u\n", def->pool - 1);
    if (def->memory)
        fprintf(file, "    memory: %uM\n", def->memory);
    if (def->artifacts && def->output)
        fprintf(file, "    artifacts: \"out/%td*\"\n", def - w->defs);
    if (def->cutoff)
        fprintf(file, "    cutoff: true\n");
    if (def->may_fail)
        fprintf(file, "    may_fail: true\n");
    if (def->priority)
        fprintf(file, "    priority: %d\n", (int)def->priority);
    if (def->undo)
        fprintf(file,
                "    undo: 'echo \"$CAIRN_TASK\" >>\"$FLOW_DIR/undone\"; : %u; %s'\n",
                def->undo, def->undo_fails ? "exit 5" : "true");
}

static uint32_t member_in_order(const struct workflow *w, const struct def *def,
                                uint32_t i)
{
    return def->member[w->reversed ? def->n_members - 1 - i : i];
}

static void write_foreach(FILE *file, const struct workflow *w, const struct def *def)
{
    const char *more = def->sided ? ", side: [x]" : "";
    if (def_has_sheet(w, def))
        fprintf(file, "    foreach: {part: {csv: sheet%td.csv}%s}\n", def - w->defs,
                more);
    if (def->made)
        fprintf(file, "    foreach: {part: {from: %s, value: l}%s}\n",
                w->defs[def->list_of].id, more);
    if (!def->n_members || def->made || def_has_sheet(w, def))
        return;
    fprintf(file, "    foreach: {part: [");
    for (uint32_t i = 0; i < def->n_members; i++)
        fprintf(file, "%s\"%u\"", i ? ", " : "", member_in_order(w, def, i));
    fprintf(file, "]%s}\n", more);
}

static bool write_sheet(const struct workflow *w, const struct def *def,
                        const char *dir)
{
    char path[DIR_SIZE + 32];
    snprintf(path, sizeof path, "%s/sheet%td.csv", dir, def - w->defs);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fprintf(file, "note,part,told\r\n");
    for (uint32_t i = 0; i < def->n_members; i++)
        fprintf(file, "\"%u,\n\",%u,%u\r\n", w->note, member_in_order(w, def, i),
                def_cell(def, member_in_order(w, def, i)));
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

static void write_def(FILE *file, const struct workflow *w, uint32_t index)
{
    static const char *const formats[FIELDS] = {"    %s\n",
                                                "    args: [%s]\n",
                                                "",
                                                "    shell: [%s]\n",
                                                "    env: {%s}\n",
                                                "    outputs: [%s]\n",
                                                "    inputs: [%s]\n",
                                                "    depfile: %s\n",
                                                "    params: [%s]\n",
                                                "    if: %s\n",
                                                "    when: %s\n",
                                                "    check: %s\n",
                                                "    secrets: [%s]\n",
                                                "    skip_exit: %s\n",
                                                "    fallback: %s\n",
                                                "    needs: [%s]\n"};
    const struct def *def = &w->defs[index];
    char text[FIELD_SIZE];
    if (w->comments > 0)
        fprintf(file, "\n  # %u: the next task\n", w->comments);
    fprintf(file, w->comments > 1 ? "  \"%s\":   # task\n" : "  %s:\n", def->id);
    write_foreach(file, w, def);
    for (uint32_t i = 0; i < FIELDS; i++) {
        field_text(w, index, (enum field)i, text);
        if (text[0] && i == FIELD_REPEAT)
            fprintf(file, "    repeat: {until: %s, max: %u, delay: %ums}\n", text,
                    def->rounds + (def->fails ? 0 : def->rounds_more),
                    def->rounds_more * 2);
        else if (text[0])
            fprintf(file, formats[i], text);
    }
    if (def->needs_all && def_wants_group(w, def))
        fprintf(file, "    needs_all: true\n");
    write_tuning(file, w, def);
}

static void write_top(FILE *file, const struct workflow *w)
{
    static const char *const policies[] = {"stop",           "continue",
                                           "{undo: failed}", "{undo: ancestors}",
                                           "{undo: all}",    "cancel"};
    fprintf(file, "name: flow\non_failure: %s\njobs: %u\nparams:\n",
            policies[w->policy], w->jobs);
    for (uint32_t i = 0; i < w->n_params; i++)
        fprintf(file, "  p%u: \"%u\"\n", i, w->param[i]);
    fprintf(file, "on_crash: %s\n", w->adopt ? "adopt" : "kill");
    fprintf(file, "secrets: [SECRET_0, SECRET_1]\n");
    if (w->env)
        fprintf(file, "env: {EVERYWHERE: \"%u\"}\n", w->env);
    fprintf(file, "pools: {pool0: {slots: %u, scope: %s}, pool1: %u}\n",
            w->pool_limit[0], w->shared ? "store" : "run", w->pool_limit[1]);
    if (w->memory)
        fprintf(file, "memory: %uM\n", w->memory);
    static const char *const stale[] = {"warn", "warn", "remove", "keep"};
    fprintf(file, "defaults: {stale: %s%s}\n", stale[w->stale],
            !w->reuse ? ""
            : w->keep ? ", reuse: {keep: 1h}"
                      : ", reuse: true");
    if (w->again_never)
        fprintf(file, "again: never\n");
}

/* Puts down the outcome and the value of every task. */
static void write_report(FILE *file, const struct workflow *w)
{
    fprintf(file,
            "  report:\n    run: 'env | grep ^SEEN_ | sort >\"$FLOW_DIR/report\"; "
            "echo \"$CAIRN_RUN_STATUS\" >>\"$FLOW_DIR/report\"'\n    env:\n");
    for (uint32_t i = 0; i < w->n_defs; i++) {
        const struct def *def = &w->defs[i];
        if (def->removed || def->finally || def->added || def->service)
            continue;
        fprintf(file, "      SEEN_%u: \"${{ tasks['%s'].status }}\"\n", i, def->id);
        if (!def->n_members)
            fprintf(file,
                    "      SEEN_%u_v: \"${{ default(tasks['%s'].outputs.v, 'none') }} "
                    "${{ default(tasks['%s'].outputs.got, 'none') }}\"\n",
                    i, def->id, def->id);
    }
}

static void write_part(FILE *file, const struct workflow *w, bool finally)
{
    for (uint32_t i = 0; i < w->n_defs; i++)
        if (!w->defs[i].removed && !w->defs[i].added && w->defs[i].finally == finally)
            write_def(file, w, i);
}

bool workflow_write(const struct workflow *w, const char *dir)
{
    char path[DIR_SIZE + 16];
    bool finally = w->report, good = true;
    for (uint32_t i = 0; i < w->n_defs; i++)
        if (!w->defs[i].removed && def_has_sheet(w, &w->defs[i]))
            good &= write_sheet(w, &w->defs[i], dir);
    snprintf(path, sizeof path, "%s/flow.yaml", dir);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    write_top(file, w);
    fprintf(file, "tasks:\n");
    write_part(file, w, false);
    for (uint32_t i = 0; i < w->n_defs; i++)
        finally |= w->defs[i].finally && !w->defs[i].removed;
    if (finally)
        fprintf(file, "finally:\n");
    write_part(file, w, true);
    if (w->report)
        write_report(file, w);
    good &= !ferror(file);
    return fclose(file) == 0 && good;
}

bool workflow_write_added(const struct workflow *w, uint32_t one, const char *dir)
{
    char path[DIR_SIZE + 16];
    snprintf(path, sizeof path, "%s/added.yaml", dir);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fprintf(file, "tasks:\n");
    for (uint32_t i = 0; i < w->n_defs; i++)
        if (!w->defs[i].removed && w->defs[i].added && (one == NONE || one == i))
            write_def(file, w, i);
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}
