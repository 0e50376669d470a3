/* SPDX-License-Identifier: MIT */
/* What a status is compared with. */
#include "graph/expression/expression_int.h"

static bool is_jump(const struct instruction *i)
{
    return i->operation == OP_AND || i->operation == OP_OR ||
           i->operation == OP_DEFAULT;
}

/* Something else may be on the stack when code[at] begins: the value of a jump. */
static bool is_aimed_at(const struct expression *e, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_jump(&e->code[i]) && e->code[i].index == at)
            return true;
    return false;
}

static const struct name *status_at(const struct expression *e, uint32_t at)
{
    const struct name *name = &e->names[e->code[at].index];
    if (e->code[at].operation != OP_NAME)
        return NULL;
    return name->kind == NAME_TASK_STATUS || name->kind == NAME_RUN_STATUS ? name
                                                                           : NULL;
}

bool expression_status_compared(const struct expression *e, uint32_t *from,
                                struct status_compared *out)
{
    for (uint32_t i = *from < 2 ? 2 : *from; i < e->n; i++) {
        const struct instruction *code = e->code;
        if ((code[i].operation != OP_EQUAL && code[i].operation != OP_UNEQUAL) ||
            is_aimed_at(e, i - 1) || is_aimed_at(e, i))
            continue;
        uint32_t value = code[i - 1].operation == OP_VALUE ? i - 1 : i - 2;
        uint32_t name = value == i - 1 ? i - 2 : i - 1;
        if (code[value].operation != OP_VALUE || code[name].operation != OP_NAME ||
            code[value].value.type != VALUE_TEXT || !status_at(e, name))
            continue;
        *out = (struct status_compared){status_at(e, name), code[value].value.text,
                                        code[value].at, code[value].length};
        *from = i + 1;
        return true;
    }
    return false;
}
