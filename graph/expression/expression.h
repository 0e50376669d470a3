/* SPDX-License-Identifier: MIT */
/* Expressions: what stands in ${{ }} and after `if:`. Parsed once into code, in the
 * order of evaluation, then run as often as needed. Pure: names are resolved by the
 * caller.
 *
 *   or         and { "||" and }                          lazy, gives true or false
 *   and        compare { "&&" compare }
 *   compare    unary [ ("==" | "!=" | "<" | ">" | "<=" | ">=") unary ]   not chained
 *   unary      "!" unary | primary
 *   primary    'text' ('' is a quote) | number | true | false | "(" or ")" | name |
 *              contains(TEXT, PART) | default(VALUE, INSTEAD): INSTEAD is lazy, too |
 *              basename(PATH) | dirname(PATH) | stem(PATH): parts of a text, no I/O |
 *              replace(TEXT, FROM, TO) |
 *              split(TEXT, AT) | join(LIST, BETWEEN) | sort(LIST) | len(LIST): a list is
 *              a text with a line for each element, the empty text has none
 *   number     -?[0-9]+(.[0-9]+)?([eE][+-]?[0-9]+)?, at most 100 bytes
 *   name       params.P | env.E | KEY (foreach) | run.id | run.attempt | run.status |
 *              outputs.K (only in `until`) |
 *              tasks.X.status | tasks.X.outputs.K | tasks.X.files | tasks.X.port |
 *              tasks.X.ports.P    (X: letters, digits, _ and -; a task whose id has a
 *              dot in it is written tasks['a.b'].status)
 *
 * Values are text, numbers, truth values, or missing (an output that was not set).
 * == and != compare a number with text by the number that the text stands for, a truth
 * value with text by the texts true and false, and are false / true if it stands for
 * none; a number never equals a truth value. <, >, <= and >= need numbers, or texts
 * that stand for numbers, on both sides. contains() takes both sides as text; the
 * functions of paths need a text. A missing
 * value is only good for default() and for == and != (missing equals missing); anything
 * else is an error that names it. Truth: false, 0, "" and "false" are false. Whole
 * numbers are compared digit by digit, others as doubles; none is infinite. The locale
 * makes no difference. */
#ifndef GRAPH_EXPRESSION_EXPRESSION_H
#define GRAPH_EXPRESSION_EXPRESSION_H

#include "base/memory.h"

enum value_type { VALUE_TEXT, VALUE_NUMBER, VALUE_TRUTH, VALUE_MISSING };
struct value {
    enum value_type type;
    struct str text; /* of a number: as it was written, or empty */
    double number;
    bool truth;
};

enum name_kind {
    NAME_KEY = 1,     /* first: the foreach key */
    NAME_PARAM,       /* first: its name */
    NAME_ENV,         /* first: its name */
    NAME_TASK_OUTPUT, /* first: the task, second: the key */
    NAME_TASK_STATUS, /* first: the task */
    NAME_TASK_FILES,  /* the same: the names of its declared outputs, a line for each */
    NAME_TASK_PORT,   /* first: the service, second: the port, or "" of its only one */
    NAME_OWN_OUTPUT,  /* first: the key; of the attempt that asks, which has ended */
    NAME_RUN_ID,
    NAME_RUN_ATTEMPT,
    NAME_RUN_STATUS
};
struct name {
    enum name_kind kind;
    struct str first, second;
    size_t at, length; /* in the text that was parsed; of a piece of a template: from
                          behind its ${{, so in the whole text at piece.at + 3 + at */
};

/* What is wrong, and where in the text. */
struct expression_error {
    size_t at, length;
    char text[256];
};

struct expression; /* lives in the arena that it was parsed into */

/* `text` is copied. 0, CAIRN_EWORKFLOW with *error, CAIRN_ENOMEM. Nesting is limited to
 * LIMIT_EXPRESSION_DEPTH, the text to LIMIT_EXPRESSION_BYTES. No recursion. */
int expression_parse(struct arena *arena, struct str text,
                     const struct expression **out, struct expression_error *error);
uint32_t expression_names(const struct expression *expression);
/* The i-th name, in the order of the text. */
const struct name *expression_name(const struct expression *expression, uint32_t i);

/* A status of a task or of the run that is compared (== or !=) with a text. */
struct status_compared {
    const struct name *name;
    struct str text;
    size_t at, length; /* of the text, with its quotes */
};
/* The next one; *from is 0 at first. False: there is no other. */
bool expression_status_compared(const struct expression *expression, uint32_t *from,
                                struct status_compared *out);

/* Resolves a name. Texts must live until the evaluation is over. Return 0 or a negative
 * code with *error filled. */
typedef int name_lookup(void *context, const struct name *name, struct value *out,
                        struct cairn_error *error);
/* The result may be a text that was made in `texts`. CAIRN_EWORKFLOW with error->text
 * ("`<` needs numbers: tasks.a.outputs.n is `x`"). */
int expression_evaluate(const struct expression *expression, name_lookup *lookup,
                        void *context, struct arena *texts, struct value *out,
                        struct cairn_error *error);
bool value_truth(const struct value *value);
/* Appends a value as text: whole numbers with their digits, others as %.17g shortened
 * to what reads back the same, up to 1e17 without a point. Missing: an error for the
 * caller to find before. */
void value_append(const struct value *value, struct buf *out);

/* Text with ${{ }} in it: literal pieces and expressions. */
struct piece {
    struct str text;                     /* of a literal */
    const struct expression *expression; /* NULL: a literal */
    size_t at;                           /* where it begins in the text */
};
struct text_template {
    uint32_t n;
    struct piece *pieces; /* [n] */
};
/* True if the text has a ${{ in it. */
bool template_has(struct str text);
/* In a file, $${{ is a literal ${{. Where the first ${{ from `from` on that begins an
 * expression stands, or SIZE_MAX. */
size_t template_find(struct str text, size_t from);
/* Text of a file, which is none: one $ of each $${{ is left out; false without memory. */
bool text_unescape(struct arena *arena, struct str *text);
/* Text of a file for template_parse, which knows no escapes: $${{ becomes the
 * expression that every version reads as a literal, ${{ '$' }}{{. */
bool template_unescape(struct arena *arena, struct str *text);
/* A `}}` inside quotes does not end an expression. Literals point into `text`. Returns
 * what expression_parse does; error->at counts from the beginning of `text`. */
int template_parse(struct arena *arena, struct str text, struct text_template *out,
                   struct expression_error *error);
/* Appends the text with values put in. A missing value is an error that names it. */
int template_expand(const struct text_template *template, name_lookup *lookup,
                    void *context, struct buf *out, struct cairn_error *error);

/* A value and where it comes from. */
struct operand {
    struct value value;
    uint32_t at, length;
};
/* As expression_evaluate. */
int expression_run(const struct expression *expression, name_lookup *lookup,
                   void *context, struct arena *texts, struct operand *out,
                   struct cairn_error *error);
/* CAIRN_EWORKFLOW if the operand is missing. */
int expression_missing(const struct expression *expression,
                       const struct operand *operand, struct cairn_error *error);

/* A text for a message: shortened, with unprintable bytes replaced. */
struct shown {
    char text[96];
};
struct shown expression_shown(struct str text);

#endif
