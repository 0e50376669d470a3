/* SPDX-License-Identifier: MIT */
/* Reading back what definition_codec.c describes and writes. Nothing is trusted: every
 * count is checked against the bytes that are left before anything of that size is
 * allocated, every number against its meaning.
 *
 * Anything wrong sets reader.failed, after which everything reads as nothing, so that
 * one check at the end of each loop step is enough. */
#include "graph/build.h"

#include "base/identifier.h"
#include "base/limits.h"

struct decoder {
    struct reader reader;
    struct definition *out;
    uint64_t version;
    struct str shell_bytes; /* of the last shell, which is mostly that of the next */
    struct str *shell;
    uint32_t n_shell;
};

static bool bad(const struct decoder *d)
{
    return d->reader.failed || d->out->arena.failed;
}

static void require(struct decoder *d, bool condition)
{
    if (!condition)
        d->reader.failed = true;
}

static uint64_t get_number(struct decoder *d, uint64_t most)
{
    uint64_t value = read_varint(&d->reader);
    require(d, value <= most);
    return d->reader.failed ? 0 : value;
}

/* Text becomes ids, arguments, environments and paths: no NUL. */
static struct str get_text(struct decoder *d)
{
    struct str text = read_lstr(&d->reader);
    require(d, !text.len || !memchr(text.ptr, 0, text.len));
    return arena_str(&d->out->arena, text);
}

/* A count of items that take at least `least` bytes each, and room for them. */
static void *get_list(struct decoder *d, size_t least, size_t size, uint32_t *n)
{
    uint64_t count = get_number(d, reader_left(&d->reader) / least);
    require(d, count < UINT32_MAX);
    if (d->reader.failed)
        count = 0;
    void *list = arena_take(&d->out->arena, count, size);
    *n = list ? (uint32_t)count : 0;
    return list;
}

static struct str *get_texts(struct decoder *d, uint32_t *n)
{
    struct str *texts = get_list(d, 1, sizeof *texts, n);
    for (uint32_t i = 0; i < *n && !bad(d); i++)
        texts[i] = get_text(d);
    return texts;
}

static bool among(const struct str *sorted, uint32_t n, struct str name)
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

/* Sorted, none twice. */
static struct str *get_names(struct decoder *d, uint32_t *n)
{
    struct str *names = get_texts(d, n);
    for (uint32_t i = 0; i < *n && !bad(d); i++) {
        require(d, names[i].len > 0);
        if (i && !bad(d))
            require(d, str_compare(names[i - 1], names[i]) < 0);
    }
    return names;
}

static struct key_value *get_pairs(struct decoder *d, bool unique, uint32_t *n)
{
    struct key_value *pairs = get_list(d, 2, sizeof *pairs, n);
    for (uint32_t i = 0; i < *n && !bad(d); i++) {
        pairs[i].key = get_text(d);
        pairs[i].value = get_text(d);
        require(d, pairs[i].key.len > 0);
        if (i && !bad(d))
            require(d, str_compare(pairs[i - 1].key, pairs[i].key) < (unique ? 0 : 1));
    }
    return pairs;
}

static struct str *get_shell(struct decoder *d, uint32_t *n)
{
    struct reader *r = &d->reader;
    const char *start = (const char *)r->at;
    size_t len = d->shell_bytes.len;
    if (!r->failed && len && len <= reader_left(r) &&
        memcmp(start, d->shell_bytes.ptr, len) == 0) {
        (void)read_bytes(r, len);
    } else {
        d->shell = get_texts(d, &d->n_shell);
        d->shell_bytes = (struct str){start, (size_t)((const char *)r->at - start)};
    }
    *n = d->n_shell;
    return d->shell;
}

static void get_command(struct decoder *d, struct task_def *def)
{
    def->kind = read_byte(&d->reader);
    def->run = def->version = def->external = STR("");
    switch (def->kind) {
    case TASK_RUN:
        def->run = get_text(d);
        def->shell = get_shell(d, &def->n_shell);
        require(d, def->n_shell > 0);
        break;
    case TASK_EXEC:
        def->argv = get_texts(d, &def->n_argv);
        require(d, def->n_argv > 0);
        break;
    case TASK_CALL:
        def->version = get_text(d);
        break;
    case TASK_EXTERNAL:
        def->external = get_text(d);
        require(d, d->version >= 2 && def->external.len > 0);
        break;
    default:
        require(d, false);
    }
}

/* The values of a range follow from its spec, and foreach_key_find relies on that. */
static bool values_match(const struct foreach_key *key)
{
    int64_t from, to;
    if (key->source != FOREACH_RANGE)
        return true;
    if (!foreach_range(key->spec, &from, &to))
        return false;
    uint64_t n = to < from ? 0 : (uint64_t)to - (uint64_t)from + 1;
    if (n != key->n)
        return false;
    for (uint32_t i = 0; i < key->n; i++)
        if (foreach_key_find(key, key->values[i]) != i)
            return false;
    return true;
}

static void get_foreach(struct decoder *d, struct task_def *def)
{
    uint32_t n;
    struct foreach_key *keys = get_list(d, 4, sizeof *keys, &n);
    require(d, n <= LIMIT_FOREACH_KEYS);
    if (bad(d))
        return;
    def->foreach = keys;
    for (uint32_t k = 0; k < n && !bad(d); k++) {
        struct str name = get_text(d);
        require(d, str_is_key(name) && task_def_key(def, name) == UINT32_MAX);
        keys[k].name = name;
        keys[k].source = read_byte(&d->reader);
        keys[k].spec = get_text(d);
        keys[k].values = get_texts(d, &keys[k].n);
        require(d, keys[k].source >= FOREACH_LIST && keys[k].source <= FOREACH_LINES);
        if (!bad(d))
            require(d, values_match(&keys[k]));
        def->n_foreach = k + 1;
    }
}

static void get_needs(struct decoder *d, struct task_def *def, uint32_t n_defs)
{
    uint32_t n;
    struct need *needs = get_list(d, 3, sizeof *needs, &n);
    for (uint32_t i = 0; i < n && !bad(d); i++) {
        needs[i].text = get_text(d);
        needs[i].target = (uint32_t)get_number(d, n_defs - 1);
        struct key_value *bindings =
            get_list(d, 1, sizeof *bindings, &needs[i].n_bindings);
        for (uint32_t k = 0; k < needs[i].n_bindings && !bad(d); k++)
            bindings[k].value = get_text(d);
        needs[i].bindings = needs[i].n_bindings ? bindings : NULL;
    }
    def->needs = needs;
    def->n_needs = n;
}

static void get_tuning(struct decoder *d, struct task_def *def)
{
    uint32_t n;
    def->timeout_ms = (int64_t)get_number(d, INT64_MAX);
    def->grace_ms = (int64_t)get_number(d, INT64_MAX);
    def->retry.max = (uint32_t)get_number(d, LIMIT_RETRIES);
    def->retry.delay_ms = (int64_t)get_number(d, INT64_MAX);
    def->retry.factor_permille = (uint32_t)get_number(d, UINT32_MAX);
    uint8_t jitter = read_byte(&d->reader);
    require(d, jitter <= 1);
    def->retry.jitter = jitter == 1;
    def->retry.on_exit = get_list(d, 1, sizeof *def->retry.on_exit, &n);
    for (uint32_t i = 0; i < n && !bad(d); i++)
        def->retry.on_exit[i] = (uint16_t)get_number(d, 255);
    def->retry.n_on_exit = n;
    uint64_t pool = get_number(d, d->out->n_pools);
    def->pool = pool ? (uint32_t)(pool - 1) : UINT32_MAX;
    uint64_t priority = get_number(d, UINT32_MAX);
    int64_t half = (int64_t)(priority / 2);
    def->priority = (int32_t)(priority % 2 ? -half - 1 : half);
}

/* What a task takes of secrets and params. */
static void get_taken(struct decoder *d, struct task_def *def)
{
    const struct definition *out = d->out;
    def->secrets = get_names(d, &def->n_secrets);
    def->params = get_names(d, &def->n_params);
    for (uint32_t i = 0; i < def->n_secrets && !bad(d); i++)
        require(d, among(out->secrets, out->n_secrets, def->secrets[i]));
    for (uint32_t i = 0; i < def->n_params && !bad(d); i++)
        require(d, definition_param(out, def->params[i]) != UINT32_MAX);
    require(d, def->own_params || def->n_params == 0);
}

static void get_flags(struct decoder *d, struct task_def *def)
{
    uint8_t flags = read_byte(&d->reader);
    require(d, flags <= (DEFINITION_ONCE | DEFINITION_FINALLY | DEFINITION_OWN_PARAMS));
    def->once = flags & DEFINITION_ONCE;
    def->finally = flags & DEFINITION_FINALLY;
    def->own_params = flags & DEFINITION_OWN_PARAMS;
}

static void get_flow(struct decoder *d, struct task_def *def)
{
    def->condition = def->check = def->undo = STR("");
    if (d->version < 2)
        return;
    def->inputs = get_texts(d, &def->n_inputs);
    def->condition = get_text(d);
    def->when = read_byte(&d->reader);
    require(d, def->when <= WHEN_ALWAYS);
    get_flags(d, def);
    def->check = get_text(d);
    def->check_min_permille = (uint32_t)get_number(d, 1000);
    def->check_warn_permille = (uint32_t)get_number(d, 1000);
    require(d, def->check_min_permille <= def->check_warn_permille);
    require(d, def->check.len > 0 || def->check_warn_permille == 0);
    def->undo = get_text(d);
    def->side_shell = get_texts(d, &def->n_side_shell);
    require(d, (def->n_side_shell > 0) == (def->check.len + def->undo.len > 0));
    get_taken(d, def);
}

/* As cairn_workflow_add takes them; a file's may not begin with . or -. */
static bool is_id(struct str id)
{
    struct str rest = id;
    while (rest.len && (rest.ptr[0] == '.' || rest.ptr[0] == '-'))
        rest = (struct str){rest.ptr + 1, rest.len - 1};
    return id.len > 0 && id.len <= LIMIT_ID_BYTES && (!rest.len || str_is_id(rest));
}

static int get_task(struct decoder *d, uint32_t index, uint32_t n_defs)
{
    struct task_def *def = &d->out->defs[index];
    def->id = get_text(d);
    require(d, is_id(def->id));
    get_command(d, def);
    def->env = get_pairs(d, false, &def->n_env);
    def->cwd = get_text(d);
    def->outputs = get_texts(d, &def->n_outputs);
    get_foreach(d, def);
    get_needs(d, def, n_defs);
    get_tuning(d, def);
    get_flow(d, def);
    if (index > 0) /* those of `finally` are the last ones */
        require(d, def->finally || !d->out->defs[index - 1].finally);
    if (bad(d))
        return 0;
    int rc = task_def_finish(d->out, def, NULL);
    if (rc == CAIRN_ENOMEM)
        return rc;
    require(d, rc == 0);
    int added = map_add(&d->out->by_id, def->id, index, NULL);
    require(d, added == 1);
    return added < 0 ? added : 0;
}

static int get_tasks(struct decoder *d)
{
    enum { LEAST = 16 }; /* bytes of the shortest task */
    struct definition *out = d->out;
    uint32_t n;
    int rc = 0;
    out->defs = get_list(d, LEAST, sizeof *out->defs, &n);
    require(d, n <= LIMIT_TASKS);
    if (bad(d))
        return 0;
    out->defs_capacity = n;
    if (map_reserve(&out->by_id, n))
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < n && !bad(d) && !rc; i++) {
        out->n_defs = i + 1;
        rc = get_task(d, i, n);
    }
    return rc;
}

/* Bindings have the shape of their targets, which may come after them. Nothing in
 * `finally` is needed from outside of it, nor needs what is outside. */
static void check_bindings(struct decoder *d)
{
    struct definition *out = d->out;
    for (uint32_t i = 0; i < out->n_defs; i++)
        for (uint32_t j = 0; j < out->defs[i].n_needs; j++) {
            struct need *need = &out->defs[i].needs[j];
            const struct task_def *target = &out->defs[need->target];
            bool whole = need->n_bindings == 0;
            require(d, whole || need->n_bindings == target->n_foreach);
            require(d, target->finally == out->defs[i].finally);
            if (bad(d))
                return;
            for (uint32_t k = 0; k < need->n_bindings; k++)
                need->bindings[k].key = target->foreach[k].name;
        }
}

static void get_policy(struct decoder *d)
{
    struct definition *out = d->out;
    if (d->version < 2)
        return;
    out->undo_scope = read_byte(&d->reader);
    out->on_crash = read_byte(&d->reader);
    out->deadline_ms = (int64_t)get_number(d, INT64_MAX);
    out->secrets = get_names(d, &out->n_secrets);
    require(d, out->undo_scope <= UNDO_ALL && out->on_crash <= ON_CRASH_ADOPT);
    require(d, out->on_failure == ON_FAILURE_UNDO || out->undo_scope == 0);
    require(d, out->n_secrets <= LIMIT_SECRETS);
}

static int get_definition(struct decoder *d)
{
    struct definition *out = d->out;
    out->name = get_text(d);
    out->file = get_text(d);
    out->root = get_text(d);
    out->params = get_pairs(d, true, &out->n_params);
    out->jobs = (uint32_t)get_number(d, LIMIT_JOBS);
    out->on_failure = read_byte(&d->reader);
    require(d, out->on_failure <=
                   (d->version < 2 ? ON_FAILURE_CONTINUE : ON_FAILURE_UNDO));
    out->pools = get_list(d, 2, sizeof *out->pools, &out->n_pools);
    for (uint32_t i = 0; i < out->n_pools && !bad(d); i++) {
        out->pools[i].name = get_text(d);
        out->pools[i].limit = (uint32_t)get_number(d, UINT32_MAX);
        require(d, out->pools[i].limit > 0);
    }
    get_policy(d);
    int rc = bad(d) ? 0 : get_tasks(d);
    if (!rc && !bad(d))
        check_bindings(d);
    return rc;
}

static int decode(struct decoder *d, struct cairn_error *error)
{
    struct str start = read_bytes(&d->reader, DEFINITION_MAGIC_BYTES);
    d->version = read_varint(&d->reader);
    if (d->reader.failed ||
        memcmp(start.ptr, DEFINITION_MAGIC, DEFINITION_MAGIC_BYTES) != 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition is no such thing");
    if (d->version < 1 || d->version > DEFINITION_VERSION)
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition has the unknown version %llu",
                         (unsigned long long)d->version);
    if (get_definition(d) || d->out->arena.failed)
        return error_nomem(error);
    if (!reader_done(&d->reader))
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition is damaged");
    return definition_prepare(d->out, error);
}

int definition_decode(struct str bytes, struct definition *out,
                      struct cairn_error *error)
{
    struct decoder decoder = {.reader = reader_of(bytes.ptr, bytes.len), .out = out};
    definition_init(out);
    int rc = decode(&decoder, error);
    if (rc)
        definition_release(out);
    return rc;
}
