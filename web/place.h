/* SPDX-License-Identifier: MIT */
/* What a page is made of: where it is written to, what it is about, what was asked; and
 * what several pages about sessions and checkpoints show. */
#ifndef WEB_PLACE_H
#define WEB_PLACE_H

#include "web/pages.h"

struct place {
    struct buf *out;
    struct cairn_store *store;
    const struct page_options *options;
    const struct page_ask *ask;
    struct page_answer *answer;
    struct cairn_error *error;
    uint64_t number; /* in the path: of the run, session or checkpoint */
    uint32_t most;   /* of a file: entries of each list; 0: a page is served */
    /* Of a preview: what it depends on, too, though it does not show that; or NULL. */
    struct buf *depends;
    bool damaged; /* `error` names something that is; place_begin says it */
};

/* What a value of the query stands for; heap. NULL: it is not there, or is no text. */
char *ask_text(const struct page_ask *ask, const char *name);
/* 0 where there is no number. */
uint64_t ask_number(const struct page_ask *ask, const char *name);
/* Whether it is there at all. */
bool ask_given(const struct page_ask *ask, const char *name);

/* The session of the place, also where a row of it may be missing from the counts. */
int find_session(struct place *place, struct cairn_session_info *info, char number[24]);
/* Up to the header of a page, whose title this is; it ends with frame_end. */
void place_begin(struct place *place, const char *title, bool live);
/* Around the rows of a table, of the class `kind`; the headings end with a NULL. */
void table_begin(struct buf *out, const char *kind, const char *label,
                 const char *const *headings);
void table_end(struct buf *out);
/* A part that is damaged is named in its place, and the rest of the page is shown: 0
 * then; else `rc`. */
int put_damage(struct place *place, int rc);
/* Links to what comes before and behind a part of a list. `address` ends where the
 * number of the first one is put. */
struct part_shown {
    const char *address, *before, *behind; /* address NULL: no links */
    uint64_t offset, total;
    uint64_t shown; /* 0: `most`, or as many as there are */
    uint32_t most;
};
void put_part_links(struct buf *out, const struct part_shown *part);
/* "debug:42-9f3ac1d20b7e", as a link to its page: of the id of a checkpoint. */
void put_checkpoint_link(struct buf *out, const char *id);
/* A session by its number and name. */
void put_session_link(struct buf *out, uint64_t session, const char *name);
/* Tags, with commas between them, as one each; labels of a checkpoint likewise. */
void put_tags(struct buf *out, const char *tags);
void put_labels(struct place *place, const char *id);
/* The items of a session by kinds, now (`id` NULL), or at a checkpoint. */
int put_board(struct place *place, const char *session, const char *id);
/* What differs on the board between two states, field by field: `from` and `to` as those
 * of cairn_session_diff. */
int put_board_changes(struct place *place, const char *session, const char *from,
                      const char *to, struct cairn_board_summary *summary);
/* The same and the files, for a file that holds many of them; no section. */
int put_differences(struct place *place, const struct cairn_checkpoint_info *from,
                    const struct cairn_checkpoint_info *to);
/* Restores of files that were interrupted, and the command that finishes each: those that
 * concern a session (0: all). Returns whether there is one. */
bool put_unfinished_restores(struct place *place, uint64_t session);
/* The branches of a session with their checkpoints, as a table, and its restores. */
int put_session_timeline(struct place *place, uint64_t session);
/* How likely the hypotheses were over time (the most likely ones, or one), as a picture
 * and as a table; nothing where there is no evidence. As graph what beliefs rest on, of
 * the session of the place; nothing where none does on another. */
int put_courses(struct place *place, const char *session, const char *hypothesis,
                const char *checkpoint);
int put_beliefs(struct place *place, const char *session);
/* One message; the context is a struct buf. */
int put_message(void *out, const struct cairn_message *message);
/* The same, with so many bytes of its text. */
int put_message_up_to(struct buf *out, const struct cairn_message *message,
                      size_t most);
/* A line with a heading in a list of facts (<dl>), around what it is. */
void fact_begin(struct buf *out, const char *name);
void fact_end(struct buf *out);

/* Pictures that a file of a checkpoint can be shown as, by its first bytes: "image/png",
 * jpeg, gif or webp. NULL: it is something else (SVG, which could hold a script, too),
 * larger than PICTURE_MOST, or cannot be read. */
enum { PICTURE_MOST = 4 << 20 };
const char *picture_type(struct cairn_store *store, const char *id, const char *path);
/* <img> of it, from its own address. */
void put_picture_of(struct buf *out, uint64_t seq, const char *path);

/* ---- Forms of what changes something (web/act.h) ---- */

/* What is asked for; what an action has not got is NULL or 0. */
struct act_asked {
    const char *act;                   /* "resume", ... */
    uint64_t run, session, checkpoint; /* their numbers */
    const char *task, *outcome, *label, *setting, *item;
};
/* Whether a page may set it: not what runs commands, and not what says which files and
 * variables of this machine are stored. */
bool page_sets(const char *setting);
/* A button that asks for a preview. Nothing if pages only show. */
void put_act(struct buf *out, const struct page_options *options, const char *label,
             const struct act_asked *asked);
/* A form that is posted, with its key and what is asked for; and one more field, which
 * is not seen (value NULL: none). */
void act_form_begin(struct buf *out, const struct page_options *options,
                    const struct act_asked *asked);
void put_hidden(struct buf *out, const char *name, const char *value);

/* A command of a session that takes long, or one whose end is not on the board. */
enum { LASTING = 16 }; /* of them at once */
struct lasting {
    uint64_t session;             /* 0: none */
    char item[CAIRN_ITEM_ID_MAX]; /* "": of all its checks */
    int64_t since_ns;
    bool ended;
    char problem[400];
};
struct lastings {
    struct lasting at[LASTING];
};
/* Commands of a session that pages have begun and that still run, and those whose end is
 * not on its board, each as a <p>: those about an item, or of all of them (NULL). */
void put_lasting(struct place *place, uint64_t session, const char *item);

/* ---- The pages ---- */

int timeline_page(struct place *place);   /* /timeline */
int compare_page(struct place *place);    /* /compare */
int checkpoint_page(struct place *place); /* /checkpoints/42 */
int session_page(struct place *place);    /* /sessions/3 */
int messages_page(struct place *place);   /* /sessions/3/messages */
int items_page(struct place *place);      /* /sessions/3/items */
int one_item_page(struct place *place);   /* /sessions/3/item */
int files_page(struct place *place);      /* /checkpoints/42/files */
int file_page(struct place *place);       /* /checkpoints/42/file */
int raw_page(struct place *place);        /* /checkpoints/42/raw */
int picture_page(struct place *place);    /* /checkpoints/42/picture */
int blame_page(struct place *place);      /* /checkpoints/42/blame */
int history_page(struct place *place);    /* /sessions/3/history */
int grep_page(struct place *place);       /* /sessions/3/grep */
int message_page(struct place *place);    /* /sessions/3/message */
int search_page(struct place *place);     /* /search */
int settings_page(struct place *place);   /* /sessions/3/settings */
int size_page(struct place *place);       /* /sessions/3/size */
int task_page(struct place *place);       /* /runs/3/task */
int tasks_page(struct place *place);      /* /runs/3/tasks */
int plan_page(struct place *place);       /* /runs/3/plan */
int audit_page(struct place *place);      /* /runs/3/audit, /audit */

/* What a resume of the run would do, or `cairn rerun` of a task (may be NULL), or a new
 * run that begins at a checkpoint of that one (may be NULL). */
int put_resume_plan(struct place *place, uint64_t run, const char *again,
                    const char *from);
/* Whose commands would run: a preview depends on all of its definition. */
int depend_on_workflow(struct place *place, const struct cairn_workflow *workflow);
void put_task_link(struct buf *out, uint64_t run, const char *task);

#endif
