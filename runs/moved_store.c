/* SPDX-License-Identifier: MIT */
#include "runs/moved_store.h"

#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The setting: directories, newest first, each with a newline. */
enum { HOMES_BYTES = 8192 };
static const char setting[] = "homes";

/* The directory that the store lies in, with a slash at its end; "" if it cannot be
 * found out, or could not be noted. */
static int current_home(const struct cairn_store *store, struct buf *out,
                        struct cairn_error *error)
{
    char *path = realpath(cairn_store_path(store), NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash && !strchr(path, '\n') && slash - path < HOMES_BYTES / 2)
        buf_add(out, path, (size_t)(slash - path) + 1);
    free(path);
    return buf_check(out, error);
}

/* The next of the noted ones, without its newline. False: that was the last one. A last
 * one that was cut off has no newline, and is left out. */
static bool next_home(const char **at, struct str *home)
{
    const char *end = strchr(*at, '\n');
    if (!end)
        return false;
    *home = (struct str){*at, (size_t)(end - *at)};
    *at = end + 1;
    return true;
}

/* The others, as far as there is room, behind this one. */
static int put_homes(struct cairn_store *store, struct str here, const char *noted,
                     struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct str home;
    buf_str(&text, here);
    buf_byte(&text, '\n');
    while (next_home(&noted, &home))
        if (!str_equal(home, here) && text.size + home.len + 2 < HOMES_BYTES) {
            buf_str(&text, home);
            buf_byte(&text, '\n');
        }
    int rc = buf_check(&text, error);
    if (!rc)
        rc = store_set_setting(store, setting, text.data, error);
    buf_release(&text);
    return rc;
}

int moved_store_note(struct cairn_store *store, struct cairn_error *error)
{
    char noted[HOMES_BYTES] = "";
    const char *at = noted;
    struct buf here = BUF_INIT;
    struct str newest;
    int rc = store_key(store) ? 0 : current_home(store, &here, error);
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    if (rc >= 0 && here.size &&
        !(next_home(&at, &newest) && str_equal(newest, buf_view(&here))))
        rc = put_homes(store, buf_view(&here), noted, error);
    buf_release(&here);
    return rc < 0 ? rc : 0;
}

static bool lies_below(struct str file, struct str directory)
{
    return directory.len && directory.len < file.len &&
           memcmp(directory.ptr, file.ptr, directory.len) == 0;
}

/* Below `here` what lay below the first of the noted ones that it lay below. */
static bool try_below(struct str here, const char *noted, struct str file,
                      struct buf *path)
{
    struct str home;
    while (next_home(&noted, &home)) {
        if (!lies_below(file, home))
            continue;
        buf_clear(path);
        buf_str(path, here);
        buf_add(path, file.ptr + home.len, file.len - home.len);
        if (buf_view(path).len && !path->failed && access(path->data, F_OK) == 0)
            return true;
    }
    return false;
}

/* Did the file lie below a directory in which there is another store now, as there is
 * where a store was copied from? */
static bool is_of_other_store(const struct cairn_store *store, struct str here,
                              const char *noted, struct str file)
{
    struct str home;
    struct buf path = BUF_INIT;
    const char *name = strrchr(cairn_store_path(store), '/');
    bool there = false;
    assert(here.ptr);
    while (!there && name && next_home(&noted, &home)) {
        if (!lies_below(file, home) || str_equal(home, here))
            continue;
        buf_clear(&path);
        buf_str(&path, home);
        buf_text(&path, name + 1);
        buf_text(&path, "/cairn.db");
        there = !path.failed && access(path.data, F_OK) == 0;
    }
    buf_release(&path);
    return there;
}

int moved_store_find(struct cairn_store *store, const struct run_row *row,
                     struct buf *path, struct cairn_error *error)
{
    char noted[HOMES_BYTES] = "";
    struct buf here = BUF_INIT;
    bool looks = row->file.len && !row->keyed && !store_key(store);
    int rc = looks ? current_home(store, &here, error) : 0;
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    bool known = rc >= 0 && here.size;
    bool there = known && try_below(buf_view(&here), noted, row->file, path);
    bool foreign = known && !there && !lies_below(row->file, buf_view(&here)) &&
                   is_of_other_store(store, buf_view(&here), noted, row->file);
    buf_release(&here);
    if (foreign)
        return error_set(
            error, CAIRN_ENOTFOUND,
            "run %llu was copied with its store from where %.*s is, and no "
            "such file is here: name the one that is to be run here, "
            "`cairn run FILE`",
            (unsigned long long)row->run, (int)row->file.len, row->file.ptr);
    if (rc < 0 || there)
        return rc < 0 ? rc : 1;
    buf_clear(path);
    buf_str(path, row->file);
    rc = buf_check(path, error);
    return rc ? rc : path->size && access(path->data, F_OK) == 0;
}

int moved_store_directory(struct cairn_store *store, const struct run_row *row,
                          struct str recorded, struct buf *path,
                          struct cairn_error *error)
{
    static const char itself[] = "/."; /* so that a home lies below itself */
    char noted[HOMES_BYTES] = "";
    struct buf here = BUF_INIT, below = BUF_INIT, found = BUF_INIT;
    bool looks = recorded.len && !row->keyed && !store_key(store);
    int rc = looks ? current_home(store, &here, error) : 0;
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    buf_str(&below, recorded);
    buf_text(&below, itself);
    if (rc >= 0)
        rc = buf_check(&below, error);
    bool there =
        !rc && here.size && try_below(buf_view(&here), noted, buf_view(&below), &found);
    buf_clear(path);
    if (there)
        buf_add(path, found.data, found.size - strlen(itself));
    else
        buf_str(path, recorded);
    buf_release(&here);
    buf_release(&below);
    buf_release(&found);
    return rc ? rc : buf_check(path, error);
}
