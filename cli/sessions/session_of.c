/* SPDX-License-Identifier: MIT */
/* The session that a command works on, its store, texts from stdin. */
#include "cli/sessions/session_of.h"

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/ui.h"

#include "cairn.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_STDIN_MAX ((size_t)65536)

struct other_changed {
    struct cairn_restore_other is;
    char *path, *session; /* heap */
};

void others_note(void *context, const struct cairn_restore_other *other)
{
    struct others_changed *others = context;
    struct other_changed *at = realloc(others->at, (others->n + 1) * sizeof *at);
    others->failed = others->failed || at == NULL;
    if (at == NULL)
        return;
    others->at = at;
    at += others->n++;
    *at = (struct other_changed){*other, strdup(other->path), strdup(other->session)};
    others->failed = others->failed || at->path == NULL || at->session == NULL;
}

void others_kept(void *context, const char *path, const char *what)
{
    struct others_changed *others = context;
    size_t bytes = strlen(path) + strlen(what) + 2;
    ui_warn("%s %s", path, what);
    char *text = malloc(bytes);
    char **texts =
        text ? realloc(others->warnings, (others->n_warnings + 1) * sizeof *texts)
             : NULL;
    if (!texts) {
        others->failed = true;
        free(text);
        return;
    }
    others->warnings = texts;
    snprintf(text, bytes, "%s %s", path, what);
    texts[others->n_warnings++] = text;
}

void warnings_document(struct doc *doc, const struct others_changed *others)
{
    doc_array(doc, "warnings");
    for (size_t i = 0; i < others->n_warnings; i++)
        doc_text(doc, NULL, others->warnings[i]);
    doc_end(doc);
}

void others_release(struct others_changed *others)
{
    for (size_t i = 0; i < others->n_warnings; i++)
        free(others->warnings[i]);
    free(others->warnings);
    for (size_t i = 0; i < others->n; i++) {
        free(others->at[i].path);
        free(others->at[i].session);
    }
    free(others->at);
    *others = (struct others_changed){.at = NULL};
}

void others_document(struct doc *doc, const struct others_changed *others)
{
    doc->failed = doc->failed || others->failed;
    doc_array(doc, "others");
    for (size_t i = 0; i < others->n && !others->failed; i++) {
        const struct other_changed *at = &others->at[i];
        doc_object(doc, NULL);
        doc_text(doc, "path", at->path);
        doc_text(doc, "session", at->session[0] != '\0' ? at->session : NULL);
        doc_bool(doc, "there", at->is.there);
        doc_bool(doc, "stays", at->is.stays);
        doc_bool(doc, "beside", at->is.beside);
        doc_end(doc);
    }
    doc_end(doc);
}

static void say_one(const struct other_changed *at)
{
    const char *whose = at->session[0] != '\0' ? at->session : "nobody known";
    if (at->is.stays && at->is.there)
        ui_warn("%s was changed since by %s: it stays", at->path, whose);
    else if (at->is.stays)
        ui_warn("%s was removed since by %s: it stays removed", at->path, whose);
    else if (at->is.beside)
        ui_warn("%s was changed since by %s, too: what was there is kept beside it, as "
                ".before-restore",
                at->path, whose);
    else if (at->is.there)
        ui_warn("%s was changed since by %s, too: it goes back", at->path, whose);
    else
        ui_warn("%s was changed since by %s, too, and was not there: it comes back",
                at->path, whose);
}

void others_say(const struct others_changed *others)
{
    enum { MOST = 20 };
    if (ui_json())
        return;
    for (size_t i = 0; i < others->n && i < MOST && !others->failed; i++)
        say_one(&others->at[i]);
    if (others->n > MOST)
        ui_warn("and %zu more", others->n - MOST);
    if (others->n > 0)
        ui_warn("--all goes back without regard to what others have changed");
}

static bool in_fork; /* set where the store is opened */

void session_forget_fork(void)
{
    in_fork = false;
}

/* In the directory of a fork its file .cairn says which session is meant: the variable
 * may be that of an agent which works here for a while. */
static const char *session_variable(void)
{
    const char *name = getenv("CAIRN_SESSION");
    return name && name[0] != '\0' && !in_fork ? name : NULL;
}

static void look_for_fork(const struct settings *settings)
{
    const char *name = session_variable();
    in_fork = cairn_store_is_fork(settings->store);
    if (in_fork && name && !settings->given[OPT_SESSION])
        say("cairn: here the file .cairn says which session is meant, not "
            "$CAIRN_SESSION (%s); --session names another one",
            name);
}

const char *session_option(const struct settings *settings)
{
    const char *session =
        settings->given[OPT_SESSION] ? settings->text[OPT_SESSION] : session_variable();
    unfinished_restores_of(session);
    return session;
}

int session_operand(const struct settings *settings, const char **session)
{
    if (settings->n_operands > 0 && settings->given[OPT_SESSION])
        return report_usage(settings->command,
                            "give only one of SESSION and --session");
    *session =
        settings->n_operands > 0 ? settings->operands[0] : session_option(settings);
    unfinished_restores_of(*session);
    return 0;
}

void session_say_variable(void)
{
    const char *name = session_variable();
    if (name && !ui_json())
        say("CAIRN_SESSION is set: commands here work on session %s", name);
}

int session_store(struct settings *settings, enum store_use use)
{
    struct cairn_error error = {0};
    struct cairn_store_options options = {
        .path = store_path(settings),
        .read_only = use == STORE_READ,
        .key_file = settings->text[OPT_KEY],
    };
    int rc = store_open(&settings->store, &options, &error);
    if (rc != 0 && rc != CAIRN_ENOTFOUND && use == STORE_WRITE_IF_POSSIBLE) {
        options.read_only = true;
        rc = store_open(&settings->store, &options, &error);
    }
    if (rc == CAIRN_ENOTFOUND && use == STORE_CREATE && settings->given[OPT_KEY])
        return report_usage(settings->command, "sessions have no key: leave --key out");
    if (rc == CAIRN_ENOTFOUND && use == STORE_CREATE) {
        options.create = true;
        rc = store_open(&settings->store, &options, &error);
        if (rc == 0)
            say_store_made(settings->store);
    }
    if (rc == CAIRN_ENOTFOUND)
        return report_failure(EXIT_NOT_FOUND, cairn_code_name(rc),
                              "there is no store %s: `cairn session start` makes one",
                              options.path ? options.path : "here or above");
    if (rc == 0 && (use == STORE_WRITE || use == STORE_CREATE))
        rc = note_asked(settings, settings->store, &error);
    if (rc != 0)
        return report_error(&error);
    settings->hooks = true;
    store_listen(settings->store);
    look_for_fork(settings);
    return 0;
}

/* ---- The project ---- */

/* Where HOME is not set (cron), as the system has it. */
static const char *home_directory(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user = home && home[0] != '\0' ? NULL : getpwuid(geteuid());
    return user ? user->pw_dir : home && home[0] != '\0' ? home : "/";
}

bool project_of(const struct cairn_store *store, char out[PATH_MAX])
{
    static const char *const marks[] = {".git", "cairn.yaml", "cairn.yml",
                                        "cairn.json"};
    char here[PATH_MAX], path[PATH_MAX + 16], *name;
    if (!realpath(cairn_store_path(store), out) || !getcwd(here, sizeof here))
        return false;
    name = strrchr(out, '/');
    if (!name || strcmp(name, "/.cairn") != 0)
        return false;
    *name = '\0';
    size_t n = strlen(out);
    if (strncmp(here, out, n) != 0 || (here[n] != '\0' && here[n] != '/'))
        return false;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        snprintf(path, sizeof path, "%s/%s", out, marks[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    /* The home directory, or one above it. */
    return n > 0 && !(realpath(home_directory(), path) && strncmp(path, out, n) == 0 &&
                      (path[n] == '\0' || path[n] == '/'));
}

/* ---- Checkpoints ---- */

static int note_head(void *context, const struct cairn_branch_info *info)
{
    const char *id = info->head[0] != '\0' ? info->head : info->from;
    if (info->current)
        snprintf(context, CAIRN_ID_MAX, "%s", id);
    return info->current;
}

int session_newest(struct cairn_store *store, const char *session,
                   char id[CAIRN_ID_MAX], struct cairn_error *error)
{
    id[0] = '\0';
    return cairn_branch_list(store, session, note_head, id, error);
}

/* An id or number that means itself, in either namespace. */
static bool is_plain_id(const char *text)
{
    const char *digits = strncmp(text, "debug:", 6) == 0      ? text + 6
                         : strncmp(text, "workflow:", 9) == 0 ? text + 9
                                                              : text;
    size_t n = strspn(digits, "0123456789");
    if (n > 0 && digits[n] == '-')
        n += 1 + strspn(digits + n + 1, "0123456789abcdef");
    return digits[0] != '\0' && digits[n] == '\0';
}

enum { DIGITS_LEAST = 4 }; /* of a digest */

static bool has_digits(const char *text, size_t least)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n >= least && text[n] == '\0';
}

bool looks_like_checkpoint(const char *text)
{
    return is_plain_id(text) || has_digits(text, DIGITS_LEAST);
}

int session_checkpoint_of(struct cairn_store *store, const char *session,
                          const char *text, char id[CAIRN_ID_MAX], const char **out)
{
    struct cairn_moment moment = {.name = text};
    struct cairn_checkpoint_info info;
    struct cairn_error error = {0};
    *out = text;
    if (!text || text[0] == '\0' || is_plain_id(text))
        return 0;
    int rc = cairn_session_at(store, session, &moment, &info, &error);
    if (rc == 0)
        snprintf(id, CAIRN_ID_MAX, "%s", info.id);
    else if (rc != CAIRN_EAMBIGUOUS &&
             (has_digits(text, DIGITS_LEAST) ||
              (has_digits(text, 1) && session_newest(store, session, id, NULL) != 0)))
        return 0; /* of the digest of a run's, perhaps; or there is no session */
    else
        return report_error(&error);
    *out = id;
    return 0;
}

int checkpoint_named(const struct settings *settings, const char *text,
                     char id[CAIRN_ID_MAX], const char **out)
{
    return session_checkpoint_of(settings->store, session_option(settings), text, id,
                                 out);
}

/* An id names one of any session, but for what --session says. */
static int check_session(const struct settings *settings, const char *id)
{
    struct cairn_moment moment = {.id = id};
    struct cairn_checkpoint_info info;
    struct cairn_error error = {0};
    int rc = settings->given[OPT_SESSION] && id
                 ? cairn_session_at(settings->store, session_option(settings), &moment,
                                    &info, &error)
                 : 0;
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE ? report_error(&error) : 0;
}

int checkpoint_operand(struct settings *settings, int n)
{
    int status = check_session(settings, settings->operands[n] &&
                                                 is_plain_id(settings->operands[n])
                                             ? settings->operands[n]
                                             : NULL);
    if (status != 0)
        return status;
    return checkpoint_named(settings, settings->operands[n],
                            settings->meant[settings->n_meant++],
                            &settings->operands[n]);
}

int checkpoint_option(struct settings *settings, enum option_id option)
{
    return checkpoint_named(settings, settings->text[option],
                            settings->meant[settings->n_meant++],
                            &settings->text[option]);
}

/* ---- Texts ---- */

size_t text_mark(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int stdin_text(size_t most, struct buf *in, struct str *text)
{
    enum { MARK = 3 };
    /* A mark, a line break, and the byte too many. */
    int status = read_given("-", MARK + most + 1, in);
    size_t mark = text_mark(in->data, in->size), n = in->size - mark;
    if (status != 0)
        return status;
    if (n > 0 && in->data[mark + n - 1] == '\n')
        in->data[mark + --n] = '\0';
    *text = n > 0 ? (struct str){in->data + mark, n} : STR("");
    return 0;
}

int texts_take(struct texts *texts, const char *given, const char **out)
{
    struct str text;
    *out = given;
    if (strcmp(given, "-") != 0)
        return 0;
    if (texts->from_stdin.data)
        return report_usage(texts->command, "only one text can be read from stdin");
    int status = stdin_text(TEXT_STDIN_MAX, &texts->from_stdin, &text);
    if (status != 0)
        return status;
    if (text.len > TEXT_STDIN_MAX)
        return report_usage(texts->command,
                            "there is more than %zu KiB on stdin: keep the text in a "
                            "file, and name it",
                            TEXT_STDIN_MAX >> 10);
    if (text.len == 0)
        return report_usage(texts->command, "there is no text on stdin");
    if (strlen(text.ptr) != text.len)
        return report_usage(texts->command, "what is on stdin has a NUL byte in it");
    *out = text.ptr;
    return 0;
}

void texts_release(struct texts *texts)
{
    buf_release(&texts->from_stdin);
}

/* ---- Lists of words ---- */

bool word_list_init(struct word_list *list, const char *given)
{
    static const char blanks[] = " \t";
    char *rest, *part;
    size_t most = 1;
    *list = (struct word_list){0};
    if (!given)
        return true;
    for (const char *comma = given; (comma = strchr(comma, ',')); comma++)
        most++;
    list->text = strdup(given);
    list->words = calloc(most, sizeof *list->words);
    if (!list->text || !list->words) {
        word_list_release(list);
        report_nomem();
        return false;
    }
    for (part = strtok_r(list->text, ",", &rest); part;
         part = strtok_r(NULL, ",", &rest)) {
        size_t n;
        part += strspn(part, blanks);
        for (n = strlen(part); n > 0 && strchr(blanks, part[n - 1]); n--)
            part[n - 1] = '\0';
        if (n > 0)
            list->words[list->n++] = part;
    }
    return true;
}

void word_list_release(struct word_list *list)
{
    free(list->words);
    free(list->text);
    *list = (struct word_list){0};
}
