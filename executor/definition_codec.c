/* The canonical binary form of a definition; docs/definition-format.md has the same as
 * a table. Numbers are varints (unsigned LEB128), texts are a varint length and bytes,
 * lists a varint count and their items, all in this order:
 *
 *   "CAIRNDEF"  8 bytes
 *   version     1
 *   name, file, root
 *   params      list of key, value; sorted by key, no key twice
 *   jobs
 *   on_failure  1 byte
 *   pools       list of name, limit
 *   tasks       list of
 *     id
 *     kind      1 byte: 1 run, 2 exec, 3 call
 *     command   run: text, shell (list of texts); exec: argv (list); call: version
 *     env       list of key, value; sorted by key
 *     cwd
 *     outputs   list of texts
 *     foreach   list of name, source (1 byte), spec, values (list of texts)
 *     needs     list of text, target, bindings (list of values in the order of the
 *               target's keys; empty: the whole task)
 *     timeout_ms, grace_ms
 *     retries   max, delay_ms, factor_permille, jitter (1 byte), on_exit (list)
 *     pool      index + 1; 0: none
 *     priority  zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
 */
#include "executor/definition_int.h"

static void put_texts(struct buf *out, const struct str *texts, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_lstr(out, texts[i]);
}

static void put_pairs(struct buf *out, const struct key_value *pairs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_lstr(out, pairs[i].key);
        buf_lstr(out, pairs[i].value);
    }
}

static void put_command(struct buf *out, const struct task_def *def)
{
    if (def->kind == TASK_RUN) {
        buf_lstr(out, def->run);
        put_texts(out, def->shell, def->n_shell);
    } else if (def->kind == TASK_EXEC)
        put_texts(out, def->argv, def->n_argv);
    else
        buf_lstr(out, def->version);
}

static void put_foreach(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_foreach);
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        const struct foreach_key *key = &def->foreach[k];
        buf_lstr(out, key->name);
        buf_byte(out, key->source);
        buf_lstr(out, key->spec);
        put_texts(out, key->values, key->n);
    }
}

static void put_needs(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_needs);
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct need *need = &def->needs[i];
        buf_lstr(out, need->text);
        buf_varint(out, need->target);
        buf_varint(out, need->n_bindings);
        for (uint32_t k = 0; k < need->n_bindings; k++)
            buf_lstr(out, need->bindings[k].value);
    }
}

static uint64_t zigzag(int32_t value)
{
    return value < 0 ? (uint64_t)(-(int64_t)value) * 2 - 1 : (uint64_t)value * 2;
}

static void put_tuning(struct buf *out, const struct task_def *def)
{
    buf_varint(out, (uint64_t)def->timeout_ms);
    buf_varint(out, (uint64_t)def->grace_ms);
    buf_varint(out, def->retry.max);
    buf_varint(out, (uint64_t)def->retry.delay_ms);
    buf_varint(out, def->retry.factor_permille);
    buf_byte(out, def->retry.jitter);
    buf_varint(out, def->retry.n_on_exit);
    for (uint32_t i = 0; i < def->retry.n_on_exit; i++)
        buf_varint(out, def->retry.on_exit[i]);
    buf_varint(out, def->pool == UINT32_MAX ? 0 : (uint64_t)def->pool + 1);
    buf_varint(out, zigzag(def->priority));
}

static void put_task(struct buf *out, const struct task_def *def)
{
    buf_lstr(out, def->id);
    buf_byte(out, def->kind);
    put_command(out, def);
    put_pairs(out, def->env, def->n_env);
    buf_lstr(out, def->cwd);
    put_texts(out, def->outputs, def->n_outputs);
    put_foreach(out, def);
    put_needs(out, def);
    put_tuning(out, def);
}

int definition_encode(const struct definition *definition, struct buf *out,
                      struct cairn_error *error)
{
    buf_add(out, DEFINITION_MAGIC, DEFINITION_MAGIC_BYTES);
    buf_varint(out, DEFINITION_VERSION);
    buf_lstr(out, definition->name);
    buf_lstr(out, definition->file);
    buf_lstr(out, definition->root);
    put_pairs(out, definition->params, definition->n_params);
    buf_varint(out, definition->jobs);
    buf_byte(out, definition->on_failure);
    buf_varint(out, definition->n_pools);
    for (uint32_t i = 0; i < definition->n_pools; i++) {
        buf_lstr(out, definition->pools[i].name);
        buf_varint(out, definition->pools[i].limit);
    }
    buf_varint(out, definition->n_defs);
    for (uint32_t i = 0; i < definition->n_defs; i++)
        put_task(out, &definition->defs[i]);
    return buf_check(out, error);
}
