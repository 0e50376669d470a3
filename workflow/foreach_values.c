/* SPDX-License-Identifier: MIT */
/* What the sources of foreach values share: room for the values, their greatest length,
 * and the lines of a file. */
#include "workflow/foreach_int.h"
#include "workflow/parse_common_int.h"

#include "base/identifier.h"
#include "base/limits.h"
#include "base/os.h"

#include <stdio.h>

int foreach_check_size(const struct foreach_reading *r, struct str value,
                       struct position at)
{
    char what[128];
    r->p->value_bytes += value.len;
    if (r->p->value_bytes > LIMIT_FOREACH_BYTES)
        return diagnose_as(&r->p->diagnostic, CAIRN_ELIMIT, at,
                           "more than %d bytes in all values of `foreach`",
                           LIMIT_FOREACH_BYTES);
    if (r->key->name.len + 1 + value.len <= LIMIT_ENV_STRING)
        return 0;
    snprintf(what, sizeof what, "a value of the foreach key `%.*s`",
             SHOWN(r->key->name));
    return too_long(r->p, at, what);
}

int foreach_count_values(const struct foreach_reading *r, uint64_t n)
{
    uint64_t before = r->p->n_values;
    if (n <= LIMIT_TASKS && before + n <= LIMIT_TASKS) {
        r->p->n_values += n;
        return 0;
    }
    return diagnose_as(
        &r->p->diagnostic, CAIRN_ELIMIT, r->node->at, "more than %d values%s",
        LIMIT_TASKS, n > LIMIT_TASKS ? "" : ", with those of the `foreach` before it");
}

int foreach_take_values(struct foreach_reading *r, uint64_t n)
{
    int rc = foreach_count_values(r, n);
    if (rc)
        return rc;
    r->key->values = arena_take(&r->p->out->arena, n, sizeof *r->key->values);
    return r->key->values ? 0 : out_of_memory(r->p);
}

struct str foreach_next_line(struct str content, size_t from, size_t *next)
{
    if (from == 0)
        from = content.len - str_without_mark(content).len;
    const char *at = content.ptr + from;
    const char *stop = memchr(at, '\n', content.len - from);
    size_t len = stop ? (size_t)(stop - at) : content.len - from;
    *next = from + len + (stop != NULL);
    while (len && at[len - 1] == '\r')
        len--;
    return (struct str){at, len};
}

int foreach_load_lines(const struct foreach_reading *r, struct buf *content,
                       struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    struct str file = r->key->spec;
    if (file.ptr[0] != '/') {
        buf_text(&path, r->p->options->root);
        buf_byte(&path, '/');
    }
    buf_str(&path, file);
    int rc = path.failed ? error_nomem(error)
                         : os_read_regular(path.data, LIMIT_FILE_BYTES, content, error);
    if (rc == CAIRN_ENOTFOUND)
        error_set(error, rc, "there is no file %.300s", path.data);
    else if (rc == CAIRN_EUSAGE)
        error_context(error, "`lines` are those of a regular file");
    buf_release(&path);
    return rc;
}

/* ---- Names of keys ---- */

static bool in_env(const struct parser *p, struct str name)
{
    for (uint32_t i = 0; i < p->n_env; i++)
        if (str_equal(p->env[i].key, name))
            return true;
    return false;
}

int foreach_check_name(const struct parser *p, const struct node *node)
{
    struct str name = node->text;
    if (!str_is_key(name))
        return diagnose(&p->diagnostic, node->at,
                        "the foreach key `%.*s` must be named with a-z, 0-9 and _, not "
                        "beginning with a digit",
                        SHOWN(name));
    if (definition_param(p->out, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a param already", SHOWN(name));
    if (in_env(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is set in the workflow's `env` already", SHOWN(name));
    if (is_secret(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a secret already", SHOWN(name));
    return 0;
}

/* Room for one more key; its name is in def->foreach[def->n_foreach]. */
int foreach_take_key(struct parser *p, struct task_def *def, const struct node *node)
{
    struct str name = def->foreach[def->n_foreach].name;
    if (task_def_key(def, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, node->at,
                        "the foreach key `%.*s` is here twice", SHOWN(name));
    def->n_foreach++;
    return 0;
}
