/* SPDX-License-Identifier: MIT */
#include "executor/given/shell_script.h"

#include "base/identifier.h"
#include "base/shell_word.h"

/* A comment ends with its line. */
static void add_comment(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_byte(out, (uint8_t)*text < ' ' || *text == 0x7f ? '?' : (uint8_t)*text);
}

static void write_head(const struct cairn_shell *shell, struct buf *out)
{
    buf_text(out, "#!/bin/sh\n# Task ");
    add_comment(out, shell->task);
    buf_format(out, " of run %llu, attempt %u, workflow ",
               (unsigned long long)shell->run, shell->attempt);
    add_comment(out, shell->workflow);
    buf_text(out,
             ":\n# its command with its environment and directory, without secrets."
             "\n# Written by `cairn shell --print`.\n");
}

static void write_secrets(const struct cairn_shell *shell, struct buf *out)
{
    for (const char *const *name = shell->secrets; *name; name++) {
        if (!str_is_env_name(str_of(*name)))
            continue; /* a definition that was built by hand */
        buf_format(out,
                   "if [ -z \"${%s+set}\" ]; then\n"
                   "    echo '%s is a secret of this task: set it in the environment' "
                   ">&2\n"
                   "    exit 2\n"
                   "fi\n"
                   "export %s\n",
                   *name, *name, *name);
    }
}

/* What a task does not inherit. */
static void write_withheld(const struct cairn_shell *shell, struct buf *out)
{
    for (const char *const *name = shell->withheld; *name; name++)
        if (str_is_env_name(str_of(*name)))
            buf_format(out, "unset %s\n", *name);
    buf_text(out, "for CAIRN_NAME in $(env | sed -n 's/^\\(CAIRN_[A-Za-z0-9_]*\\)="
                  ".*/\\1/p'); do unset \"$CAIRN_NAME\"; done\n"
                  "unset CAIRN_NAME\n");
}

/* A shell does not take these as they are, or uses them itself. */
static bool is_special(struct str name)
{
    static const char *const list[] = {
        "BASHOPTS", "BASH_ENV", "ENV",       "EUID",  "IFS", "LINENO", "OLDPWD",
        "OPTARG",   "OPTIND",   "PPID",      "PS4",   "PWD", "UID",    "_",
        "RANDOM",   "SECONDS",  "SHELLOPTS", "SHLVL", NULL};
    return !str_is_env_name(name) || str_among(name, list);
}

static struct str name_of(const char *entry)
{
    return (struct str){entry, strcspn(entry, "=")};
}

static void write_environment(const struct cairn_shell *shell, struct buf *out)
{
    for (size_t i = 0; i < shell->n_own; i++) {
        struct str name = name_of(shell->env[i]);
        if (is_special(name))
            continue;
        buf_text(out, "export ");
        buf_str(out, name);
        buf_byte(out, '=');
        buf_shell_word(out, str_of(shell->env[i] + name.len + 1));
        buf_byte(out, '\n');
    }
}

static void write_directory(const struct cairn_shell *shell, struct buf *out)
{
    if (!shell->directory[0])
        return;
    buf_text(out, "cd -- ");
    buf_shell_word(out, str_of(shell->directory));
    buf_text(out, " || exit\n");
}

/* What is new each time; the file goes when the script ends. */
static void write_scratch(struct buf *out)
{
    buf_text(out, "CAIRN_TOKEN=shell.$(od -An -N8 -tx1 /dev/urandom | tr -cd 0-9a-f)\n"
                  "export CAIRN_TOKEN\n");
    buf_text(out, "CAIRN_OUTPUT=$(mktemp) || exit\n"
                  "export CAIRN_OUTPUT\n"
                  "trap 'rm -f -- \"$CAIRN_OUTPUT\"' EXIT\n"
                  "trap 'exit 129' HUP\n"
                  "trap 'exit 130' INT\n"
                  "trap 'exit 143' TERM\n");
}

static void write_command(const struct cairn_shell *shell, const char *const *command,
                          struct buf *out)
{
    const char *before = "env";
    for (size_t i = 0; i < shell->n_own; i++) {
        struct str name = name_of(shell->env[i]);
        if (!is_special(name) || str_equal(name, STR("PWD")))
            continue;
        buf_text(out, before);
        buf_byte(out, ' ');
        buf_shell_word(out, str_of(shell->env[i]));
        buf_byte(out, ' ');
        before = "";
    }
    for (const char *const *word = command ? command : shell->argv; *word; word++) {
        buf_shell_word(out, str_of(*word));
        buf_byte(out, word[1] ? ' ' : '\n');
    }
}

void shell_script_write(const struct cairn_shell *shell, const char *const *command,
                        struct buf *out)
{
    write_head(shell, out);
    write_secrets(shell, out);
    write_withheld(shell, out);
    write_directory(shell, out);
    write_scratch(out);
    write_environment(shell, out);
    write_command(shell, command, out);
}
