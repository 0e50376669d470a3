#ifndef PERCENT_H
#define PERCENT_H
/* Decodes %41 and the like in place. Returns 0, or -1 for a text that is malformed. */
int percent_decode(char *text);
#endif
