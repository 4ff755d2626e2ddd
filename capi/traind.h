/*
 * traind.h: the C interface of traind, an embedded training daemon.
 *
 * Statements are text; this interface sends them to a daemon and gives back rows, errors and events.
 * traind_open reaches a daemon that runs ("unix:PATH"), or starts a private one on a state directory that
 * lives and dies with the handle ("embed:DIR"). Both behave the same from there on.
 *
 *     traind_conn *conn;
 *     traind_stmt *stmt;
 *     if (traind_open("embed:/home/me/state", NULL, &conn) == TRAIND_OK &&
 *         traind_prepare(conn, "SELECT name, versions FROM sys_models", -1, &stmt, NULL) == TRAIND_OK) {
 *       while (traind_step(stmt) == TRAIND_ROW) ...
 *       traind_stmt_free(stmt);
 *     } else {
 *       fprintf(stderr, "%s\n", traind_errmsg(conn));
 *     }
 *     traind_close(conn, NULL);
 *
 * Codes. A function that returns int32_t and says nothing else returns TRAIND_OK or an error code of the
 * table below. What went wrong is left on the handle that was passed (and, for a statement, on its
 * connection too), where traind_errmsg and traind_error_get find it until the next call that fails.
 *
 * Misuse. NULL for a handle, a handle that was freed, a handle of another type, an index out of range, calls
 * in the wrong order, and a call while another thread is inside one on the same connection give
 * TRAIND_MISUSE and change nothing. Functions that return a pointer or a number then return NULL, "" or 0 as
 * each says. Handles are names, not addresses: one that was freed is never taken for a newer one.
 *
 * Ownership. A pointer is either borrowed, valid until the moment its function names, or owned: it is yours
 * until you give it to the function named. Every traind_x_free takes NULL. Text is UTF-8 and ends in NUL;
 * lengths are bytes without it. A length of -1 means "up to the NUL".
 *
 * Threads. A connection, and all that was made from it, is used by one thread at a time; different
 * connections are independent. traind_interrupt alone may be called from any thread and from a signal
 * handler. Errors, results and events may be read and freed in any thread. After fork() the child must not
 * use the parent's connections: every call answers TRAIND_MISUSE there.
 *
 * The library installs no signal handlers, raises no SIGPIPE, prints nothing, never changes directory and
 * starts no threads. C99; compiles as C++ too.
 */
#ifndef TRAIND_H
#define TRAIND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TRAIND_API __attribute__((visibility("default")))
#else
#define TRAIND_API
#endif

/* Grows only when a program compiled against an older header could break; the soname follows it. */
#define TRAIND_ABI_VERSION 1

/* ---- Codes ------------------------------------------------------------------------------------------- */

#define TRAIND_OK 0    /* done */
#define TRAIND_ROW 1   /* traind_step: a row can be read with traind_column_... */
#define TRAIND_DONE 2  /* traind_step: the statement has ended well */
#define TRAIND_AGAIN 3 /* traind_step_nonblocking: nothing yet; wait for traind_fd */

/* Errors, by class; traind_errstr says what each means. Numbers are stable. */
#define TRAIND_SYNTAX 100
#define TRAIND_UNTERMINATED_STRING 101
#define TRAIND_UNTERMINATED_COMMENT 102
#define TRAIND_INVALID_CHARACTER 103
#define TRAIND_INVALID_NUMBER 104
#define TRAIND_DUPLICATE_CLAUSE 105
#define TRAIND_NESTING_TOO_DEEP 106
#define TRAIND_STATEMENT_TOO_LONG 107
#define TRAIND_INVALID_UTF8 108
#define TRAIND_NAME_TOO_LONG 109

#define TRAIND_NO_SUCH_MODEL 200
#define TRAIND_NO_SUCH_VERSION 201
#define TRAIND_NO_SUCH_DATASET 202
#define TRAIND_NO_SUCH_JOB 203
#define TRAIND_NO_SUCH_DEVICE 204
#define TRAIND_NO_SUCH_CHECKPOINT 205
#define TRAIND_NO_SUCH_SETTING 206
#define TRAIND_NO_SUCH_TOPIC 207
#define TRAIND_NO_SUCH_TOKENIZER 208
#define TRAIND_MODEL_EXISTS 210
#define TRAIND_DATASET_EXISTS 211
#define TRAIND_SPEC_DIFFERS 212
#define TRAIND_NAME_REQUIRED 213
#define TRAIND_HAS_VERSIONS 214
#define TRAIND_MODEL_BUSY 215
#define TRAIND_JOB_EXISTS 216
#define TRAIND_TOKENIZER_EXISTS 217
#define TRAIND_TOKENIZER_IN_USE 218
#define TRAIND_UNKNOWN_OPTION 220
#define TRAIND_INVALID_OPTION 221
#define TRAIND_UNKNOWN_ARCHITECTURE 222
#define TRAIND_UNKNOWN_FORMAT 223
#define TRAIND_UNKNOWN_PRECISION 224
#define TRAIND_UNKNOWN_BUDGET_TERM 225
#define TRAIND_WRONG_UNIT 226
#define TRAIND_DUPLICATE_OPTION 227
#define TRAIND_MISSING_OPTION 228
#define TRAIND_UNBOUND_PARAMETER 229
#define TRAIND_SQL 230
#define TRAIND_READ_ONLY 231
#define TRAIND_EPOCHS_WITH_WEIGHT 232
#define TRAIND_ASSERTION_FAILED 240

#define TRAIND_NO_FEASIBLE_PLAN 300
#define TRAIND_BUDGET_TOO_SMALL 301

#define TRAIND_WRONG_STATE 400
#define TRAIND_WAIT_TIMED_OUT 401
#define TRAIND_JOB_FAILED 402
#define TRAIND_JOB_CANCELLED 403
#define TRAIND_BUDGET_EXCEEDED 404
#define TRAIND_JOB_STOPPED 405
#define TRAIND_INTERRUPTED 406

#define TRAIND_FILE_NOT_FOUND 500
#define TRAIND_NOT_A_REGULAR_FILE 501
#define TRAIND_FILE_NOT_READABLE 502
#define TRAIND_EMPTY_FILE 503
#define TRAIND_INVALID_ENCODING 504
#define TRAIND_FORBIDDEN_BYTE 505
#define TRAIND_DATA_TOO_SHORT 506
#define TRAIND_TOKEN_OUT_OF_RANGE 507
#define TRAIND_DATA_CHANGED 508
#define TRAIND_DAMAGED_CHECKPOINT 510
#define TRAIND_DAMAGED_FILE 511
#define TRAIND_DAMAGED_TOKENIZER 512
#define TRAIND_TEXT_NOT_TOKENIZABLE 513

#define TRAIND_IO 600
#define TRAIND_DISK_FULL 601
#define TRAIND_STATE_IN_USE 602
#define TRAIND_STATE_UNUSABLE 603
#define TRAIND_DAMAGED_CATALOG 604
#define TRAIND_FORBIDDEN_PATH 605

#define TRAIND_WORKER_DIED 700
#define TRAIND_WORKER_HUNG 701
#define TRAIND_OUT_OF_MEMORY 702
#define TRAIND_NON_FINITE 703
#define TRAIND_FENCED 704

#define TRAIND_DAEMON_UNREACHABLE 800
#define TRAIND_DAEMON_LOST 801
#define TRAIND_PROTOCOL_MISMATCH 802
#define TRAIND_FRAME_TOO_LARGE 803
#define TRAIND_MALFORMED_FRAME 804
#define TRAIND_TOO_MANY 805
#define TRAIND_PEER_REFUSED 806
#define TRAIND_SLOW_READER 807
#define TRAIND_SHUTTING_DOWN 808
#define TRAIND_MISUSE 809

#define TRAIND_INTERNAL 900

/* Exit codes of trainql; traind_exit_code gives that of an error. */
#define TRAIND_EXIT_OK 0
#define TRAIND_EXIT_FAILED 1          /* a statement failed */
#define TRAIND_EXIT_USAGE 2           /* wrong options */
#define TRAIND_EXIT_UNREACHABLE 3     /* the daemon cannot be reached, or was lost */
#define TRAIND_EXIT_SYNTAX 4          /* nothing was run */
#define TRAIND_EXIT_JOB_FAILED 5      /* a waited job is FAILED */
#define TRAIND_EXIT_JOB_CANCELLED 6   /* ... CANCELLED */
#define TRAIND_EXIT_BUDGET_EXCEEDED 7 /* ... BUDGET_EXCEEDED */
#define TRAIND_EXIT_NO_PLAN 8         /* nothing here can run it, or not within its budget */
#define TRAIND_EXIT_TIMED_OUT 9       /* WAIT's timeout passed */
#define TRAIND_EXIT_ASSERTION 10      /* ASSERT failed */
#define TRAIND_EXIT_JOB_STOPPED 11    /* a waited job is PAUSED, HELD or STALLED and nobody is there to act */
#define TRAIND_EXIT_SIGNAL 128        /* plus the signal's number */

/* Types of a value. */
#define TRAIND_TYPE_NULL 0
#define TRAIND_TYPE_INTEGER 1
#define TRAIND_TYPE_REAL 2
#define TRAIND_TYPE_TEXT 3

/* traind_events_wanted: the values of poll(2)'s POLLIN and POLLOUT. */
#define TRAIND_POLL_IN 1
#define TRAIND_POLL_OUT 4

/* Limits, as traind(8) prints them. */
#define TRAIND_MAX_SCRIPT_BYTES 786432 /* a text given to traind_prepare, traind_check or traind_execute */
#define TRAIND_MAX_INCLUDE_DEPTH 8     /* INCLUDE within INCLUDE, for those who run included scripts */

/* ---- Handles ----------------------------------------------------------------------------------------- */

typedef struct traind_config traind_config; /* options of a connection */
typedef struct traind_conn traind_conn;     /* a connection, or a private daemon */
typedef struct traind_script traind_script; /* a text, cut into statements and checked */
typedef struct traind_stmt traind_stmt;     /* one statement, its parameters and its rows */
typedef struct traind_result traind_result; /* all rows of a script, as JSON */
typedef struct traind_event traind_event;   /* something that happened to a job */
typedef struct traind_error traind_error;   /* what went wrong */
typedef struct traind_words traind_words;   /* tokens of a text, or what may follow it */

/* ---- The library ------------------------------------------------------------------------------------- */

/* TRAIND_ABI_VERSION of the library that is loaded. */
TRAIND_API int32_t traind_abi_version(void);

/* "0.1.0": the version of the library that is loaded. Static. */
TRAIND_API const char* traind_version_string(void);

/* 1 if the library has the feature, else 0 (for NULL and unknown names too). Names: "unix", "embed". */
TRAIND_API int32_t traind_has_feature(const char* name);

/* What a code means, in one sentence. Static; never NULL. */
TRAIND_API const char* traind_errstr(int32_t code);

/* A code's name, "NO_SUCH_MODEL". Static; "UNKNOWN" for a number that is no code. */
TRAIND_API const char* traind_errname(int32_t code);

/* trainql's exit code for a code: TRAIND_EXIT_OK for the four that are no errors. */
TRAIND_API int32_t traind_exit_code(int32_t code);

/* Frees a string that a function of this header calls owned. Takes NULL. */
TRAIND_API void traind_free(void* string);

/* ---- Configuration ----------------------------------------------------------------------------------- */

/* Makes an empty configuration; free it with traind_config_free. */
TRAIND_API int32_t traind_config_new(traind_config** out);

/*
 * Sets an option. UNKNOWN_OPTION names the nearest one; INVALID_OPTION says the expected form.
 *   client          who is calling, for the daemon's log: "nightly 1.0"
 *   directory       what relative paths in statements mean; default: the current directory when opening
 *   autostart       on | off (default off): with the default address, start the user's daemon if none runs
 *   traind          the program that embed and autostart start; default: $TRAIND_BIN, beside the library,
 *                   beside the executable, then PATH
 *   open_timeout    how long traind_open may wait for a daemon to start, to answer or to leave: "30s"
 *   progress        on | off (default off): statements that wait send "progress" events
 *   stop_on_paused  on | off (default off): waits end with JOB_STOPPED when a job is PAUSED, HELD or STALLED
 *   check           on | off (default off): statements are checked and planned, and change nothing
 */
TRAIND_API int32_t traind_config_set(traind_config* config, const char* key, const char* value);

TRAIND_API void traind_config_free(traind_config* config);

/* ---- Connections ------------------------------------------------------------------------------------- */

/*
 * Opens a connection. Addresses:
 *   ""           the user's own daemon: traind.sock in $XDG_STATE_HOME/traind, else in ~/.local/state/traind
 *   "unix:PATH"  the daemon that listens at PATH
 *   "embed:DIR"  a private daemon on the state directory DIR (made if it is missing), which ends with the
 *                handle. If another daemon is just leaving DIR this waits for it, up to open_timeout; if one
 *                stays there, STATE_IN_USE names its process. Jobs that were live in DIR go on.
 * `config` may be NULL; it is copied. *out is set on failure too (unless `out` is NULL): that handle
 * carries the error and is good for traind_errmsg, traind_error_get and traind_close only.
 * Errors: DAEMON_UNREACHABLE, DAEMON_LOST, PROTOCOL_MISMATCH, PEER_REFUSED, STATE_IN_USE, STATE_UNUSABLE and
 * what the daemon says when it cannot start.
 */
TRAIND_API int32_t traind_open(const char* address, const traind_config* config, traind_conn** out);

/*
 * Closes a connection and frees it with its scripts and statements. A private daemon checkpoints its live
 * jobs and leaves; this returns when it and its workers are gone. If there is something to say ("job 1
 * stopped at step 40; it goes on when DIR is opened; use WAIT"), *message is set to an owned string
 * (traind_free), else to NULL; `message` may be NULL. Takes NULL for `conn`.
 */
TRAIND_API int32_t traind_close(traind_conn* conn, char** message);

/*
 * What is known of the connection, as text: "address", "version" (the daemon's), "pid", "state_directory",
 * "embedded" ("on" or "off"). Borrowed until traind_close. NULL for an unknown key.
 */
TRAIND_API const char* traind_conn_info(traind_conn* conn, const char* key);

/*
 * Interrupts what runs on the connection: its statements end with INTERRUPTED (a wait ends, its job does
 * not). Does nothing when nothing runs. The one call that may come from any thread and from a signal
 * handler, at any time before traind_close returns; later it answers TRAIND_MISUSE.
 */
TRAIND_API int32_t traind_interrupt(traind_conn* conn);

/* ---- Errors ------------------------------------------------------------------------------------------ */

/*
 * The message of the last error of a connection, script, statement or configuration, "" if there was none.
 * Borrowed until this thread's next traind_errmsg.
 */
TRAIND_API const char* traind_errmsg(const void* handle);

/*
 * The last error of a connection, script, statement or configuration, with all its parts; *out is NULL if
 * there was none. Free it with traind_error_free.
 */
TRAIND_API int32_t traind_error_get(const void* handle, traind_error** out);

/* Parts of an error. Pointers are borrowed until traind_error_free, and are never NULL. */
TRAIND_API int32_t traind_error_code(const traind_error* error);
TRAIND_API const char* traind_error_name(const traind_error* error);    /* "NO_SUCH_MODEL" */
TRAIND_API const char* traind_error_class(const traind_error* error);   /* "NAME" */
TRAIND_API const char* traind_error_message(const traind_error* error); /* what, which object, the limit */
TRAIND_API const char* traind_error_hint(const traind_error* error);    /* what to do, or "" */
TRAIND_API const char* traind_error_detail(const traind_error* error);  /* a JSON object, or "" */
/* 1 if the same statement may succeed later without being changed. */
TRAIND_API int32_t traind_error_retryable(const traind_error* error);
/* The place in the text: bytes from 0, lines from 1, characters from 1; the line is 0 if there is none. */
TRAIND_API int64_t traind_error_offset(const traind_error* error);
TRAIND_API int32_t traind_error_line(const traind_error* error);
TRAIND_API int32_t traind_error_column(const traind_error* error);
/* What the grammar would have taken at that place: "FROM", "a name"; "" for an index out of range. */
TRAIND_API int32_t traind_error_expected_count(const traind_error* error);
TRAIND_API const char* traind_error_expected(const traind_error* error, int32_t index);
TRAIND_API void traind_error_free(traind_error* error);

/* ---- Scripts ----------------------------------------------------------------------------------------- */

/*
 * Cuts a text into statements and checks their syntax, all of them; runs nothing. TRAIND_OK if the text
 * could be looked at, whatever was found: see traind_script_error_count. Free with traind_script_free
 * (statements that were prepared from it live on).
 */
TRAIND_API int32_t traind_check(traind_conn* conn, const char* text, int64_t length, traind_script** out);

TRAIND_API int32_t traind_script_error_count(const traind_script* script);
/* The index-th error, in the order of the text. Owned: traind_error_free. */
TRAIND_API int32_t traind_script_error(const traind_script* script, int32_t index, traind_error** out);

TRAIND_API int32_t traind_script_statement_count(const traind_script* script);
/* Where the index-th statement stands: bytes [begin, end) of the text, without its ';'. */
TRAIND_API int32_t traind_script_statement(const traind_script* script, int32_t index, int64_t* begin,
                                           int64_t* end);
/*
 * What is still open at the end of the text: "nothing", "statement", "string", "name", "comment" or
 * "parenthesis". Borrowed until traind_script_free.
 */
TRAIND_API const char* traind_script_open(const traind_script* script);
/*
 * Prepares the index-th statement; errors in it name places in the whole text. The code of its error if it
 * has one. Free with traind_stmt_free.
 */
TRAIND_API int32_t traind_script_prepare(traind_script* script, int32_t index, traind_stmt** out);
TRAIND_API void traind_script_free(traind_script* script);

/* ---- Editing ----------------------------------------------------------------------------------------- */

/*
 * The tokens and comments of a text, in order, for highlighting. Kinds: "keyword", "name", "string", "number"
 * (with its unit), "parameter", "punctuation", "comment", "invalid". The text need not be right or complete.
 * Free with traind_words_free.
 */
TRAIND_API int32_t traind_lex(traind_conn* conn, const char* text, int64_t length, traind_words** out);

/*
 * What may stand at the end of a text whose last word is unfinished, or missing: words that begin, in any
 * case, as that word does, and would stand in its place. Kinds: "keyword", "punctuation", "placeholder"
 * ("a number": something of that kind), and of names that exist "model", "dataset", "job", "view". None
 * behind an error. Free with traind_words_free.
 */
TRAIND_API int32_t traind_complete(traind_conn* conn, const char* text, int64_t length, traind_words** out);

TRAIND_API int32_t traind_words_count(const traind_words* words); /* 0 on misuse */
/* The bytes [begin, end) of the text that word `index` (from 0) is, or would replace. */
TRAIND_API int32_t traind_words_place(const traind_words* words, int32_t index, int64_t* begin, int64_t* end);
/* Borrowed until traind_words_free; NULL for an index out of range. */
TRAIND_API const char* traind_words_text(const traind_words* words, int32_t index);
TRAIND_API const char* traind_words_kind(const traind_words* words, int32_t index);
TRAIND_API void traind_words_free(traind_words* words);

/* ---- Statements -------------------------------------------------------------------------------------- */

/*
 * Prepares the first statement of a text. *tail, if `tail` is not NULL, is set to the rest of the text,
 * behind the ';'. A text of blanks and comments gives TRAIND_OK and NULL in *out. For a file of many
 * statements use traind_check, which reads it once. Free with traind_stmt_free.
 */
TRAIND_API int32_t traind_prepare(traind_conn* conn, const char* text, int64_t length, traind_stmt** out,
                                  const char** tail);

/* "TRAIN", "CREATE MODEL", "SHOW JOBS" ...: its name in the manual. Borrowed until traind_stmt_free. */
TRAIND_API const char* traind_stmt_kind(traind_stmt* stmt);
/* The statement's text. Borrowed until traind_stmt_free. */
TRAIND_API const char* traind_stmt_text(traind_stmt* stmt);

/* How many parameters it has: each $name once, each ? by itself. */
TRAIND_API int32_t traind_parameter_count(traind_stmt* stmt);
/* The name of parameter 1, 2, ... without '$'; "1", "2", ... for a '?'. Borrowed until traind_stmt_free;
 * NULL for an index out of range. */
TRAIND_API const char* traind_parameter_name(traind_stmt* stmt, int32_t index);
/* The index of the parameter of that name (with or without '$'), 0 if there is none. */
TRAIND_API int32_t traind_parameter_index(traind_stmt* stmt, const char* name);

/*
 * Give parameter `index` (from 1) a value, which is copied and kept until it is replaced or cleared. Only
 * before the first step, or after traind_reset. A text may stand where a quantity is wanted ("4h");
 * traind_bind_quantity gives a literal of the language, which may stand where a number is wanted too.
 */
TRAIND_API int32_t traind_bind_text(traind_stmt* stmt, int32_t index, const char* text, int64_t length);
TRAIND_API int32_t traind_bind_quantity(traind_stmt* stmt, int32_t index, const char* text, int64_t length);
TRAIND_API int32_t traind_bind_int64(traind_stmt* stmt, int32_t index, int64_t value);
TRAIND_API int32_t traind_bind_double(traind_stmt* stmt, int32_t index, double value);
TRAIND_API int32_t traind_bind_null(traind_stmt* stmt, int32_t index);
TRAIND_API int32_t traind_clear_bindings(traind_stmt* stmt);

/*
 * The name of this submission, by which the daemon knows a repetition: after a lost reply the same statement
 * with the same token gives the same job. Without it each execution gets a token of its own. At most 64
 * characters; only before the first step or after traind_reset; NULL or "" takes it back.
 */
TRAIND_API int32_t traind_stmt_set_token(traind_stmt* stmt, const char* token);

/*
 * Runs the statement to its next row: TRAIND_ROW, TRAIND_DONE or an error. After the last two only
 * traind_reset may follow.
 */
TRAIND_API int32_t traind_step(traind_stmt* stmt);
/* The same without waiting: TRAIND_AGAIN while there is neither. The first call sends the statement. */
TRAIND_API int32_t traind_step_nonblocking(traind_stmt* stmt);
/* Back to before the first step; what runs is interrupted. Bindings stay. */
TRAIND_API int32_t traind_reset(traind_stmt* stmt);
/* Interrupts the statement if it runs, and frees it. */
TRAIND_API void traind_stmt_free(traind_stmt* stmt);

/* What the daemon remarks ("job 7 waits for local:0"), as far as it has come. Borrowed until the next step,
 * reset or free; NULL for an index out of range. */
TRAIND_API int32_t traind_notice_count(traind_stmt* stmt);
TRAIND_API const char* traind_notice(traind_stmt* stmt, int32_t index);

/* ---- Rows -------------------------------------------------------------------------------------------- */

/* Columns of the result, 0 if there is none; known from the first TRAIND_ROW or TRAIND_DONE on. */
TRAIND_API int32_t traind_column_count(traind_stmt* stmt);
/* Name and declared type of column 0, 1, ...: "integer", "real", "text", "json", or with a meaning: "bytes",
 * "seconds", "time" (seconds since 1970 UTC). Borrowed until reset or free; NULL out of range. */
TRAIND_API const char* traind_column_name(traind_stmt* stmt, int32_t column);
TRAIND_API const char* traind_column_declared(traind_stmt* stmt, int32_t column);

/* The type of the current row's value: TRAIND_TYPE_...; TRAIND_TYPE_NULL on misuse too. */
TRAIND_API int32_t traind_column_type(traind_stmt* stmt, int32_t column);
/*
 * The current row's value, converted if need be as SQLite does: text to the number it begins with (else 0),
 * real to integer towards zero and into range, NULL to 0; numbers to text such that they read back equal,
 * NULL to a NULL pointer. Pointers are borrowed until the next step, reset or free. `length` may be NULL.
 */
TRAIND_API int32_t traind_column_int64(traind_stmt* stmt, int32_t column, int64_t* out);
TRAIND_API int32_t traind_column_double(traind_stmt* stmt, int32_t column, double* out);
TRAIND_API int32_t traind_column_text(traind_stmt* stmt, int32_t column, const char** text, int64_t* length);
/*
 * The current row as a JSON object in the order of the columns; a name that stands twice gets "_2", "_3";
 * text in a column declared "json" stands as the value it holds. Borrowed until the next step, reset or free.
 */
TRAIND_API int32_t traind_row_json(traind_stmt* stmt, const char** text, int64_t* length);
/*
 * The value as people read it: bytes, durations and times with their units ("1.50 GiB", "2h 05m",
 * "2026-12-03 08:00:05" in local time), reals to six digits, NULL as "".
 */
TRAIND_API int32_t traind_column_display(traind_stmt* stmt, int32_t column, const char** text,
                                         int64_t* length);

/* ---- Everything in one call -------------------------------------------------------------------------- */

/*
 * Runs a whole script to its end, one statement after the other; a syntax error anywhere runs nothing, an
 * error at run time stops it. `parameters` is NULL or a JSON object of values by name. *out, if it is not
 * NULL afterwards, holds the statements that ended well, also when one failed. Free with traind_result_free.
 */
TRAIND_API int32_t traind_execute(traind_conn* conn, const char* text, int64_t length, const char* parameters,
                                  traind_result** out);
/*
 * [{"kind":"SHOW JOBS","columns":[{"name":"id","type":"integer"},...],"rows":[[1,...],...],"notices":[...]}]
 * Borrowed until traind_result_free. NULL on misuse. `length` may be NULL.
 */
TRAIND_API const char* traind_result_json(const traind_result* result, int64_t* length);
TRAIND_API void traind_result_free(traind_result* result);

/* ---- Events ------------------------------------------------------------------------------------------ */

/*
 * A descriptor to wait on with poll, select or an event loop, for what traind_events_wanted says; then call
 * traind_process. Borrowed: never read, write or close it. -1 on misuse or when the connection is lost.
 */
TRAIND_API int32_t traind_fd(traind_conn* conn);
/* TRAIND_POLL_IN, TRAIND_POLL_OUT or both; ask before each wait. 0 on misuse. */
TRAIND_API int32_t traind_events_wanted(traind_conn* conn);
/* Sends and receives what can be without waiting. DAEMON_LOST once the daemon is gone. */
TRAIND_API int32_t traind_process(traind_conn* conn);
/* Waits until something has arrived or timeout_ms have passed (-1: no limit), then does what traind_process
 * does. For callers without a loop of their own. */
TRAIND_API int32_t traind_poll(traind_conn* conn, int32_t timeout_ms);

/*
 * Asks for events of one job, or of all with job 0. `kinds` is a list of "state", "metric", "log" and
 * "budget", parted by commas; NULL means all. *subscription, if `subscription` is not NULL, names it.
 */
TRAIND_API int32_t traind_subscribe(traind_conn* conn, int64_t job, const char* kinds, int64_t* subscription);
TRAIND_API int32_t traind_unsubscribe(traind_conn* conn, int64_t subscription);

/*
 * The oldest event that has arrived; *out is NULL if there is none. Free with traind_event_free. Events wait
 * in a bounded queue: of "progress" the newest of each job is kept, of the others the oldest are dropped.
 */
TRAIND_API int32_t traind_next_event(traind_conn* conn, traind_event** out);
/* "progress", "state", "metric", "log", "budget". Borrowed until traind_event_free, as the text below. */
TRAIND_API const char* traind_event_kind(const traind_event* event);
TRAIND_API int64_t traind_event_job(const traind_event* event);          /* 0 if it has none */
TRAIND_API int64_t traind_event_subscription(const traind_event* event); /* 0 if it has none */
TRAIND_API const char* traind_event_json(const traind_event* event);     /* the whole event, a JSON object */
/* A field ("loss"; inside another, "preparing.0"): a text, or NULL if it is none; a number into *out, or
 * TRAIND_MISUSE if it is none. */
TRAIND_API const char* traind_event_text(const traind_event* event, const char* key);
TRAIND_API int32_t traind_event_number(const traind_event* event, const char* key, double* out);
TRAIND_API void traind_event_free(traind_event* event);

#ifdef __cplusplus
}
#endif

#endif
