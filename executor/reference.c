/* ${{ NAME }} in text: finding it, and putting values in. */
#include "executor/definition_int.h"

static size_t find_pair(struct str text, size_t from, const char *mark)
{
    size_t n = strlen(mark);
    while (from + n <= text.len) {
        const char *at = memchr(text.ptr + from, mark[0], text.len - from - n + 1);
        if (!at)
            break;
        from = (size_t)(at - text.ptr);
        if (memcmp(at, mark, n) == 0)
            return from;
        from++;
    }
    return SIZE_MAX;
}

static struct str trimmed(struct str text)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    while (text.len &&
           (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool reference_next(struct str text, size_t from, struct reference *out)
{
    size_t start = find_pair(text, from, "${{");
    if (start == SIZE_MAX)
        return false;
    size_t close = find_pair(text, start + 3, "}}");
    bool open = close == SIZE_MAX;
    size_t stop = open ? text.len : close;
    struct str inside = {text.ptr + start + 3, stop - start - 3};
    *out = (struct reference){start, open ? stop : close + 2, trimmed(inside), open};
    return true;
}

struct str reference_param(struct str name)
{
    static const char prefix[] = "params.";
    size_t n = sizeof prefix - 1;
    if (name.len < n || memcmp(name.ptr, prefix, n) != 0)
        return (struct str){NULL, 0};
    return (struct str){name.ptr + n, name.len - n};
}

/* False if nothing has that name: parse.c has refused it then, but text of a workflow
 * that was built in memory may hold anything, and stays as it is. */
static bool value_of(const struct definition *definition, const struct task_def *def,
                     uint32_t member, struct str name, struct str *out)
{
    struct str param = reference_param(name);
    if (param.ptr) {
        uint32_t i = definition_param(definition, param);
        if (i != UINT32_MAX)
            *out = definition->params[i].value;
        return i != UINT32_MAX;
    }
    uint32_t key = task_def_key(def, name);
    if (key == UINT32_MAX)
        return false;
    *out = def->foreach[key].values[member_value(def, member, key)];
    return true;
}

void text_expand(const struct definition *definition, const struct task_def *def,
                 uint32_t member, struct str text, struct buf *out)
{
    struct reference reference;
    size_t done = 0;
    while (reference_next(text, done, &reference) && !reference.open) {
        struct str value = {text.ptr + reference.start,
                            reference.end - reference.start};
        value_of(definition, def, member, reference.name, &value);
        buf_add(out, text.ptr + done, reference.start - done);
        buf_str(out, value);
        done = reference.end;
    }
    if (done < text.len)
        buf_add(out, text.ptr + done, text.len - done);
}
