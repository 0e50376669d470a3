/* SPDX-License-Identifier: MIT */
/* Two steps. First every member that was given is looked at: is there such a property,
 * and may it have this value? Then the words of the variant's template are gone through
 * (server/tool.h); a member that no word took does not belong to this variant. */
#include "server/arguments.h"
#include "server/properties.h"

#include <ctype.h>
#include <string.h>

/* One property and what it was given. */
struct slot {
    const struct property *property;
    const struct value *value; /* NULL: not given */
    struct value *meant;       /* what its text stands for, or NULL: freed at the end */
    bool taken;
};
#define SLOTS_MAX 32
/* Clients of servers with tenants give theirs with every call. */
static const struct property tenant = TENANT;
struct form {
    struct arguments *out;
    const struct tool *tool;
    struct slot slots[SLOTS_MAX + 1]; /* the last one is the tenant's */
    const struct property *left_out;  /* the first operand that was not given */
};

static void problem(struct form *form, const char *about, const char *what)
{
    struct buf *text = &form->out->problem;
    if (text->size > 0)
        return;
    buf_format(text, "%s: \"%.80s\" %s", form->tool->name, about, what);
}

static bool is_good(const struct form *form)
{
    return form->out->problem.size == 0 && !form->out->problem.failed &&
           !form->out->failed;
}

void arguments_add(struct arguments *arguments, const char *word)
{
    char *copy;
    if (arguments->n == ARGUMENTS_MAX) {
        arguments->too_many = true;
        return;
    }
    copy = strdup(word);
    if (!copy) {
        arguments->failed = true;
        return;
    }
    arguments->argv[arguments->n++] = copy;
}

void arguments_release(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->n; i++)
        free(arguments->argv[i]);
    free(arguments->input);
    free(arguments->directory);
    buf_release(&arguments->problem);
    *arguments = (struct arguments){.n = 0};
}

/* ---- What was given ---- */

static bool is_word(const char *text, size_t n, const char *words)
{
    for (const char *at = words; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == n && memcmp(at, text, n) == 0)
            return true;
    }
    return false;
}

static struct slot *slot_named(struct form *form, const char *name, size_t n)
{
    for (size_t i = 0; i <= form->tool->n_properties; i++) {
        const struct property *property = form->slots[i].property;
        if (is_word(name, n, property->name) || is_word(name, n, property->also))
            return &form->slots[i];
    }
    return NULL;
}

/* Whether an option, without its dashes, has the name of a member: no_wait, no-wait. */
static bool is_option(const char *option, const char *key, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (option[i] != (key[i] == '_' ? '-' : key[i]))
            return false;
    option += n;
    return strncmp(option, "={", 2) == 0 || strncmp(option, "?{", 2) == 0 ||
           strncmp(option, "=-<{", 4) == 0;
}

/* A member may have the name of the option that its property becomes. */
static struct slot *slot_of_option(struct form *form, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < form->tool->n_variants; i++)
        for (const char *at = form->tool->variants[i].template; (at = strstr(at, "--"));
             at += 2)
            if (is_option(at + 2, key, n)) {
                const char *name = strchr(at, '{') + 1;
                return slot_named(form, name, strcspn(name, "*}"));
            }
    return NULL;
}

static void unknown_member(struct form *form, const char *key)
{
    struct str names[SLOTS_MAX], near;
    struct buf *text = &form->out->problem;
    size_t n = 0;
    for (size_t i = 0; i < form->tool->n_properties; i++)
        if (!form->out->read_only || !form->slots[i].property->stores)
            names[n++] = str_of(form->slots[i].property->name);
    near = str_nearest(str_of(key), names, n);
    problem(form, key, "is not one of its fields");
    if (near.len)
        buf_format(text, "; did you mean \"%s\"?", near.ptr);
    else {
        buf_text(text, "; it has");
        for (size_t i = 0; i < n; i++)
            buf_format(text, "%s %s", i > 0 ? "," : "", names[i].ptr);
    }
}

static void check_choice(struct form *form, const struct property *property,
                         const char *text)
{
    if (is_word(text, strlen(text), property->words))
        return;
    problem(form, property->name, "");
    buf_format(&form->out->problem, "cannot be \"%.60s\": it is one of %s", text,
               property->words);
}

static void check_number(struct form *form, const struct property *property,
                         const struct value *value)
{
    double number = 0;
    int64_t whole;
    bool good = property->kind == PROPERTY_INTEGER ? value_integer(value, &whole)
                                                   : value_number(value, &number);
    if (good && property->kind == PROPERTY_INTEGER)
        number = (double)whole;
    if (good && number >= property->low && number <= property->high)
        return;
    problem(form, property->name, "");
    buf_format(&form->out->problem, "is a %s from %.16g to %.16g",
               property->kind == PROPERTY_INTEGER ? "whole number" : "number",
               property->low, property->high);
}

static void check_text(struct form *form, const struct property *property,
                       const struct value *value)
{
    const char *text = value_text(value);
    if (value_kind(value) != VALUE_STRING)
        problem(form, property->name, "is a string");
    else if (!text)
        problem(form, property->name,
                "has a NUL character in it, which no text may have");
    else if (property->kind == PROPERTY_CHOICE)
        check_choice(form, property, text);
    else if (property->kind == PROPERTY_DIRECTORY && text[0] != '/')
        problem(form, property->name, "is an absolute path");
    else if (property->kind == PROPERTY_DIRECTORY &&
             (strstr(text, "/../") ||
              (strlen(text) >= 3 && strcmp(text + strlen(text) - 3, "/..") == 0)))
        problem(form, property->name, "may not have .. in it");
}

static void check_list(struct form *form, const struct property *property,
                       const struct value *value)
{
    if (value_kind(value) != VALUE_ARRAY) {
        problem(form, property->name, "is a list of strings");
        return;
    }
    for (size_t i = 0; i < value_count(value); i++)
        if (!value_text(value_at(value, i)))
            problem(form, property->name,
                    "is a list of strings without NUL characters");
}

static bool check_pair(void *context, const char *key, const struct value *value)
{
    struct form *form = context;
    if (key[0] == '\0' || strchr(key, '='))
        problem(form, key, "cannot be a name: it is empty, or has a = in it");
    else if (value_kind(value) == VALUE_STRING && !value_text(value))
        problem(form, key, "has a NUL character in it, which no text may have");
    else if (value_kind(value) == VALUE_ARRAY || value_kind(value) == VALUE_OBJECT ||
             value_kind(value) == VALUE_NULL)
        problem(form, key, "is a string, a number or true or false");
    return is_good(form);
}

static void check_value(struct form *form, const struct property *property,
                        const struct value *value)
{
    switch (property->kind) {
    case PROPERTY_TEXT:
    case PROPERTY_PROSE:
    case PROPERTY_CHOICE:
    case PROPERTY_DIRECTORY:
        check_text(form, property, value);
        return;
    case PROPERTY_INTEGER:
    case PROPERTY_NUMBER:
    case PROPERTY_USAGE:
        check_number(form, property, value);
        return;
    case PROPERTY_BOOLEAN:
        if (value_kind(value) != VALUE_BOOL)
            problem(form, property->name, "is true or false");
        return;
    case PROPERTY_LIST:
        check_list(form, property, value);
        return;
    case PROPERTY_NOTES:
        if (value_text(value))
            return;
        /* fall through */
    case PROPERTY_PAIRS:
        if (value_kind(value) != VALUE_OBJECT)
            problem(form, property->name, "is an object of strings");
        else
            value_each(value, check_pair, form);
    }
}

/* The JSON that a text is, or NULL. */
static struct value *parse_text(const char *text)
{
    char why[160];
    return text ? value_parse(text, strlen(text), why) : NULL;
}

/* "True", as Python writes it, is meant, too. */
static struct value *parse_boolean(const char *text)
{
    char word[8] = "";
    for (size_t i = 0; text && i < sizeof word - 1 && text[i]; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    return parse_text(word);
}

static struct value *parse_digits(const struct value *value)
{
    struct buf text = BUF_INIT;
    int64_t number = 0;
    value_integer(value, &number);
    buf_format(&text, "\"%lld\"", (long long)number);
    struct value *digits = parse_text(text_get(&text));
    buf_release(&text);
    return digits;
}

/* Models write "5" for 5, "true", "[\"a\"]", and 5 for "5". What a value of another
 * kind stands for where nothing else can be meant, or NULL. */
static struct value *meant(const struct property *property, const struct value *value)
{
    const char *text = value_text(value);
    enum value_kind wanted = VALUE_STRING;
    struct value *found = NULL;
    switch (property->kind) {
    case PROPERTY_TEXT:
    case PROPERTY_PROSE:
        if (value_kind(value) == VALUE_INTEGER)
            found = parse_digits(value);
        break;
    case PROPERTY_INTEGER:
    case PROPERTY_NUMBER:
    case PROPERTY_USAGE:
        found = parse_text(text);
        wanted = value_kind(found) == VALUE_REAL ? VALUE_REAL : VALUE_INTEGER;
        break;
    case PROPERTY_BOOLEAN:
        found = parse_boolean(text);
        wanted = VALUE_BOOL;
        break;
    case PROPERTY_LIST:
        found = parse_text(text);
        wanted = VALUE_ARRAY;
        break;
    case PROPERTY_PAIRS:
        found = parse_text(text);
        wanted = VALUE_OBJECT;
        break;
    default:
        break;
    }
    if (value_kind(found) == wanted)
        return found;
    value_free(found);
    return NULL;
}

/* Whether it is the same as not given. */
static bool is_nothing(const struct property *property, const struct value *value)
{
    enum value_kind kind = value_kind(value);
    if (kind == VALUE_NULL)
        return true;
    if (property->kind == PROPERTY_LIST)
        return property->empty && kind == VALUE_ARRAY && value_count(value) == 0;
    return property->empty && kind == VALUE_STRING && value_text_length(value) == 0;
}

static bool take_member(void *context, const char *key, const struct value *value)
{
    struct form *form = context;
    struct slot *slot = slot_named(form, key, strlen(key));
    if (!slot)
        slot = slot_of_option(form, key);
    if (!slot || (form->out->read_only && slot->property->stores)) {
        unknown_member(form, key);
        return false;
    }
    if (is_nothing(slot->property, value))
        return true;
    if (slot->value) {
        problem(form, key, "is given twice, under two names");
        return false;
    }
    form->out->stores = form->out->stores || slot->property->stores;
    slot->meant = meant(slot->property, value);
    slot->value = slot->meant ? slot->meant : value;
    slot->taken = slot->property->ignored || slot->property->kind == PROPERTY_DIRECTORY;
    check_value(form, slot->property, slot->value);
    return is_good(form);
}

/* ---- Words ---- */

/* With as few digits as the number needs. */
static void append_real(struct buf *text, double number)
{
    char digits[40];
    int precision = 15;
    do
        snprintf(digits, sizeof digits, "%.*g", precision, number);
    while (strtod(digits, NULL) != number && ++precision <= 17);
    buf_text(text, digits);
}

static void append_list(struct form *form, struct buf *text, const struct slot *slot)
{
    for (size_t i = 0; i < value_count(slot->value); i++) {
        const char *member = value_text(value_at(slot->value, i));
        if (strchr(member, ','))
            problem(form, slot->property->name,
                    "cannot have a comma within a member, where it would begin "
                    "another one (in a pattern for paths, write ? for it)");
        buf_text(text, i > 0 ? "," : "");
        buf_text(text, member);
    }
}

static void append_value(struct form *form, struct buf *text, const struct slot *slot)
{
    const struct value *value = slot->value;
    double number = 0;
    switch (slot->property->kind) {
    case PROPERTY_INTEGER: {
        int64_t whole = 0;
        value_integer(value, &whole);
        buf_format(text, "%lld", (long long)whole);
        return;
    }
    case PROPERTY_NUMBER:
    case PROPERTY_USAGE:
        value_number(value, &number);
        append_real(text, number);
        if (slot->property->kind == PROPERTY_USAGE && number > 1)
            buf_text(text, "%");
        return;
    case PROPERTY_BOOLEAN:
        buf_text(text, value_true(value) ? "yes" : "no");
        return;
    case PROPERTY_LIST:
        append_list(form, text, slot);
        return;
    default:
        buf_text(text, value_text(value));
    }
}

static void add_text(struct form *form, const struct slot *slot, struct buf *text)
{
    char *word;
    if (text->size > ARGUMENT_BYTES)
        problem(form, slot->property->name, "is too long: at most 100,000 bytes");
    word = text_take(text);
    if (word)
        arguments_add(form->out, word);
    else
        form->out->failed = true;
    free(word);
}

/* Of a text for people a command drops the line feed at its end, for somebody has
 * typed it: so one that is meant gets another one. */
static char *copy_input(const char *text, size_t *n, bool is_prose)
{
    struct buf copy = BUF_INIT;
    *n = strlen(text);
    buf_add(&copy, text, *n);
    if (is_prose && *n > 0 && text[*n - 1] == '\n')
        buf_add(&copy, "\n", 1);
    *n = copy.size;
    return text_take(&copy);
}

static void give_input(struct form *form, struct slot *slot)
{
    const char *text = value_text(slot->value);
    if (form->out->input) {
        problem(form, slot->property->name,
                "is too long beside another long text: at most 100,000 bytes");
        return;
    }
    form->out->input = copy_input(text, &form->out->input_bytes,
                                  slot->property->kind == PROPERTY_PROSE);
    form->out->failed = form->out->failed || !form->out->input;
}

/* A text that the command would take for stdin goes there, and so does a long one. */
static bool goes_to_stdin(const struct slot *slot)
{
    const char *text =
        slot->property->kind == PROPERTY_PROSE ? value_text(slot->value) : NULL;
    return text && (strcmp(text, "-") == 0 || strlen(text) > ARGUMENT_BYTES / 2);
}

/* One `--option=NAME=VALUE` for each member. */
struct pairs {
    struct form *form;
    const struct slot *slot;
    const char *prefix;
    size_t prefix_bytes;
};
static bool add_pair(void *context, const char *key, const struct value *value)
{
    const struct pairs *pairs = context;
    struct buf text = BUF_INIT;
    double number = 0;
    buf_add(&text, pairs->prefix, pairs->prefix_bytes);
    buf_format(&text, "%s=", key);
    if (value_text(value))
        buf_text(&text, value_text(value));
    else if (value_kind(value) == VALUE_REAL && value_number(value, &number))
        append_real(&text, number);
    else {
        struct buf copy = BUF_INIT;
        value_copy(&copy, value);
        buf_text(&text, text_get(&copy));
        text.failed = text.failed || copy.failed;
        buf_release(&copy);
    }
    add_text(pairs->form, pairs->slot, &text);
    return is_good(pairs->form);
}

static void add_pairs(struct form *form, struct slot *slot, const char *prefix,
                      size_t n)
{
    struct pairs pairs = {form, slot, prefix, n};
    if (value_kind(slot->value) == VALUE_STRING)
        add_pair(&pairs, "context", slot->value);
    else
        value_each(slot->value, add_pair, &pairs);
}

/* The text behind `{` up to `}` names the slot; a `*` before the `}` requires it. */
static struct slot *slot_at(struct form *form, const char *brace, const char **behind)
{
    size_t n = strcspn(brace + 1, "*}");
    struct slot *slot = slot_named(form, brace + 1, n);
    bool required = brace[1 + n] == '*';
    *behind = brace + 1 + n + required + 1;
    if (!slot) { /* the table is wrong: a test looks at every template */
        problem(form, brace, "is in a template and no property");
        return NULL;
    }
    slot->taken = slot->taken || slot->value;
    if (required && !slot->value)
        problem(form, slot->property->name, "is required");
    return slot;
}

/* `--yes?{x}`, `--dry-run!{x}`, `--state=-<{x}` */
static void add_marked(struct form *form, const char *word, const char *mark)
{
    const char *behind;
    struct slot *slot = slot_at(form, mark + 1, &behind);
    struct buf text = BUF_INIT;
    bool given, wanted;
    if (!slot)
        return;
    given = slot->value &&
            (slot->property->kind != PROPERTY_BOOLEAN || value_true(slot->value));
    wanted = *mark == '!' ? !given : given;
    if (!wanted)
        return;
    if (*mark == '<')
        give_input(form, slot);
    buf_add(&text, word, (size_t)(mark - word));
    add_text(form, slot, &text);
}

/* Operands are known by their position alone. */
static void check_place(struct form *form, const struct slot *slot)
{
    if (!slot->value && !form->left_out)
        form->left_out = slot->property;
    if (!slot->value || !form->left_out || !is_good(form))
        return;
    problem(form, slot->property->name, "");
    buf_format(&form->out->problem, "needs \"%s\"", form->left_out->name);
}

/* Each member is an operand of its own. None at all would be taken for a list that was
 * left out, which can mean all. */
static void add_operands(struct form *form, const struct slot *slot, bool required)
{
    size_t n = value_count(slot->value);
    if (n == 0)
        problem(form, slot->property->name,
                required ? "is an empty list: name at least one"
                         : "is an empty list: name at least one, or leave it out");
    for (size_t i = 0; i < n; i++)
        arguments_add(form->out, value_text(value_at(slot->value, i)));
}

/* Literal text and values in turn, up to the end of the word. */
static void add_composed(struct form *form, const char *word, size_t n)
{
    struct buf text = BUF_INIT;
    const char *end = word + n;
    struct slot *slot = NULL;
    bool given = true, operand = word[0] == '{';
    while (word < end) {
        size_t plain = strcspn(word, "{");
        if (plain > (size_t)(end - word))
            plain = (size_t)(end - word);
        buf_add(&text, word, plain);
        word += plain;
        if (word == end)
            break;
        slot = slot_at(form, word, &word);
        given = given && slot && slot->value;
        if (operand && slot)
            check_place(form, slot);
        if (!given)
            continue;
        if (operand && word == end && slot->property->kind == PROPERTY_LIST) {
            add_operands(form, slot, word[-2] == '*');
            buf_release(&text);
            return;
        }
        if (slot->property->kind == PROPERTY_PAIRS ||
            slot->property->kind == PROPERTY_NOTES) {
            add_pairs(form, slot, text_get(&text), text.size);
            buf_release(&text);
            return;
        }
        if (goes_to_stdin(slot)) {
            give_input(form, slot);
            buf_text(&text, "-");
        } else
            append_value(form, &text, slot);
    }
    if (slot && given)
        add_text(form, slot, &text);
    buf_release(&text);
}

static void add_word(struct form *form, const char *word, size_t n)
{
    const char *brace = memchr(word, '{', n);
    struct buf text = BUF_INIT;
    char *plain;
    if (brace && brace > word && strchr("?!<", brace[-1])) {
        add_marked(form, word, brace - 1);
        return;
    }
    if (brace) {
        add_composed(form, word, n);
        return;
    }
    buf_add(&text, word, n);
    plain = text_take(&text);
    if (plain)
        arguments_add(form->out, plain);
    else
        form->out->failed = true;
    free(plain);
}

/* --json comes before the first word that is no part of the command's name. */
static void add_template(struct form *form, const char *template)
{
    bool named = false;
    for (const char *at = template; *at && is_good(form);) {
        size_t n = strcspn(at, " ");
        if (!named && (at[0] == '-' || at[0] == '{')) {
            arguments_add(form->out, "--json");
            named = true;
        }
        add_word(form, at, n);
        at += n + (at[n] == ' ');
    }
    if (!named)
        arguments_add(form->out, "--json");
}

static const char *value_word(const struct value *value)
{
    if (value_kind(value) == VALUE_BOOL)
        return value_true(value) ? "true" : "false";
    return value_text(value);
}

static const struct variant *choose_variant(struct form *form)
{
    struct slot *slot = form->tool->by
                            ? slot_named(form, form->tool->by, strlen(form->tool->by))
                            : NULL;
    const char *word = slot && slot->value ? value_word(slot->value) : NULL;
    if (slot)
        slot->taken = true;
    for (size_t i = 0; i < form->tool->n_variants; i++) {
        const struct variant *variant = &form->tool->variants[i];
        if (word ? variant->value && strcmp(variant->value, word) == 0
                 : !variant->value)
            return variant;
    }
    problem(form, form->tool->by ? form->tool->by : "?", "is required");
    return NULL;
}

static void refuse_rest(struct form *form)
{
    for (size_t i = 0; i < form->tool->n_properties; i++) {
        const struct slot *slot = &form->slots[i];
        if (!slot->value || slot->taken)
            continue;
        problem(form, slot->property->name, "does not belong to this");
        buf_format(&form->out->problem, " %s",
                   form->tool->by ? form->tool->by : "call");
        return;
    }
}

static void take_directory(struct form *form)
{
    for (size_t i = 0; i < form->tool->n_properties; i++) {
        const struct slot *slot = &form->slots[i];
        if (!slot->value || slot->property->kind != PROPERTY_DIRECTORY)
            continue;
        form->out->directory = strdup(value_text(slot->value));
        form->out->failed = form->out->failed || !form->out->directory;
    }
}

bool arguments_make(struct arguments *arguments, const struct tool *tool,
                    const struct value *given)
{
    struct form form = {.out = arguments, .tool = tool};
    const struct variant *variant;
    if (given && value_kind(given) != VALUE_NULL && value_kind(given) != VALUE_OBJECT) {
        problem(&form, "arguments", "is an object");
        return false;
    }
    for (size_t i = 0; i < tool->n_properties && i < SLOTS_MAX; i++)
        form.slots[i].property = &tool->properties[i];
    form.slots[tool->n_properties].property = &tenant;
    value_each(given, take_member, &form);
    variant = is_good(&form) ? choose_variant(&form) : NULL;
    if (variant)
        add_template(&form, variant->template);
    if (arguments->too_many)
        problem(&form, "arguments", "are too many values");
    if (is_good(&form))
        refuse_rest(&form);
    if (is_good(&form))
        take_directory(&form);
    if (arguments->problem.failed)
        arguments->failed = true;
    for (size_t i = 0; i <= tool->n_properties; i++)
        value_free(form.slots[i].meant);
    return is_good(&form);
}
