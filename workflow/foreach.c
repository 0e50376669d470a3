/* SPDX-License-Identifier: MIT */
/* foreach: which values the keys of a group have, and which members of their product
 * there are. */
#include "workflow/expect_int.h"
#include "workflow/glob.h"
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/os.h"
#include "base/words.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/sheets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Keys that stand for a list of tuples of values: rows of indices into their values. */
struct tuples {
    uint32_t first, n_keys, n_rows; /* keys first..first + n_keys - 1 of the def */
    uint32_t *rows;                 /* [n_rows][n_keys] */
};

/* A file's next line that begins at `from`, without its end. */
static struct str foreach_next_line(struct str content, size_t from, size_t *next)
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

/* ---- Names of keys ---- */

static int foreach_check_name(const struct parser *p, const struct node *node,
                              struct str name)
{
    if (!str_is_key(name))
        return diagnose(&p->diagnostic, node->at,
                        "the foreach key `%.*s` must be named with a-z, 0-9 and _, not "
                        "beginning with a digit",
                        SHOWN(name));
    if (find_param(p, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a param already", SHOWN(name));
    if (foreach_in_env(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is set in the workflow's `env` already", SHOWN(name));
    if (is_secret(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a secret already", SHOWN(name));
    return 0;
}

/* Room for one more key; its name is in def->foreach[def->n_foreach]. */
static int foreach_take_key(struct parser *p, struct task_def *def,
                            const struct node *node)
{
    struct str name = def->foreach[def->n_foreach].name;
    if (task_def_name(def, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, node->at,
                        "the foreach key `%.*s` is here twice, or a column of a sheet",
                        SHOWN(name));
    def->n_foreach++;
    return 0;
}

/* Members that a run has recorded, compared with what is on disk by now: a resumed run
 * keeps its members, and a note says which files or lines it will not see. */

enum { SHOWN_NAMES = 3 };

/* Names that are only on one side: how many, and the first few. */
struct difference {
    uint32_t n;
    struct str first[SHOWN_NAMES];
};

static void count_name(struct difference *difference, struct str name)
{
    if (difference->n < SHOWN_NAMES)
        difference->first[difference->n] = name;
    difference->n++;
}

static void add_names(struct buf *line, const struct difference *difference)
{
    uint32_t n = difference->n < SHOWN_NAMES ? difference->n : SHOWN_NAMES;
    for (uint32_t i = 0; i < n; i++)
        buf_format(line, "%s%.*s", i ? ", " : "", SHOWN(difference->first[i]));
    if (difference->n > n)
        buf_text(line, ", ...");
}

static int keep_note(const struct foreach_reading *r, struct buf *line)
{
    int rc = line->failed ? out_of_memory(r->p) : 0;
    if (!rc)
        parse_note(r->p, line);
    buf_release(line);
    return rc;
}

static int note_new(const struct foreach_reading *r, const struct difference *added)
{
    struct buf line = BUF_INIT;
    bool one = added->n == 1;
    buf_str(&line, r->def->id);
    if (r->key->source == FOREACH_GLOB)
        buf_format(&line, ": %u new file%s `%.*s` and %s", added->n,
                   one ? " matches" : "s match", SHOWN(r->key->spec),
                   one ? "is" : "are");
    else
        buf_format(&line, ": %u new line%s of `%.*s` %s", added->n, one ? "" : "s",
                   SHOWN(r->key->spec), one ? "is" : "are");
    buf_text(&line, " no part of this run: ");
    add_names(&line, added);
    buf_format(&line, "; a new run has %s: ", one ? "it" : "them");
    definition_put_fresh(r->p->out, &line);
    return keep_note(r, &line);
}

static int note_gone(const struct foreach_reading *r, const struct difference *gone)
{
    struct buf line = BUF_INIT;
    buf_str(&line, r->def->id);
    buf_format(&line, ": %u recorded member%s gone: ", gone->n,
               gone->n == 1 ? " is" : "s are");
    add_names(&line, gone);
    buf_format(&line,
               "; this run keeps %s: put back what it needs, or begin a new run: ",
               gone->n == 1 ? "it" : "them");
    definition_put_fresh(r->p->out, &line);
    return keep_note(r, &line);
}

static int note_unreadable(const struct foreach_reading *r,
                           const struct cairn_error *error)
{
    struct buf line = BUF_INIT;
    buf_str(&line, r->def->id);
    buf_format(&line,
               ": whether there are new members is not known (%s); this run keeps its "
               "members",
               error->text);
    return keep_note(r, &line);
}

/* ---- What is there now ---- */

static int lines_now(const struct foreach_reading *r, struct arena *arena,
                     struct glob_names *out, struct cairn_error *error)
{
    struct buf content = BUF_INIT, names = BUF_INIT;
    int rc = foreach_load_file(r, &content, error);
    for (size_t at = 0; !rc && at < content.size;) {
        struct str line = foreach_next_line(buf_view(&content), at, &at);
        struct str copy = line.len ? arena_str(arena, line) : line;
        if (line.len)
            buf_add(&names, &copy, sizeof copy);
    }
    out->n = (uint32_t)(names.size / sizeof *out->names);
    out->names = arena_take(arena, out->n, sizeof *out->names);
    if (!rc && (arena->failed || names.failed))
        rc = error_nomem(error);
    if (!rc && out->n)
        memcpy(out->names, names.data, names.size);
    buf_release(&content);
    buf_release(&names);
    return rc;
}

static int add_all(struct map *map, const struct str *names, uint32_t n)
{
    int rc = map_reserve(map, n);
    for (uint32_t i = 0; i < n && rc >= 0; i++)
        rc = map_add(map, names[i], i, NULL);
    return rc < 0 ? rc : 0;
}

/* Members of `names` that are not in the map. */
static void find_others(const struct map *map, const struct str *names, uint32_t n,
                        struct difference *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (map_get(map, names[i]) == MAP_NONE)
            count_name(out, names[i]);
}

static int note_differences(const struct foreach_reading *r,
                            const struct glob_names *now)
{
    struct map recorded = MAP_INIT, present = MAP_INIT;
    struct difference added = {.n = 0}, gone = {.n = 0};
    int rc = add_all(&recorded, r->key->values, r->key->n)
                 ?: add_all(&present, now->names, now->n);
    if (!rc) {
        find_others(&recorded, now->names, now->n, &added);
        find_others(&present, r->key->values, r->key->n, &gone);
    }
    map_release(&recorded);
    map_release(&present);
    if (rc)
        return out_of_memory(r->p);
    if (added.n)
        rc = note_new(r, &added);
    return !rc && gone.n ? note_gone(r, &gone) : rc;
}

/* r->key has recorded values; what is new or gone by now becomes
 * notes. Only memory fails. */
static int foreach_note_changes(const struct foreach_reading *r)
{
    struct cairn_error inner = {0};
    struct glob_names now = {NULL, 0};
    struct arena arena = ARENA_INIT;
    int rc;
    if (r->key->source == FOREACH_GLOB)
        rc = glob_expand(r->p->in->root, r->key->spec, &arena, &now, &inner);
    else
        rc = lines_now(r, &arena, &now, &inner);
    if (!rc)
        rc = note_differences(r, &now);
    else
        rc = rc == CAIRN_ENOMEM ? out_of_memory(r->p) : note_unreadable(r, &inner);
    arena_release(&arena);
    return rc;
}

/* Values that come from outside the workflow file: names of files, lines of a file.
 * What the run that is resumed has recorded is used again, so that files which the run
 * itself makes change nothing. */

/* The same key of the run that is resumed, if it has the same source and spec. */
static const struct foreach_key *recorded_key(const struct foreach_reading *r)
{
    const struct definition *recorded = r->p->options->recorded;
    uint32_t index = recorded ? map_get(&recorded->by_id, r->def->id) : MAP_NONE;
    if (index == MAP_NONE)
        return NULL;
    const struct task_def *def = &recorded->defs[index];
    uint32_t k = task_def_key(def, r->key->name);
    if (k == UINT32_MAX)
        return NULL;
    const struct foreach_key *key = &def->foreach[k];
    bool same = key->source == r->key->source && str_equal(key->spec, r->key->spec);
    return same && (key->n > 0 || r->allow_empty) ? key : NULL;
}

/* Takes the recorded values, and notes what is different on disk by now. */
static int use_recorded(struct foreach_reading *r, const struct foreach_key *from)
{
    int rc = foreach_take_values(r, from->n);
    for (uint32_t i = 0; i < from->n && !rc; i++) {
        r->key->values[i] = arena_str(&r->p->out->arena, from->values[i]);
        if (!r->key->values[i].ptr)
            rc = out_of_memory(r->p);
    }
    r->key->n = from->n;
    return rc ? rc : foreach_note_changes(r);
}

static int foreach_read_glob(struct foreach_reading *r, const struct node *node)
{
    struct cairn_error inner = {0};
    struct glob_names found;
    r->key->source = FOREACH_GLOB;
    int rc = read_expanded(r->p, node, "`glob`", r->def, &r->key->spec);
    if (rc)
        return rc;
    const struct foreach_key *recorded = recorded_key(r);
    if (recorded)
        return use_recorded(r, recorded);
    rc = glob_expand(r->p->in->root, r->key->spec, &r->p->out->arena, &found, &inner);
    if (rc)
        return diagnose_as(&r->p->diagnostic, rc, node->at, "%s", inner.text);
    r->key->values = found.names;
    r->key->n = found.n;
    rc = foreach_count_values(r, found.n);
    for (uint32_t i = 0; i < found.n && !rc; i++)
        rc = foreach_check_size(r, found.names[i], node->at);
    return rc ? rc : foreach_check_found(r, node, "no file matches");
}

static uint64_t count_lines(struct str content)
{
    uint64_t n = 0;
    for (size_t at = 0; at < content.len;)
        n += foreach_next_line(content, at, &at).len > 0;
    return n;
}

static int split_lines(struct foreach_reading *r, const struct node *node,
                       struct str content)
{
    uint32_t number = 0;
    uint64_t n = count_lines(content);
    int rc = foreach_take_values(r, n);
    r->lines = arena_take(&r->p->scratch, n, sizeof *r->lines);
    if (!rc && !r->lines)
        return out_of_memory(r->p);
    for (size_t at = 0; at < content.len && !rc;) {
        struct str line = foreach_next_line(content, at, &at);
        number++;
        if (line.len == 0)
            continue;
        if (memchr(line.ptr, 0, line.len))
            return diagnose(&r->p->diagnostic, node->at,
                            "%.*s:%u: the line has a NUL byte in it",
                            SHOWN(r->key->spec), number);
        r->lines[r->key->n] = number;
        struct str *value = &r->key->values[r->key->n++];
        *value = arena_str(&r->p->out->arena, line);
        rc = value->ptr ? foreach_check_size(r, *value, node->at) : out_of_memory(r->p);
    }
    return rc;
}

static int load_lines(const struct foreach_reading *r, const struct node *node,
                      struct buf *content)
{
    struct cairn_error inner = {0};
    int rc = foreach_load_file(r, content, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(r->p);
    if (!rc)
        return 0;
    bool of_file = rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE;
    return diagnose_as(&r->p->diagnostic, of_file ? CAIRN_EWORKFLOW : rc, node->at,
                       "%s%s", inner.text,
                       rc == CAIRN_ENOTFOUND
                           ? "; a list that a task makes is {from: TASK, value: NAME}"
                           : "");
}

static int foreach_read_lines(struct foreach_reading *r, const struct node *node)
{
    struct buf content = BUF_INIT;
    r->key->source = FOREACH_LINES;
    int rc = read_expanded(r->p, node, "`lines`", r->def, &r->key->spec);
    if (!rc && r->key->spec.len == 0)
        rc = diagnose(&r->p->diagnostic, node->at, "`lines` is empty");
    if (rc)
        return rc;
    const struct foreach_key *recorded = recorded_key(r);
    if (recorded)
        return use_recorded(r, recorded);
    rc = load_lines(r, node, &content)
         ?: split_lines(r, node, buf_view(&content))
         ?: foreach_check_found(r, node, "the file has no line that is not empty");
    buf_release(&content);
    return rc;
}

/* foreach: which members of the product there are. Lists of tuples have only their own
 * combinations, `exclude` takes members away, `include` adds some. */

enum { ANY = UINT32_MAX };

/* One mapping under `exclude` or `include`: an index for each key, or ANY. */
struct choice {
    uint32_t at[LIMIT_FOREACH_KEYS];
};

/* Values of one key that only `include` has. */
struct added {
    struct map known;        /* to their indexes */
    struct position *places; /* [room] of the values, from `first` on */
    uint32_t first, room;
};

struct picking {
    struct parser *p;
    struct task_def *def;
    const struct node *node; /* of `foreach` */
    const struct node *where_node;
    const struct expression *where;
    const struct tuples *tuples;
    uint32_t n_tuples;
    struct choice *excluded;
    bool *used; /* [n_excluded] it takes something away */
    uint32_t n_excluded;
    struct added added[LIMIT_FOREACH_KEYS];
    struct buf places; /* of uint64_t */
    bool nothing;      /* there are no values */
};

/* ---- Tuples ----
 *
 * A list of mappings, {cfg: [{cc: gcc, v: 12}, {cc: clang, v: 15}]}. What the mappings
 * name are the keys; the list's own name is only for people. */

static bool foreach_is_tuples(const struct node *value)
{
    return value->kind == NODE_LIST && value->first && value->first->kind == NODE_MAP;
}

/* The keys are those of the first tuple. */
static int take_keys(struct parser *p, struct task_def *def, const struct node *tuple,
                     uint32_t n_rows)
{
    int rc = 0;
    for (const struct node *node = tuple->first; node && !rc; node = node->next->next) {
        if (def->n_foreach == LIMIT_FOREACH_KEYS)
            return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                               "`foreach` has more than %d keys", LIMIT_FOREACH_KEYS);
        struct foreach_key *key = &def->foreach[def->n_foreach];
        *key = (struct foreach_key){.source = FOREACH_LIST, .spec = STR("")};
        rc = expect_key(p, node, "the name of a foreach key", &key->name)
                 ?: foreach_check_name(p, node, node->text);
        key->values = arena_take(&p->out->arena, n_rows, sizeof *key->values);
        if (!rc && !key->values)
            rc = out_of_memory(p);
        if (!rc)
            rc = foreach_take_key(p, def, node);
    }
    return rc;
}

static int check_tuple(const struct parser *p, const struct task_def *def,
                       const struct tuples *t, const struct node *tuple)
{
    int rc = expect_map(p, tuple, "a tuple of values, like the first one,");
    if (!rc && tuple->n != t->n_keys)
        rc = diagnose(&p->diagnostic, tuple->at,
                      "this tuple has %u values, the first one has %u", tuple->n,
                      t->n_keys);
    for (const struct node *node = tuple->first; node && !rc; node = node->next->next) {
        uint32_t k = task_def_key(def, node->text);
        if (k == UINT32_MAX || k < t->first)
            rc = diagnose(
                &p->diagnostic, node->at,
                "`%.*s` is not a key of the first tuple; all have the same keys",
                SHOWN(node->text));
    }
    return rc;
}

/* The index of the value, which is added if it is new. */
static int take_tuple_value(struct parser *p, const struct task_def *def,
                            struct foreach_key *key, struct map *known,
                            const struct node *node, uint32_t *index)
{
    struct foreach_reading r = {.p = p, .def = def, .key = key, .node = node};
    struct str value = {NULL, 0};
    int rc = read_expanded(p, node, "a value of `foreach`", def, &value)
                 ?: foreach_check_size(&r, value, node->at);
    if (rc)
        return rc;
    int added = map_add(known, value, key->n, index);
    if (added < 0)
        return out_of_memory(p);
    if (added == 0)
        return 0;
    *index = key->n;
    key->values[key->n++] = value;
    return 0;
}

static int read_column(struct parser *p, struct task_def *def, const struct node *list,
                       const struct tuples *t, uint32_t column)
{
    struct foreach_key *key = &def->foreach[t->first + column];
    struct map known = MAP_INIT;
    uint32_t row = 0;
    int rc = map_reserve(&known, t->n_rows) ? out_of_memory(p) : 0;
    for (const struct node *tuple = list->first; tuple && !rc; tuple = tuple->next) {
        const struct node *node = tuple->first;
        while (!str_equal(node->text, key->name))
            node = node->next->next;
        rc = take_tuple_value(p, def, key, &known, node->next,
                              &t->rows[(size_t)row++ * t->n_keys + column]);
    }
    map_release(&known);
    return rc;
}

/* Adds the keys that the tuples of the list have to the def. */
static int foreach_read_tuples(struct parser *p, struct task_def *def,
                               const struct node *list, struct tuples *out)
{
    int rc = 0;
    *out = (struct tuples){
        .first = def->n_foreach, .n_keys = list->first->n, .n_rows = list->n};
    if (out->n_rows > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, list->at,
                           "more than %d values", LIMIT_TASKS);
    if (out->n_keys == 0)
        return diagnose(&p->diagnostic, list->first->at,
                        "the tuple is empty; give it values, as in {cc: gcc, v: 12}");
    out->rows =
        arena_take(&p->scratch, (size_t)out->n_rows * out->n_keys, sizeof *out->rows);
    if (!out->rows)
        return out_of_memory(p);
    rc = take_keys(p, def, list->first, out->n_rows);
    for (const struct node *tuple = list->first; tuple && !rc; tuple = tuple->next)
        rc = check_tuple(p, def, out, tuple);
    for (uint32_t c = 0; c < out->n_keys && !rc; c++)
        rc = read_column(p, def, list, out, c);
    for (uint32_t c = 0; c < out->n_keys && !rc; c++) {
        struct foreach_key *key = &def->foreach[out->first + c];
        struct clash clash = {0};
        rc = foreach_key_finish(&p->out->arena, key, &clash);
        if (rc == CAIRN_EWORKFLOW)
            rc = diagnose(&p->diagnostic, list->at,
                          "the values `%.*s` and `%.*s` would have the same task id",
                          SHOWN(key->values[clash.first]),
                          SHOWN(key->values[clash.second]));
        else if (rc)
            rc = out_of_memory(p);
    }
    return rc;
}

/* ---- What is excluded and included ---- */

/* Room for one more: what the arena had before stays in it, so it is doubled. */
static int make_room(struct picking *k, struct foreach_key *key, struct added *added)
{
    uint32_t used = key->n - added->first, room = added->room ? 2 * added->room : 16;
    if (used < added->room)
        return 0;
    struct str *values =
        arena_take(&k->p->out->arena, (size_t)added->first + room, sizeof *values);
    struct position *places = arena_take(&k->p->scratch, room, sizeof *places);
    if (!values || !places)
        return out_of_memory(k->p);
    memcpy(values, key->values, key->n * sizeof *values);
    if (used)
        memcpy(places, added->places, used * sizeof *places);
    key->values = values;
    added->places = places;
    added->room = room;
    return 0;
}

/* A value that no other member has: only a list can get one more. Until finish_added
 * it is known here alone. */
static int add_value(struct picking *k, uint32_t of, const struct node *node,
                     struct str value, uint32_t *index)
{
    struct foreach_key *key = &k->def->foreach[of];
    struct added *added = &k->added[of];
    if (key->source != FOREACH_LIST)
        return diagnose(&k->p->diagnostic, node->at,
                        "`%.*s` is not among the values of `%.*s`, which come from a "
                        "range or from files",
                        SHOWN(value), SHOWN(key->name));
    int is_new = map_add(&added->known, value, key->n, index);
    if (is_new <= 0)
        return is_new < 0 ? out_of_memory(k->p) : 0;
    int rc = make_room(k, key, added);
    if (rc)
        return rc;
    added->places[key->n - added->first] = node->at;
    *index = key->n;
    key->values[key->n++] = value;
    return 0;
}

static int finish_added(const struct picking *k, uint32_t of)
{
    struct foreach_key *key = &k->def->foreach[of];
    const struct added *added = &k->added[of];
    struct clash clash = {0};
    if (key->n == added->first)
        return 0;
    key->shown = NULL;
    map_release(&key->by_value);
    key->by_value = (struct map)MAP_INIT;
    int rc = foreach_key_finish(&k->p->out->arena, key, &clash);
    if (rc != CAIRN_EWORKFLOW)
        return rc ? out_of_memory(k->p) : 0;
    struct position at = clash.second < added->first
                             ? k->node->at
                             : added->places[clash.second - added->first];
    return diagnose(&k->p->diagnostic, at,
                    "the value `%.*s` cannot be distinguished from another one in task "
                    "ids",
                    SHOWN(key->values[clash.second]));
}

static int read_value(struct picking *k, const struct node *node, bool include,
                      uint32_t of, uint32_t *index)
{
    enum { NEAR = 1000 };
    struct foreach_key *key = &k->def->foreach[of];
    struct foreach_reading r = {.p = k->p, .def = k->def, .key = key, .node = node};
    struct str value;
    int rc = read_expanded(k->p, node, "a value of `foreach`", k->def, &value)
                 ?: foreach_check_size(&r, value, node->at);
    if (rc)
        return rc;
    *index = foreach_key_find(key, value);
    if (*index != UINT32_MAX)
        return 0;
    if (include)
        warn_of_value(k->p, node);
    if (include)
        return add_value(k, of, node, value, index);
    struct hint hint = hint_nearest(value, key->values, key->n < NEAR ? key->n : NEAR);
    return diagnose(&k->p->diagnostic, node->at,
                    "`%.*s` is not among the values of `%.*s`%s", SHOWN(value),
                    SHOWN(key->name), hint.text);
}

static int read_choice(struct picking *k, const struct node *map, bool include,
                       struct choice *out)
{
    struct task_def *def = k->def;
    struct str names[LIMIT_FOREACH_KEYS];
    int rc = expect_map(k->p, map, include ? "what is included" : "what is excluded");
    for (uint32_t i = 0; i < LIMIT_FOREACH_KEYS; i++)
        out->at[i] = ANY;
    for (uint32_t i = 0; i < def->n_foreach; i++)
        names[i] = def->foreach[i].name;
    if (!rc && map->n == 0)
        rc = diagnose(&k->p->diagnostic, map->at,
                      "nothing is named; write it as in {os: mac, v: 2}");
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        uint32_t i = task_def_key(def, key->text);
        struct hint hint = hint_nearest(key->text, names, def->n_foreach);
        if (i == UINT32_MAX)
            return diagnose(&k->p->diagnostic, key->at,
                            "`%.*s` is not a foreach key of task `%.*s`%s",
                            SHOWN(key->text), SHOWN(def->id), hint.text);
        rc = read_value(k, key->next, include, i, &out->at[i]);
    }
    for (uint32_t i = 0; include && i < def->n_foreach && !rc; i++)
        if (out->at[i] == ANY)
            rc = diagnose(&k->p->diagnostic, map->at,
                          "a member that is included needs all foreach keys; `%.*s` is "
                          "missing",
                          SHOWN(def->foreach[i].name));
    return rc;
}

static int read_choices(struct picking *k, const struct node *list, bool include,
                        struct choice **out, uint32_t *n)
{
    *n = 0;
    if (!list)
        return 0;
    int rc = expect_list(k->p, list, include ? "`include`" : "`exclude`");
    if (rc)
        return rc;
    *out = arena_take(&k->p->scratch, list->n, sizeof **out);
    if (!*out)
        return out_of_memory(k->p);
    for (const struct node *item = list->first; item && !rc; item = item->next)
        rc = read_choice(k, item, include, &(*out)[(*n)++]);
    return rc;
}

/* ---- Picking ---- */

static bool is_excluded(const struct picking *k, const uint32_t *at)
{
    bool excluded = false;
    for (uint32_t i = 0; i < k->n_excluded; i++) {
        bool hit = true;
        for (uint32_t key = 0; key < k->def->n_foreach && hit; key++)
            hit = k->excluded[i].at[key] == ANY || k->excluded[i].at[key] == at[key];
        k->used[i] |= hit;
        excluded |= hit;
    }
    return excluded;
}

static void pick(struct picking *k, const uint32_t *at)
{
    uint64_t place = 0;
    for (uint32_t key = 0; key < k->def->n_foreach; key++)
        place = place * k->def->foreach[key].n + at[key];
    buf_add(&k->places, &place, sizeof place);
}

static const struct tuples *tuples_of(const struct picking *k, uint32_t key)
{
    for (uint32_t i = 0; i < k->n_tuples; i++)
        if (key >= k->tuples[i].first && key < k->tuples[i].first + k->tuples[i].n_keys)
            return &k->tuples[i];
    return NULL;
}

/* Steps through the rows of tuples and the first `n` values of each other key, the last
 * fastest; false: all were there. */
static bool step(const struct picking *k, const uint32_t *n, uint32_t *row)
{
    for (uint32_t key = k->def->n_foreach; key-- > 0;) {
        const struct tuples *t = tuples_of(k, key);
        if (t && key != t->first) /* the rows are counted at the first key */
            continue;
        if (++row[key] < (t ? t->n_rows : n[key]))
            return true;
        row[key] = 0;
    }
    return false;
}

static int pick_product(struct picking *k, const uint32_t *n)
{
    uint32_t row[LIMIT_FOREACH_KEYS] = {0}, at[LIMIT_FOREACH_KEYS] = {0};
    uint64_t all = 1;
    for (uint32_t key = 0; key < k->def->n_foreach; key++) {
        const struct tuples *t = tuples_of(k, key);
        if (!t || key == t->first)
            all *= t ? t->n_rows : n[key];
        if (all > LIMIT_TASKS)
            return diagnose_as(&k->p->diagnostic, CAIRN_ELIMIT, k->node->at,
                               "task `%.*s` has more than %d members",
                               SHOWN(k->def->id), LIMIT_TASKS);
    }
    k->nothing = all == 0;
    int rc = 0;
    for (bool more = all > 0; more && !rc; more = step(k, n, row)) {
        bool holds = true;
        for (uint32_t key = 0; key < k->def->n_foreach; key++) {
            const struct tuples *t = tuples_of(k, key);
            at[key] = t ? t->rows[(size_t)row[t->first] * t->n_keys + key - t->first]
                        : row[key];
        }
        if (k->where)
            rc = where_holds(k->p, k->def, k->where, k->where_node, at, &holds);
        if (!is_excluded(k, at) && holds)
            pick(k, at);
    }
    return rc;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* In order, none twice. */
static int keep_places(struct picking *k)
{
    uint32_t n = (uint32_t)(k->places.size / sizeof(uint64_t)), kept = 0;
    uint64_t *places = arena_take(&k->p->out->arena, n, sizeof *places);
    if (!places || k->places.failed)
        return out_of_memory(k->p);
    if (n == 0 && k->nothing) /* allow_empty */
        return 0;
    if (n == 0)
        return diagnose(&k->p->diagnostic, k->node->at,
                        "everything is excluded%s: task `%.*s` would have no members",
                        k->where ? " by `where`" : "", SHOWN(k->def->id));
    memcpy(places, k->places.data, k->places.size);
    qsort(places, n, sizeof *places, by_place);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || places[i] != places[kept - 1])
            places[kept++] = places[i];
    k->def->picked = places;
    k->def->n_picked = kept;
    return 0;
}

static int check_product(const struct picking *k)
{
    uint64_t all = 1;
    for (uint32_t key = 0; key < k->def->n_foreach; key++)
        if (__builtin_mul_overflow(all, (uint64_t)k->def->foreach[key].n, &all))
            return diagnose_as(&k->p->diagnostic, CAIRN_ELIMIT, k->node->at,
                               "too many combinations of the values of `foreach`");
    return 0;
}

/* What takes nothing away is a mistake, or left over from one. */
static void warn_of_unused(const struct picking *k)
{
    uint32_t i = 0;
    for (const struct node *item = k->p->exclude ? k->p->exclude->first : NULL; item;
         item = item->next)
        if (!k->used[i++])
            parse_warn(k->p, item->at, "this excludes no member of task `%.*s`",
                       SHOWN(k->def->id));
}

/* Which members of the product there are, by tuples, `where`, p->exclude and p->include.
 * Before
 * task_def_finish. */
static int foreach_pick(struct parser *p, struct task_def *def, const struct node *node,
                        const struct node *where, const struct tuples *tuples,
                        uint32_t n_tuples)
{
    struct picking k = {.p = p,
                        .def = def,
                        .node = node,
                        .where_node = where,
                        .tuples = tuples,
                        .n_tuples = n_tuples};
    struct choice *included = NULL;
    uint32_t n_included = 0, n[LIMIT_FOREACH_KEYS] = {0};
    for (uint32_t key = 0; key < def->n_foreach; key++)
        k.added[key].first = n[key] = def->foreach[key].n;
    int rc = where ? read_where(p, def, where, &k.where) : 0;
    if (!rc)
        rc = read_choices(&k, p->exclude, false, &k.excluded, &k.n_excluded)
                 ?: read_choices(&k, p->include, true, &included, &n_included);
    for (uint32_t key = 0; key < def->n_foreach && !rc; key++)
        rc = finish_added(&k, key);
    if (!rc)
        rc = check_product(&k);
    k.used = arena_take(&p->scratch, k.n_excluded, sizeof *k.used);
    if (!rc && !k.used)
        rc = out_of_memory(p);
    if (!rc)
        rc = pick_product(&k, n);
    for (uint32_t i = 0; i < n_included && !rc; i++)
        pick(&k, included[i].at);
    if (!rc)
        rc = keep_places(&k);
    if (!rc)
        warn_of_unused(&k);
    for (uint32_t key = 0; key < def->n_foreach; key++)
        map_release(&k.added[key].known);
    buf_release(&k.places);
    return rc;
}

/* foreach: where the values of a group come from. Nothing here is per member of a
 * product, only per value. */

/* ---- List and range ---- */

static int read_list(struct foreach_reading *r)
{
    char what[128];
    r->key->source = FOREACH_LIST;
    r->key->spec = STR("");
    if (r->node->n == 0)
        return diagnose(&r->p->diagnostic, r->node->at,
                        "the list of `%.*s` is empty, so the task would have no "
                        "members",
                        SHOWN(r->key->name));
    int rc = foreach_take_values(r, r->node->n);
    snprintf(what, sizeof what, "a value of `%.*s`", SHOWN(r->key->name));
    for (const struct node *item = r->node->first; item && !rc; item = item->next) {
        struct str *value = &r->key->values[r->key->n++];
        rc = read_expanded(r->p, item, what, r->def, value);
        if (!rc)
            warn_of_value(r->p, item);
        if (!rc)
            rc = foreach_check_size(r, *value, item->at);
    }
    return rc;
}

static uint64_t size_of_range(int64_t from, int64_t to, int64_t step)
{
    uint64_t way =
        step > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t width = step > 0 ? (uint64_t)step : -(uint64_t)step;
    return (step > 0 ? to < from : from < to) ? 0 : way / width + 1;
}

/* With another step than 1 it is a list, of numbers that are written down nowhere. */
static int fill_range(struct foreach_reading *r, int64_t from, int64_t to, int64_t step)
{
    char text[64], number[24];
    uint64_t n = size_of_range(from, to, step);
    struct arena *arena = &r->p->out->arena;
    snprintf(text, sizeof text, "%" PRId64 "..%" PRId64, from, to);
    r->key->source = step == 1 ? FOREACH_RANGE : FOREACH_LIST;
    r->key->spec = step == 1 ? arena_str(arena, str_of(text)) : STR("");
    int rc = foreach_take_values(r, n);
    if (rc)
        return rc;
    for (uint64_t i = 0; i < n; i++) {
        int64_t value = (int64_t)((uint64_t)from + i * (uint64_t)step);
        r->key->values[i] = arena_str(arena, str_decimal(value, number));
    }
    r->key->n = (uint32_t)n;
    return arena->failed ? out_of_memory(r->p) : 0;
}

static int read_range(struct foreach_reading *r, const struct node *node)
{
    struct bounds any = {-INT64_MAX, INT64_MAX};
    int64_t from, to, step = 1;
    int rc = expect_list(r->p, node, "`range`");
    if (!rc && node->n != 2 && node->n != 3)
        rc = diagnose(&r->p->diagnostic, node->at,
                      "`range` takes the first and the last number, as in "
                      "[1, 8], and may take a step: [0, 100, 10]");
    if (!rc)
        rc = expect_integer(r->p, node->first, "the first of `range`", any, &from)
                 ?: expect_integer(r->p, node->first->next, "the last of `range`", any,
                                   &to);
    if (!rc && node->n == 3)
        rc = expect_integer(r->p, node->first->next->next, "the step of `range`", any,
                            &step);
    if (!rc && step == 0)
        rc = diagnose(&r->p->diagnostic, node->first->next->next->at,
                      "the step of `range` is 0");
    if (rc)
        return rc;
    if (size_of_range(from, to, step) == 0 && !r->allow_empty)
        return diagnose(&r->p->diagnostic, node->at,
                        "the range from %" PRId64 " to %" PRId64
                        " is empty; write allow_empty: true if that may be",
                        from, to);
    return fill_range(r, from, to, step);
}

/* ---- A key ---- */

/* What a `from` has beside it, or NULL: files and the value are in `places`. */
struct list_nodes {
    const struct node *from, *places[LIST_FORMS], *max, *key, *columns, *where;
};

/* The file of a list. In that of the members of a group may be its keys, which are put
 * in when a member has ended: it is not known yet what `from` is. */
static int read_list_file(struct foreach_reading *r, const struct list_nodes *nodes,
                          struct list_spec *spec)
{
    const struct node *file = nodes->places[spec->form];
    struct cairn_error inner = {0};
    int rc = expect_filled(r->p, file, "the name of a file", &spec->value)
                 ?: read_list_name(r->p, file, r->def, &spec->value);
    if (!rc && !spec->value.len)
        rc = diagnose(&r->p->diagnostic, file->at, "the name is empty");
    if (!rc && spec->form == LIST_GLOB && glob_check(spec->value, &inner))
        rc = diagnose(&r->p->diagnostic, file->at, "%s", inner.text);
    if (!rc && spec->form == LIST_GLOB && r->p->in->cwd_root.len)
        rc = diagnose(&r->p->diagnostic, file->at,
                      "`from` with `glob` cannot be in an included file of another "
                      "directory: write the names to a file, and take its `lines`");
    return rc ? rc : put_below(r->p, file, &spec->value);
}

static int read_place(struct foreach_reading *r, const struct list_nodes *nodes,
                      struct list_spec *spec)
{
    uint32_t n = 0;
    for (int form = LIST_VALUE; form < LIST_FORMS; form++)
        if (nodes->places[form]) {
            spec->form = (enum list_form)form;
            n++;
        }
    if (n != 1)
        return diagnose(&r->p->diagnostic, nodes->from->at,
                        "`from` needs one of `value` (the name under which the task "
                        "writes the list to $CAIRN_OUTPUT), `lines`, `csv`, `tsv`, "
                        "`json`, `jsonl` (a file that it leaves) and `glob` (names of "
                        "files that it leaves)");
    if (spec->form != LIST_VALUE)
        return read_list_file(r, nodes, spec);
    int rc = expect_key(r->p, nodes->places[LIST_VALUE], "`value`", &spec->value);
    if (!rc && !str_is_env_name(spec->value))
        rc = diagnose(&r->p->diagnostic, nodes->places[LIST_VALUE]->at,
                      "`%.*s` cannot be the name of a value: A-Z, a-z, 0-9 and _, not "
                      "beginning with a digit",
                      SHOWN(spec->value));
    return rc;
}

/* What a sheet has beside its file. */
static int read_rules(struct foreach_reading *r, const struct list_nodes *nodes,
                      struct buf *columns, struct list_spec *spec)
{
    struct table_source source = {
        .form = (enum table_form)(TABLE_CSV + (spec->form - LIST_CSV))};
    int rc = foreach_read_columns(r->p, nodes->columns, &source);
    for (uint32_t i = 0; i < source.n_columns && !rc; i++)
        list_spec_add_column(columns, source.columns[i]);
    spec->columns = buf_view(columns);
    spec->column = r->key->name;
    if (!rc && nodes->key)
        rc = expect_filled(r->p, nodes->key, "`key`", &spec->column);
    for (uint32_t k = 0; &r->def->foreach[k] != r->key && !rc; k++) {
        struct list_spec other;
        if (list_spec_of(&r->def->foreach[k], &other) && list_is_sheet(&other))
            rc = diagnose(&r->p->diagnostic, nodes->from->at,
                          "only one sheet of `foreach` can come from a task");
    }
    if (!rc && nodes->where)
        rc = read_where_text(r->p, nodes->where, &spec->where);
    return rc;
}

/* {from: TASK, value: NAME} and the like: until the list is known a placeholder. */
static int read_from(struct foreach_reading *r, const struct list_nodes *nodes)
{
    struct list_spec spec = {.max = LIST_MOST, .allow_empty = r->allow_empty};
    struct bounds bounds = {1, LIMIT_TASKS};
    struct buf text = BUF_INIT, columns = BUF_INIT;
    int64_t most = LIST_MOST;
    int rc = expect_key(r->p, nodes->from, "`from`", &spec.task)
                 ?: read_place(r, nodes, &spec);
    if (!rc && !task_id_is_good(spec.task))
        rc = diagnose(&r->p->diagnostic, nodes->from->at,
                      "`from` is the id of the task that makes the list");
    if (!rc && nodes->max)
        rc = expect_integer(r->p, nodes->max, "`max`", bounds, &most);
    if (!rc && list_is_sheet(&spec))
        rc = read_rules(r, nodes, &columns, &spec);
    spec.max = (uint32_t)most;
    if (!rc)
        spec.task = arena_join(&r->p->scratch, r->p->in->scope, spec.task);
    if (!rc && spec.task.ptr)
        list_spec_write(&spec, &text);
    r->key->source = FOREACH_FROM;
    if (!rc)
        r->key->spec = arena_str(&r->p->out->arena, buf_view(&text));
    bool failed = text.failed || columns.failed || !spec.task.ptr;
    buf_release(&text);
    buf_release(&columns);
    struct cairn_error inner = {0};
    if (rc)
        return rc;
    if (failed || !r->key->spec.ptr ||
        definition_put_placeholder(r->p->out, r->key, &inner))
        return out_of_memory(r->p);
    const struct expression *where;
    if (nodes->where)
        rc = read_where(r->p, r->def, nodes->where, &where);
    return rc ? rc : foreach_count_values(r, 1);
}

enum {
    RANGE,
    GLOB,
    LINES,
    CSV, /* in the order of enum table_form */
    TSV,
    JSON,
    JSONL,
    FROM,
    SOURCES,
    KEY = SOURCES,
    COLUMNS,
    ALLOW_EMPTY,
    VALUE,
    MAX,
    WHERE,
    FORMS
};
static const struct str form_names[FORMS] = {
    NAME("range"),       NAME("glob"),  NAME("lines"), NAME("csv"),  NAME("tsv"),
    NAME("json"),        NAME("jsonl"), NAME("from"),  NAME("key"),  NAME("columns"),
    NAME("allow_empty"), NAME("value"), NAME("max"),   NAME("where")};

static bool is_sheet_word(struct str word)
{
    bool found = false;
    for (size_t i = CSV; i <= JSONL; i++)
        found |= str_equal(word, form_names[i]);
    return found;
}

/* The value of a key, or all of `foreach`, is `{csv: FILE}` or the like. */
static bool is_sheet(const struct node *map)
{
    if (map->kind != NODE_MAP)
        return false;
    for (const struct node *key = map->first; key; key = key->next->next)
        if (is_sheet_word(key->text) && key->next->kind == NODE_TEXT)
            return true;
    return false;
}

/* r->node: what is in the braces, of a key or (`whole`) of foreach; where_node: of a
 * foreach with this key only, or NULL. */
static int read_form(struct foreach_reading *r, const struct node *where_node,
                     bool whole)
{
    const struct node *found[FORMS] = {NULL};
    struct where where = {"foreach key", r->key->name};
    char what[128];
    snprintf(what, sizeof what, "`%.*s`", SHOWN(r->key->name));
    if (r->node->kind != NODE_MAP)
        return diagnose(&r->p->diagnostic, r->node->at,
                        "%s must be a list of values, {range: [a, b]}, {glob: "
                        "\"*.csv\"}, {lines: FILE}, {csv: FILE} or {from: TASK, "
                        "value: NAME}",
                        what);
    int rc =
        expect_keys(r->p, r->node, where, form_names, found, whole ? FORMS : WHERE);
    size_t source = SOURCES, sources = 0;
    for (size_t i = 0; i < SOURCES; i++)
        if (found[i]) {
            source = i;
            sources++;
        }
    if (!rc && found[FROM] && found[RANGE])
        rc = diagnose(&r->p->diagnostic, found[RANGE]->at,
                      "a list that a task makes is a value of it, or lies in a file: "
                      "{from: TASK, value: NAME} or {from: TASK, csv: FILE}");
    bool sheet = false;
    for (size_t i = CSV; i <= JSONL; i++)
        sheet |= found[i] != NULL;
    if (found[FROM])
        sources = 1;
    const struct node *lone = found[VALUE] ? found[VALUE] : found[MAX];
    if (!rc && !found[FROM] && lone)
        rc = diagnose(&r->p->diagnostic, lone->at,
                      "`%.*s` belongs to `from`: {from: TASK, value: NAME}",
                      SHOWN(lone->text));
    if (!rc && sources != 1)
        rc = diagnose(&r->p->diagnostic, r->node->at,
                      "%s needs exactly one of `range`, `glob`, `lines`, `csv`, `tsv`, "
                      "`json`, `jsonl` and `from`",
                      what);
    for (size_t i = KEY; i <= COLUMNS && !rc; i++)
        if (found[i] && !sheet)
            rc = diagnose(&r->p->diagnostic, found[i]->at,
                          "`%s` is for a sheet: `csv`, `tsv`, `json` and `jsonl`",
                          form_names[i].ptr);
    if (!rc && found[ALLOW_EMPTY])
        rc = expect_bool(r->p, found[ALLOW_EMPTY]->next, "`allow_empty`",
                         &r->allow_empty);
    if (rc)
        return rc;
    if (source == FROM) {
        struct list_nodes nodes = {.from = value_of(found[FROM]),
                                   .max = value_of(found[MAX]),
                                   .key = value_of(found[KEY]),
                                   .columns = value_of(found[COLUMNS]),
                                   .where = where_node};
        nodes.places[LIST_VALUE] = value_of(found[VALUE]);
        nodes.places[LIST_LINES] = value_of(found[LINES]);
        nodes.places[LIST_GLOB] = value_of(found[GLOB]);
        for (size_t i = CSV; i <= JSONL; i++)
            nodes.places[i - CSV + LIST_CSV] = value_of(found[i]);
        return read_from(r, &nodes);
    }
    if (source == RANGE)
        return read_range(r, found[RANGE]->next);
    if (source == GLOB)
        return foreach_read_glob(r, found[GLOB]->next);
    if (source == LINES)
        return foreach_read_lines(r, found[LINES]->next);
    struct sheet_nodes nodes = {.form = (enum table_form)(source - CSV + TABLE_CSV),
                                .file = found[source]->next,
                                .key = value_of(found[KEY]),
                                .columns = value_of(found[COLUMNS]),
                                .where = where_node};
    if (nodes.key)
        rc = expect_filled(r->p, nodes.key, "`key`", &(struct str){NULL, 0});
    return rc ? rc : foreach_read_sheet(r, &nodes);
}

static const struct node *nth_item(const struct node *list, uint32_t n)
{
    const struct node *item = list->first;
    while (n--)
        item = item->next;
    return item;
}

static int report_clash(const struct foreach_reading *r, const struct clash *clash)
{
    const struct foreach_key *key = r->key;
    struct str first = key->values[clash->first], second = key->values[clash->second];
    struct position at = r->node->at;
    if (key->source == FOREACH_LIST)
        at = nth_item(r->node, clash->second)->at;
    if (!clash->same)
        return diagnose(&r->p->diagnostic, at,
                        "the values `%.*s` and `%.*s` would have the same task id",
                        SHOWN(first), SHOWN(second));
    if (key->source == FOREACH_LIST) {
        struct position before = nth_item(r->node, clash->first)->at;
        return diagnose(&r->p->diagnostic, at,
                        "the value `%.*s` is here twice; the first one is at %u:%u",
                        SHOWN(second), before.line, before.column);
    }
    if (key->source == FOREACH_SHEET)
        return diagnose(&r->p->diagnostic, at,
                        "%.*s: lines %u and %u have the same `%.*s`: `%.*s`",
                        SHOWN(key->spec), r->lines[clash->first],
                        r->lines[clash->second], SHOWN(key->name), SHOWN(second));
    if (r->lines)
        return diagnose(&r->p->diagnostic, at,
                        "lines %u and %u of %.*s are the same: `%.*s`",
                        r->lines[clash->first], r->lines[clash->second],
                        SHOWN(key->spec), SHOWN(second));
    return diagnose(&r->p->diagnostic, at, "the value `%.*s` occurs twice",
                    SHOWN(second));
}

/* `node`: the key of foreach, or with `whole` the name that a sheet has as `key`. */
static int read_key(struct parser *p, struct task_def *def, const struct node *node,
                    const struct node *value, const struct node *where)
{
    struct foreach_key *key = &def->foreach[def->n_foreach];
    struct foreach_reading r = {.p = p, .def = def, .key = key, .node = value};
    struct clash clash = {0};
    bool whole = value != node->next;
    int rc = expect_key(p, node, "the name of a foreach key", &key->name);
    if (!rc && whole)
        key->name = sheet_column_name(&p->out->arena, key->name, 0);
    if (!rc && !key->name.ptr)
        rc = out_of_memory(p);
    if (!rc)
        rc = foreach_check_name(p, node, key->name) ?: foreach_take_key(p, def, node);
    if (rc)
        return rc;
    rc = r.node->kind == NODE_LIST ? read_list(&r) : read_form(&r, where, whole);
    if (rc)
        return rc;
    rc = foreach_key_finish(&p->out->arena, key, &clash);
    if (rc == CAIRN_EWORKFLOW)
        return report_clash(&r, &clash);
    return rc ? out_of_memory(p) : 0;
}

/* `{csv: FILE, key: COLUMN}` in place of keys. */
static int read_whole_sheet(struct parser *p, struct task_def *def,
                            const struct node *map)
{
    const struct node *key = NULL, *where = NULL;
    for (const struct node *node = map->first; node; node = node->next->next) {
        if (str_equal(node->text, form_names[KEY]))
            key = node->next;
        if (str_equal(node->text, form_names[WHERE]))
            where = node->next;
    }
    if (!key)
        return diagnose(&p->diagnostic, map->at,
                        "`foreach` over a sheet needs `key`, the column that the ids "
                        "of its tasks are made of: {csv: FILE, key: COLUMN}");
    return read_key(p, def, key, map, where);
}

/* All keys but `where`, which is left to the caller unless it is about one sheet. */
static int read_foreach_keys(struct parser *p, struct task_def *def,
                             const struct node *map, const struct node **where,
                             struct tuples tuples[], uint32_t *n_tuples)
{
    int rc = 0;
    for (const struct node *key = map->first; key; key = key->next->next)
        if (str_equal(key->text, form_names[WHERE]) && key->next->kind == NODE_TEXT)
            *where = key->next;
    bool single = map->n == 1 + (*where != NULL);
    if (*where && map->n == 1)
        return diagnose(
            &p->diagnostic, map->at,
            "`foreach` has only `where`; give it a key, as in {part: [a, b]}");
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        const struct node *value = key->next;
        bool of_sheet = single && is_sheet(value);
        if (value == *where)
            continue;
        if (foreach_is_tuples(value))
            rc = foreach_read_tuples(p, def, value, &tuples[(*n_tuples)++]);
        else
            rc = read_key(p, def, key, value, of_sheet ? *where : NULL);
        if (!rc && of_sheet)
            *where = NULL;
        if (of_sheet)
            break;
    }
    return rc;
}

int read_foreach(struct parser *p, struct task_def *def, const struct node *node)
{
    struct cairn_error inner = {0};
    struct tuples tuples[LIMIT_FOREACH_KEYS];
    uint32_t n_tuples = 0;
    const struct node *where = NULL;
    int rc = expect_map(p, node, "`foreach`");
    if (rc)
        return rc;
    if (node->n == 0)
        return diagnose(&p->diagnostic, node->at,
                        "`foreach` is empty; give it a key, as in {part: [a, b]}");
    if (node->n > LIMIT_FOREACH_KEYS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "`foreach` has more than %d keys", LIMIT_FOREACH_KEYS);
    def->foreach = arena_take(&p->out->arena, LIMIT_FOREACH_KEYS, sizeof *def->foreach);
    if (!def->foreach)
        return out_of_memory(p);
    if (is_sheet(node))
        rc = read_whole_sheet(p, def, node);
    else
        rc = read_foreach_keys(p, def, node, &where, tuples, &n_tuples);
    if (!rc && task_def_made_key(def) &&
        (n_tuples || p->exclude || p->include || where))
        return diagnose(
            &p->diagnostic, node->at,
            "members cannot be excluded, included, chosen by `where` or listed as "
            "tuples where a list comes from a task: leave them out of the list, or use "
            "`if`");
    if (!rc && (n_tuples || p->exclude || p->include || where))
        rc = foreach_pick(p, def, node, where, tuples, n_tuples);
    if (rc)
        return rc;
    rc = task_def_finish(p->out, def, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    if (rc)
        return diagnose_as(&p->diagnostic, rc, node->at, "%s", inner.text);
    p->n_members += def->members;
    if (p->n_members > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "more than %d tasks, with those of the `foreach` before it",
                           LIMIT_TASKS);
    if (def->members == 0)
        parse_warn(p, node->at, "task `%.*s` has no members", SHOWN(def->id));
    return 0;
}
