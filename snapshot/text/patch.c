/* SPDX-License-Identifier: MIT */
#include "snapshot/text/patch.h"

#include "snapshot/text/hunks.h"

#include <sys/stat.h>

struct patch {
    const struct text_file *old, *new; /* NULL: there is none */
    const struct text_patch_options *options;
    struct buf *out;
    struct text_stat stat;
};

/* The escape of a byte, 0: it stands for itself, 'o': its number. */
static char escape_of(unsigned char byte)
{
    static const char named[] = "abtnvfr"; /* from 7 */
    if (byte == '"' || byte == '\\')
        return (char)byte;
    if (byte >= 7 && byte <= 13)
        return named[byte - 7];
    return byte < ' ' || byte >= 127 ? 'o' : 0;
}

void text_quote(struct buf *out, const char *before, struct str path)
{
    bool is_odd = path.len && memchr(path.ptr, ' ', path.len);
    for (size_t i = 0; i < path.len; i++)
        is_odd = is_odd || escape_of((unsigned char)path.ptr[i]);
    if (is_odd)
        buf_byte(out, '"');
    buf_text(out, before);
    for (size_t i = 0; i < path.len; i++) {
        unsigned char byte = (unsigned char)path.ptr[i];
        char escape = escape_of(byte);
        if (escape == 'o')
            buf_format(out, "\\%03o", byte);
        else if (escape)
            buf_format(out, "\\%c", escape);
        else
            buf_byte(out, byte);
    }
    if (is_odd)
        buf_byte(out, '"');
}

static unsigned mode_of(const struct text_file *file)
{
    if (S_ISLNK(file->mode))
        return 0120000;
    return file->mode & S_IXUSR ? 0100755 : 0100644;
}

static void name_line(struct buf *out, const char *what, struct str path)
{
    buf_text(out, what);
    text_quote(out, "", path);
    buf_byte(out, '\n');
}

static void add_modes(const struct patch *p)
{
    if (!p->old)
        buf_format(p->out, "new file mode %06o\n", mode_of(p->new));
    else if (!p->new)
        buf_format(p->out, "deleted file mode %06o\n", mode_of(p->old));
    else if (mode_of(p->old) != mode_of(p->new))
        buf_format(p->out, "old mode %06o\nnew mode %06o\n", mode_of(p->old),
                   mode_of(p->new));
}

static void add_names(const struct patch *p, bool is_moved, bool is_same)
{
    buf_text(p->out, "diff --git ");
    text_quote(p->out, "a/", (p->old ? p->old : p->new)->path);
    buf_byte(p->out, ' ');
    text_quote(p->out, "b/", (p->new ? p->new : p->old)->path);
    buf_byte(p->out, '\n');
    add_modes(p);
    if (!is_moved)
        return;
    if (is_same)
        buf_text(p->out, "similarity index 100%\n");
    name_line(p->out, p->options->is_copy ? "copy from " : "rename from ",
              p->old->path);
    name_line(p->out, p->options->is_copy ? "copy to " : "rename to ", p->new->path);
}

static void add_side(const struct patch *p, const char *before,
                     const struct text_file *file)
{
    if (file)
        text_quote(p->out, before, file->path);
    else
        buf_text(p->out, "/dev/null");
}

static void add_side_line(const struct patch *p, const char *what, const char *before,
                          const struct text_file *file)
{
    buf_text(p->out, what);
    add_side(p, before, file);
    buf_byte(p->out, '\n');
}

static void add_range(struct buf *out, char sign, size_t first, size_t lines)
{
    buf_format(out, " %c%zu", sign, first);
    if (lines != 1)
        buf_format(out, ",%zu", lines);
}

static int add_hunk(void *context, const struct text_hunk *hunk,
                    struct cairn_error *error)
{
    struct buf *out = context;
    buf_text(out, "@@");
    add_range(out, '-', hunk->a_first, hunk->a_lines);
    add_range(out, '+', hunk->b_first, hunk->b_lines);
    buf_text(out, " @@\n");
    return buf_check(out, error);
}

static int add_line(void *context, enum text_line kind, struct str line,
                    struct cairn_error *error)
{
    struct buf *out = context;
    buf_byte(out, (uint8_t)kind);
    buf_str(out, line);
    if (line.ptr[line.len - 1] != '\n')
        buf_text(out, "\n\\ No newline at end of file\n");
    return buf_check(out, error);
}

static int add_text(struct patch *p, struct str old, struct str new,
                    struct cairn_error *error)
{
    const struct text_visitor visitor = {p->out, add_hunk, add_line};
    struct text_diff diff;
    int rc = text_diff(old, new, &diff, error);
    if (rc)
        return rc;
    p->stat.added += diff.added;
    p->stat.removed += diff.removed;
    add_side_line(p, "--- ", "a/", p->old);
    add_side_line(p, "+++ ", "b/", p->new);
    rc = text_hunks(old, new, &diff, p->options->around, &visitor, error);
    text_diff_release(&diff);
    return rc;
}

/* Only named: without the line that begins a change, for which `git apply` would want
 * the content. Behind an empty line: else `git apply` takes it for a part of the change
 * before it, if that has no lines, and refuses the whole patch. */
static void add_binary(struct patch *p)
{
    bool is_large = (p->old && p->old->is_large) || (p->new && p->new->is_large);
    const char *why = p->options->is_barred ? ": something binary is in the way\n"
                      : is_large            ? ": too large to compare lines (4 MiB)\n"
                                            : "\n";
    p->stat.is_binary = true;
    buf_text(p->out, *why == ':' ? "\nFiles " : "\nBinary files ");
    add_side(p, "a/", p->old);
    buf_text(p->out, " and ");
    add_side(p, "b/", p->new);
    buf_text(p->out, " differ");
    buf_text(p->out, why);
}

static bool is_binary(const struct text_file *file)
{
    return file && (file->is_large || text_is_binary(file->content));
}

static bool is_unchanged(const struct text_file *old, const struct text_file *new)
{
    return str_equal(old->path, new->path) && str_equal(old->content, new->content) &&
           mode_of(old) == mode_of(new);
}

/* Neither side is a link, or one is missing. */
static int add_patch(struct patch *p, struct cairn_error *error)
{
    struct str old = p->old ? p->old->content : STR("");
    struct str new = p->new ? p->new->content : STR("");
    bool is_same = str_equal(old, new);
    bool is_moved = p->old && p->new && !str_equal(p->old->path, p->new->path);
    if (!is_same && (is_binary(p->old) || is_binary(p->new))) {
        add_binary(p);
        return buf_check(p->out, error);
    }
    add_names(p, is_moved, is_same);
    return is_same ? buf_check(p->out, error) : add_text(p, old, new, error);
}

int text_patch(const struct text_file *old, const struct text_file *new,
               const struct text_patch_options *options, struct buf *out,
               struct text_stat *stat, struct cairn_error *error)
{
    struct patch patch = {old, new, options, out, {0}};
    bool is_both = old && new;
    bool is_link = is_both && (S_ISLNK(old->mode) || S_ISLNK(new->mode));
    bool is_anew = is_link && !options->is_copy;
    int rc = 0;
    if (stat)
        *stat = patch.stat;
    if (!old && !new)
        return error_set(error, CAIRN_EUSAGE, "a patch needs a file");
    if (is_both && is_unchanged(old, new))
        return 0;
    if (options->is_barred || (is_anew && (is_binary(old) || is_binary(new)))) {
        add_binary(&patch); /* one half of it would be in the way of the other */
        rc = buf_check(out, error);
    } else {
        patch.new = is_anew ? NULL : new;
        rc = is_anew ? add_patch(&patch, error) : 0;
        patch.old = is_link ? NULL : old;
        patch.new = new;
        rc = rc ? rc : add_patch(&patch, error);
    }
    if (stat)
        *stat = patch.stat;
    return rc;
}
