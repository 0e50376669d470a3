/* SPDX-License-Identifier: MIT */
#include "cli/files/patterns.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int out_of_memory(void)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
}

int patterns_take(struct patterns *patterns, const char *given)
{
    size_t most = 1 + OPERANDS_MAX;
    *patterns = (struct patterns){.n = 0};
    for (const char *comma = given; comma && (comma = strchr(comma, ',')); comma++)
        most++;
    patterns->text = strdup(given ? given : "");
    patterns->list = calloc(most, sizeof *patterns->list);
    if (!patterns->text || !patterns->list)
        return out_of_memory();
    if (given)
        patterns->list[patterns->n++] = patterns->text;
    for (char *at = patterns->text; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == ',') {
            *at = '\0';
            patterns->list[patterns->n++] = at + 1;
        }
    }
    return 0;
}

/* ---- Files that are operands ---- */

static int note_root(void *context, const char *name, const char *value, bool usual)
{
    (void)usual;
    if (strcmp(name, "files") == 0)
        snprintf(context, PATH_MAX, "%s", value);
    return 0;
}

/* The directory of the session's files; "" if it has none, or that is gone. */
static void find_root(const struct settings *settings, struct cairn_store *store,
                      char root[PATH_MAX])
{
    char value[PATH_MAX] = "off", path[2 * PATH_MAX], *real;
    (void)cairn_session_config(store, session_option(settings), note_root, value, NULL);
    snprintf(path, sizeof path, "%s%s%s",
             value[0] == '/' ? "" : cairn_store_path(store),
             value[0] == '/' ? "" : "/../", value);
    real = strcmp(value, "off") == 0 ? NULL : realpath(path, NULL);
    snprintf(root, PATH_MAX, "%s", real ? real : "");
    free(real);
}

/* Seen from the working directory, without `.` and `..`: the file may be gone, so the
 * system is not asked. */
static bool resolve(const char *operand, char out[2 * PATH_MAX])
{
    char here[PATH_MAX] = "", whole[2 * PATH_MAX];
    size_t n = 0;
    if (operand[0] != '/' && !getcwd(here, sizeof here))
        return false;
    if (snprintf(whole, sizeof whole, "%s/%s", here, operand) >= (int)sizeof whole)
        return false;
    out[0] = '\0';
    for (char *rest, *part = strtok_r(whole, "/", &rest); part;
         part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, "..") == 0)
            n = n > 0 ? (size_t)(strrchr(out, '/') - out) : 0;
        else if (strcmp(part, ".") != 0)
            n += (size_t)snprintf(out + n, 2 * PATH_MAX - n, "/%s", part);
        out[n] = '\0';
    }
    return true;
}

/* What means something in a pattern stands for itself. */
static char *literal(const char *path)
{
    char *pattern = malloc(2 * strlen(path) + 3), *out = pattern;
    for (; pattern && *path != '\0'; path++) {
        if (strchr("*?[]\\ ", *path))
            *out++ = '\\';
        *out++ = *path;
    }
    if (pattern)
        memcpy(out, out == pattern ? "/*" : "\0", out == pattern ? 3 : 1);
    return pattern;
}

/* Its path below the root, or NULL: it is not there. */
static const char *below(const char *root, const char *operand, char path[2 * PATH_MAX])
{
    size_t n = strlen(root);
    bool is = n > 0 && resolve(operand, path) && strncmp(path, root, n) == 0 &&
              (path[n] == '/' || path[n] == '\0');
    return is ? path + n : NULL;
}

int file_by_name(const struct settings *settings, struct cairn_store *store,
                 const char *operand,
                 int (*call)(void *context, const char *path,
                             struct cairn_error *error),
                 void *context, struct cairn_error *error)
{
    char root[PATH_MAX], path[2 * PATH_MAX];
    struct cairn_error other = {0};
    find_root(settings, store, root);
    const char *seen = below(root, operand, path);
    if (!seen || seen[0] == '\0' || strcmp(seen + 1, operand) == 0)
        return call(context, operand, error);
    int rc = call(context, seen + 1, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    int second = call(context, operand, &other);
    if (second != 0 && second != CAIRN_ENOTFOUND)
        *error = other;
    return second == CAIRN_ENOTFOUND ? rc : second;
}

int patterns_add_files(struct patterns *patterns, const struct settings *settings,
                       struct cairn_store *store, int first)
{
    char root[PATH_MAX], path[2 * PATH_MAX];
    if (first >= settings->n_operands)
        return 0;
    find_root(settings, store, root);
    for (int i = first; i < settings->n_operands; i++) {
        const char *operand = settings->operands[i];
        const char *seen = below(root, operand, path);
        if (!seen)
            return report_usage(
                settings->command,
                "%s is not below the directory of the session's files%s%s", operand,
                root[0] != '\0' ? ", " : "", root);
        char *pattern = literal(seen);
        if (!pattern)
            return out_of_memory();
        patterns->files[patterns->n_files++] = pattern;
        patterns->list[patterns->n++] = pattern;
    }
    return 0;
}

char *path_operand(const struct settings *settings, struct cairn_store *store,
                   const char *path)
{
    char root[PATH_MAX], here[PATH_MAX] = "", *whole = NULL;
    find_root(settings, store, root);
    bool is_here = getcwd(here, sizeof here) && strcmp(here, root) == 0;
    if (asprintf(&whole, "%s%s%s", is_here ? path[0] == '-' ? "." : "" : root,
                 is_here && path[0] != '-' ? "" : "/", path) < 0)
        return NULL;
    char *word = shell_word(whole);
    free(whole);
    return word;
}

void patterns_release(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->n_files; i++)
        free(patterns->files[i]);
    free(patterns->list);
    free(patterns->text);
    *patterns = (struct patterns){.n = 0};
}
