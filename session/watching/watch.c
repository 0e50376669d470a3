/* SPDX-License-Identifier: MIT */
/* cairn/files.h. One descriptor has it all: an epoll instance with the notifications of
 * the places, those of the files, and a timer. */
#include "cairn/files.h"

#include "base/clock.h"
#include "base/error.h"
#include "session/files_pending.h"
#include "session/session_int.h"
#include "session/watching/places.h"
#include "session/watching/settle.h"
#include "snapshot/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS_NS 1000000ll
#define ASK_NS (250 * MS_NS)    /* a store that cannot be watched */
#define REST_NS (100 * MS_NS)   /* after events: those that follow come together */
#define GONE_NS (1000 * MS_NS)  /* is the directory there again? */
#define LOOK_NS (10000 * MS_NS) /* at files that cannot be watched, and */
#define LOOK_TIMES 20           /* as many times as long as that took */
#define SOON_NS (60000 * MS_NS) /* after a checkpoint: as what writes all the time */
enum { OWN_MOST = 8, STEP_BYTES = 1 << 16 };

enum state { STATE_OFF, STATE_WATCHED, STATE_LOOKED_AT, STATE_GONE };

struct cairn_watch {
    struct cairn_store *store;
    char session[24];
    struct cairn_watch_options options;
    int epoll, timer;
    bool held;                         /* the session is not deleted meanwhile */
    bool armed;                        /* notifications make the descriptor readable */
    int64_t rest_ns, wake_ns, look_ns; /* when; INT64_MAX: never */

    struct places places;
    bool told_blind;
    enum state state;
    struct settle settle;
    struct buf name, root; /* the setting `files`, and where that is */
    struct buf why_gone;   /* the last that was told; empty while it is there */
    struct tree_watch tree;
    struct stat own[OWN_MOST]; /* files that the caller writes */
    size_t n_own;
    struct buf steady; /* the file that alone had changed before the last checkpoint */
    off_t steady_bytes;
    int64_t made_ns;     /* when that was made */
    struct buf only;     /* of the tree, kept while hooks run, with `several` */
    bool several, hooks; /* run now */
    bool told_echo;
};

/* ---- Telling ---- */

static void note(const struct cairn_watch *watch, const char *what, const char *path,
                 const char *text)
{
    const struct cairn_watch_note told = {what, text, path};
    if (watch->options.note)
        watch->options.note(watch->options.context, &told);
}

static void describe_limit(char text[512])
{
    unsigned long most = notify_watches_most();
    char is[48] = "";
    if (most)
        snprintf(is, sizeof is, ", which is %lu", most);
    snprintf(text, 512,
             "the system allows no more watches (fs.inotify.max_user_watches%s): the "
             "files are looked at every 10 s or so until this is begun again; `sysctl "
             "fs.inotify.max_user_watches=%lu` allows more",
             is, most ? 4 * most : 1000000);
}

static void tell_tree(void *context, enum tree_watch_note what, const char *path,
                      int sys)
{
    static const char *const names[] = {[TREE_WATCH_LIMIT] = "limit",
                                        [TREE_WATCH_TOO_LARGE] = "too-large",
                                        [TREE_WATCH_REFUSED] = "refused",
                                        [TREE_WATCH_OVERFLOW] = "overflow",
                                        [TREE_WATCH_UNREADABLE] = "unreadable"};
    const struct cairn_watch *watch = context;
    char text[512];
    if (what == TREE_WATCH_LIMIT)
        describe_limit(text);
    else if (what == TREE_WATCH_TOO_LARGE)
        snprintf(text, sizeof text,
                 "there are more than %d directories, or the rules of what is ignored "
                 "take too much memory: the files are looked at every 10 s or so",
                 TREE_WATCH_DIRECTORIES_MOST);
    else if (what == TREE_WATCH_REFUSED)
        snprintf(text, sizeof text,
                 "the files cannot be watched (%s%s): they are looked at every 10 s or "
                 "so",
                 strerror(sys), sys == EMFILE ? "; fs.inotify.max_user_instances" : "");
    else if (what == TREE_WATCH_OVERFLOW)
        snprintf(text, sizeof text,
                 "more was changed at once than the system reports "
                 "(fs.inotify.max_queued_events): all directories are looked through "
                 "again");
    else
        snprintf(text, sizeof text,
                 "the directory cannot be watched: %s; what changes in it is not seen",
                 strerror(sys));
    note(watch, names[what], path, text);
}

/* ---- The descriptor ---- */

static void set_armed(struct cairn_watch *watch, bool armed)
{
    struct epoll_event event = {.events = armed ? EPOLLIN : 0};
    watch->armed = armed;
    if (watch->places.notify >= 0)
        (void)epoll_ctl(watch->epoll, EPOLL_CTL_MOD, watch->places.notify, &event);
    if (watch->state == STATE_WATCHED && watch->tree.notify >= 0)
        (void)epoll_ctl(watch->epoll, EPOLL_CTL_MOD, watch->tree.notify, &event);
}

static int add_descriptor(struct cairn_watch *watch, int fd, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (fd < 0 || epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    if (errno == EEXIST)
        return 0;
    return error_sys(error, errno, "watching the files of the session");
}

static int64_t next_ns(const struct cairn_watch *watch, int64_t now)
{
    int64_t wait = settle_wait(&watch->settle, now);
    int64_t at = watch->wake_ns;
    bool files = watch->state == STATE_WATCHED || watch->state == STATE_LOOKED_AT;
    if (files && wait < INT64_MAX - now && now + wait < at)
        at = now + wait;
    if (!watch->armed && watch->rest_ns < at)
        at = watch->rest_ns;
    if (watch->look_ns < at)
        at = watch->look_ns;
    if (watch->state == STATE_WATCHED && watch->tree.stale && watch->tree.again_ns < at)
        at = watch->tree.again_ns;
    if (watch->places.blind && now + ASK_NS < at)
        at = now + ASK_NS;
    return watch->places.stored ? now : at; /* they were opened since it was read */
}

/* A time of 0 would disarm it. */
static void set_timer(struct cairn_watch *watch)
{
    int64_t at = next_ns(watch, clock_boot_ns());
    struct itimerspec when = {{0, 0}, {0, 0}};
    if (at < INT64_MAX) {
        at = at > 0 ? at : 1;
        when.it_value = (struct timespec){.tv_sec = (time_t)(at / 1000000000),
                                          .tv_nsec = (long)(at % 1000000000)};
    }
    (void)timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int cairn_watch_descriptor(const struct cairn_watch *watch)
{
    return watch->epoll;
}

void cairn_watch_wake(struct cairn_watch *watch, int64_t ms)
{
    int64_t most = (INT64_MAX - clock_boot_ns()) / MS_NS;
    watch->wake_ns = ms < 0 || ms > most ? INT64_MAX : clock_boot_ns() + ms * MS_NS;
    set_timer(watch);
}

/* ---- The files ---- */

static void end_tree(struct cairn_watch *watch)
{
    if (watch->state == STATE_WATCHED || watch->state == STATE_LOOKED_AT)
        tree_watch_close(&watch->tree);
    watch->tree = (struct tree_watch){.notify = -1};
    watch->state = STATE_OFF;
    watch->look_ns = INT64_MAX;
}

static void lose_root(struct cairn_watch *watch, const char *why, int64_t now)
{
    end_tree(watch);
    watch->state = STATE_GONE;
    watch->look_ns = now + GONE_NS;
    if (str_equal(buf_view(&watch->why_gone), str_of(why)))
        return;
    note(watch, "gone", watch->root.size ? watch->root.data : "", why);
    buf_clear(&watch->why_gone);
    buf_text(&watch->why_gone, why);
}

/* The tree may have begun anew, with another descriptor, or be blind since. */
static int follow_tree(struct cairn_watch *watch, int64_t now,
                       struct cairn_error *error)
{
    if (watch->tree.changed)
        settle_note(&watch->settle, now);
    watch->tree.changed = false;
    if (watch->tree.several ||
        (watch->tree.only.size > 0 &&
         !str_equal(buf_view(&watch->tree.only), buf_view(&watch->steady))))
        settle_end_steady(&watch->settle);
    if (watch->tree.blind && watch->state != STATE_LOOKED_AT) {
        watch->state = STATE_LOOKED_AT;
        watch->look_ns = now + LOOK_NS;
    }
    return add_descriptor(watch, watch->tree.notify, error);
}

static void watch_places(struct cairn_watch *watch)
{
    char *real = realpath(cairn_store_path(watch->store), NULL);
    places_close(&watch->places);
    places_open(&watch->places, real ? real : cairn_store_path(watch->store),
                watch->root.size ? watch->root.data : NULL);
    free(real);
    if (add_descriptor(watch, watch->places.notify, NULL) != 0) {
        places_close(&watch->places);
        watch->places.blind = true;
    }
    if (watch->places.blind && !watch->told_blind)
        note(watch, "store", cairn_store_path(watch->store),
             "the store cannot be watched: it is asked four times a second");
    watch->told_blind = watch->places.blind;
}

static int begin_tree(struct cairn_watch *watch, int64_t now, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = files_root_path(watch->store, buf_view(&watch->name), &watch->root, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc) {
        lose_root(watch, why.text, now);
        return 0;
    }
    end_tree(watch);
    watch->state = STATE_WATCHED;
    watch->tree = (struct tree_watch){.root = watch->root.data,
                                      .notify = -1,
                                      .told = tell_tree,
                                      .context = watch,
                                      .own = watch->own,
                                      .n_own = watch->n_own};
    if (stat(cairn_store_path(watch->store), &watch->tree.store) != 0)
        watch->tree.store = (struct stat){0};
    watch_places(watch);
    watch->places.moved = false; /* the path leads here */
    rc = tree_watch_begin(&watch->tree, error);
    if (!rc && watch->tree.root_lost) {
        lose_root(watch, "the directory cannot be opened", now);
        return 0;
    }
    if (watch->why_gone.size)
        note(watch, "back", watch->root.data, "the directory is there again");
    buf_clear(&watch->why_gone);
    return rc ? rc : follow_tree(watch, clock_boot_ns(), error);
}

/* Is it the directory that is watched? */
static bool is_root(const struct cairn_watch *watch, const char *path)
{
    struct stat st;
    const struct stat *root = &watch->tree.root_st;
    return strcmp(path, watch->root.data) == 0 && stat(path, &st) == 0 &&
           st.st_dev == root->st_dev && st.st_ino == root->st_ino;
}

/* Does the path still lead to it? */
static int check_root(struct cairn_watch *watch, int64_t now, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct buf root = BUF_INIT;
    bool gone = watch->state == STATE_GONE;
    int rc = files_root_path(watch->store, buf_view(&watch->name), &root, &why);
    bool same = !rc && !gone && is_root(watch, root.data);
    buf_release(&root);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc) {
        lose_root(watch, why.text, now);
        return 0;
    }
    if (same && !watch->tree.root_lost)
        return 0;
    if (!same && !gone)
        note(watch, "replaced", watch->root.data,
             "another directory is in the place of that of the files, and is watched");
    return begin_tree(watch, now, error);
}

/* ---- The settings ---- */

/* What follows from them: whether there are files to be watched. */
static int read_settings(struct cairn_watch *watch, struct buf *name,
                         struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, watch->store, watch->session, error);
    const struct session_settings *settings = &live.settings;
    bool off =
        rc || live.row.ended_ns || settings->triggers.off >> TRIGGER_FILES_SETTLED & 1;
    watch->settle.settle_ns = off ? 0 : settings_settle(settings);
    if (watch->settle.settle_ns > 0)
        buf_str(name, settings->later[SETTING_FILES]);
    rc = live_close(&live, rc, error);
    return rc ? rc : buf_check(name, error);
}

static int follow_settings(struct cairn_watch *watch, int64_t now,
                           struct cairn_error *error)
{
    struct buf name = BUF_INIT;
    int rc = read_settings(watch, &name, error);
    bool same = str_equal(buf_view(&name), buf_view(&watch->name));
    if (rc || same) {
        buf_release(&name);
        return rc;
    }
    end_tree(watch);
    buf_release(&watch->name);
    watch->name = name;
    watch->settle.changed = false;
    buf_clear(&watch->why_gone);
    return name.size ? begin_tree(watch, now, error) : 0;
}

/* ---- A file that something writes all the time ---- */

/* Whether one file alone has changed since the last checkpoint, and has grown a little
 * since that, as it had before. Keeps which one it is. */
static bool take_steady(struct cairn_watch *watch)
{
    struct tree_watch *tree = &watch->tree;
    struct buf path = BUF_INIT;
    struct stat st;
    bool one = watch->state == STATE_WATCHED && !tree->several && tree->only.size > 0;
    bool soon = watch->settle.first_ns - watch->made_ns <= SOON_NS;
    bool same = str_equal(buf_view(&tree->only), buf_view(&watch->steady));
    if (one) {
        buf_format(&path, "%s/%s", tree->root, tree->only.data);
        one = !path.failed && lstat(path.data, &st) == 0 && S_ISREG(st.st_mode);
    }
    buf_release(&path);
    bool grown = one && same && soon && st.st_size > watch->steady_bytes &&
                 st.st_size - watch->steady_bytes <= STEP_BYTES;
    buf_clear(&watch->steady);
    if (one)
        buf_str(&watch->steady, buf_view(&tree->only));
    watch->steady_bytes = one ? st.st_size : 0;
    tree->several = false;
    buf_clear(&tree->only);
    return grown && !watch->steady.failed;
}

static void note_steady(struct cairn_watch *watch, bool steady, int64_t now)
{
    watch->made_ns = now;
    if (settle_note_steady(&watch->settle, steady, now))
        note(watch, "steady", watch->steady.data,
             "this file alone changes, and grows all the time: checkpoints of it alone "
             "are made less and less often, at least every 5 minutes and when it "
             "stops; what is in "
             ".cairnignore is not stored at all");
}

/* ---- What hooks change ---- */

static void swap_changed(struct cairn_watch *watch)
{
    struct buf only = watch->only;
    bool several = watch->several;
    watch->only = watch->tree.only;
    watch->several = watch->tree.several;
    watch->tree.only = only;
    watch->tree.several = several;
}

static void note_echo(struct cairn_watch *watch, int64_t now)
{
    settle_note_echo(&watch->settle, now);
    watch->tree.changed = false;
    if (watch->told_echo)
        return;
    watch->told_echo = true;
    note(watch, "hook",
         watch->tree.only.size ? watch->tree.only.data : watch->root.data,
         "this changed while a hook of the session ran: that alone makes a checkpoint "
         "only after a minute, then two, four, and so on; it is stored with the next "
         "edit; what is in .cairnignore is not stored at all");
}

static void end_hooks(struct cairn_watch *watch, int64_t now)
{
    if (watch->tree.changed)
        note_echo(watch, now);
    watch->tree.several = false;
    buf_clear(&watch->tree.only);
    swap_changed(watch);
}

int cairn_watch_hooks(struct cairn_watch *watch, bool run, struct cairn_error *error)
{
    int64_t now = clock_boot_ns();
    if (watch->state != STATE_WATCHED || run == watch->hooks)
        return 0;
    watch->hooks = run;
    if (!run && watch->tree.stale)
        watch->tree.again_ns = 0; /* a hook changed rules: that is its change, too */
    int rc = tree_watch_step(&watch->tree, error);
    if (!run)
        end_hooks(watch, now);
    if (!rc)
        rc = follow_tree(watch, now, error);
    if (run)
        swap_changed(watch);
    set_timer(watch);
    return rc;
}

/* ---- Public ---- */

int cairn_watch_ignore(struct cairn_watch *watch, int fd, struct cairn_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(error, errno, "watching the files of the session");
    if (!S_ISREG(st.st_mode))
        return 0;
    if (watch->n_own == OWN_MOST)
        return error_set(error, CAIRN_ELIMIT, "at most %d files can be left out",
                         OWN_MOST);
    watch->own[watch->n_own++] = st;
    watch->tree.n_own = watch->n_own;
    return 0;
}

static int open_descriptors(struct cairn_watch *watch, struct cairn_error *error)
{
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (watch->epoll < 0 || watch->timer < 0)
        return error_sys(error, errno, "watching the session");
    int rc = add_descriptor(watch, watch->timer, error);
    cairn_watch_wake(watch, 0);
    return rc;
}

int cairn_watch_open(struct cairn_watch **out, struct cairn_store *store,
                     const char *session, const struct cairn_watch_options *options,
                     struct cairn_error *error)
{
    SIZE_CHECK("cairn_watch_options", options, error);
    struct cairn_session_info info;
    int rc = cairn_session_get(store, session, &info, error);
    if (rc)
        return rc;
    struct cairn_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_nomem(error);
    watch->store = store;
    snprintf(watch->session, sizeof watch->session, "%llu",
             (unsigned long long)info.session);
    if (options)
        watch->options = *options;
    watch->epoll = watch->timer = watch->places.notify = watch->tree.notify = -1;
    watch->rest_ns = watch->look_ns = watch->wake_ns = INT64_MAX;
    watch->armed = true;
    rc = session_hold(store, info.session, &watch->held, error);
    if (!rc)
        rc = open_descriptors(watch, error);
    if (!rc)
        watch_places(watch);
    if (rc)
        cairn_watch_close(watch);
    else
        *out = watch;
    return rc;
}

void cairn_watch_postpone(struct cairn_watch *watch)
{
    int64_t now = clock_boot_ns();
    settle_begin(&watch->settle);
    settle_end(&watch->settle, SETTLE_FAILED, now, now);
    set_timer(watch);
}

void cairn_watch_close(struct cairn_watch *watch)
{
    if (!watch)
        return;
    if (watch->held)
        session_unhold(watch->store, strtoull(watch->session, NULL, 10));
    end_tree(watch);
    places_close(&watch->places);
    if (watch->timer >= 0)
        close(watch->timer);
    if (watch->epoll >= 0)
        close(watch->epoll);
    buf_release(&watch->name);
    buf_release(&watch->root);
    buf_release(&watch->why_gone);
    buf_release(&watch->steady);
    buf_release(&watch->only);
    free(watch);
}

static int follow_files(struct cairn_watch *watch, int64_t now,
                        struct cairn_error *error)
{
    int rc = 0;
    bool due = now >= watch->look_ns;
    if (due)
        watch->look_ns = now + LOOK_NS;
    if (watch->state == STATE_WATCHED)
        rc = tree_watch_step(&watch->tree, error);
    if (!rc && watch->state == STATE_WATCHED)
        rc = follow_tree(watch, now, error);
    bool doubt = watch->places.moved || watch->tree.root_lost ||
                 (due && watch->state == STATE_GONE) ||
                 (due && watch->state == STATE_LOOKED_AT);
    watch->places.moved = false;
    if (!rc && doubt && watch->state != STATE_OFF)
        rc = check_root(watch, now, error);
    if (!rc && due && watch->state == STATE_LOOKED_AT)
        settle_note(&watch->settle, now - watch->settle.settle_ns);
    return rc;
}

static void tell_news(struct cairn_watch *watch, struct cairn_watch_news *news)
{
    static const char *const states[] = {[STATE_OFF] = "off",
                                         [STATE_WATCHED] = "watched",
                                         [STATE_LOOKED_AT] = "looked-at",
                                         [STATE_GONE] = "gone"};
    bool files = watch->state == STATE_WATCHED || watch->state == STATE_LOOKED_AT;
    news->due = files && settle_wait(&watch->settle, clock_boot_ns()) == 0;
    news->state = states[watch->state];
    news->root = watch->state == STATE_OFF ? NULL : watch->root.data;
    news->directories = watch->state == STATE_WATCHED ? watch->tree.dirs.n_watched : 0;
}

int cairn_watch_step(struct cairn_watch *watch, struct cairn_watch_news *news,
                     struct cairn_error *error)
{
    uint64_t times;
    int64_t now = clock_boot_ns();
    int rc = 0;
    (void)!read(watch->timer, &times, sizeof times);
    if (now >= watch->wake_ns)
        watch->wake_ns = INT64_MAX;
    places_read(&watch->places);
    struct cairn_watch_news told = {.store = watch->places.stored};
    int64_t last = watch->settle.last_ns;
    watch->places.stored = false;
    if (told.store)
        rc = follow_settings(watch, now, error);
    if (!rc)
        rc = follow_files(watch, now, error);
    told.files = watch->settle.changed && watch->settle.last_ns != last;
    if (told.store || told.files)
        watch->rest_ns = now + REST_NS;
    set_armed(watch, now >= watch->rest_ns || watch->rest_ns == INT64_MAX);
    tell_news(watch, &told);
    set_timer(watch);
    if (!rc)
        *news = told;
    return rc;
}

int cairn_watch_checkpoint(struct cairn_watch *watch, struct cairn_store *store,
                           struct cairn_captured *captured, struct cairn_error *error)
{
    const struct cairn_capture capture = {.trigger = "files-settled"};
    struct cairn_captured made = {0};
    int64_t began = clock_boot_ns();
    bool steady = take_steady(watch);
    settle_begin(&watch->settle);
    int rc = cairn_session_checkpoint(store, watch->session, &capture, &made, error);
    int64_t now = clock_boot_ns(), pause = (now - began) * LOOK_TIMES;
    settle_end(&watch->settle,
               rc          ? SETTLE_FAILED
               : made.made ? SETTLE_MADE
                           : SETTLE_UNCHANGED,
               began, now);
    if (!rc && made.made)
        note_steady(watch, steady, now);
    if (watch->state == STATE_LOOKED_AT)
        watch->look_ns = now + (pause > LOOK_NS ? pause : LOOK_NS);
    set_timer(watch);
    if (!rc && captured)
        *captured = made;
    return rc;
}
