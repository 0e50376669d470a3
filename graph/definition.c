/* SPDX-License-Identifier: MIT */
/* Life of a definition, and finding names in it. */
#include "graph/definition.h"

#include "base/limits.h"
#include "base/words.h"
#include "cairn/outcome.h"

#include <stdlib.h>

int key_value_order(const void *a, const void *b)
{
    return str_compare(((const struct key_value *)a)->key,
                       ((const struct key_value *)b)->key);
}

void definition_init(struct definition *definition)
{
    *definition = (struct definition){
        .arena = ARENA_INIT, .by_id = MAP_INIT, .by_text = MAP_INIT};
}

void definition_release(struct definition *definition)
{
    for (uint32_t i = 0; i < definition->n_defs; i++) {
        struct task_def *def = &definition->defs[i];
        for (uint32_t k = 0; k < def->n_foreach; k++)
            map_release(&def->foreach[k].by_value);
    }
    if (definition->defs_growing)
        free(definition->defs);
    map_release(&definition->by_id);
    map_release(&definition->by_text);
    arena_release(&definition->arena);
    definition_init(definition);
}

struct str name_scope(struct str name)
{
    const char *slash = name.len ? memrchr(name.ptr, '/', name.len) : NULL;
    return (struct str){name.ptr, slash ? (size_t)(slash - name.ptr) + 1 : 0};
}

struct str name_in_scope(struct str name)
{
    size_t n = name_scope(name).len;
    return (struct str){name.ptr + n, name.len - n};
}

struct str name_of_id(struct str id)
{
    const char *bracket = id.len ? memchr(id.ptr, '[', id.len) : NULL;
    return (struct str){id.ptr, bracket ? (size_t)(bracket - id.ptr) : id.len};
}

/* The order of a text and another one that is in two parts. */
static int compare_parts(struct str text, struct str first, struct str rest)
{
    struct str start = {text.ptr, text.len < first.len ? text.len : first.len};
    int order = str_compare(start, first);
    return order ? order
                 : str_compare((struct str){text.ptr + first.len, text.len - first.len},
                               rest);
}

uint32_t definition_param(const struct definition *definition, struct str scope,
                          struct str name)
{
    uint32_t low = 0, high = definition->n_params;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_parts(definition->params[middle].key, scope, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT32_MAX;
}

uint32_t definition_task(const struct definition *definition, struct str scope,
                         struct str name)
{
    char id[LIMIT_ID_BYTES];
    if (!scope.len)
        return map_get(&definition->by_id, name);
    if (scope.len + name.len > sizeof id)
        return MAP_NONE;
    memcpy(id, scope.ptr, scope.len);
    memcpy(id + scope.len, name.ptr, name.len);
    return map_get(&definition->by_id, (struct str){id, scope.len + name.len});
}

uint32_t definition_pool(const struct definition *d, struct str name)
{
    for (uint32_t i = 0; i < d->n_pools; i++)
        if (str_equal(d->pools[i].name, name))
            return i;
    return UINT32_MAX;
}

bool pool_use_add(struct pool_use *uses, uint32_t *n, struct pool_use use)
{
    uint32_t at = *n;
    while (at > 0 && uses[at - 1].pool > use.pool)
        at--;
    if (at > 0 && uses[at - 1].pool == use.pool)
        return false;
    memmove(uses + at + 1, uses + at, (*n - at) * sizeof *uses);
    uses[at] = use;
    ++*n;
    return true;
}

bool task_id_is_good(struct str id)
{
    bool good = id.len > 0 && id.len <= LIMIT_ID_BYTES;
    for (size_t at = 0; good && at <= id.len;) {
        const char *slash = memchr(id.ptr + at, '/', id.len - at);
        size_t end = slash ? (size_t)(slash - id.ptr) : id.len;
        size_t from = at;
        while (from < end && (id.ptr[from] == '.' || id.ptr[from] == '-'))
            from++;
        good = end > at &&
               (from == end || str_is_id((struct str){id.ptr + from, end - from}));
        at = end + 1;
    }
    return good;
}

bool task_def_wants_group(const struct definition *d, const struct task_def *def)
{
    bool wants = false;
    for (uint32_t i = 0; i < def->n_needs && def->when == WHEN_SUCCESS && !wants; i++) {
        const struct need *need = &def->needs[i];
        bool group = need->open || (!need->bindings && d->defs[need->target].n_foreach);
        wants = group && !need->soft;
    }
    return wants;
}

bool task_def_uses_services(const struct definition *d, const struct task_def *def)
{
    bool uses = false;
    for (uint32_t i = 0; i < def->n_needs && !uses; i++)
        uses = task_def_is_service(&d->defs[def->needs[i].target]);
    return uses;
}

static void put_capitals(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool upper = c >= 'a' && c <= 'z';
        bool other = c == '-' || c == '.' || c == '/';
        buf_byte(out, (uint8_t)(upper ? c - 'a' + 'A' : other ? '_' : c));
    }
}

void service_port_name(const struct task_def *user, const struct task_def *service,
                       uint32_t i, struct buf *out)
{
    struct str id = service->id, scope = name_scope(user->id);
    if (str_begins(id, scope))
        id = (struct str){id.ptr + scope.len, id.len - scope.len};
    buf_text(out, "CAIRN_PORT_");
    put_capitals(id, out);
    if (service->port)
        return;
    buf_byte(out, '_');
    put_capitals(service->ports[i], out);
}

uint32_t service_port(const struct task_def *service, struct str name)
{
    uint32_t i = 0;
    if (service->port)
        return name.len > 0;
    while (i < service->n_ports && !str_equal(service->ports[i], name))
        i++;
    return i;
}

bool service_ports_are_good(const struct str *names, uint32_t n)
{
    if (n > LIMIT_PORTS) /* of a damaged definition: any number */
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!str_is_key(names[i]) || names[i].len > LIMIT_NAME_BYTES)
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (str_equal(names[i], names[k]))
                return false;
    }
    return true;
}

/* Adds the names of its ports to the lines; false: one was there. */
static bool add_port_names(const struct task_def *user, const struct task_def *service,
                           struct buf *names)
{
    struct buf name = BUF_INIT;
    bool added = true;
    for (uint32_t i = 0; i < task_def_ports(service) && added; i++) {
        buf_clear(&name);
        buf_byte(&name, '\n');
        service_port_name(user, service, i, &name);
        buf_byte(&name, '\n');
        names->failed |= name.failed;
        added = !names->failed && !(names->size && memmem(names->data, names->size,
                                                          name.data, name.size));
        if (added)
            buf_str(names, buf_view(&name));
    }
    buf_release(&name);
    return added;
}

int task_def_port_clash(const struct definition *d, const struct task_def *def,
                        uint32_t *need)
{
    struct buf names = BUF_INIT;
    uint32_t i = 0;
    (void)add_port_names(def, def, &names);
    for (; i < def->n_needs; i++) {
        const struct task_def *service = &d->defs[def->needs[i].target];
        bool one =
            !service->n_foreach || (def->needs[i].n_bindings && !def->needs[i].open);
        if (task_def_ports(service) && (!one || !add_port_names(def, service, &names)))
            break;
    }
    bool failed = names.failed;
    buf_release(&names);
    *need = i;
    return failed ? CAIRN_ENOMEM : 0;
}

uint32_t definition_services(const struct definition *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_defs; i++)
        n += task_def_is_service(&d->defs[i]) ? d->defs[i].members : 0;
    return n;
}

bool definition_wants_groups(const struct definition *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->n_defs && !any; i++)
        any = task_def_wants_group(d, &d->defs[i]);
    return any;
}

bool definition_has_calls(const struct definition *d)
{
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].kind == TASK_CALL)
            return true;
    return false;
}

const char *definition_resume_words(char out[RESUME_WORDS], const struct definition *d,
                                    uint64_t run, const char *option)
{
    if (definition_has_calls(d))
        return "the program that has its functions";
    snprintf(out, RESUME_WORDS, "`cairn resume %llu%s`", (unsigned long long)run,
             option);
    return out;
}

bool names_have(const struct str *sorted, uint32_t n, struct str name)
{
    uint32_t low = 0;
    while (low < n) {
        uint32_t middle = low + (n - low) / 2;
        int order = str_compare(sorted[middle], name);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

bool task_def_takes_param(const struct task_def *def, struct str name)
{
    return str_equal(name_scope(name), name_scope(def->id)) &&
           (!def->own_params || names_have(def->params, def->n_params, name));
}

bool task_def_lacks_function(const struct task_def *def, struct str *name)
{
    static const struct side_calls none;
    const struct side_calls *side = def->side ? def->side : &none;
    const struct {
        struct str name;
        bool lacks;
    } calls[] = {{def->callback, !def->call},
                 {def->check, def->check.len && !side->check.call},
                 {def->undo, def->undo.len && !side->undo.call}};
    for (size_t i = 0; def->kind == TASK_CALL && i < sizeof calls / sizeof *calls; i++)
        if (calls[i].lacks) {
            *name = calls[i].name;
            return true;
        }
    return false;
}

uint32_t task_def_key(const struct task_def *def, struct str name)
{
    for (uint32_t k = 0; k < def->n_foreach; k++)
        if (str_equal(def->foreach[k].name, name))
            return k;
    return UINT32_MAX;
}

bool definition_gives_secret(const struct definition *definition, struct str name)
{
    for (uint32_t i = 0; i < definition->n_defs; i++)
        if (names_have(definition->defs[i].secrets, definition->defs[i].n_secrets,
                       name))
            return true;
    return false;
}

void put_param_option(struct buf *out, struct str name, struct str value)
{
    struct buf text = BUF_INIT;
    buf_str(&text, name);
    buf_byte(&text, '=');
    buf_str(&text, value);
    buf_text(out, " --param ");
    buf_shell_word(out, buf_view(&text));
    out->failed |= text.failed;
    buf_release(&text);
}

void definition_put_fresh(const struct definition *d, struct buf *out)
{
    buf_text(out, "cairn run ");
    if (d->file.len)
        buf_shell_word(out, d->file);
    else
        buf_text(out, "FILE");
    for (uint32_t i = 0; i < d->n_params; i++) {
        if (!name_scope(d->params[i].key).len)
            put_param_option(out, d->params[i].key, d->params[i].value);
    }
    buf_text(out, " --fresh");
}

int definition_params(const struct definition *definition, struct buf *text,
                      struct digest *digest, struct cairn_error *error)
{
    buf_clear(text);
    for (uint32_t i = 0; i < definition->n_params; i++)
        if (!name_scope(definition->params[i].key).len) {
            buf_lstr(text, definition->params[i].key);
            buf_lstr(text, definition->params[i].value);
        }
    int rc = buf_check(text, error);
    return rc ? rc : sha256_of(text->data, text->size, digest, error);
}

/* The names of outcomes and states of runs, as every text, JSON and condition has them.
 */

const char *cairn_outcome_name(enum cairn_outcome outcome)
{
    static const char *const names[] = {"pending", "completed", "failed",
                                        "skipped", "cancelled", "undone",
                                        "unknown", "excluded"};
    return (unsigned)outcome < sizeof names / sizeof names[0] ? names[outcome]
                                                              : "unknown";
}

const char *cairn_run_state_name(enum cairn_run_state state)
{
    static const char *const names[] = {"unfinished", "completed", "failed",
                                        "cancelled", "undone"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}
