/* SPDX-License-Identifier: MIT */
/* The commands about the files of checkpoints, in the order of their help pages. */
#include "cli/files/commands.h"
#include "cli/sessions/commands.h"

#define EXITS "0 2 3 5 10 75"

static const struct command file_table[] = {
    {"checkpoint files",
     "CHECKPOINT",
     "list the files that a checkpoint of a session holds",
     "Lists what the checkpoint holds of the files below the directory that the "
     "setting "
     "`files` of the session named then (`cairn session config files DIR`): mode, "
     "size, "
     "time of change and path, links with what they point to, and what was left out, "
     "with the reason. " CHECKPOINT_NAMES,
     "  cairn session config files .\n  cairn checkpoint files 42",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_files},
    {"checkpoint cat",
     "CHECKPOINT:PATH | CHECKPOINT PATH",
     "print a file as it was at a checkpoint",
     "Prints the content of one file that the checkpoint holds, after verifying it. "
     "PATH is seen from the working directory, or what `cairn checkpoint files` "
     "prints. " CHECKPOINT_NAMES,
     "  cairn checkpoint cat 42:src/main.c > main.c.before",
     EXITS,
     1,
     2,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_cat},
    {"checkpoint log",
     "PATH",
     "list the versions of one file over the checkpoints of a session",
     "Lists in which checkpoints a file, directory or link was added, changed or "
     "removed, or its mode alone was changed, newest first. These are the checkpoints "
     "that led to the present state; with --all those of every branch. PATH is seen "
     "from "
     "the working directory, or what `cairn checkpoint files` prints. `cairn "
     "checkpoint cat ID:PATH` prints a "
     "version. "
     "Damaged checkpoints are named, with exit status 5.",
     "  cairn checkpoint log src/main.c -n 5",
     EXITS,
     1,
     1,
     {OPT_NEWEST, OPT_ALL_BRANCHES, OPT_SESSION, OPT_NONE},
     command_checkpoint_log},
    {"checkpoint export",
     "--tar CHECKPOINT [FILE]",
     "write the files of a checkpoint into an archive",
     "Writes what the checkpoint holds of files into a tar archive (POSIX pax), with "
     "modes, links and times, or without FILE (or with -) to stdout, unless that is a "
     "terminal. FILE takes its place when it is whole; where content is damaged "
     "nothing "
     "is left, and what stdout got has no end mark, with exit status 5.",
     "  cairn checkpoint export --tar 42 before.tar\n"
     "  cairn checkpoint export --tar 42 | tar -xpf - -C /tmp/before",
     EXITS,
     1,
     2,
     {OPT_TAR, OPT_SESSION, OPT_NONE},
     command_checkpoint_export},
    {"checkpoint grep",
     "PATTERN [CHECKPOINT]",
     "search all versions of all files of a session",
     "Prints the lines that match PATTERN, a POSIX extended regular expression without "
     "back-references, in every version of every file that a checkpoint of the session "
     "holds, or in one checkpoint. In front of each: the checkpoints that have this "
     "version, then the path and the number of the line. 3..7 means that it came with "
     "checkpoint 3 and "
     "was last in 7; 3.. that the newest one has it still; 3 that only that one had "
     "it. "
     "Binary files are named. Exit status 1: nothing was found.",
     "  cairn checkpoint grep 'retry *=' --paths '*.py'\n"
     "  cairn checkpoint grep -F 'x[0]' 42",
     "0 1 2 3 5 10 75",
     1,
     2,
     {OPT_IGNORE_CASE, OPT_FIXED, OPT_PATHS, OPT_SESSION, OPT_NONE},
     command_checkpoint_grep},
    {"checkpoint blame-file",
     "PATH[:LINE]",
     "show in which checkpoint each line of a file came to be",
     "Shows for each line of a file, or for one, the checkpoint in which it came to "
     "be: "
     "of those that led to the present state (or to --at), the oldest from which on it "
     "was there. For one line also the message and the user's last prompt before the "
     "checkpoint. Lines are those of the newest checkpoint, not of the file on disk. A "
     "file that was renamed without a change of its content is followed.",
     "  cairn checkpoint blame-file src/main.c:12",
     EXITS,
     1,
     1,
     {OPT_AT, OPT_SESSION, OPT_NONE},
     command_checkpoint_blame},
    {"checkpoint diff",
     "[FROM [TO [FILE]...]]",
     "compare two states of a session",
     "Lists the items that were added (+), changed (~, with each field) or removed (-) "
     "and the files that differ (R renamed, C copied), and sums them up in the last "
     "line. Without TO: compares with the present board and the files on the disk. "
     "Without FROM: from the newest checkpoint of the branch. --paths, or FILE behind "
     "two checkpoints: only these files. --patch prints what differs in the files as "
     "`git apply` and `patch -p1` take it. On a terminal the output goes through "
     "$CAIRN_PAGER, $PAGER or less. " CHECKPOINT_NAMES,
     "  cairn checkpoint diff head~2\n"
     "  cairn checkpoint diff '2 hours ago' 57 --patch --paths 'src,*.md'",
     EXITS,
     0,
     OPERANDS_MAX,
     {OPT_PATCH, OPT_STAT, OPT_UNIFIED, OPT_WORKTREE, OPT_PATHS, OPT_COLOR, OPT_SESSION,
      OPT_NONE},
     command_checkpoint_diff},
};

const struct command_part file_commands = {file_table,
                                           sizeof file_table / sizeof file_table[0]};
