/* SPDX-License-Identifier: MIT */
/* The commands that keep what an agent knows, and give it back. */
#include "cli/commands/commands.h"

#define EXITS "0 2 5 10 75"

static const struct command context_table[] = {
    {"checkpoint create",
     "[MESSAGE]",
     "make a checkpoint of a debugging session",
     "Stores the whole state of the session, and prints the id of the checkpoint. "
     "MESSAGE says what it is for (required, unless there is a --summary, or it is "
     "made "
     "for another --trigger); - is read from stdin. One that is made for another "
     "trigger is not stored where nothing has changed since the last checkpoint, or "
     "where `cairn session config` says so; the exit status is 0 then, too.\n"
     "--summary, --description, --context, --state, --tokens and --threshold keep what "
     "an agent needs to go on with an empty context, for `cairn checkpoint resume`. "
     "Secrets are taken out of texts first, with a warning; in a state, in keys, tags "
     "and JSON they are refused. With --threshold one is made only "
     "where "
     "the usage reaches 25, 50, 75 or 90 percent for the first time in the session. "
     "Where git is, its branch and commit are kept, too. Where there is no store, one "
     "is made, and where there is no session to write in, one is started.",
     "  cairn checkpoint create 'before the upgrade' --tag risky\n"
     "  cairn checkpoint create --summary 'the cache is stale' --context next='run the "
     "tests'",
     EXITS,
     0,
     1,
     {OPT_SUMMARY, OPT_DESCRIPTION, OPT_CONTEXT, OPT_STATE, OPT_TOKENS, OPT_THRESHOLD,
      OPT_TAG, OPT_TRIGGER, OPT_SESSION, OPT_CONTEXTD, OPT_NONE},
     command_checkpoint_create},
    {"checkpoint resume",
     "[CHECKPOINT]",
     "print what an agent needs to go on",
     "Prints what `cairn checkpoint create` was given to go on with: the summary; by "
     "default also the context, with branch and commit of git; with --level full also "
     "the description, the full state, the board and the last 10 messages. Behind it, "
     "about how many tokens that is (its length / 4). Without CHECKPOINT, the newest "
     "one of the session that has a context. A level that a checkpoint does not have "
     "is "
     "exit status 10.",
     "  cairn checkpoint resume\n"
     "  cairn checkpoint resume debug:42 --level full",
     EXITS,
     0,
     1,
     {OPT_LEVEL, OPT_SESSION, OPT_CONTEXTD, OPT_NONE},
     command_checkpoint_resume},
};

const struct command_part context_commands = {
    context_table, sizeof context_table / sizeof context_table[0]};
