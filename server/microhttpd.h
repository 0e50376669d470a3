/* SPDX-License-Identifier: MIT */
/* The door to libmicrohttpd. It is loaded when somebody wants to listen: with what it
 * needs itself it would double the time that any other command takes to start. */
#ifndef SERVER_MICROHTTPD_H
#define SERVER_MICROHTTPD_H

#include <microhttpd.h>
#include <stdbool.h>

/* Its functions, without their MHD_. */
struct microhttpd {
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
    __typeof__(MHD_get_fdset) *get_fdset;
    __typeof__(MHD_get_timeout) *get_timeout;
    __typeof__(MHD_run_from_select) *run_from_select;
    __typeof__(MHD_get_connection_info) *get_connection_info;
    __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
    __typeof__(MHD_get_connection_values) *get_connection_values;
    __typeof__(MHD_suspend_connection) *suspend_connection;
    __typeof__(MHD_resume_connection) *resume_connection;
    __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
    __typeof__(MHD_create_response_from_callback) *create_response_from_callback;
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_destroy_response) *destroy_response;
};

/* NULL: `why` says what is missing. It stays loaded. */
const struct microhttpd *microhttpd_load(char why[512]);

#endif
