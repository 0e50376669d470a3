#ifndef HTTP_H
#define HTTP_H
/* The status with which the server answers to HEAD, or -1. */
int http_status(const char *url);
#endif
