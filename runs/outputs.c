/* SPDX-License-Identifier: MIT */
/* Inputs are looked at before an attempt starts, outputs when it has ended well, both
 * when it is decided whether the task runs again; outputs that an interrupted attempt
 * made are removed before it is repeated. */
#include "runs/outputs.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int files_begin(struct files *f, const struct scope *scope, bool inputs,
                struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    *f = (struct files){.scope = scope,
                        .names = inputs ? def->inputs : def->outputs,
                        .n = inputs ? def->n_inputs : def->n_outputs,
                        .what = inputs ? "input" : "output"};
    return f->n ? task_directory(scope, &f->directory, error) : 0;
}

void files_release(struct files *f)
{
    buf_release(&f->directory);
    buf_release(&f->name);
    buf_release(&f->path);
    buf_release(&f->unmatched);
    arena_release(&f->arena);
}

static void set_path(struct buf *path, struct str directory, struct str name)
{
    buf_clear(path);
    buf_str(path, directory);
    buf_path(path, name);
}

static bool is_glob(struct str name)
{
    return name.len > sizeof INPUT_GLOB - 1 &&
           memcmp(name.ptr, INPUT_GLOB, sizeof INPUT_GLOB - 1) == 0;
}

bool inputs_have_glob(const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_inputs; i++)
        if (is_glob(def->inputs[i]))
            return true;
    return false;
}

/* What matches the pattern in f->name becomes f->found. */
static int match_pattern(struct files *f, struct cairn_error *error)
{
    size_t skip = sizeof INPUT_GLOB - 1;
    struct str pattern = {f->name.data + skip, f->name.size - skip};
    int rc = buf_check(&f->name, error);
    if (!rc)
        rc = buf_check(&f->directory, error);
    if (!rc)
        rc = glob_expand(f->directory.size ? f->directory.data : ".", pattern,
                         &f->arena, &f->found, error);
    if (!rc && !f->found.n && !f->unmatched.size)
        buf_str(&f->unmatched, pattern);
    f->next_found = 0;
    return rc;
}

/* The next name, in f->name. 1, or 0: there is none, or an error. */
static int next_name(struct files *f, struct cairn_error *error)
{
    for (;;) {
        buf_clear(&f->name);
        if (f->next_found < f->found.n) {
            buf_str(&f->name, f->found.names[f->next_found++]);
            return 1;
        }
        if (f->next == f->n)
            return 0;
        struct str declared = f->names[f->next++];
        int rc = text_expand(f->scope, declared, &f->name, error);
        if (rc || f->what[0] != 'i' || !is_glob(declared))
            return rc ? rc : 1;
        rc = match_pattern(f, error);
        if (rc)
            return rc;
    }
}

int files_step(struct files *f, struct cairn_error *error)
{
    int rc = next_name(f, error);
    if (rc <= 0)
        return rc;
    if (memchr(f->name.data ? f->name.data : "", 0, f->name.size))
        return error_set(error, CAIRN_EWORKFLOW, "the name of an %s has a NUL in it",
                         f->what);
    set_path(&f->path, buf_view(&f->directory), buf_view(&f->name));
    rc = buf_check(&f->name, error);
    if (!rc)
        rc = buf_check(&f->path, error);
    return rc ? rc : 1;
}

/* ---- A look at declared files ---- */

int file_look_begin(struct file_look *look, const struct asker *asker, bool inputs,
                    struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct files f;
    struct buf files = BUF_INIT, paths = BUF_INIT;
    *look = (struct file_look){.arena = ARENA_INIT};
    int rc = files_begin(&f, &scope, inputs, error), more = 0;
    while (!rc) {
        struct result_file file = {.kind = 0};
        char *path;
        more = files_step(&f, error);
        if (more <= 0)
            break;
        if (!os_is_there(AT_FDCWD, f.path.data)) {
            rc = error_set(error, CAIRN_ENOTFOUND, "its %s %s is missing (%s)", f.what,
                           f.name.data, f.path.data);
            look->next = look->n;
            look->failed = true;
        }
        file.name = arena_str(&look->arena, buf_view(&f.name));
        path = arena_text(&look->arena, buf_view(&f.path));
        buf_add(&files, &file, sizeof file);
        buf_add(&paths, &path, sizeof path);
        look->n++;
    }
    if (!rc && more == 0 && f.unmatched.size)
        rc = error_set(error, CAIRN_ENOTFOUND, "no file matches its input %.*s (in %s)",
                       (int)f.unmatched.size, f.unmatched.data, f.directory.data);
    files_release(&f);
    look->files = arena_take(&look->arena, look->n, sizeof *look->files);
    look->paths = arena_take(&look->arena, look->n, sizeof *look->paths);
    bool failed = look->arena.failed || files.failed || paths.failed;
    if (!failed && files.data && paths.data) {
        memcpy(look->files, files.data, files.size);
        memcpy(look->paths, paths.data, paths.size);
    }
    buf_release(&files);
    buf_release(&paths);
    if (!rc && more >= 0 && failed)
        rc = error_nomem(error);
    return rc ? rc : more < 0 ? more : 0;
}

/* Of the file, about which more would be known with more memory or time. */
static bool says_nothing(int rc)
{
    return rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED;
}

int file_look_go_on(struct file_look *look, struct file_reader *reader,
                    struct cairn_error *error)
{
    int rc = 0;
    while (look->next < look->n && !rc) {
        struct result_file *file = &look->files[look->next];
        struct str name = file->name;
        *file = (struct result_file){.name = name};
        rc = file_take(look->paths[look->next], reader, file, error);
        look->next += !rc;
    }
    look->failed = rc < 0 && !says_nothing(rc);
    return rc;
}

int file_look_take(const struct file_look *look, struct arena *arena,
                   struct result_file **out, uint32_t *n, struct cairn_error *error)
{
    struct result_file *list = arena_take(arena, look->n, sizeof *list);
    for (uint32_t i = 0; list && i < look->n; i++) {
        list[i] = look->files[i];
        list[i].name = arena_str(arena, look->files[i].name);
    }
    if (!list || arena->failed)
        return error_nomem(error);
    *out = list;
    *n = look->n;
    return 0;
}

int file_look_take_failed(const struct file_look *look, struct arena *arena,
                          struct result_file **out, uint32_t *n,
                          struct cairn_error *error)
{
    if (!look->failed)
        return 0;
    struct result_file *file = arena_take(arena, 1, sizeof *file);
    if (file)
        *file = (struct result_file){
            .name = arena_str(arena, look->files[look->next].name), .kind = 'f'};
    if (!file || arena->failed)
        return error_nomem(error);
    *out = file;
    *n = 1;
    return 0;
}

void file_look_release(struct file_look *look)
{
    arena_release(&look->arena);
}

int files_look(const struct asker *asker, bool inputs, struct arena *arena,
               struct result_file **out, uint32_t *n, struct cairn_error *error)
{
    struct file_look look;
    struct file_reader reader = {.digests = &asker->lookup->digests,
                                 .stop = asker->lookup->stop};
    int rc = file_look_begin(&look, asker, inputs, error);
    if (!rc)
        rc = file_look_go_on(&look, &reader, error);
    if (!rc)
        rc = file_look_take(&look, arena, out, n, error);
    file_look_release(&look);
    return rc;
}

/* ---- What is recorded of a file ---- */

static bool same_times(const struct stat *st, const struct result_file *recorded)
{
    return recorded->kind == 'f' && S_ISREG(st->st_mode) && recorded->mtime_ns &&
           (uint64_t)st->st_size == recorded->size && st->st_ino == recorded->inode &&
           timespec_ns(&st->st_mtim) == recorded->mtime_ns &&
           timespec_ns(&st->st_ctim) == recorded->ctime_ns &&
           !file_time_is_coarse(recorded);
}

/* `now`: as far as it can be told without its content. */
static int compare_content(const char *path, const struct stat *st,
                           const struct file_view *view,
                           const struct result_file *recorded, struct result_file *now,
                           enum file_state *state, struct cairn_error *error)
{
    bool file = now->kind == 'f' && S_ISREG(st->st_mode);
    *state = FILE_DIFFERS;
    if (now->kind != recorded->kind || (file && now->size != recorded->size))
        return 0;
    struct file_reader reader = {.digests = view->digests, .stop = view->stop};
    now->size = 0;
    int rc = file_take_content(path, &reader, now, error);
    if (!rc && digest_equal(&now->digest, &recorded->digest))
        *state = FILE_SAME;
    return rc;
}

static int compare_at(const char *path, const struct file_view *view,
                      const struct result_file *recorded, enum file_state *state,
                      struct result_file *now, struct cairn_error *error)
{
    struct stat st;
    *state = FILE_SAME;
    if (stat(path, &st) < 0) {
        *state = FILE_MISSING;
        return os_is_missing(errno)
                   ? 0
                   : error_sys(error, errno, "cannot look at %s", path);
    }
    file_take_times(&st, now);
    now->size = (uint64_t)st.st_size;
    if (!view->content || (view->trust_times && same_times(&st, recorded)))
        return 0;
    return compare_content(path, &st, view, recorded, now, state, error);
}

/* What could not be read: can it be now? */
static int compare_unreadable(const char *path, const struct file_view *view,
                              enum file_state *state, struct result_file *now,
                              struct cairn_error *error)
{
    struct file_reader reader = {.digests = view->digests, .stop = view->stop};
    struct cairn_error why = {0};
    int rc = file_take(path, &reader, now, &why);
    *state = rc ? FILE_SAME : FILE_DIFFERS;
    return says_nothing(rc) ? error_set(error, rc, "%s", why.text) : 0;
}

int file_compare(const struct file_view *view, const struct result_file *recorded,
                 enum file_state *state, struct result_file *now,
                 struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    *now = (struct result_file){.name = recorded->name};
    set_path(&path, view->directory, recorded->name);
    int rc = buf_check(&path, error);
    if (!rc)
        rc = file_was_unreadable(recorded)
                 ? compare_unreadable(path.data, view, state, now, error)
                 : compare_at(path.data, view, recorded, state, now, error);
    buf_release(&path);
    return rc;
}

static bool has_sign(const char *path, const struct result_file *recorded)
{
    struct file_sign now, then = output_sign(recorded);
    return recorded->kind == 'f' && file_sign_at(AT_FDCWD, path, path, &now) &&
           now.kind == then.kind &&
           memcmp(now.bytes, then.bytes, sizeof now.bytes) == 0;
}

static void add_sign(struct buf *signs, struct str name, const struct file_sign *sign)
{
    buf_lstr(signs, name);
    buf_byte(signs, sign->kind);
    buf_add(signs, sign->bytes, sizeof sign->bytes);
}

static int fold_signs(const struct buf *signs, uint64_t *sign,
                      struct cairn_error *error)
{
    struct digest digest;
    int rc = buf_check(signs, error);
    *sign = 0;
    if (rc || !signs->size)
        return rc;
    rc = sha256_of(signs->data, signs->size, &digest, error);
    if (!rc)
        memcpy(sign, digest.bytes, sizeof *sign);
    return rc;
}

int inputs_sign_of(const struct result_file *inputs, uint32_t n, uint64_t *sign,
                   struct cairn_error *error)
{
    struct buf signs = BUF_INIT;
    for (uint32_t i = 0; i < n; i++) {
        struct file_sign one = output_sign(&inputs[i]);
        add_sign(&signs, inputs[i].name, &one);
    }
    int rc = fold_signs(&signs, sign, error);
    buf_release(&signs);
    return rc;
}

int inputs_sign_now(const struct asker *asker, uint64_t *sign,
                    struct cairn_error *error)
{
    struct buf signs = BUF_INIT;
    struct scope scope = lookup_scope(asker);
    struct files f;
    int rc = files_begin(&f, &scope, true, error), more = 0;
    while (!rc && (more = files_step(&f, error)) > 0) {
        struct file_sign one = {0};
        (void)file_sign_at(AT_FDCWD, f.path.data, f.path.data, &one);
        add_sign(&signs, buf_view(&f.name), &one);
    }
    files_release(&f);
    rc = rc ? rc : more < 0 ? more : fold_signs(&signs, sign, error);
    buf_release(&signs);
    return rc;
}

bool outputs_untouched(const struct scope *scope, const struct result_file *recorded,
                       uint32_t n)
{
    struct files f;
    uint32_t same = 0;
    if (!files_begin(&f, scope, false, NULL))
        while (same < n && files_step(&f, NULL) > 0 &&
               has_sign(f.path.data, &recorded[same]))
            same++;
    files_release(&f);
    return same == n;
}
