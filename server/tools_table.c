/* SPDX-License-Identifier: MIT */
/* The one table of tools: the description for clients, the command line that a call
 * becomes, and what it takes. A new tool is a row here, and a line in
 * docs/guide-mcp.md. */
#include "server/properties.h"

#define S " --session={session}"

#define SAVED                                                              \
    "--summary={summary} --description={description} --context={context} " \
    "--context={metadata} --state=-<{full_state} --tokens={tokens} "       \
    "--threshold={threshold} --tag={tags} --session={session} --contextd"
#define QUERY \
    TEXT("query", "What is looked for: any words; no character is an operator")
#define FILTERS                                                                    \
    WORDS("tags", "Only what has exactly these tags, all of them"),                \
        TEXT("since", "Only what is not older, such as 2 hours ago"),              \
        TEXT("until", "Only what is not newer"),                                   \
        WHOLE("top_k", 1, 100, "How many of the nearest (default: 5)"), DIRECTORY, \
        TENANT
#define FOUND_SHAPE "query:s k:i project:s hits:a entries:i up_to_date:b"

#define SESSION_SHAPE \
    "session:i name:s branch:s current:b started:s? ended:s? items:i checkpoints:i"

#define CHANGED_SHAPE "id:s? changed:i checkpoint:s? pruned:i"
#define ANY_KIND "hypothesis|evidence|belief|dependency|gap|note|check"
#define ITEM_KIND "hypothesis|evidence|belief|gap|note|check"
#define ID TEXT("id", "Which one, such as h1")
#define TAGS(list) list("tags", "Words to find it by")
#define AT TEXT("at", "As it was at this checkpoint, or at a time, not as it is now")
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

#define ON_CHANGE \
    CHOICE("on_change", "rerun|keep|refuse", "Where the workflow was edited since")
#define JOBS WHOLE("jobs", 1, 4096, "At most so many tasks at once")
#define NO_WAIT FLAG("no_wait", "End where only external tasks are left")
#define PARAMS PAIRS("params", "Parameters of the workflow by name")
#define FILE_ TEXT("file", "The workflow file (default: cairn.yaml in the directory)")
#define TASK TEXT("task", "The task")
#define TOKEN TEXT("token", "What task_claim gave, if the task is claimed")
#define CLAIM_ONE "claim --lease={lease} --holder={holder} -- {run*} {task*}"
#define REPORTED_SHAPE "run:i task:s state:s resume:b"

#define UNDO                                                                 \
    "checkpoint undo-restore --dry-run!{confirm} --board-only?{board_only} " \
    "--files-only?{files_only} --all?{all}" S

#define BRANCH_SHAPE                                                       \
    "name:s branch:i current:b status:s from:s? head:s? files_changed:i? " \
    "files_kept:i? warnings:a?"
#define NAME TEXT("name", "The branch")

static const struct tool tools[] = {
    /* ---- Checkpoints: saving what an agent knows, finding it, going back to it ---- */

    {.name = "checkpoint_save",
     .title = "Save a checkpoint",
     .about = "Stores the whole state of the debugging session (board, files as its "
              "settings say, messages) as a checkpoint, with what you need to continue "
              "with an empty context: summary, context, full state. Secrets are taken "
              "out of every text first. Call it before something risky, and before "
              "your context is full. \"made\" says whether one was made.",
     .set = TOOLSET_CHECKPOINT,
     .by = "auto_created",
     /* Older clients say whether it was made by itself; then the usage decides. */
     VARIANTS({NULL, "checkpoint create --trigger={trigger} " SAVED " -- {message}"},
              {"false", "checkpoint create --trigger=manual " SAVED " -- {message}"},
              {"true",
               "checkpoint create --trigger=context-threshold " SAVED " -- {message}"}),
     PROPERTIES(
         {.name = "summary",
          .kind = PROPERTY_TEXT,
          .empty = true,
          .about =
              "What somebody who continues has to know first, at most 500 characters. "
              "Required, unless there is a message"},
         {.name = "message",
          .also = "name",
          .kind = PROPERTY_TEXT,
          .empty = true,
          .about = "A few words that say what the checkpoint is for, for lists"},
         {.name = "description",
          .kind = PROPERTY_TEXT,
          .empty = true,
          .about = "More details, at most 10,000 characters"},
         {.name = "context",
          .kind = PROPERTY_NOTES,
          .empty = true,
          .about =
              "Parts of the context by name, such as {\"next\": \"run the tests\"}, up "
              "to 50; or one text"},
         {.name = "full_state",
          .kind = PROPERTY_TEXT,
          .empty = true,
          .about = "A text of at most 1 MiB with all that is to be found again"},
         WORDS("tags", "Words to find it by"),
         {.name = "tokens",
          .also = "token_count",
          .kind = PROPERTY_INTEGER,
          .low = 0,
          .high = 1e12,
          .about = "How many tokens the context has, as you count them"},
         {.name = "threshold",
          .kind = PROPERTY_USAGE,
          .low = 0,
          .high = 100,
          .about =
              "How full your context is, 0 to 1, or above 1 in percent. Without a "
              "trigger, and with auto_created, a checkpoint is made only where 0.25, "
              "0.5, 0.75 or 0.9 is reached for the first time"},
         CHOICE("trigger",
                "manual|compaction-warning|code-modified|tool-call|significant-time|"
                "files-settled|context-threshold",
                "What it is made for (default: manual)"),
         FLAG("auto_created", "For older clients: created automatically"),
         {.name = "metadata",
          .kind = PROPERTY_PAIRS,
          .about = "For older clients: more parts of the context"},
         SESSION, DIRECTORY, TENANT),
     .shape = "made:b why:s? id:s? seq:i? pruned:i left_out:i"},
    {.name = "checkpoint_list",
     .title = "List checkpoints",
     .about =
         "Lists checkpoints of runs and of debugging sessions, newest first. Use it "
         "to find the one to resume from, to compare with or to restore.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint list --session={session} --run={run} --workflow={workflow} "
           "--sort=-created?{sort_by} "
           "--auto-only?{auto_only} --limit={limit} --offset={offset} --sort={sort} "
           "--label={label} --tag={tag} --contextd"),
     PROPERTIES(
         {.name = "session",
          .also = "session_id",
          .kind = PROPERTY_TEXT,
          .empty = true,
          .about = "Only those of this debugging session, by its name or number"},
         RUN("Only those of this run"),
         TEXT("workflow", "Only those of runs of this workflow"),
         TEXT("tag", "Only those of sessions with this tag"),
         TEXT("label", "Only those with this label"),
         FLAG("auto_only", "Only those created automatically"), LIMIT, OFFSET,
         CHOICE("sort", "-seq|seq|-created|created",
                "Newest first (default), or oldest"),
         {.name = "sort_by",
          .kind = PROPERTY_CHOICE,
          .words = "created_at|updated_at",
          .empty = true,
          .about =
              "For older clients: both are the newest first, for a checkpoint never "
              "changes"},
         DIRECTORY, TENANT),
     .shape = "checkpoints:a total:i limit:i offset:i"},
    {.name = "checkpoint_search",
     .title = "Find a checkpoint",
     .about = "Finds what was kept in sessions, their checkpoints and notes by text "
              "similarity, the nearest first, with a score from 0 to 1 and the words "
              "that fit. Then: checkpoint_resume, checkpoint_get.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("search --in=sessions --contextd --tag={tags} --since={since} "
           "--until={until} --hits={top_k} -- {query*}"),
     PROPERTIES(QUERY, FILTERS),
     .shape = FOUND_SHAPE " results:a top_k:i"},
    {.name = "search",
     .title = "Search everything that is kept",
     .about = "Finds texts by text similarity in all that this project has kept: "
              "checkpoints, boards, messages, runs and what their tasks wrote, files.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("search --in={in} --tag={tags} --since={since} --until={until} "
           "--hits={top_k} -- {query*}"),
     PROPERTIES(QUERY,
                CHOICE("in", "sessions|runs|logs|files|messages|board",
                       "Only there: sessions have checkpoints and notes, runs their "
                       "tasks, logs what "
                       "tasks wrote, files those of checkpoints (default: everywhere)"),
                FILTERS),
     .shape = FOUND_SHAPE},
    {.name = "checkpoint_resume",
     .title = "Go on from a checkpoint",
     .about =
         "Gives back what checkpoint_save was given to continue with: the summary; "
         "with level context (default) also the context; with level full also the "
         "full state, the board and the last messages. Changes nothing.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint resume --contextd --level={level} --session={session} -- "
           "{checkpoint}"),
     PROPERTIES(
         CHECKPOINT(
             "The checkpoint to continue from; default: the newest one with a context"),
         {.name = "level",
          .also = "resume_level",
          .kind = PROPERTY_CHOICE,
          .words = "summary|context|full",
          .about = "How much is given (default: context)"},
         SESSION, DIRECTORY, TENANT),
     .shape = "id:s seq:i time:s session:s? branch:s? level:s summary:s? "
              "description:s? pairs:a state:s? tokens:i? text:s tokens_estimate:i",
     .says = "text"},
    {.name = "checkpoint_get",
     .title = "Show a checkpoint",
     .about = "Shows one checkpoint: what it holds, its message, tags, labels, notes "
              "and context.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint show --tasks?{tasks} -- {checkpoint*}"),
     PROPERTIES(CHECKPOINT("The checkpoint"),
                FLAG("tasks", "Of a run: every task with its state"), DIRECTORY),
     .shape = "seq:i id:s namespace:s damaged:b time:s? labels:a notes:a"},
    {.name = "checkpoint_delete",
     .title = "Delete a checkpoint",
     .about = "Deletes one checkpoint for ever. The others stay as they are.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE,
     CALLS("checkpoint delete --yes -- {checkpoint*}"),
     PROPERTIES(CHECKPOINT("The checkpoint, which cannot be had back"), DIRECTORY,
                TENANT),
     .shape = "deleted:s"},
    {.name = "checkpoint_diff",
     .title = "Compare two states of a session",
     .about = "Says what changed between two checkpoints of a debugging session, or "
              "between one and the present state: items of the board, context, files, "
              "environment, messages.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint diff --worktree?{worktree} --patch?{patch} --paths={paths} "
           "--session={session} -- {from} {to}"),
     PROPERTIES(
         TEXT("from",
              "The earlier checkpoint: its id, a prefix, or debug:NUMBER (default: "
              "the newest of the branch)"),
         TEXT("to", "The later one (default: the present state)"),
         {.name = "patch",
          .kind = PROPERTY_BOOLEAN,
          .stores = true,
          .about = "Also what differs in the files, as `git apply` takes it"},
         {.name = "worktree",
          .kind = PROPERTY_BOOLEAN,
          .stores = true,
          .about = "With the files as they are on disk now"},
         {.name = "paths",
          .kind = PROPERTY_LIST,
          .empty = true,
          .stores = true,
          .about = "Only these files: patterns as in .gitignore"},
         SESSION, DIRECTORY),
     .shape = "changes:a context:a files:a from:s to:s? added:i changed:i removed:i "
              "text:s"},
    {.name = "checkpoint_restore",
     .title = "Go back to a checkpoint",
     .about = "Puts the board, the files and the messages of a session back to a "
              "checkpoint. Without confirm: true it changes nothing and says what it "
              "would do (dry_run is true). What was there before is kept as a "
              "checkpoint (\"before\").",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     CALLS("checkpoint restore --dry-run!{confirm} --yes?{confirm} --paths={paths} "
           "--board-only?{board_only} --files-only?{files_only} "
           "--messages-only?{messages_only} --all?{all} --force?{force} "
           "--session={session} -- {checkpoint*}"),
     PROPERTIES(
         CHECKPOINT("The checkpoint to go back to"),
         FLAG("confirm",
              "Do it. Unless this is true, the answer only says what it would do"),
         WORDS("paths",
               "Only these files: patterns as in .gitignore (default: all files)"),
         FLAG("board_only", "Only the board; files stay as they are"),
         FLAG("files_only", "Restore the files, not the board"),
         FLAG("messages_only", "Only the end of the line of messages"),
         FLAG("all",
              "Also what other sessions have changed since: otherwise that stays, and "
              "files.others names it"),
         FLAG("force", "Also from a checkpoint that is labelled broken"), SESSION,
         DIRECTORY),
     .shape = "restored:s time:s? before:s? added:i changed:i removed:i files:o "
              "warnings:a dry_run:b"},
    {.name = "checkpoint_fork",
     .title = "Try something else from a checkpoint",
     .about = "Begins a new branch with the state of a checkpoint; with \"to\", a new "
              "session whose files are in a directory of their own, beside what is "
              "here.",
     .set = TOOLSET_CHECKPOINT,
     CALLS("checkpoint fork --name={name} --to={to} --session={session} -- "
           "{checkpoint*}"),
     PROPERTIES(
         CHECKPOINT("The checkpoint to continue from"),
         TEXT("name", "Name of the new branch, or with \"to\" of the new session"),
         TEXT("to", "A new or empty directory for the files, and a session for it"),
         SESSION, DIRECTORY),
     .shape = "from:s?"},
    {.name = "checkpoint_files",
     .title = "List the files of a checkpoint",
     .about = "Lists the files that a checkpoint of a session holds.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint files --session={session} -- {checkpoint*}"),
     PROPERTIES(CHECKPOINT("The checkpoint"), SESSION, DIRECTORY),
     .shape = "entries:a files:o"},

    /* ---- Debugging sessions ---- */

    {.name = "session_start",
     .title = "Start a debugging session",
     .about =
         "Starts a debugging session with an empty board, and makes it the current "
         "one. Makes a store in the directory where there is none.",
     .set = TOOLSET_SESSION,
     CALLS("session start --no-switch?{no_switch} -- {name}"),
     PROPERTIES(TEXT("name", "Its name (default: one made of the time)"),
                FLAG("no_switch", "Leave the current session the current one"),
                DIRECTORY),
     .shape = SESSION_SHAPE},
    {.name = "session_list",
     .title = "List debugging sessions",
     .about = "Lists the debugging sessions of the store, newest first.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     CALLS("session list --limit={limit} --offset={offset}"),
     PROPERTIES(LIMIT, OFFSET, DIRECTORY),
     .shape = "sessions:a total:i limit:i offset:i"},
    {.name = "session_show",
     .title = "Show a debugging session",
     .about =
         "Shows a session with its board at a glance: the likeliest hypotheses, the "
         "gaps that matter most, contradictions, the last checkpoint. A good first "
         "call.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     CALLS("session show -- {session}"),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = SESSION_SHAPE " board:o context:o?"},
    {.name = "session_switch",
     .title = "Make another session the current one",
     .about =
         "Makes a session the current one of the store, and continues it if it was "
         "ended.",
     .set = TOOLSET_SESSION,
     .hints = HINT_IDEMPOTENT,
     CALLS("session switch -- {session*}"),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = SESSION_SHAPE},
    {.name = "session_end",
     .title = "End a debugging session",
     .about = "Ends a session; everything in it stays. session_switch continues it.",
     .set = TOOLSET_SESSION,
     CALLS("session end -- {session}"),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = SESSION_SHAPE},
    {.name = "session_delete",
     .title = "Delete a debugging session",
     .about = "Deletes a session for good, with its board, log, messages and "
              "checkpoints. Content that no other session has goes with the next gc.",
     .set = TOOLSET_SESSION,
     .hints = HINT_DESTRUCTIVE,
     CALLS("session delete --yes -- {session*}"),
     PROPERTIES({.name = "session",
                 .kind = PROPERTY_TEXT,
                 .about = "The session, which cannot be had back"},
                DIRECTORY),
     .shape = "deleted:i name:s checkpoints:i"},
    {.name = "session_log",
     .title = "What happened in a session",
     .about = "Lists what was done in a session, in order: items added and changed, "
              "checkpoints, restores, branches.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     CALLS("session log --after={after} --session={session}"),
     PROPERTIES(WHOLE("after", 0, NUMBER_MAX, "Only what was done after this turn"),
                SESSION, DIRECTORY),
     .shape = "events:a"},
    {.name = "session_undo",
     .title = "Take back the last change of the board",
     .about = "Takes back what the last command changed on the board.",
     .set = TOOLSET_SESSION,
     CALLS("session undo --session={session}"),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = "taken_back:a changed:i"},
    {.name = "session_report",
     .title = "Report of a session",
     .about = "Writes what happened in a session, or between two checkpoints, as "
              "Markdown.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     CALLS("report --session={session} -- {from} {to}"),
     PROPERTIES(
         TEXT("from", "From this checkpoint on (default: the start of the session)"),
         TEXT("to", "Up to this checkpoint (default: now; needs \"from\")"), SESSION,
         DIRECTORY),
     .shape = "from:s? to:s? markdown:s",
     .says = "markdown"},

    /* ---- The board of a session ----
     *
     * A tool for each verb, where `kind` says of what. A field that does not belong to
     * the kind is refused. */

    {.name = "board_add",
     .title = "Add to the board",
     .about =
         "Adds a hypothesis, a piece of evidence (which moves the confidence of its "
         "hypothesis), a belief, a dependency of beliefs, a gap (what is not "
         "known), a note or a check to the board of the session.",
     .set = TOOLSET_BOARD,
     .by = "kind",
     VARIANTS(
         {"hypothesis", "hypothesis add --prior={prior} --tag={tags}" S " -- {text*}"},
         {"evidence", "evidence add --strength={strength*} --kind={evidence_kind} "
                      "--source={source}" S " -- {hypothesis*} {text*}"},
         {"belief", "belief add --confidence={confidence} --subject={subject} "
                    "--claim={claim} --denied?{denied} --tag={tags}" S " -- {text*}"},
         {"dependency", "belief depend --kind={dependency_kind}" S " -- {from*} {to*}"},
         {"gap", "gap add --kind={gap_kind} --criticality={criticality} "
                 "--hypothesis={hypothesis}" S " -- {text*}"},
         {"note", "note add --severity={severity} --tag={tags} --about={about}" S
                  " -- {text*}"},
         {"check",
          "check add --run={run} --hypothesis={hypothesis} --timeout={timeout} "
          "--retries={retries}" S " -- {text*}"}),
     PROPERTIES(
         CHOICE("kind", ANY_KIND, "What is added"), PROSE("text", "What it says"),
         FIELDS(WORDS),
         TEXT("from", "Of a dependency: the belief that another one rests on, as b1"),
         TEXT("to", "Of a dependency: the belief that rests on it"),
         CHOICE(
             "dependency_kind",
             "implication|cause|evidence|derivation|assumption|measurement|contradicts",
             "Of a dependency: what connects them"),
         SESSION, DIRECTORY),
     .shape = CHANGED_SHAPE},
    {.name = "board_list",
     .title = "List items of the board",
     .about = "Lists items of one kind with all their fields; gaps the most important "
              "first.",
     .set = TOOLSET_BOARD,
     .hints = HINT_READ_ONLY,
     .by = "kind",
     VARIANTS(
         {"hypothesis", "hypothesis list --status={status} --tag={tag} --at={at} "
                        "--limit={limit} --offset={offset} --sort={sort}" S},
         {"evidence",
          "evidence list --hypothesis={hypothesis} --at={at} --limit={limit} "
          "--offset={offset} --sort={sort}" S},
         {"belief",
          "belief list --tag={tag} --at={at} --limit={limit} --offset={offset} "
          "--sort={sort}" S},
         {"dependency",
          "belief dependencies --at={at} --limit={limit} --offset={offset} "
          "--sort={sort}" S},
         {"gap", "gap list --all?{all} --at={at} --limit={limit} --offset={offset}" S},
         {"note", "note list --tag={tag} --about={about} --at={at} --limit={limit} "
                  "--offset={offset} --sort={sort}" S},
         {"command", "command list --at={at} --limit={limit} --offset={offset} "
                     "--sort={sort}" S},
         {"check", "check list --status={status} --hypothesis={hypothesis} --at={at} "
                   "--limit={limit} --offset={offset} --sort={sort}" S}),
     PROPERTIES(
         CHOICE("kind", ANY_KIND "|command", "What is listed"),
         CHOICE(
             "status",
             "proposed|testing|confirmed|rejected|pending|passed|failed|timeout|error",
             "Of hypotheses and checks: only those with this status"),
         TEXT("tag", "Only those with this tag"),
         TEXT("hypothesis", "Of evidence and checks: only those of this hypothesis"),
         TEXT("about", "Of notes: only those about this item"),
         FLAG("all", "Of gaps: also those that are filled or closed"), AT, LIMIT,
         OFFSET,
         CHOICE("sort", "-number|number", "Newest first (default), or oldest first"),
         SESSION, DIRECTORY),
     .shape = "items:a total:i limit:i offset:i"},
    {.name = "board_show",
     .title = "Show one item of the board",
     .about = "Shows one item; of a hypothesis also its evidence and gaps, of a belief "
              "what contradicts it.",
     .set = TOOLSET_BOARD,
     .hints = HINT_READ_ONLY,
     .by = "kind",
     VARIANTS({"hypothesis", "hypothesis show --at={at}" S " -- {id*}"},
              {"evidence", "evidence show --at={at}" S " -- {id*}"},
              {"belief", "belief show --at={at}" S " -- {id*}"},
              {"gap", "gap show --at={at}" S " -- {id*}"},
              {"note", "note show --at={at}" S " -- {id*}"},
              {"command", "command show --at={at}" S " -- {id*}"},
              {"check", "check show --at={at}" S " -- {id*}"}),
     PROPERTIES(CHOICE("kind", ITEM_KIND "|command", "What is shown"), ID, AT, SESSION,
                DIRECTORY),
     .shape = "id:s item:s"},
    {.name = "board_update",
     .title = "Change an item of the board",
     .about = "Changes the fields that are given of one item, and leaves the others.",
     .set = TOOLSET_BOARD,
     .hints = HINT_IDEMPOTENT,
     .by = "kind",
     VARIANTS({"hypothesis", "hypothesis update --statement={text} --prior={prior} "
                             "--tag={tags}" S " -- {id*}"},
              {"evidence", "evidence update --text={text} --strength={strength} "
                           "--kind={evidence_kind} --source={source}" S " -- {id*}"},
              {"belief",
               "belief update --statement={text} --confidence={confidence} "
               "--subject={subject} --claim={claim} --denied={denied} --tag={tags}" S
               " -- {id*}"},
              {"gap",
               "gap update --text={text} --kind={gap_kind} --criticality={criticality} "
               "--hypothesis={hypothesis}" S " -- {id*}"},
              {"note", "note update --text={text} --severity={severity} --tag={tags} "
                       "--about={about}" S " -- {id*}"},
              {"check",
               "check update --text={text} --run={run} --hypothesis={hypothesis} "
               "--timeout={timeout} --retries={retries}" S " -- {id*}"}),
     PROPERTIES(CHOICE("kind", ITEM_KIND, "What is changed"), ID,
                PROSE("text", "What it says from now on"), FIELDS(LIST), SESSION,
                DIRECTORY),
     .shape = CHANGED_SHAPE},
    {.name = "board_set_status",
     .title = "Decide a hypothesis or fill a gap",
     .about =
         "Says that a hypothesis is being tested, is confirmed or rejected, or that "
         "a gap is filled.",
     .set = TOOLSET_BOARD,
     .by = "status",
     VARIANTS({"testing", "hypothesis test" S " -- {id*}"},
              {"confirmed", "hypothesis confirm --reason={reason}" S " -- {id*}"},
              {"rejected", "hypothesis reject --reason={reason}" S " -- {id*}"},
              {"filled", "gap fill" S " -- {id*} {reason*}"}),
     PROPERTIES(
         ID,
         CHOICE("status", "testing|confirmed|rejected|filled",
                "Of a hypothesis testing, confirmed or rejected; of a gap filled"),
         PROSE("reason", "Why; of a gap what was found (required there)"), SESSION,
         DIRECTORY),
     .shape = CHANGED_SHAPE},
    {.name = "board_remove",
     .title = "Remove an item of the board",
     .about = "Removes one item of the present board. Checkpoints keep it.",
     .set = TOOLSET_BOARD,
     .hints = HINT_DESTRUCTIVE,
     .by = "kind",
     VARIANTS({"hypothesis", "hypothesis remove" S " -- {id*}"},
              {"evidence", "evidence remove" S " -- {id*}"},
              {"belief", "belief remove" S " -- {id*}"},
              {"dependency", "belief undepend" S " -- {id*}"},
              {"gap", "gap remove" S " -- {id*}"},
              {"note", "note remove" S " -- {id*}"},
              {"command", "command remove" S " -- {id*}"},
              {"check", "check remove" S " -- {id*}"}),
     PROPERTIES(CHOICE("kind", ANY_KIND "|command", "What is removed"), ID, SESSION,
                DIRECTORY),
     .shape = CHANGED_SHAPE},
    {.name = "note_add",
     .title = "Add a note",
     .about = "Adds a note to the board of the session: anything to remember.",
     .set = TOOLSET_BOARD,
     CALLS("note add --severity={severity} --tag={tags} --about={about}" S
           " -- {text*}"),
     PROPERTIES(PROSE("text", "What is to be remembered"), SEVERITY, TAGS(WORDS),
                ABOUT(WORDS), SESSION, DIRECTORY),
     .shape = CHANGED_SHAPE},
    {.name = "belief_cascade",
     .title = "Change a belief and what rests on it",
     .about = "Gives a belief another confidence, and those that depend on it less. "
              "Without confirm: true only says what would become of each.",
     .set = TOOLSET_BOARD,
     .hints = HINT_DESTRUCTIVE,
     CALLS("belief cascade --preview!{confirm} --page={page} --token={token}" S
           " -- {id*} {confidence*}"),
     PROPERTIES(
         TEXT("id", "The belief, such as b1"),
         REAL("confidence", 0, 1, "Its new confidence"),
         FLAG("confirm", "Do it; otherwise only what would become of each is said"),
         WHOLE("page", 1, 1e9, "Which page of what is said"),
         TEXT("token", "Only if it would still do what was said with this token"),
         SESSION, DIRECTORY),
     .shape = ""},
    {.name = "check_run",
     .title = "Run checks",
     .about = "Runs the shell commands of checks that are on the board, one after the "
              "other, and records what they say.",
     .set = TOOLSET_BOARD,
     .hints = HINT_RUNS | HINT_SLOW,
     CALLS("check run --all?{all}" S " -- {ids}"),
     PROPERTIES(LIST("ids", "The checks, such as [\"c1\"]"),
                FLAG("all", "Every check of the session"), SESSION, DIRECTORY),
     .shape = "checks:a passed:i not_passed:i"},

    /* ---- Runs of workflows, and tasks that are done outside of cairn ---- */

    {.name = "run_start",
     .title = "Run a workflow",
     .about = "Starts a workflow, or resumes its unfinished run, and returns at once "
              "with the number of the run, which continues by itself, also after this "
              "server has ended. Then: run_status, run_log, run_cancel.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     CALLS("run --param={params} --fresh?{fresh} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {file}"),
     PROPERTIES(FILE_, PARAMS, FLAG("fresh", "A new run, also where one is unfinished"),
                JOBS, ON_CHANGE, NO_WAIT, DIRECTORY),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_resume",
     .title = "Resume a run",
     .about =
         "Goes on with a run that was interrupted, failed or was edited; what is "
         "finished and unchanged does not run again. Returns at once, as run_start "
         "does. run_plan says before what would run.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     CALLS("resume --from={checkpoint} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {run}"),
     PROPERTIES(RUN("The run (default: the newest)"),
                CHECKPOINT("Start a new run from this checkpoint of a run"), JOBS,
                ON_CHANGE, NO_WAIT, DIRECTORY),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_list",
     .title = "List runs",
     .about = "Lists the runs of the store with their states, newest first.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("runs --workflow={workflow} --state={state} --limit={limit} "
           "--offset={offset} --sort={sort}"),
     PROPERTIES(
         TEXT("workflow", "Only runs of this workflow"),
         TEXT("state",
              "Only runs in these states, separated by commas: running, waiting, "
              "interrupted, completed, failed, cancelled, undone"),
         LIMIT, OFFSET,
         CHOICE("sort", "-started|started", "Newest first (default), or oldest"),
         DIRECTORY),
     .shape = "runs:a total:i limit:i offset:i"},
    {.name = "run_status",
     .title = "State of a run",
     .about =
         "Reports the state of a run: its state, counts, and the tasks that failed (or "
         "every task).",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS(
         "status --tasks?{tasks} --state={state} --limit={limit} --offset={offset} -- "
         "{run}"),
     PROPERTIES(RUN("The run (default: the newest)"),
                FLAG("tasks", "Every task, not only those that failed"),
                TEXT("state", "Only tasks in these states, separated by commas: "
                              "running, interrupted, pending, completed, failed, "
                              "skipped, excluded, cancelled, undone, unknown"),
                WHOLE("limit", 1, 1e9, "At most so many tasks (default: all)"), OFFSET,
                DIRECTORY),
     .shape = "run:i workflow:s? file:s? params:o state:s live:b started:s? ended:s? "
              "total:i? completed:i? failed:i? running:i"},
    {.name = "run_plan",
     .title = "What would run",
     .about = "Says which tasks run_start or run_resume would run, and why. Runs "
              "nothing.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("plan --param={params} --fresh?{fresh} --run={run} --from={checkpoint} "
           "--on-change={on_change} --all?{all} -- {file}"),
     PROPERTIES(TEXT("file", "The workflow file; without it and a run: the newest run"),
                PARAMS, FLAG("fresh", "As if no run was unfinished"),
                RUN("What resuming this run would do"),
                CHECKPOINT("What starting from this checkpoint of a run would do"),
                ON_CHANGE, FLAG("all", "Also the tasks that would not run"), DIRECTORY),
     .shape = "workflow:s run:i? tasks:i will:i may:i notices:a decisions:a"},
    {.name = "run_explain",
     .title = "Why a task would run or not",
     .about = "Says for one task whether it would run, the reason in a sentence, what "
              "changed in it, and how its last attempts ended.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("explain --param={params} --run={run} --on-change={on_change} -- {task*} "
           "{file}"),
     PROPERTIES(TEXT("task", "The task"),
                TEXT("file", "The workflow file; without it and a run: the newest run"),
                PARAMS, RUN("The run"), ON_CHANGE, DIRECTORY),
     .shape = "task:s run:i? will_run:b may_run:b reason:s detail:s? attempts:a"},
    {.name = "run_log",
     .title = "Output of a task",
     .about = "Gives the output of a task of a run; without a task, the tasks that "
              "failed with their attempts.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("log --run={run} --attempt={attempt} --stdout?{stdout} --stderr?{stderr} "
           "--bytes={bytes} -- {task}"),
     PROPERTIES(
         TEXT("task", "The task; without it, all that failed, with their attempts"),
         RUN("The run (default: the newest)"),
         WHOLE("attempt", 1, 1e9, "This attempt (default: the last one)"),
         FLAG("stdout", "Only its stdout, of a task with `stderr: apart`"),
         FLAG("stderr", "Only its stderr, of a task with `stderr: apart`"),
         TEXT("bytes", "Of one task only these bytes: 0:1000, 1000: (to the end) or "
                       "-1000: (the last 1,000)"),
         DIRECTORY),
     .shape = "run:i"},
    {.name = "run_rerun",
     .title = "Run finished tasks again",
     .about = "Runs tasks of a run again that are finished, with what comes after "
              "them. Returns at once, as run_start does.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     CALLS("rerun --only?{only} --run={run} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {tasks*}"),
     PROPERTIES(LIST("tasks", "The tasks that run again, with what comes after them"),
                FLAG("only", "Not what comes after them: that waits for run_resume"),
                RUN("The run (default: the newest)"), JOBS, ON_CHANGE, NO_WAIT,
                DIRECTORY),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_values",
     .title = "Values that tasks reported",
     .about = "Gives the values that the tasks of a run reported, by name.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("values --run={run} -- {task} {name}"),
     PROPERTIES(TEXT("task", "Only the values of this task"),
                TEXT("name", "Only this value"), RUN("The run (default: the newest)"),
                DIRECTORY),
     .shape = "run:i values:a"},
    {.name = "run_artifacts",
     .title = "Artifacts of a run",
     .about = "Lists the files that tasks of a run left as artifacts, which are stored "
              "with the run.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("artifact list --run={run} --task={task}"),
     PROPERTIES(
         RUN("The run (default: the newest)"),
         TEXT("task", "Only those of this task, or of the members of this group"),
         DIRECTORY),
     .shape = "run:i artifacts:a"},
    {.name = "artifact_get",
     .title = "Put artifacts into a directory",
     .about =
         "Puts artifacts of a run below a directory, verified. Nothing is put if a "
         "file is there already, unless `force` is true.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE,
     CALLS("artifact get --task={task} --output={output*} --force?{force} -- {run*} "
           "{names}"),
     PROPERTIES(
         RUN("The run"),
         LIST("names", "Paths as run_artifacts lists them, or patterns as in "
                       ".gitignore (default: all)"),
         TEXT("output", "The directory; it is made"),
         TEXT("task", "Only those of this task, or of the members of this group"),
         FLAG("force", "Files that are there are replaced"), DIRECTORY),
     .shape = "run:i directory:s artifacts:a"},
    {.name = "run_diff",
     .title = "What differs between two runs",
     .about =
         "Compares two runs: tasks that only one has, and of the others state, exit "
         "code, attempts, values, outputs and definition where they differ.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("diff -- {from*} {to*}"),
     PROPERTIES(WHOLE("from", 1, NUMBER_MAX, "The earlier run"),
                WHOLE("to", 1, NUMBER_MAX, "The later run"), DIRECTORY),
     .shape = "from:o to:o params:a tasks:a changed:i added:i removed:i same:i"},
    {.name = "file_origin",
     .title = "Which task made a file",
     .about = "Names the run, task and attempt that made a file as a declared output, "
              "with its command and what it read, by the file's place and content.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("whence --all?{all} -- {path*}"),
     PROPERTIES(TEXT("path", "The file"),
                FLAG("all", "Every attempt that made it, newest runs first"),
                DIRECTORY),
     .shape = "path:s makers:a"},
    {.name = "run_resolve",
     .title = "Decide an unknown outcome",
     .about = "Decides what became of a task that must not run twice and was "
              "interrupted, or had completed before what it needs ran again. Look "
              "first: cairn cannot find out its outcome.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE,
     CALLS("resolve -- {run*} {task*} {outcome*}"),
     PROPERTIES(
         RUN("The run"),
         TEXT("task", "A task that must not run twice, and whose outcome is unknown"),
         CHOICE("outcome", "done|failed|rerun", "Its outcome, as you have found out"),
         DIRECTORY),
     .shape = "run:i task:s"},
    {.name = "run_undo",
     .title = "Undo tasks of a run",
     .about = "Runs the undo commands of completed tasks, in the reverse order.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS | HINT_SLOW,
     CALLS("undo -- {run*} {tasks}"),
     PROPERTIES(RUN("The run"),
                LIST("tasks", "Only these (default: all that have completed)"),
                DIRECTORY),
     .shape = "run:i state:s"},
    {.name = "run_validate",
     .title = "Check a workflow file",
     .about = "Checks a workflow file; mistakes are listed with their lines. Runs "
              "nothing.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("validate --param={params} --undo?{undo} -- {file}"),
     PROPERTIES(FILE_, PARAMS,
                FLAG("undo", "List which tasks have an undo, and which do not"),
                DIRECTORY),
     .shape = "file:s workflow:s valid:b tasks:i"},
    {.name = "run_graph",
     .title = "The graph of a workflow",
     .about = "Gives the tasks of a workflow with what each needs.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     CALLS("graph --param={params} --run={run} -- {file}"),
     PROPERTIES(FILE_, PARAMS, RUN("Of this run instead"), DIRECTORY),
     .shape = "workflow:s tasks:i edges:i nodes:a"},
    {.name = "run_add",
     .title = "Add tasks to a run",
     .about =
         "Adds tasks to a run that is live or has ended: all of them, or none where "
         "one is wrong. They may need tasks that the run has. A live run goes on "
         "with them; else run_resume runs them. The same text again adds nothing.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     CALLS("add --by={by} -- {run*} -<{text*}"),
     PROPERTIES(RUN("The run"),
                PROSE("text", "The tasks as in a workflow file, YAML or JSON, with "
                              "nothing but `tasks`: {\"tasks\": {\"fix\": {\"needs\": "
                              "\"test\", \"run\": \"./fix\"}}}"),
                TEXT("by", "Who adds them (default: user@host)"), DIRECTORY),
     .shape = "run:i tasks:i live:b taken:b same:b"},
    {.name = "run_withdraw",
     .title = "Take added tasks back",
     .about = "Takes tasks that were added to a run back: all of them, or none. From a "
              "live run only those that have not started, and that nothing else needs.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE | HINT_SLOW,
     CALLS("add --withdraw --by={by} -- {run*} {tasks*}"),
     PROPERTIES(RUN("The run"), LIST("tasks", "The added tasks; groups as a whole"),
                TEXT("by", "Who withdraws them (default: user@host)"), DIRECTORY),
     .shape = "run:i withdrawn:i"},
    {.name = "run_cancel",
     .title = "Stop a run",
     .about = "Stops a run: its tasks are ended, and what is finished stays finished.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT | HINT_SLOW,
     CALLS("cancel -- {run*}"),
     PROPERTIES(RUN("The run"), DIRECTORY),
     .shape = "run:i action:s"},
    {.name = "run_clean",
     .title = "Remove outputs of tasks that are gone or skipped",
     .about = "Removes declared outputs whose task is gone from the workflow or "
              "skipped now, where they "
              "are as that task made them. Without confirm: true only says what would "
              "go.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     CALLS("clean --stale --yes --param={params} --run={run} --dry-run!{confirm} -- "
           "{file}"),
     PROPERTIES(TEXT("file", "The workflow file (default: that of the newest run)"),
                PARAMS, RUN("By this run instead"), CONFIRM, DIRECTORY),
     .shape = "dry_run:b files:a"},
    {.name = "task_next",
     .title = "External tasks that can be done now",
     .about = "Lists the tasks of a run that somebody outside has to do, and that can "
              "be done now.",
     .set = TOOLSET_TASK,
     .hints = HINT_READ_ONLY,
     CALLS("next --claimed?{claimed} -- {run}"),
     PROPERTIES(RUN("The run (default: the newest)"),
                FLAG("claimed", "Also those that somebody has claimed"), DIRECTORY),
     .shape = "run:i? resume:b next:a"},
    {.name = "task_claim",
     .title = "Claim an external task",
     .about = "Claims an external task for some time, so that nobody else does it. The "
              "token is needed to complete it. With any: true, the next one that can "
              "be done.",
     .set = TOOLSET_TASK,
     .by = "any",
     VARIANTS(
         {NULL, CLAIM_ONE}, {"false", CLAIM_ONE},
         {"true",
          "claim --any --wait={wait}s --lease={lease} --holder={holder} -- {run}"}),
     PROPERTIES(
         RUN("The run; required, unless any is true"),
         TEXT("task", "The task; required, unless any is true"),
         FLAG("any",
              "Whichever task can be done now; the answer says what is to be done"),
         WHOLE("wait", 1, 100, "With any: wait so many seconds for one (default: not)"),
         TEXT("lease", "How long it is yours, such as 10m (default: the command's)"),
         TEXT("holder", "Your name, for people"), DIRECTORY),
     .shape = "run:i task:s token:s lease_ms:i"},
    {.name = "task_renew",
     .title = "Keep an external task longer",
     .about = "Makes the claim of an external task last longer, from now on.",
     .set = TOOLSET_TASK,
     CALLS("renew --token={token} --lease={lease} -- {run*} {task*}"),
     PROPERTIES(RUN("The run"), TASK, TOKEN,
                TEXT("lease", "How long it is yours from now on, such as 10m"),
                DIRECTORY),
     .shape = "run:i task:s lease_ms:i"},
    {.name = "task_complete",
     .title = "Report that an external task is done",
     .about = "Reports that an external task is done, with its values.",
     .set = TOOLSET_TASK,
     CALLS("complete --token={token} --output={outputs} -- {run*} {task*}"),
     PROPERTIES(RUN("The run"), TASK, TOKEN,
                PAIRS("outputs", "Values of the task by name"), DIRECTORY),
     .shape = REPORTED_SHAPE},
    {.name = "task_fail",
     .title = "Report that an external task has failed",
     .about = "Reports that an external task has failed.",
     .set = TOOLSET_TASK,
     CALLS("fail --token={token} --message={message} -- {run*} {task*}"),
     PROPERTIES(RUN("The run"), TASK, TOKEN, TEXT("message", "Why, in a line"),
                DIRECTORY),
     .shape = REPORTED_SHAPE},

    /* ---- Files and states at checkpoints; labels and notes of checkpoints ---- */

    {.name = "checkpoint_undo_restore",
     .title = "Take a restore back, or do it again",
     .about = "Takes the last restore of a session back, or does again what was taken "
              "back. Without confirm: true only says what would be done.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE,
     .by = "direction",
     VARIANTS({NULL, UNDO}, {"undo", UNDO},
              {"redo", "checkpoint redo-restore --dry-run!{confirm} --all?{all}" S}),
     PROPERTIES(CHOICE("direction", "undo|redo",
                       "Take the last restore back (default), or do it again"),
                FLAG("confirm", "Do it; otherwise only what would be done is said"),
                FLAG("board_only", "Of undo: leave the files as they are"),
                FLAG("files_only", "Of undo: leave the board as it is"),
                FLAG("all", "Also what other sessions have changed since"), SESSION,
                DIRECTORY),
     .shape =
         "restored:s? message:s? before:s? branch:s old_branch:s added:i changed:i "
         "removed:i files:o? warnings:a dry_run:b files_skipped:b"},
    {.name = "checkpoint_label",
     .title = "Label a checkpoint",
     .about = "Puts a label on a checkpoint, such as good or broken, or takes it off.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_IDEMPOTENT,
     CALLS("checkpoint label --remove?{remove} -- {checkpoint*} {label*}"),
     PROPERTIES(CHECKPOINT("The checkpoint"),
                TEXT("label", "A word, such as good or broken"),
                FLAG("remove", "Take the label off"), DIRECTORY),
     .shape = "checkpoint:s label:s on:b"},
    {.name = "checkpoint_note",
     .title = "Note something about a checkpoint",
     .about = "Adds a note to a checkpoint; the checkpoint itself stays as it is.",
     .set = TOOLSET_CHECKPOINT,
     CALLS("checkpoint note --severity={severity} -- {checkpoint*} {text*}"),
     PROPERTIES(CHECKPOINT("The checkpoint"), PROSE("text", "The note"),
                CHOICE("severity", "info|warning|critical",
                       "How serious it is (default: info)"),
                DIRECTORY),
     .shape = "checkpoint:s text:s severity:s"},
    {.name = "checkpoint_at",
     .title = "What was known at some time",
     .about = "Shows the board of a session as it was at a time or checkpoint.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint at --tag={tag} --section={section}" S " -- {at*}"),
     PROPERTIES(
         TEXT("at", "A time, such as 10 minutes ago, or a checkpoint"),
         TEXT("tag", "Only among checkpoints with this tag"),
         CHOICE("section",
                "hypotheses|evidence|beliefs|dependencies|gaps|notes|commands|checks",
                "Only these items"),
         SESSION, DIRECTORY),
     .shape = "checkpoint:o present:b items:a"},
    {.name = "checkpoint_timeline",
     .title = "Runs, sessions and checkpoints as a tree",
     .about = "Shows runs and sessions with their branches and checkpoints.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint timeline --workflow={workflow} --limit={limit} "
           "--offset={offset}"),
     PROPERTIES(
         TEXT("workflow", "Only runs of this workflow"),
         WHOLE("limit", 1, 100, "At most so many checkpoints of each run and branch"),
         OFFSET, DIRECTORY),
     .shape = "runs:a"},
    {.name = "checkpoint_cat",
     .title = "A file as it was",
     .about = "Gives a file as it was at a checkpoint of a session.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint cat" S " -- {checkpoint*}:{path*}"),
     PROPERTIES(CHECKPOINT("The checkpoint"),
                TEXT("path", "The file, from the directory whose files are kept"),
                SESSION, DIRECTORY),
     .shape = "text:s",
     .raw = true},
    {.name = "checkpoint_file_log",
     .title = "Versions of a file",
     .about = "Lists the versions of a file over the checkpoints of a session.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint log --newest={limit} --all?{all}" S " -- {path*}"),
     PROPERTIES(TEXT("path", "The file, from the directory whose files are kept"),
                WHOLE("limit", 1, 1000, "Only the newest so many (default: all)"),
                FLAG("all", "The checkpoints of all branches of the session"), SESSION,
                DIRECTORY),
     .shape = "path:s versions:a"},
    {.name = "checkpoint_grep",
     .title = "Search all versions of files",
     .about = "Searches all versions of all files of a session for a pattern (a POSIX "
              "extended regular expression without back-references).",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint grep --ignore-case?{ignore_case} --fixed?{fixed} "
           "--paths={paths}" S " -- {pattern*} {checkpoint}"),
     PROPERTIES(TEXT("pattern", "What is looked for in all versions of all files"),
                CHECKPOINT("Only as it was there"),
                FLAG("ignore_case", "Letters of both cases are the same"),
                FLAG("fixed", "The pattern is plain text, not a regular expression"),
                WORDS("paths", "Only these files: patterns as in .gitignore"), SESSION,
                DIRECTORY),
     .shape = "matches:a checkpoints:i"},
    {.name = "checkpoint_blame",
     .title = "Where each line came from",
     .about = "Says of each line of a file in which checkpoint it came to be.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     CALLS("checkpoint blame-file --at={at}" S " -- {path*}"),
     PROPERTIES(
         TEXT("path",
              "The file, from the directory whose files are kept; FILE:LINE is one "
              "line of it"),
         TEXT("at", "As it was at this checkpoint or time (default: the newest)"),
         SESSION, DIRECTORY),
     .shape = "path:s lines:a"},

    /* ---- Branches and messages of sessions; running a command ---- */

    {.name = "branch_start",
     .title = "Begin a branch",
     .about = "Begins a branch of a session and switches to it, to try something else.",
     .set = TOOLSET_BRANCH,
     CALLS("branch start --from={checkpoint}" S " -- {name*}"),
     PROPERTIES(TEXT("name", "Name of the new branch"),
                CHECKPOINT("Begin with its state (default: the present one)"), SESSION,
                DIRECTORY),
     .shape = BRANCH_SHAPE},
    {.name = "branch_list",
     .title = "List branches",
     .about = "Lists the branches of a session.",
     .set = TOOLSET_BRANCH,
     .hints = HINT_READ_ONLY,
     CALLS("branch list" S),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = "branches:a"},
    {.name = "branch_switch",
     .title = "Go on with another branch",
     .about = "Switches a session, its board and its files to another branch.",
     .set = TOOLSET_BRANCH,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     CALLS("branch switch --all?{all} --dry-run?{dry_run}" S " -- {name*}"),
     PROPERTIES(
         NAME,
         FLAG("all",
              "Also files that other sessions have changed since: otherwise these "
              "stay, and files.others names them"),
         FLAG("dry_run", "Only say what it would do"), SESSION, DIRECTORY),
     .shape = BRANCH_SHAPE},
    {.name = "branch_merge",
     .title = "Take over a branch",
     .about =
         "Takes the changes of a branch's board over into the current branch. Files "
         "are "
         "not merged: files_not_merged names those that differ, and "
         "checkpoint_restore with paths, of the checkpoint in theirs, takes them over.",
     .set = TOOLSET_BRANCH,
     CALLS("branch merge --take={take}" S " -- {name*}"),
     PROPERTIES(TEXT("name", "The branch whose changes are taken over"),
                CHOICE("take", "union|ours|theirs", "Of items that both changed"),
                SESSION, DIRECTORY),
     .shape = "base:s? checkpoint:s? added:i changed:i removed:i conflicts:a"},
    {.name = "branch_abandon",
     .title = "Give a branch up",
     .about = "Gives a branch up; it stays there to be looked at.",
     .set = TOOLSET_BRANCH,
     CALLS("branch abandon --reason={reason*}" S " -- {name*}"),
     PROPERTIES(NAME, TEXT("reason", "Why, for those who read it later"), SESSION,
                DIRECTORY),
     .shape = BRANCH_SHAPE},
    {.name = "message_add",
     .title = "Add a message",
     .about = "Adds a message to the session, for those who read it later.",
     .set = TOOLSET_MESSAGE,
     CALLS("session message add --role={role*} --model={model} --tokens-in={tokens_in} "
           "--tokens-out={tokens_out}" S " -- {text*}"),
     PROPERTIES(
         CHOICE("role", "user|assistant|system|tool", "Who says it"),
         PROSE("text", "The message"), TEXT("model", "The model that has written it"),
         WHOLE("tokens_in", 0, 1e9, "Tokens that went into it"),
         WHOLE("tokens_out", 0, 1e9, "Tokens that came out"), SESSION, DIRECTORY),
     .shape = "message:i"},
    {.name = "message_list",
     .title = "List messages",
     .about = "Lists the last messages of a session.",
     .set = TOOLSET_MESSAGE,
     .hints = HINT_READ_ONLY,
     CALLS("session message list --at={at} --last={limit}" S),
     PROPERTIES(TEXT("at", "As it was at this checkpoint or time"),
                WHOLE("limit", 1, 1000, "Only the last so many (default: 20)"), SESSION,
                DIRECTORY),
     .shape = "messages:a total:i"},
    {.name = "message_show",
     .title = "Show a message",
     .about = "Gives one message of a session with all of its text.",
     .set = TOOLSET_MESSAGE,
     .hints = HINT_READ_ONLY,
     CALLS("session message show" S " -- {message*}"),
     PROPERTIES(WHOLE("message", 1, NUMBER_MAX, "Its number"), SESSION, DIRECTORY),
     .shape = "message:i role:s body:s?"},
    {.name = "exec",
     .title = "Run a command and record it",
     .about = "Runs a command and records it in the session with its output, time and "
              "exit status. The time limit of calls holds for it; for what takes "
              "longer: run_start.",
     .set = TOOLSET_EXEC,
     .hints = HINT_RUNS | HINT_SLOW | HINT_STATUS,
     CALLS("exec" S " -- {command*}"),
     PROPERTIES(LIST("command",
                     "The program and its arguments, such as [\"make\", \"test\"]; no "
                     "shell sees them: for one, [\"sh\", \"-c\", \"...\"]"),
                SESSION, DIRECTORY),
     .shape = "id:s exit_code:i?"},
    {.name = "checkpoint_bisect",
     .title = "Find the first bad checkpoint",
     .about = "Finds the first checkpoint at whose files a command fails, in "
              "directories of its own.",
     .set = TOOLSET_EXEC,
     .hints = HINT_RUNS | HINT_SLOW,
     CALLS("checkpoint bisect --good={good*} --bad={bad*} --check?{check}" S
           " -- {command*}"),
     PROPERTIES(
         TEXT("good", "A checkpoint whose state is known to be good"),
         TEXT("bad", "A later one whose state is known to be bad"),
         FLAG("check", "First try whether these two are so"),
         LIST("command", "The program and its arguments that fail where it is bad"),
         SESSION, DIRECTORY),
     .shape = "steps:a first_bad:s? last_good:s?"},

    /* ---- The store: what it holds, whether it is whole, what can go ---- */

    {.name = "store_stats",
     .title = "What the store holds",
     .about = "Counts what the store holds: runs, checkpoints, bytes, durations.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY,
     CALLS("stats --"),
     PROPERTIES(DIRECTORY),
     .shape = "families:a"},
    {.name = "store_verify",
     .title = "Check for damage",
     .about = "Checks one checkpoint, or all that is stored, for damage.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     CALLS("checkpoint verify -- {checkpoint}"),
     PROPERTIES(CHECKPOINT("Only this one (default: everything)"), DIRECTORY),
     .shape = "ok:b problems:a checked:i damaged:i"},
    {.name = "store_doctor",
     .title = "Look for problems",
     .about = "Looks for problems in the store and around it, with remedies. Changes "
              "nothing.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     CALLS("doctor --"),
     PROPERTIES(DIRECTORY),
     .shape = "findings:a"},
    {.name = "store_gc",
     .title = "Delete old runs",
     .about = "Deletes old runs and content that nothing refers to. Without confirm: "
              "true only says what would go.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     CALLS("gc --keep-runs={keep_runs} --older-than={older_than} "
           "--keep-outputs={keep_outputs} --dry-run!{confirm}"),
     PROPERTIES(
         WHOLE("keep_runs", 1, 1e9,
               "Delete ended runs except the newest so many of each "
               "workflow"),
         TEXT("older_than", "Delete only runs that ended longer ago, such as 30d"),
         TEXT("keep_outputs", "Delete copies of outputs (reuse: {keep}), the oldest "
                              "first, until the others take no more, such as 10G"),
         CONFIRM, DIRECTORY),
     .shape = "dry_run:b runs:i kept_runs:i sessions:i objects:i freed_bytes:i"},
    {.name = "checkpoint_prune",
     .title = "Delete old checkpoints",
     .about = "Deletes old checkpoints of runs or of a session. Without confirm: true "
              "only says what would go.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     CALLS("checkpoint prune --run={run} --keep={keep} --keep-last={keep_last} "
           "--keep-days={keep_days} --keep-hourly?{keep_hourly} --keep-tag={keep_tags} "
           "--manual-too?{manual_too} --session={session} --dry-run!{confirm}"),
     PROPERTIES(
         RUN("Only checkpoints of this run"),
         WHOLE("keep", 1, 1e9, "Keep the newest so many of each run"),
         WHOLE("keep_last", 1, 1e9,
               "Of a session: keep the newest so many of each branch"),
         WHOLE("keep_days", 1, 36500, "Of a session: keep those of the last days"),
         FLAG("keep_hourly", "Of a session: keep the newest one of each hour"),
         WORDS("keep_tags", "Of a session: keep those with one of these tags"),
         FLAG("manual_too", "Of a session: delete manual ones that no rule keeps, too"),
         CONFIRM, SESSION, DIRECTORY),
     .shape = "dry_run:b total:i kept:i deleted:i"},
    {.name = "checkpoint_recover",
     .title = "How to continue after damage",
     .about = "Says what to do to continue from the newest valid checkpoint.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     CALLS("checkpoint recover --session={session}"),
     PROPERTIES(SESSION, DIRECTORY),
     .shape = "damaged:a checkpoint:s? steps:a"},
    {.name = "session_size",
     .title = "What takes room",
     .about = "Shows what takes room in the store, of a session.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY,
     CALLS("session size --limit={limit} --session={session}"),
     PROPERTIES(WHOLE("limit", 1, 100, "List at most so many"), SESSION, DIRECTORY),
     .shape = "store:o"},
    {.name = "session_config",
     .title = "Settings of a session",
     .about = "Lists the settings of a session, shows one, or changes it. Hooks among "
              "them are commands that are run later.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE,
     CALLS("session config --session={session} -- {name} {value}"),
     PROPERTIES(TEXT("name", "The setting; without it, all are listed"),
                TEXT("value", "Its new value; without it, it is shown"), SESSION,
                DIRECTORY),
     .shape = ""},
};

const struct tool *tool_at(size_t i)
{
    return i < COUNT(tools) ? &tools[i] : NULL;
}
