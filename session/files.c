/* SPDX-License-Identifier: MIT */
/* The files of a session: taken, put into place, and compared with what other sessions
 * have changed. */
#include "session/files.h"

#include "session/files_pending.h"
#include "session/session_int.h"

#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who changed what since a checkpoint of a session: where several sessions have files
 * in one directory, a restore leaves what others have changed.
 *
 * Every checkpoint of any of these sessions shows the same files, at its time. A change
 * belongs to the session between whose successive checkpoints it came about; where that
 * holds for several, to the one whose checkpoint showed it first. What a checkpoint
 * before an agent's tool, a prompt or a restore shows first is nobody's, as nothing
 * says that the agent did it, unless it came within a tool of another one; so is what
 * no checkpoint has shown yet. Where the session that restores is an agent's, that is
 * of others; otherwise it is its own. What a session's own restores have put into place
 * is its own; what they have left is what it was.
 *
 * Of a path that only the session has changed since everything goes back; what only
 * others have changed stays; what both have changed goes back, and what was there is
 * kept beside it. Where no other session has made a checkpoint in that directory since,
 * all is the session's own. */

/* ==== What others have changed ==== */

/* The checkpoints since, in their order, each compared with the one that the same
 * session had made before it: what differs is claimed by that session, path by path. */

/* A checkpoint with files of the directory, or of one above or below it. */
struct look {
    uint64_t seq, session;
    int64_t time_ns;
    bool claims;  /* what it shows first, the session has done, */
    bool nobodys; /* or nobody known */
    bool moved;   /* `root` is what a restore was to put there; what there was before
                     is the look in front of it */
    struct digest root; /* the tree */
    struct str name;    /* of the root, as the setting `files` has it */
    size_t order;       /* of several restores after one checkpoint; else 0 */
};

/* A state of a path that a session has made. */
struct claim {
    const struct look *at;
    uint64_t session, state; /* session 0: nobody known */
    bool moved;              /* by a restore, or several one after the other: */
    uint64_t was;            /* the state before them */
};

struct claims {
    struct claim *at;
    size_t n, room;
};

struct others {
    struct files_taken *files;
    struct live live;
    struct arena arena;
    struct look *looks;
    size_t n, room;
    struct claims *claims; /* of each change */
    const char **names;    /* of sessions, as they were asked for */
    uint64_t *named;
    size_t n_names, room_names, room_named;
    struct buf path;
    struct str prefix, inner;       /* of the paths of the present look: see own_path */
    const struct look *look, *from; /* that, and what it is compared with */
    uint64_t by;                    /* who makes what differs; 0: nobody known */
    bool of_left; /* what a restore has left is compared; else all other paths */
    bool active;  /* another session has been */
    bool agent;   /* the session is an agent's */
    struct cairn_error *error;
};

static int claim(struct others *o, const struct look *look);

static bool is_before(uint32_t trigger)
{
    return trigger == TRIGGER_BEFORE_TOOL || trigger == TRIGGER_PROMPT ||
           trigger == TRIGGER_BEFORE_RESTORE || trigger == TRIGGER_BRANCH_SWITCH;
}

static bool is_of_agent(uint32_t trigger)
{
    return trigger == TRIGGER_BEFORE_TOOL || trigger == TRIGGER_AFTER_TOOL ||
           trigger == TRIGGER_PROMPT || trigger == TRIGGER_TURN_ENDED;
}

/* ---- The checkpoints ---- */

static int add_look(struct others *o, const struct look *look)
{
    struct look *looks = array_room(o->looks, o->n, &o->room, sizeof *looks);
    if (!looks)
        return error_nomem(o->error);
    o->looks = looks;
    looks[o->n++] = *look;
    return 0;
}

static bool is_above(struct str above, struct str path)
{
    if (str_equal(above, STR(".")))
        return path.len && path.ptr[0] != '/' && !str_equal(path, above);
    return path.len > above.len && path.ptr[above.len] == '/' &&
           memcmp(path.ptr, above.ptr, above.len) == 0;
}

/* What is damaged or gone shows nothing: 1 where it is one. */
static int read_look(struct others *o, uint64_t seq, struct look *look,
                     uint32_t *trigger)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at = {.session = 0};
    struct snapshot_head head;
    struct cairn_error why = {0};
    int rc =
        sections_read(o->live.store, o->live.sha, seq, &arena, &sections, &at, &why);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    if (files)
        rc = snapshot_read(o->live.store, &files->digest, &o->arena, &head, &why);
    if (files && !rc) {
        *look = (struct look){.seq = seq,
                              .session = at.session,
                              .time_ns = at.time_ns,
                              .root = head.root,
                              .name = head.root_name};
        *trigger = sections.trigger;
    }
    arena_release(&arena);
    if (rc == CAIRN_ENOMEM || rc == CAIRN_EIO)
        return error_set(o->error, rc, "%s", why.text);
    return !rc && files;
}

struct seqs {
    uint64_t *at;
    size_t n, room;
};

static int see_row(void *context, const struct checkpoint_row *row)
{
    struct seqs *seqs = context;
    uint64_t *at = array_room(seqs->at, seqs->n, &seqs->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    seqs->at = at;
    at[seqs->n++] = row->seq;
    return 0;
}

static int take_look(struct others *o, uint64_t seq)
{
    struct look look;
    uint32_t trigger;
    struct str own = buf_view(&o->files->root_name);
    int rc = read_look(o, seq, &look, &trigger);
    if (rc <= 0)
        return rc;
    if (!str_equal(look.name, own) && !is_above(look.name, own) &&
        !is_above(own, look.name))
        return 0;
    bool ours = look.session == o->files->session;
    look.claims = seq > o->files->since;
    look.nobodys = is_before(trigger);
    o->active = o->active || (!ours && seq > o->files->since);
    o->agent = o->agent || (ours && is_of_agent(trigger));
    return add_look(o, &look);
}

static int take_looks(struct others *o)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .first = o->files->since};
    struct seqs seqs = {.at = NULL};
    int rc = store_each_checkpoint(o->live.store, &range, see_row, &seqs, o->error);
    for (size_t i = 0; i < seqs.n && !rc; i++)
        rc = take_look(o, seqs.at[i]);
    free(seqs.at);
    return rc;
}

/* ---- Restores of the session, and its ways from branch to branch ---- */

static int see_move(void *context, const struct session_log_row *row)
{
    struct others *o = context;
    bool restored = row->verb == VERB_RESTORED;
    bool other = row->verb == VERB_BACK || row->verb == VERB_FORWARD ||
                 row->verb == VERB_SWITCHED || row->verb == VERB_BRANCHED;
    if ((!restored && !other) || row->turn < o->files->since_turn)
        return 0;
    struct reader in = reader_of(row->after.ptr, row->after.len);
    (void)read_varint(&in);
    uint64_t seq = read_varint(&in), taken = restored ? row->number : read_varint(&in);
    struct look before = {.seq = seq, .time_ns = row->time_ns, .nobodys = true};
    struct look move = {.seq = taken, .moved = true};
    if (in.failed || !taken || taken == seq)
        return 0;
    return add_look(o, &before) ?: add_look(o, &move);
}

/* The last checkpoint before the move, by the time; from `seq` on. */
static uint64_t seq_of_move(const struct others *o, size_t n, const struct look *move,
                            uint64_t seq)
{
    for (size_t i = 0; i < n; i++) {
        const struct look *look = &o->looks[i];
        if (look->seq > seq && look->time_ns <= move->time_ns)
            seq = look->seq;
    }
    return seq;
}

static int by_seq(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Reads what there was before the move, and what it was to put there: 1 where both are
 * known. */
static int read_move(struct others *o, struct look *before, struct look *after)
{
    struct look read[2];
    uint32_t trigger;
    int rc = read_look(o, before->seq, &read[0], &trigger);
    if (rc > 0)
        rc = read_look(o, after->seq, &read[1], &trigger);
    if (rc <= 0)
        return rc;
    before->root = read[0].root;
    before->name = read[0].name;
    after->root = read[1].root;
    after->name = read[1].name;
    return str_equal(before->name, buf_view(&o->files->root_name)) &&
           str_equal(after->name, before->name);
}

/* Both come behind the checkpoint before the move. What is taken back, or done again,
 * comes first: only what was changed after it counts. */
static int take_moves(struct others *o)
{
    size_t first = o->n, kept;
    uint64_t at = 0;
    bool all = o->files->since_turn == 0;
    int rc = store_each_session_log(o->live.store, o->files->session, 0, false,
                                    see_move, o, o->error);
    kept = first;
    for (size_t i = first; i + 1 < o->n && !rc; i += 2) {
        struct look before = o->looks[i], after = o->looks[i + 1];
        uint64_t from = before.seq;
        at = seq_of_move(o, first, &before, from > at ? from : at);
        for (size_t k = 0; k < first && !all && i == first; k++)
            o->looks[k].claims = o->looks[k].claims && o->looks[k].seq > at;
        if (at < o->files->since)
            continue;
        rc = read_move(o, &before, &after);
        if (rc > 0) {
            before.seq = after.seq = at;
            before.session = after.session = o->files->session;
            before.claims = all || i > first;
            after.claims = true;
            before.order = kept;
            after.order = kept + 1;
            o->looks[kept++] = before;
            o->looks[kept++] = after;
        }
        rc = rc > 0 ? 0 : rc;
    }
    o->n = kept;
    if (o->n)
        qsort(o->looks, o->n, sizeof *o->looks, by_seq);
    return rc;
}

/* ---- Claims ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

/* Of what an entry is, without its time; 0: it is not there. */
static uint64_t state_of(const struct tree_entry *entry)
{
    uint64_t hash = 1, word;
    if (!entry || !entry->kind)
        return 0;
    hash = mix(mix(mix(hash, entry->kind), entry->mode), entry->why);
    if (tree_is_file(entry)) {
        memcpy(&word, entry->digest.bytes, sizeof word);
        hash = mix(hash, word);
    }
    for (size_t i = 0; entry->kind == TREE_LINK && i < entry->target.len; i++)
        hash = mix(hash, (unsigned char)entry->target.ptr[i]);
    return hash | 1;
}

/* It was another session's already, since the state that this was compared with. */
static bool was_shown(const struct others *o, const struct claims *claims,
                      uint64_t state)
{
    for (size_t i = 0; i < claims->n; i++)
        if (claims->at[i].session && claims->at[i].session != o->by &&
            claims->at[i].state == state && claims->at[i].at > o->from)
            return true;
    return false;
}

/* Where the present look is one of a directory above: `inner` is in front of its paths;
 * of one below: `prefix` is to be put there. */
static bool own_path(struct others *o, struct str path, struct str *out)
{
    if (o->inner.len) {
        if (path.len <= o->inner.len || path.ptr[o->inner.len] != '/' ||
            memcmp(path.ptr, o->inner.ptr, o->inner.len) != 0)
            return false;
        *out = (struct str){path.ptr + o->inner.len + 1, path.len - o->inner.len - 1};
        return true;
    }
    buf_clear(&o->path);
    buf_str(&o->path, o->prefix);
    if (o->prefix.len)
        buf_byte(&o->path, '/');
    buf_str(&o->path, path);
    *out = buf_view(&o->path);
    return !o->path.failed;
}

static int state_in(struct others *o, const struct digest *root, struct str path,
                    uint64_t *state)
{
    struct arena arena = ARENA_INIT;
    struct tree_entry entry;
    int rc = snapshot_find(o->live.store, root, path, &arena, &entry, o->error);
    if (rc >= 0)
        *state = state_of(rc ? &entry : NULL);
    arena_release(&arena);
    return rc < 0 ? rc : 0;
}

/* The state that was there after a restore: the next look says it. */
static int state_after(struct others *o, const struct look *move,
                       const struct restore_change *change, uint64_t *state)
{
    const struct look *next = move + 1, *end = o->looks + o->n;
    while (next < end && !str_equal(next->name, move->name))
        next++;
    if (next < end)
        return state_in(o, &next->root, change->path, state);
    *state = state_of(&change->before);
    return 0;
}

/* What a restore was to put there may have been left to others. */
static int is_there(struct others *o, const struct restore_change *change,
                    uint64_t state)
{
    uint64_t is = state;
    int rc = o->look->moved ? state_after(o, o->look, change, &is) : 0;
    return rc ? rc : is == state;
}

/* The state that there was before a restore had come with one before it, which a
 * restore does not leave. */
static int was_moved(struct others *o, const struct look *move,
                     const struct restore_change *change, uint64_t was)
{
    const struct look *with = move - 1;
    uint64_t is = was;
    for (const struct look *at = with; at-- > o->looks;) {
        if (!str_equal(at->name, move->name))
            continue;
        int rc = state_in(o, &at->root, change->path, &is);
        if (rc || is != was)
            return rc ? rc : with->moved;
        with = at;
    }
    return 0;
}

/* A restore has left it as it was, so that this is what the next state is to be
 * compared with. */
static int was_left(struct others *o, const struct look *move,
                    const struct restore_change *change)
{
    uint64_t was = 0, put = 0, is = 0;
    int rc = state_in(o, &move[-1].root, change->path, &was)
             ?: state_in(o, &move->root, change->path, &put)
             ?: state_after(o, move, change, &is);
    if (rc || is != was || was == put)
        return rc;
    rc = was_moved(o, move, change, was);
    return rc < 0 ? rc : !rc;
}

/* What restores one after the other have put there is what the last one has; nothing,
 * where that is what was there before them. */
static int add_claim(struct others *o, struct claims *claims, uint64_t was,
                     uint64_t state)
{
    size_t kept = 0;
    for (size_t i = 0; i < claims->n; i++) /* it was in the middle of doing this */
        if (!o->by || claims->at[i].session || claims->at[i].at <= o->from)
            claims->at[kept++] = claims->at[i];
    claims->n = kept;
    for (; o->look->moved && claims->n && claims->at[claims->n - 1].moved; claims->n--)
        was = claims->at[claims->n - 1].was;
    if (o->look->moved && was == state)
        return 0;
    struct claim *at = array_room(claims->at, claims->n, &claims->room, sizeof *at);
    if (!at)
        return error_nomem(o->error);
    claims->at = at;
    at[claims->n++] = (struct claim){o->look, o->by, state, o->look->moved, was};
    return 0;
}

static int see_change(void *context, struct str path, const struct tree_entry *before,
                      const struct tree_entry *after)
{
    struct others *o = context;
    struct str own;
    if (!own_path(o, path, &own))
        return o->path.failed ? error_nomem(o->error) : 0;
    const struct restore_change *change = restore_find_change(&o->files->restore, own);
    if (!change)
        return 0;
    struct claims *claims = &o->claims[change - o->files->restore.changes];
    uint64_t state = state_of(after);
    if (o->from->moved) {
        int left = was_left(o, o->from, change);
        if (left < 0 || (left == 1) != o->of_left)
            return left < 0 ? left : 0;
    }
    int rc = was_shown(o, claims, state) ? 0 : is_there(o, change, state);
    if (rc < 0)
        return rc;
    if (!rc) { /* nor is what restores had put there before */
        while (o->look->moved && claims->n && claims->at[claims->n - 1].moved)
            claims->n--;
        return 0;
    }
    return add_claim(o, claims, state_of(before), state);
}

/* The same session's last look before it, or else anybody's; what nobody has done, and
 * restores, come after the last one of all. */
static const struct look *look_before(const struct others *o, const struct look *look)
{
    const struct look *any = NULL;
    for (const struct look *at = look; at-- > o->looks;) {
        if (!str_equal(at->name, look->name))
            continue;
        if (at->session == look->session || look->nobodys)
            return at;
        if (!any)
            any = at;
    }
    return any;
}

static struct str below(struct str above, struct str path)
{
    size_t n = str_equal(above, STR(".")) ? 0 : above.len + 1;
    return (struct str){path.ptr + n, path.len - n};
}

static int claim(struct others *o, const struct look *look)
{
    const struct look *before = look_before(o, look);
    struct str own = buf_view(&o->files->root_name);
    if (!before)
        return 0;
    o->look = look;
    o->from = before;
    o->by = look->nobodys ? 0 : look->session;
    o->inner = is_above(look->name, own) ? below(look->name, own) : STR("");
    o->prefix = is_above(own, look->name) ? below(own, look->name) : STR("");
    o->of_left = false;
    int rc = snapshot_compare(o->live.store, &before->root, &look->root, false,
                              see_change, o, o->error);
    if (rc || !before->moved)
        return rc;
    o->of_left = true;
    return snapshot_compare(o->live.store, &before[-1].root, &look->root, false,
                            see_change, o, o->error);
}

/* ---- What becomes of each change ---- */

static int copy_name(void *context, const struct session_row *row)
{
    struct others *o = context;
    o->names[o->n_names] = clean_copy(&o->files->restore.arena, row->name).ptr;
    return 0;
}

/* *out: "" where it is not known. */
static int name_of(struct others *o, uint64_t session, const char **out)
{
    for (size_t i = 0; i < o->n_names; i++)
        if (o->named[i] == session) {
            *out = o->names[i];
            return 0;
        }
    const char **names =
        array_room(o->names, o->n_names, &o->room_names, sizeof *names);
    o->names = names ? names : o->names;
    uint64_t *named = array_room(o->named, o->n_names, &o->room_named, sizeof *named);
    o->named = named ? named : o->named;
    if (!names || !named)
        return error_nomem(o->error);
    names[o->n_names] = "";
    named[o->n_names] = session;
    int rc =
        session ? store_get_session(o->live.store, session, copy_name, o, o->error) : 0;
    if (rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EDAMAGED)
        return rc;
    *out = o->names[o->n_names++];
    return o->files->restore.arena.failed ? error_nomem(o->error) : 0;
}

static int choose(struct others *o, size_t i)
{
    struct restore_change *change = &o->files->restore.changes[i];
    const struct claims *claims = &o->claims[i];
    uint64_t now = state_of(&change->before), other = 0;
    bool mine = false, others = false;
    if (now == state_of(&change->after)) /* but for its time */
        return 0;
    for (size_t k = 0; k < claims->n; k++) {
        uint64_t by = claims->at[k].session;
        bool own = by ? by == o->files->session : !o->agent;
        mine = mine || own;
        others = others || !own;
        other = own ? other : by;
    }
    if (!claims->n || claims->at[claims->n - 1].state != now) { /* nobody's */
        mine = mine || !o->agent;
        others = others || o->agent;
    }
    change->choice = !others ? RESTORE_GOES : mine ? RESTORE_BESIDE : RESTORE_STAYS;
    return others ? name_of(o, other, &change->by) : 0;
}

static int spare(struct others *o)
{
    struct restore *restore = &o->files->restore;
    int rc = take_looks(o);
    if (rc || !o->active)
        return rc;
    rc = take_moves(o);
    o->claims = calloc(restore->n, sizeof *o->claims);
    if (!rc && !o->claims)
        rc = error_nomem(o->error);
    for (size_t i = 0; i < o->n && !rc; i++)
        if (o->looks[i].claims)
            rc = claim(o, &o->looks[i]);
    for (size_t i = 0; i < restore->n && !rc; i++)
        rc = choose(o, i);
    for (size_t i = 0; i < restore->n && o->claims; i++)
        free(o->claims[i].at);
    free(o->claims);
    return rc ?: restore_choose(restore);
}

/* Between restore_open and restore_prepare of files->restore: sets the choices, and
 * makes them. Begins a transaction of its own. */
static int others_spare(struct files_taken *files, struct cairn_store *store,
                        struct cairn_error *error)
{
    struct others o = {.files = files, .error = error};
    if (!files->restore.n)
        return 0;
    int rc = live_begin(&o.live, store, false, error) ?: spare(&o);
    rc = live_close(&o.live, rc, error);
    buf_release(&o.path);
    free(o.looks);
    free(o.names);
    free(o.named);
    arena_release(&o.arena);
    return rc;
}

/* ==== Files ==== */

/* ---- Where they are ---- */

static int real_path(const char *path, char **out, struct cairn_error *error)
{
    *out = realpath(path, NULL);
    if (*out)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return error_set(error, CAIRN_ENOTFOUND, "there is no %s", path);
    return error_sys(error, errno, "the directory %s", path);
}

const char *files_path_below(const char *path, const char *above)
{
    size_t n = strlen(above);
    if (n == 1) /* the root */
        return path + 1;
    if (strncmp(path, above, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return path + n + (path[n] == '/');
}

int files_path_name(struct cairn_store *store, const char *root, struct buf *out,
                    struct cairn_error *error)
{
    char *home = NULL, *own = NULL;
    buf_clear(out);
    if (!utf8_is_printable(str_of(root)))
        return error_set(error, CAIRN_EUSAGE,
                         "the path of the files of a session has to be UTF-8 without "
                         "control characters");
    int rc = files_home(store, &home, error)
                 ?: real_path(cairn_store_path(store), &own, error);
    if (!rc && files_path_below(root, own))
        rc = error_set(error, CAIRN_EUSAGE,
                       "%s belongs to the store: its files are not those of a session",
                       root);
    const char *below = rc ? NULL : files_path_below(root, home);
    if (!rc)
        buf_text(out, !below ? root : *below ? below : ".");
    free(home);
    free(own);
    return rc ?: buf_check(out, error);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int files_root_name(struct cairn_store *store, const char *directory, struct buf *out,
                    struct cairn_error *error)
{
    char *root;
    buf_clear(out);
    int rc = real_path(directory, &root, error);
    if (rc)
        return rc;
    if (!is_directory(root))
        rc = error_set(error, CAIRN_EUSAGE, "%s is not a directory", directory);
    if (!rc)
        rc = files_path_name(store, root, out, error);
    free(root);
    return rc;
}

/* ---- Taking them ---- */

/* What the store says of the files of a session. */
struct files_known {
    struct cairn_store *store;
    struct buf name, root;
    uint64_t session;
    bool has_before;
    struct digest before; /* snapshot of the newest checkpoint */
};

static int read_before(struct live *live, struct files_known *known,
                       struct cairn_error *error)
{
    struct chain head;
    struct sections sections = {0};
    struct arena arena = ARENA_INIT;
    int rc = sections_open(live->store, live->sha, live->row.branch, &head, &arena,
                           NULL, error);
    if (!rc && head.parent)
        rc = sections_read(live->store, live->sha, head.parent, &arena, &sections, NULL,
                           error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        rc = 0;
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    known->has_before = files != NULL;
    if (files)
        known->before = files->digest;
    arena_release(&arena);
    return rc;
}

static int read_known(struct files_known *known, const char *session,
                      struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, known->store, session, error);
    if (!rc && live.settings.later[SETTING_FILES].len) {
        known->session = live.row.session;
        buf_str(&known->name, live.settings.later[SETTING_FILES]);
        rc = buf_check(&known->name, error) ?: read_before(&live, known, error);
    }
    return live_close(&live, rc, error);
}

/* Zeros where it is not there. */
static struct stat database_of(struct cairn_store *store)
{
    struct stat st = {0};
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.db", cairn_store_path(store));
    if (path.failed || stat(path.data, &st) != 0)
        st = (struct stat){0};
    buf_release(&path);
    return st;
}

/* An index is anchored in a checkpoint, and in the database file, which a repair makes
 * anew: u64 seq, 32 bytes digest of the record, u64 device, u64 inode. */
static void put_anchor(struct cairn_store *store, const struct checkpoint_ref *ref,
                       struct buf *out)
{
    struct stat st = database_of(store);
    buf_u64(out, ref->seq);
    buf_str(out, digest_view(&ref->digest));
    buf_u64(out, st.st_dev);
    buf_u64(out, st.st_ino);
}

static int check_anchor(void *context, struct str anchor, struct cairn_error *error)
{
    struct files_known *known = context;
    struct reader in = reader_of(anchor.ptr, anchor.len);
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    uint64_t seq = read_u64(&in);
    struct str digest = read_bytes(&in, DIGEST_SIZE);
    struct stat st = database_of(known->store);
    bool here = read_u64(&in) == st.st_dev && read_u64(&in) == st.st_ino;
    struct sha256 *sha = sha256_new();
    struct cairn_error why = {0};
    if (!sha)
        return error_nomem(error);
    int rc = !here || !reader_done(&in)
                 ? CAIRN_ENOTFOUND
                 : sections_read(known->store, sha, seq, &arena, &sections, &at, &why);
    bool there = !rc && str_equal(digest, digest_view(&at.ref.digest)) &&
                 files_section(&sections) != NULL;
    sha256_free(sha);
    arena_release(&arena);
    if (!rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED || rc == CAIRN_ENEWER)
        return there;
    return error_set(error, rc, "%s", why.text);
}

static int take_tracked(struct files_taken *files, struct files_known *known,
                        struct cairn_error *error)
{
    int rc = files_root_path(known->store, buf_view(&known->name), &known->root, error);
    files->index = files_index_path(known->store, known->session);
    if (!rc && !files->index)
        rc = error_nomem(error);
    if (rc)
        return rc;
    struct snapshot_request request = {
        .store = known->store,
        .root = known->root.data,
        .root_name = buf_view(&known->name),
        .before = known->has_before ? &known->before : NULL,
        .index = files->index,
        .anchored = check_anchor,
        .keep = files->has_target ? &files->target : NULL,
        .in_transaction = files->in_transaction,
        .context = known};
    files->tracked = true;
    return snapshot_take(&request, &files->snapshot, error);
}

/* Until files_end no other process restores files: what is taken is one state, and that
 * of the session which refers to it. */
static int take_locked(struct files_taken *files, struct files_known *known,
                       struct cairn_error *error)
{
    int rc = files->locked ? 0 : pending_lock(known->store, error);
    files->locked = rc == 0;
    if (!rc && !files->looking)
        rc = pending_finish(known->store, true, known->session, buf_view(&known->name),
                            error);
    return rc ?: take_tracked(files, known, error);
}

int files_take(struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error)
{
    struct files_known known = {.store = store};
    files->taken = true;
    files->decided = false;
    files->noted = (struct checkpoint_ref){0};
    if (store_read_only(store) || store_key(store))
        return 0; /* the transaction is refused */
    int rc = read_known(&known, session, error);
    if (!rc && known.name.size)
        rc = take_locked(files, &known, error);
    files->root_name = known.name;
    files->root = known.root;
    return rc;
}

/* An index that cannot be written is none: the next snapshot reads every file. */
static void save_index(const struct files_taken *files, struct cairn_store *store)
{
    struct buf anchor = BUF_INIT;
    put_anchor(store, &files->noted, &anchor);
    if (!anchor.failed)
        (void)snapshot_save_index(&files->snapshot, files->index, buf_view(&anchor),
                                  NULL);
    buf_release(&anchor);
}

/* ---- Others in their place ---- */

static int refuse_root(struct files_taken *files, struct str name,
                       struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "the files of that checkpoint are those of %.*s, and the setting "
                     "`files` of the session is %.*s now: set it back, or give "
                     "--board-only",
                     (int)utf8_fit(name, 200), name.ptr,
                     (int)utf8_fit(buf_view(&files->root_name), 200),
                     files->root_name.data);
}

static int open_restore(struct files_taken *files, struct cairn_store *store,
                        const struct digest *tree, struct cairn_error *error)
{
    struct paths only;
    const char *root = files->root.data;
    const struct digest *before = &files->snapshot.root;
    if (!files->only.n)
        return restore_open(&files->restore, store, root, before, tree, NULL, error);
    int rc = paths_open(&only, files->only.texts, files->only.n, error);
    if (!rc)
        rc = restore_open(&files->restore, store, root, before, tree, &only, error);
    else
        files->prepared = false;
    paths_close(&only);
    return rc;
}

static int prepare_once(struct files_taken *files, struct cairn_store *store,
                        bool *before_checked, struct cairn_error *error)
{
    *before_checked = false;
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    int rc = snapshot_read(store, &files->target, &arena, &head, error);
    if (!rc && !str_equal(head.root_name, buf_view(&files->root_name)))
        rc = refuse_root(files, head.root_name, error);
    if (!rc) {
        files->prepared = true;
        rc = open_restore(files, store, &head.root, error);
        files->restore.back = files->back;
        files->restore.threads = RESTORE_THREADS_MOST;
        files->restore.told = files->told;
        files->restore.context = files->told_context;
    }
    if (!rc && files->spare_others)
        rc = others_spare(files, store, error);
    if (!rc)
        rc = restore_check_before(&files->restore);
    *before_checked = rc == 0;
    if (!rc)
        rc = restore_prepare(&files->restore, false);
    arena_release(&arena);
    return rc;
}

static void release(struct files_taken *files)
{
    if (files->prepared)
        restore_close(&files->restore);
    if (files->tracked)
        snapshot_end(&files->snapshot);
    free(files->index);
    buf_release(&files->root);
    buf_release(&files->root_name);
    files->prepared = files->tracked = files->taken = false;
    files->index = NULL;
}

/* What the index says is in the pool may be damaged there. Without it every file is
 * read, and what is damaged is mended by that. */
static int prepare_restore(struct files_taken *files, struct cairn_store *store,
                           const char *session, struct cairn_error *error)
{
    bool before_checked;
    int rc = prepare_once(files, store, &before_checked, error);
    if (rc != CAIRN_EDAMAGED || before_checked)
        return rc;
    unlink(files->index);
    release(files);
    return files_take(files, store, session, error)
               ?: prepare_once(files, store, &before_checked, error);
}

bool files_wanted(struct files_taken *files, int *rc, struct cairn_store *store,
                  const char *session, struct cairn_error *error)
{
    if (*rc != FILES_WANTED)
        return false;
    release(files);
    *rc = files_take(files, store, session, error);
    if (!*rc && files->tracked && files->has_target)
        *rc = prepare_restore(files, store, session, error);
    return *rc == 0;
}

int files_replace(struct live *live, const struct digest *snapshot, uint64_t seq,
                  struct cairn_error *error)
{
    struct files_taken *files = live->files;
    if (!live->settings.later[SETTING_FILES].len || !files || !files->tracked ||
        digest_equal(snapshot, &files->snapshot.digest))
        return 0;
    if (!files->prepared || !digest_equal(snapshot, &files->target)) {
        files->target = *snapshot;
        files->has_target = true;
        files->since = seq;
        files->session = live->row.session;
        return FILES_WANTED;
    }
    if ((files->only.n || files->restore.n_chosen) && !files->restore.n)
        return 0;
    files->decided = true;
    return pending_note(live->store, live->row.session, &files->snapshot.digest,
                        snapshot, files->only.texts, files->only.n, &files->restore,
                        error);
}

/* What became of it; of what was only looked at, what would. */
static struct cairn_restore_other other_of(const struct files_taken *files,
                                           const struct restore_change *at)
{
    const struct restore_change *goes =
        at->choice == RESTORE_STAYS ? NULL
                                    : restore_find_change(&files->restore, at->path);
    bool moves = goes && files->looked && goes->before.kind &&
                 (goes->staged || !goes->after.kind) &&
                 goes->before.kind != TREE_DIRECTORY;
    return (struct cairn_restore_other){
        .path = at->path.ptr,
        .session = at->by,
        .there = at->before.kind != 0,
        .stays = !goes,
        .beside = goes && (goes->kept || moves),
    };
}

/* A directory of both: what another one has in it stays, and with it the directory. */
static bool holds_what_stays(const struct restore *restore, size_t i)
{
    const struct restore_change *at = &restore->chosen[i];
    if (at->before.kind != TREE_DIRECTORY || at->choice == RESTORE_STAYS)
        return false;
    for (size_t k = i + 1; k < restore->n_chosen; k++) {
        struct str below = restore->chosen[k].path;
        if (below.len < at->path.len ||
            memcmp(below.ptr, at->path.ptr, at->path.len) != 0)
            return false;
        if (below.len > at->path.len && below.ptr[at->path.len] == '/' &&
            restore->chosen[k].choice == RESTORE_STAYS)
            return true;
    }
    return false;
}

/* One for each directory that is all of the same. */
static void tell_others(struct files_taken *files)
{
    const struct restore_change *last = NULL;
    for (size_t i = 0; i < files->restore.n_chosen; i++) {
        const struct restore_change *at = &files->restore.chosen[i];
        if (!at->by || holds_what_stays(&files->restore, i))
            continue;
        files->others += at->choice == RESTORE_STAYS;
        bool below = last && last->by == at->by && at->choice == RESTORE_STAYS &&
                     at->path.len > last->path.len &&
                     at->path.ptr[last->path.len] == '/' &&
                     memcmp(at->path.ptr, last->path.ptr, last->path.len) == 0;
        if (below)
            continue;
        struct cairn_restore_other other = other_of(files, at);
        files->beside += other.beside;
        last = at->choice == RESTORE_STAYS ? at : NULL;
        if (files->told_others)
            files->told_others(files->told_context, &other);
    }
}

int files_end(struct files_taken *files, int rc, struct cairn_store *store,
              struct cairn_error *error)
{
    bool carried_out = !rc && files->decided;
    if (files->prepared && (carried_out || files->looked))
        restore_tell_writers(&files->restore);
    if (carried_out) {
        unlink(files->index);
        rc = pending_carry_out(store, &files->restore, error);
        if (rc)
            error_context(error, "the restore is decided, and its files are not all in "
                                 "place yet: any command that writes to the session "
                                 "finishes it");
    } else if (!rc && files->tracked && files->noted.seq && files->snapshot.changed) {
        save_index(files, store);
    }
    files->counts = files->restore.counts;
    if (files->prepared && (!rc || files->looked))
        tell_others(files);
    release(files);
    if (files->locked)
        pending_unlock(store);
    files->locked = false;
    return rc;
}
