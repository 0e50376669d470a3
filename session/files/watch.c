/* SPDX-License-Identifier: MIT */
/* Checkpoints after edits have settled. */
#include "session/files/watch.h"

#include "session/files_pending.h"
#include "session/session_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "cairn/files.h"
#include "snapshot/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ==== The store and the directories ==== */

static int add_directory(struct places *places, const char *path, enum notify_kind kind)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int sys = notify_add(places->notify, fd, kind) < 0 ? errno : 0;
    close(fd);
    return sys;
}

/* It and those that lead to it. One that may not be read cannot be watched: that it was
 * moved is noticed once something else happens. */
static void add_way(struct places *places, const char *path)
{
    char *way = strdup(path);
    for (size_t n = way ? strlen(way) : 0; n > 1; n--) {
        if (n < strlen(path) && path[n] != '/')
            continue;
        way[n] = '\0';
        (void)add_directory(places, way, NOTIFY_PLACE);
    }
    free(way);
}

/* Paths without links; `root` may be NULL. Both flags are set. */
static void places_open(struct places *places, const char *store, const char *root)
{
    *places = (struct places){.notify = notify_open(), .stored = true, .moved = true};
    places->sys =
        places->notify < 0 ? errno : add_directory(places, store, NOTIFY_ENTRIES);
    places->blind = places->sys != 0;
    if (places->notify >= 0 && places->blind) {
        close(places->notify);
        places->notify = -1;
    }
    if (places->blind)
        return;
    add_way(places, store);
    if (root)
        add_way(places, root);
}

static int see(void *context, const struct notify_event *event)
{
    static const char database[] = "cairn.db";
    struct places *places = context;
    if (event->name.len >= sizeof database - 1 &&
        memcmp(event->name.ptr, database, sizeof database - 1) == 0)
        places->stored = true;
    if (event->what & (NOTIFY_SELF | NOTIFY_ENDED | NOTIFY_LOST))
        places->stored = places->moved = true;
    return 0;
}

static void places_read(struct places *places)
{
    if (places->blind || notify_read(places->notify, see, places) != 0)
        places->stored = places->moved = true;
}

static void places_close(struct places *places)
{
    if (places->notify >= 0)
        close(places->notify);
    places->notify = -1;
}

/* ==== When changed files are due ==== */

#define MINUTE_NS 60000000000ll
#define RETRY_NS 1000000000ll
#define RETRY_MOST_NS (5 * MINUTE_NS)
#define STEADY_MOST_NS (5 * MINUTE_NS)
#define STEADY_QUIET_NS (30 * RETRY_NS)

static void note_change(struct settle *settle, int64_t now_ns)
{
    if (now_ns - settle->last_ns > settle->settle_ns) /* else it is the same change */
        settle->gap_ns = now_ns - settle->last_ns;
    if (!settle->changed)
        settle->first_ns = now_ns;
    settle->changed = true;
    settle->last_ns = now_ns;
}

void settle_note(struct settle *settle, int64_t now_ns)
{
    if (settle->changed && settle->echo) /* the time of an edit begins with it */
        settle->first_ns = now_ns;
    note_change(settle, now_ns);
    settle->echo = false;
}

void settle_note_echo(struct settle *settle, int64_t now_ns)
{
    settle->echo = settle->echo || !settle->changed;
    if (!settle->changed || settle->echo)
        note_change(settle, now_ns);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When a file that alone grows is stored: at a long pause in it, which ends what a
 * person typed, or when its time has come, for a log. */
static int64_t steady_time(const struct settle *settle)
{
    int64_t quiet = SETTLE_GAPS * settle->gap_ns;
    if (settle->gap_ns > STEADY_MOST_NS || quiet < STEADY_QUIET_NS)
        quiet = STEADY_QUIET_NS;
    quiet += settle->last_ns;
    return quiet < settle->steady_until_ns ? quiet : settle->steady_until_ns;
}

int64_t settle_wait(const struct settle *settle, int64_t now_ns)
{
    if (!settle->changed || settle->settle_ns <= 0)
        return INT64_MAX;
    int64_t at = settle->last_ns + settle->settle_ns;
    int64_t latest = settle->first_ns + SETTLE_LATEST_TIMES * settle->settle_ns;
    if (at > latest)
        at = latest;
    if (settle->n_made == SETTLE_A_MINUTE)
        at = later_of(at, settle->made_ns[0] + MINUTE_NS);
    at = later_of(at, settle->not_before_ns);
    if (settle->steady >= SETTLE_STEADY)
        at = later_of(at, steady_time(settle));
    if (settle->echo)
        at = later_of(at, settle->last_ns + (MINUTE_NS << settle->echoes));
    return at > now_ns ? at - now_ns : 0;
}

void settle_begin(struct settle *settle)
{
    settle->changed = false;
    settle->echoes = settle->echo ? settle->echoes + 1 : 0;
    if (settle->echoes > SETTLE_ECHOES)
        settle->echoes = SETTLE_ECHOES;
    settle->echo = false;
}

static void note_made(struct settle *settle, int64_t now_ns)
{
    int64_t *made = settle->made_ns;
    if (settle->n_made == SETTLE_A_MINUTE)
        memmove(made, made + 1, --settle->n_made * sizeof *made);
    made[settle->n_made++] = now_ns;
}

void settle_end(struct settle *settle, enum settle_end how, int64_t began_ns,
                int64_t now_ns)
{
    int64_t rest = SETTLE_PAUSE_TIMES * (now_ns - began_ns);
    if (how == SETTLE_MADE)
        note_made(settle, now_ns);
    if (how != SETTLE_FAILED) {
        settle->failures = 0;
        settle->not_before_ns = now_ns + (rest < MINUTE_NS ? rest : MINUTE_NS);
        return;
    }
    int64_t pause = RETRY_NS;
    for (unsigned i = 0; i < settle->failures && pause < RETRY_MOST_NS; i++)
        pause *= 2;
    settle->failures++;
    settle->not_before_ns = now_ns + (pause < RETRY_MOST_NS ? pause : RETRY_MOST_NS);
    settle_note(settle, now_ns);
}

bool settle_note_steady(struct settle *settle, bool steady, int64_t now_ns)
{
    int64_t pause = settle->settle_ns;
    settle->steady = steady ? settle->steady + 1 : 0;
    for (unsigned i = SETTLE_STEADY; i <= settle->steady && pause < STEADY_MOST_NS; i++)
        pause *= 2;
    if (pause > STEADY_MOST_NS)
        pause = STEADY_MOST_NS;
    settle->steady_until_ns = now_ns + pause;
    return settle->steady == SETTLE_STEADY;
}

void settle_end_steady(struct settle *settle)
{
    settle->steady = 0;
}

/* ==== Watching ==== */

/* cairn/files.h. One descriptor has it all: an epoll instance with the notifications of
 * the places, those of the files, and a timer. */

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
    struct buf why_gone;   /* the last one reported; empty while the directory exists */
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
        note(watch, "back", watch->root.data, "the directory exists again");
    buf_clear(&watch->why_gone);
    return rc ?: follow_tree(watch, clock_boot_ns(), error);
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
    return rc ?: buf_check(name, error);
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
    STRUCT_TAKE(cairn_watch_options, options, error);
    struct cairn_session_info info;
    int rc = cairn_session_get(store, session, &info, error);
    if (rc)
        return rc;
    struct cairn_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_nomem(error);
    watch->store = store;
    u64_text(info.session, watch->session);
    if (options)
        watch->options = *options;
    watch->epoll = watch->timer = watch->places.notify = watch->tree.notify = -1;
    watch->rest_ns = watch->look_ns = watch->wake_ns = INT64_MAX;
    watch->armed = true;
    rc = session_hold(store, info.session, &watch->held, error)
             ?: open_descriptors(watch, error);
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
