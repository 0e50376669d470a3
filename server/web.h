/* SPDX-License-Identifier: MIT */
/* What is served over HTTP, without HTTP: sessions, and streams of messages.
 *
 * A request that is posted has a stream, into which its answers go. Who reads it may go
 * away and come back: an event's id is the stream's number and the position of the
 * event in it, and what comes behind can be had again as long as the stream is kept.
 * Beside these each session has a stream for notices that belong to no request. */
#ifndef SERVER_WEB_H
#define SERVER_WEB_H

#include "server/server.h"

#define SESSIONS_MAX 256
#define SESSION_IDLE_MS ((int64_t)3600 * 1000)
#define NOTICES_BYTES ((size_t)256 << 10)
/* Streams that are complete are kept as long as all have less than this together. */
#define KEPT_BYTES ((size_t)8 << 20)
#define KEPT_STREAMS 256
#define SESSION_ID_BYTES 33

struct web;
struct session;

enum stream_form {
    STREAM_RAW, /* a message a line, until it is known what becomes of it */
    STREAM_JSON,
    STREAM_EVENTS
};

struct stream {
    struct outlet outlet; /* the first member: see send and done in web.c */
    struct stream *next;
    struct web *web;
    struct session *session; /* NULL: nobody can come back to it */
    struct client self;      /* of a request without a session */
    uint64_t number;
    enum stream_form form;
    struct buf text; /* what is kept of it */
    uint64_t base;   /* the position of its first byte */
    uint64_t at;     /* up to where its reader has read */
    size_t messages;
    bool complete, lost;        /* lost: its reader has missed something */
    void *reader;               /* NULL: there is none */
    void (*wake)(void *reader); /* there is something to read, or it is over */
};

struct session {
    struct client client;
    struct session *next;
    char id[SESSION_ID_BYTES];
    struct stream *notices;
    int64_t used_ms; /* when it was asked for something, or had a call or a reader */
    bool ended;
};

struct web {
    struct server *server;
    struct session *sessions;
    struct stream *streams; /* newest first */
    uint64_t last;          /* number of a stream */
    size_t n_sessions, bytes;
};

void web_init(struct web *web, struct server *server);
/* Frees what nobody needs any more, and what is too much. */
void web_sweep(struct web *web, int64_t now_ms);
void web_release(struct web *web);

/* NULL: there are too many, or no memory or random numbers. */
struct session *session_new(struct web *web);
struct session *session_find(const struct web *web, const char *id);
/* It cannot be found any more; its calls are ended. */
void session_end(struct session *session, struct web *web);

/* For a request of a session, or of one without; NULL: out of memory. It is freed when
 * it is complete, has no reader and is not kept. */
struct stream *stream_new(struct web *web, struct session *session);
struct client *stream_client(struct stream *stream);
/* After the message was taken: how it is answered. STREAM_RAW: by nothing. */
enum stream_form stream_settle(struct stream *stream);
/* What comes behind this event, for a new reader: the stream, or NULL if it is gone. */
struct stream *stream_after(struct web *web, struct session *session,
                            const char *event);
/* A new reader; one that it had is woken, and reads no more. */
void stream_join(struct stream *stream, void *reader, void (*wake)(void *reader));
/* The reader goes. Calls whose answers nobody can have any more are ended. */
void stream_leave(struct stream *stream, void *reader);
/* Copies what comes next, up to max bytes. */
size_t stream_read(struct stream *stream, char *bytes, size_t max);

#endif
