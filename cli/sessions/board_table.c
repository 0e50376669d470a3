/* SPDX-License-Identifier: MIT */
/* The commands about the items of a board, in the order of their help pages. What they
 * do is in item_verbs.c, under the same names. */
#include "cli/commands/commands.h"

#define EXITS "0 2 5 10 75"
#define FROM_STDIN " A text of - is read from stdin, up to 64 KiB."
#define LISTED OPT_AT, OPT_LIMIT, OPT_OFFSET

/* Those that are the same for every kind. `the` is "a hypothesis", `id` "h1". */
#define SHOW_ROW(group, the, id)                                                  \
    {                                                                             \
        group " show", "ID", "show " the,                                         \
            "Shows every field of " the ", as it is now or was at a checkpoint.", \
            "  cairn " group " show " id " --at debug:42", EXITS, 1, 1,           \
            {OPT_AT, OPT_SESSION, OPT_NONE}, command_item                         \
    }
#define REMOVE_ROW(name, the, id)                                                      \
    {                                                                                  \
        name, "ID", "remove " the,                                                     \
            "Removes " the                                                             \
            ". Refused while others refer to it; they are named. Its number is never " \
            "used again.",                                                             \
            "  cairn " name " " id, EXITS, 1, 1, {OPT_SESSION, OPT_NONE}, command_item \
    }

static const struct command board_table[] = {
    {"hypothesis add",
     "TEXT",
     "propose a hypothesis",
     "Adds a hypothesis to the board, with the status proposed, and prints its id. Its "
     "confidence is the prior until there is evidence." FROM_STDIN,
     "  cairn hypothesis add 'The cache is stale' --prior 0.3 --tag cache\n"
     "  id=$(cairn hypothesis add - <statement)",
     EXITS,
     1,
     1,
     {OPT_PRIOR, OPT_TAG, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis list",
     "",
     "list hypotheses",
     "Lists hypotheses with status, confidence and the number of pieces of evidence "
     "for (+) and against (-) each, newest first, and the total.",
     "  cairn hypothesis list --status testing",
     EXITS,
     0,
     0,
     {OPT_ONLY_STATUS, OPT_ONLY_TAG, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("hypothesis", "a hypothesis", "h1"),
    {"hypothesis test",
     "ID",
     "begin to test a hypothesis",
     "The hypothesis is being tested from now on. Only a proposed one can be.",
     "  cairn hypothesis test h1",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis confirm",
     "ID",
     "confirm a hypothesis",
     "The hypothesis is confirmed. Only one that is being tested can be. A checkpoint "
     "is made, unless `cairn session config` says otherwise.",
     "  cairn hypothesis confirm h1 --reason 'gone once the cache was emptied'",
     EXITS,
     1,
     1,
     {OPT_REASON, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis reject",
     "ID",
     "reject a hypothesis",
     "The hypothesis is rejected. One that was confirmed or rejected before cannot be. "
     "A checkpoint is made, unless `cairn session config` says otherwise.",
     "  cairn hypothesis reject h2 --reason 'the clock is right'",
     EXITS,
     1,
     1,
     {OPT_REASON, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis update",
     "ID",
     "change a hypothesis",
     "Changes fields of a hypothesis. An empty list of tags takes the tags away.",
     "  cairn hypothesis update h1 --prior 0.7 --tag cache,login",
     EXITS,
     1,
     1,
     {OPT_STATEMENT, OPT_PRIOR, OPT_TAG, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("hypothesis remove", "a hypothesis", "h1"),

    {"evidence add",
     "HYPOTHESIS TEXT",
     "add evidence for or against a hypothesis",
     "Adds evidence to a hypothesis and prints its id. --strength is required. The "
     "confidence of the hypothesis follows by the rule of Bayes; its gaps close "
     "when it rises over 0.9." FROM_STDIN,
     "  cairn evidence add h1 'wrong only on hosts with a warm cache' --strength 0.8 "
     "--kind experiment",
     EXITS,
     2,
     2,
     {OPT_STRENGTH, OPT_EVIDENCE_KIND, OPT_SOURCE, OPT_SESSION, OPT_NONE},
     command_item},
    {"evidence list",
     "",
     "list evidence",
     "Lists evidence, newest first, and the total.",
     "  cairn evidence list --hypothesis h1",
     EXITS,
     0,
     0,
     {OPT_ONLY_HYPOTHESIS, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("evidence", "a piece of evidence", "e1"),
    {"evidence update",
     "ID",
     "change a piece of evidence",
     "Changes fields of a piece of evidence; the confidence of its hypothesis is "
     "computed anew. An empty --source takes the source away.",
     "  cairn evidence update e1 --strength 0.2",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_STRENGTH, OPT_EVIDENCE_KIND, OPT_SOURCE, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("evidence remove", "a piece of evidence", "e1"),

    {"belief add",
     "TEXT",
     "note what is taken to be true",
     "Adds a belief and prints its id. Two beliefs that say the opposite of one "
     "subject (the same --claim, once with --denied), both with a confidence over 0.7, "
     "contradict each other; that is reported." FROM_STDIN,
     "  cairn belief add 'The cache was cold' --confidence 0.9 --subject cache --claim "
     "warm --denied",
     EXITS,
     1,
     1,
     {OPT_CONFIDENCE, OPT_SUBJECT, OPT_CLAIM, OPT_DENIED, OPT_TAG, OPT_SESSION,
      OPT_NONE},
     command_item},
    {"belief list",
     "",
     "list beliefs",
     "Lists beliefs with their confidence, newest first, and the total.",
     "  cairn belief list --at debug:42",
     EXITS,
     0,
     0,
     {OPT_ONLY_TAG, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("belief", "a belief", "b1"),
    {"belief update",
     "ID",
     "change a belief",
     "Changes fields of a belief. An empty --subject, --claim or --tag takes that "
     "away.",
     "  cairn belief update b1 --confidence 0.4",
     EXITS,
     1,
     1,
     {OPT_STATEMENT, OPT_CONFIDENCE, OPT_SUBJECT, OPT_CLAIM, OPT_SET_DENIED, OPT_TAG,
      OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("belief remove", "a belief", "b1"),
    {"belief depend",
     "FROM TO",
     "record that one belief rests on another",
     "Records that the belief FROM depends on the belief TO, and prints the id of the "
     "dependency. One that would close a circle is refused, and the whole circle is "
     "named. --kind=contradicts says that the two cannot both be true.",
     "  cairn belief depend b2 b1 --kind=measurement",
     EXITS,
     2,
     2,
     {OPT_DEPENDENCY_KIND, OPT_SESSION, OPT_NONE},
     command_item},
    {"belief dependencies",
     "",
     "list the dependencies between beliefs",
     "Lists which belief depends on which, newest first, and the total.",
     "  cairn belief dependencies",
     EXITS,
     0,
     0,
     {LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("belief undepend", "a dependency between beliefs", "d1"),
    {"belief cascade",
     "ID CONFIDENCE",
     "change a confidence, and with it what depends on the belief",
     "Gives a belief another confidence (0 to 1), and those that depend on it, however "
     "far away, that confidence times 0.95 for every step, but not less than 0.1. With "
     "--preview nothing is changed: it shows what would become of each, and a token. "
     "With --token it is done only if it is still what was shown. `cairn session undo` "
     "takes all of it back.",
     "  cairn belief cascade b1 0.3 --preview\n"
     "  cairn belief cascade b1 0.3 --token 1b0e...",
     EXITS,
     2,
     2,
     {OPT_PREVIEW, OPT_PAGE, OPT_PREVIEWED, OPT_SESSION, OPT_NONE},
     command_belief_cascade},

    {"gap add",
     "TEXT",
     "note what is not known yet",
     "Adds a knowledge gap and prints its id. One that belongs to a hypothesis closes "
     "by itself when the confidence of that rises over 0.9; one that is added later "
     "stays open." FROM_STDIN,
     "  cairn gap add 'Which hosts have a warm cache?' --criticality high "
     "--hypothesis h1",
     EXITS,
     1,
     1,
     {OPT_GAP_KIND, OPT_CRITICALITY, OPT_HYPOTHESIS, OPT_SESSION, OPT_NONE},
     command_item},
    {"gap list",
     "",
     "list open gaps, the most important first",
     "Lists the open gaps by their score, the one that matters most now first, and the "
     "total. With --all also those that are filled or closed, newest first.",
     "  cairn gap list --limit 3",
     EXITS,
     0,
     0,
     {OPT_ALL_GAPS, LISTED, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("gap", "a gap", "g1"),
    {"gap fill",
     "ID TEXT",
     "record the answer to a gap",
     "Fills an open gap with what was found out. A checkpoint is made, unless `cairn "
     "session config` says otherwise." FROM_STDIN,
     "  cairn gap fill g1 'web-3 and web-4: both were restarted on Monday'",
     EXITS,
     2,
     2,
     {OPT_SESSION, OPT_NONE},
     command_item},
    {"gap update",
     "ID",
     "change a gap",
     "Changes fields of a gap. An empty --hypothesis takes it away from its "
     "hypothesis.",
     "  cairn gap update g1 --criticality low",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_GAP_KIND, OPT_CRITICALITY, OPT_HYPOTHESIS, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("gap remove", "a gap", "g1"),

    {"note add",
     "TEXT",
     "write a note",
     "Adds a note and prints its id." FROM_STDIN,
     "  cairn note add 'both hosts run 2.4.1' --about h1 --tag hosts\n"
     "  dmesg | tail | cairn note add -",
     EXITS,
     1,
     1,
     {OPT_SEVERITY, OPT_TAG, OPT_ABOUT, OPT_SESSION, OPT_NONE},
     command_item},
    {"note list",
     "",
     "list notes",
     "Lists notes, newest first, and the total.",
     "  cairn note list --about h1",
     EXITS,
     0,
     0,
     {OPT_ONLY_TAG, OPT_ONLY_ABOUT, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("note", "a note", "n1"),
    {"note update",
     "ID",
     "change a note",
     "Changes fields of a note. An empty --tag or --about takes that away.",
     "  cairn note update n1 --severity warning",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_SEVERITY, OPT_TAG, OPT_ABOUT, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("note remove", "a note", "n1"),
};

const struct command_part board_commands = {board_table,
                                            sizeof board_table / sizeof board_table[0]};
