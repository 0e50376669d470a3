/* SPDX-License-Identifier: MIT */
/* Tools about the board of a session: one for each verb, where `kind` says of what. A
 * field that does not belong to the kind is refused. */
#include "server/properties.h"

#define S " --session={session}"
#define CHANGED_SHAPE "id:s? changed:i checkpoint:s? pruned:i"
#define ANY_KIND "hypothesis|evidence|belief|dependency|gap|note|check"
#define ITEM_KIND "hypothesis|evidence|belief|gap|note|check"
#define DEPENDENCY_WORDS \
    "implication|cause|evidence|derivation|assumption|measurement|contradicts"

static const struct variant add[] = {
    {"hypothesis", "hypothesis add --prior={prior} --tag={tags}" S " -- {text*}"},
    {"evidence", "evidence add --strength={strength*} --kind={evidence_kind} "
                 "--source={source}" S " -- {hypothesis*} {text*}"},
    {"belief", "belief add --confidence={confidence} --subject={subject} "
               "--claim={claim} --denied?{denied} --tag={tags}" S " -- {text*}"},
    {"dependency", "belief depend --kind={dependency_kind}" S " -- {from*} {to*}"},
    {"gap", "gap add --kind={gap_kind} --criticality={criticality} "
            "--hypothesis={hypothesis}" S " -- {text*}"},
    {"note",
     "note add --severity={severity} --tag={tags} --about={about}" S " -- {text*}"},
    {"check", "check add --run={run} --hypothesis={hypothesis} --timeout={timeout} "
              "--retries={retries}" S " -- {text*}"},
};
static const struct variant list[] = {
    {"hypothesis", "hypothesis list --status={status} --tag={tag} --at={at} "
                   "--limit={limit} --offset={offset} --sort={sort}" S},
    {"evidence", "evidence list --hypothesis={hypothesis} --at={at} --limit={limit} "
                 "--offset={offset} --sort={sort}" S},
    {"belief", "belief list --tag={tag} --at={at} --limit={limit} --offset={offset} "
               "--sort={sort}" S},
    {"dependency", "belief dependencies --at={at} --limit={limit} --offset={offset} "
                   "--sort={sort}" S},
    {"gap", "gap list --all?{all} --at={at} --limit={limit} --offset={offset}" S},
    {"note", "note list --tag={tag} --about={about} --at={at} --limit={limit} "
             "--offset={offset} --sort={sort}" S},
    {"command", "command list --at={at} --limit={limit} --offset={offset} "
                "--sort={sort}" S},
    {"check", "check list --status={status} --hypothesis={hypothesis} --at={at} "
              "--limit={limit} --offset={offset} --sort={sort}" S},
};
static const struct variant show[] = {
    {"hypothesis", "hypothesis show --at={at}" S " -- {id*}"},
    {"evidence", "evidence show --at={at}" S " -- {id*}"},
    {"belief", "belief show --at={at}" S " -- {id*}"},
    {"gap", "gap show --at={at}" S " -- {id*}"},
    {"note", "note show --at={at}" S " -- {id*}"},
    {"command", "command show --at={at}" S " -- {id*}"},
    {"check", "check show --at={at}" S " -- {id*}"},
};
static const struct variant update[] = {
    {"hypothesis", "hypothesis update --statement={text} --prior={prior} "
                   "--tag={tags}" S " -- {id*}"},
    {"evidence", "evidence update --text={text} --strength={strength} "
                 "--kind={evidence_kind} --source={source}" S " -- {id*}"},
    {"belief", "belief update --statement={text} --confidence={confidence} "
               "--subject={subject} --claim={claim} --denied={denied} --tag={tags}" S
               " -- {id*}"},
    {"gap", "gap update --text={text} --kind={gap_kind} --criticality={criticality} "
            "--hypothesis={hypothesis}" S " -- {id*}"},
    {"note", "note update --text={text} --severity={severity} --tag={tags} "
             "--about={about}" S " -- {id*}"},
    {"check", "check update --text={text} --run={run} --hypothesis={hypothesis} "
              "--timeout={timeout} --retries={retries}" S " -- {id*}"},
};
static const struct variant set_status[] = {
    {"testing", "hypothesis test" S " -- {id*}"},
    {"confirmed", "hypothesis confirm --reason={reason}" S " -- {id*}"},
    {"rejected", "hypothesis reject --reason={reason}" S " -- {id*}"},
    {"filled", "gap fill" S " -- {id*} {reason*}"},
};
static const struct variant remove_item[] = {
    {"hypothesis", "hypothesis remove" S " -- {id*}"},
    {"evidence", "evidence remove" S " -- {id*}"},
    {"belief", "belief remove" S " -- {id*}"},
    {"dependency", "belief undepend" S " -- {id*}"},
    {"gap", "gap remove" S " -- {id*}"},
    {"note", "note remove" S " -- {id*}"},
    {"command", "command remove" S " -- {id*}"},
    {"check", "check remove" S " -- {id*}"},
};
static const struct variant note[] = {
    {NULL,
     "note add --severity={severity} --tag={tags} --about={about}" S " -- {text*}"},
};
static const struct variant cascade[] = {
    {NULL, "belief cascade --preview!{confirm} --page={page} --token={token}" S
           " -- {id*} {confidence*}"},
};
static const struct variant check[] = {
    {NULL, "check run --all?{all}" S " -- {ids}"},
};

#define ID TEXT("id", "Which one, such as h1")
#define TAGS(list) list("tags", "Words to find it by")
#define AT TEXT("at", "As it was at this checkpoint, or at a time, not as it is now")
#define SORT CHOICE("sort", "-number|number", "Newest first (default), or oldest first")
#define SEVERITY CHOICE("severity", "info|warning|critical", "Of a note: how serious")
#define ABOUT(list) \
    list("about", "Of a note: the items that it is about, such as [\"h1\"]")
/* `list`: WORDS, or LIST where an empty one takes away what is there. */
#define FIELDS(list)                                                                  \
    REAL("prior", 0, 1, "Of a hypothesis: how likely before any evidence"),           \
        TAGS(list),                                                                   \
        REAL("strength", -1, 1,                                                       \
             "Of evidence: how much it supports (above 0) or "                        \
             "refutes (below 0) the hypothesis"),                                     \
        CHOICE("evidence_kind", "observation|experiment|reference|deduction",         \
               "Where evidence comes from (default: observation)"),                   \
        PROSE("source", "Of evidence: a file, a command, a person"),                  \
        TEXT("hypothesis", "Of evidence, a gap or a check: the hypothesis, as h1"),   \
        REAL("confidence", 0, 1, "Of a belief: how certain it is"),                   \
        TEXT("subject", "Of a belief: what it is about, to find contradictions"),     \
        TEXT("claim", "Of a belief: what it says of the subject"),                    \
        FLAG("denied", "Of a belief: the claim is not true of the subject"),          \
        CHOICE("gap_kind", "assumption|information|contradiction|dependency|other",   \
               "Of a gap: what is missing"),                                          \
        CHOICE("criticality", "high|medium|low", "Of a gap: how much depends on it"), \
        SEVERITY, ABOUT(list),                                                        \
        TEXT("run", "Of a check: the shell command that verifies it"),                \
        TEXT("timeout", "Of a check: its time limit, such as 90s"),                   \
        WHOLE("retries", 0, 100, "Of a check: try again so often")

static const struct property add_properties[] = {
    CHOICE("kind", ANY_KIND, "What is added"),
    PROSE("text", "What it says"),
    FIELDS(WORDS),
    TEXT("from", "Of a dependency: the belief that another one rests on, as b1"),
    TEXT("to", "Of a dependency: the belief that rests on it"),
    CHOICE("dependency_kind", DEPENDENCY_WORDS, "Of a dependency: what connects them"),
    SESSION,
    DIRECTORY,
};
static const struct property update_properties[] = {
    CHOICE("kind", ITEM_KIND, "What is changed"),
    ID,
    PROSE("text", "What it says from now on"),
    FIELDS(LIST),
    SESSION,
    DIRECTORY,
};
static const struct property list_properties[] = {
    CHOICE("kind", ANY_KIND "|command", "What is listed"),
    CHOICE("status",
           "proposed|testing|confirmed|rejected|pending|passed|failed|timeout|error",
           "Of hypotheses and checks: only those with this status"),
    TEXT("tag", "Only those with this tag"),
    TEXT("hypothesis", "Of evidence and checks: only those of this hypothesis"),
    TEXT("about", "Of notes: only those about this item"),
    FLAG("all", "Of gaps: also those that are filled or closed"),
    AT,
    LIMIT,
    OFFSET,
    SORT,
    SESSION,
    DIRECTORY,
};
static const struct property show_properties[] = {
    CHOICE("kind", ITEM_KIND "|command", "What is shown"), ID, AT, SESSION, DIRECTORY,
};
static const struct property status_properties[] = {
    ID,
    CHOICE("status", "testing|confirmed|rejected|filled",
           "Of a hypothesis testing, confirmed or rejected; of a gap filled"),
    PROSE("reason", "Why; of a gap what was found (required there)"),
    SESSION,
    DIRECTORY,
};
static const struct property remove_properties[] = {
    CHOICE("kind", ANY_KIND "|command", "What is removed"),
    ID,
    SESSION,
    DIRECTORY,
};
static const struct property note_properties[] = {
    PROSE("text", "What is to be remembered"),
    SEVERITY,
    TAGS(WORDS),
    ABOUT(WORDS),
    SESSION,
    DIRECTORY,
};
static const struct property check_properties[] = {
    LIST("ids", "The checks, such as [\"c1\"]"),
    FLAG("all", "Every check of the session"),
    SESSION,
    DIRECTORY,
};

static const struct property cascade_properties[] = {
    TEXT("id", "The belief, such as b1"),
    REAL("confidence", 0, 1, "Its new confidence"),
    FLAG("confirm", "Do it; otherwise only what would become of each is said"),
    WHOLE("page", 1, 1e9, "Which page of what is said"),
    TEXT("token", "Only if it would still do what was said with this token"),
    SESSION,
    DIRECTORY,
};

static const struct tool rows[] = {
    {.name = "board_add",
     .title = "Add to the board",
     .about =
         "Adds a hypothesis, a piece of evidence (which moves the confidence of its "
         "hypothesis), a belief, a dependency of beliefs, a gap (what is not "
         "known), a note or a check to the board of the session.",
     .set = TOOLSET_BOARD,
     .by = "kind",
     VARIANTS(add),
     PROPERTIES(add_properties),
     .shape = CHANGED_SHAPE},
    {.name = "board_list",
     .title = "List items of the board",
     .about = "Lists items of one kind with all their fields; gaps the most important "
              "first.",
     .set = TOOLSET_BOARD,
     .hints = HINT_READ_ONLY,
     .by = "kind",
     VARIANTS(list),
     PROPERTIES(list_properties),
     .shape = "items:a total:i limit:i offset:i"},
    {.name = "board_show",
     .title = "Show one item of the board",
     .about = "Shows one item; of a hypothesis also its evidence and gaps, of a belief "
              "what contradicts it.",
     .set = TOOLSET_BOARD,
     .hints = HINT_READ_ONLY,
     .by = "kind",
     VARIANTS(show),
     PROPERTIES(show_properties),
     .shape = "id:s item:s"},
    {.name = "board_update",
     .title = "Change an item of the board",
     .about = "Changes the fields that are given of one item, and leaves the others.",
     .set = TOOLSET_BOARD,
     .hints = HINT_IDEMPOTENT,
     .by = "kind",
     VARIANTS(update),
     PROPERTIES(update_properties),
     .shape = CHANGED_SHAPE},
    {.name = "board_set_status",
     .title = "Decide a hypothesis or fill a gap",
     .about =
         "Says that a hypothesis is being tested, is confirmed or rejected, or that "
         "a gap is filled.",
     .set = TOOLSET_BOARD,
     .by = "status",
     VARIANTS(set_status),
     PROPERTIES(status_properties),
     .shape = CHANGED_SHAPE},
    {.name = "board_remove",
     .title = "Remove an item of the board",
     .about = "Removes one item of the present board. Checkpoints keep it.",
     .set = TOOLSET_BOARD,
     .hints = HINT_DESTRUCTIVE,
     .by = "kind",
     VARIANTS(remove_item),
     PROPERTIES(remove_properties),
     .shape = CHANGED_SHAPE},
    {.name = "note_add",
     .title = "Add a note",
     .about = "Adds a note to the board of the session: anything to remember.",
     .set = TOOLSET_BOARD,
     VARIANTS(note),
     PROPERTIES(note_properties),
     .shape = CHANGED_SHAPE},
    {.name = "belief_cascade",
     .title = "Change a belief and what rests on it",
     .about = "Gives a belief another confidence, and those that depend on it less. "
              "Without confirm: true only says what would become of each.",
     .set = TOOLSET_BOARD,
     .hints = HINT_DESTRUCTIVE,
     VARIANTS(cascade),
     PROPERTIES(cascade_properties),
     .shape = ""},
    {.name = "check_run",
     .title = "Run checks",
     .about = "Runs the shell commands of checks that are on the board, one after the "
              "other, and records what they say.",
     .set = TOOLSET_BOARD,
     .hints = HINT_RUNS | HINT_SLOW,
     VARIANTS(check),
     PROPERTIES(check_properties),
     .shape = "checks:a passed:i not_passed:i"},
};
const struct tool_rows board_tools = {rows, COUNT(rows)};
