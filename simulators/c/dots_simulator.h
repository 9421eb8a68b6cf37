/* Simulators in C that share memory with a trainer: both protocols of ML-Agents DOTS (0 and 0.3.2). C99 and POSIX.

   One file of the program says #define DOTS_SIMULATOR_IMPLEMENTATION before it includes this one.

       dots_simulator *simulator = dots_open(argc, argv);
       dots_behaviour *walkers = dots_register(simulator, &(dots_spec){.name = "Walker", .agents = 12, .observations = 1,
                                                                      .shapes = {{8}}, .continuous = 2});
       for (int turn; (turn = dots_exchange(simulator)) != DOTS_CLOSED;) {
           if (turn == DOTS_RESET) ...            begin new episodes
           else ... dots_continuous(walkers, row) act, in the order in which agents asked
           dots_decide(walkers, id, (const float *[]){seen}, reward, NULL);   for every agent that asks
       }
       dots_close(simulator);

   Functions that return int return 0 on failure, unless they say otherwise, and dots_error(simulator) says why.
   The bytes are described in docs/dots.md and src/dots_simulator/layout.py; a test compares the numbers below. */

#ifndef DOTS_SIMULATOR_H
#define DOTS_SIMULATOR_H

#include <stddef.h>
#include <stdint.h>

#define DOTS_MAX_OBSERVATIONS 16
#define DOTS_MAX_BRANCHES 16

/* what dots_exchange returns: the trainer wants a step, new episodes, or no more */
enum { DOTS_STEP, DOTS_RESET, DOTS_CLOSED };

typedef struct dots_simulator dots_simulator;
typedef struct dots_behaviour dots_behaviour;

/* Agents that see and do the same. Unused sizes of shapes are 0. Protocol 0 has either kind of actions, not both. */
typedef struct {
    const char *name; /* printable ASCII, at most 63 characters */
    int32_t agents;   /* that ask, or that end, in one turn at most */
    int32_t observations;
    int32_t shapes[DOTS_MAX_OBSERVATIONS][3];
    int32_t continuous; /* floats that an agent does */
    int32_t branches;
    int32_t choices[DOTS_MAX_BRANCHES];
} dots_spec;

/* Attach to the trainer that --memory-path names, or to one that waits for editors. NULL: a message is on stderr. */
dots_simulator *dots_open(int argc, char **argv);
/* Tell the trainer, and free everything. */
void dots_close(dots_simulator *simulator);
const char *dots_error(const dots_simulator *simulator);

/* NULL: see dots_error. */
dots_behaviour *dots_register(dots_simulator *simulator, const dots_spec *spec);

/* An agent asks for an action. observations: a pointer for each. mask: 1 for choices that are not available, those of
   all branches one after another; NULL: all are. */
int dots_decide(dots_behaviour *behaviour, int32_t agent_id, const float *const *observations, float reward,
                const uint8_t *mask);
/* An agent's episode ends; interrupted: it could have continued. It may ask in the same turn: for its next episode. */
int dots_end(dots_behaviour *behaviour, int32_t agent_id, const float *const *observations, float reward,
             int interrupted);

/* Show this turn's rows, give the turn and wait for the answer. The first call waits for the trainer's first message.
   DOTS_CLOSED: the trainer has closed or ended, no files are left; or there was a fault, see dots_error. */
int dots_exchange(dots_simulator *simulator);

/* Actions of the agent that asked as number `row`, from 0. */
const float *dots_continuous(const dots_behaviour *behaviour, int32_t row);
const int32_t *dots_discrete(const dots_behaviour *behaviour, int32_t row);

/* An environment parameter of the trainer's. */
float dots_parameter(const dots_simulator *simulator, const char *key, float otherwise);
/* Let the trainer log a number. aggregation: 0 average, 1 latest, 2 sum, 3 histogram. */
int dots_statistic(dots_simulator *simulator, const char *key, float value, int32_t aggregation);
/* Send bytes through a side channel, with the next turn. guid: in .NET's order of bytes. */
int dots_send(dots_simulator *simulator, const uint8_t guid[16], const void *body, int32_t length);
/* Call a function with every message of a side channel. */
typedef void (*dots_receive)(void *user, const uint8_t *body, int32_t length);
int dots_listen(dots_simulator *simulator, const uint8_t guid[16], dots_receive receive, void *user);
/* Let the trainer save and restore: `size` bytes at `game` are all that decides what follows, no pointers among them. */
void dots_offer_state(dots_simulator *simulator, void *game, int32_t size);

#endif

#ifdef DOTS_SIMULATOR_IMPLEMENTATION
#undef DOTS_SIMULATOR_IMPLEMENTATION

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* protocol 0.3.2: the header file */
#define DOTS_HEADER_MAJOR 0
#define DOTS_HEADER_MINOR 4
#define DOTS_HEADER_PATCH 8
#define DOTS_HEADER_SIMULATOR_BLOCKED 12
#define DOTS_HEADER_TRAINER_BLOCKED 13
#define DOTS_HEADER_RESET 14
#define DOTS_HEADER_CLOSED 15
#define DOTS_HEADER_FILE_NUMBER 16
#define DOTS_HEADER_SIDE_CAPACITY 20
#define DOTS_HEADER_GROUP_BYTES 24
#define DOTS_HEADER_QUERY 28
#define DOTS_HEADER_BYTES 29
#define DOTS_SIDE_START 4
#define DOTS_FIRST_SIDE_CAPACITY 4
/* protocol 0: the start of its file */
#define DOTS_HEADER_0_FILE_BYTES 0
#define DOTS_HEADER_0_VERSION 4
#define DOTS_HEADER_0_SIMULATORS_TURN 8
#define DOTS_HEADER_0_COMMAND 9
#define DOTS_HEADER_0_SIDE_CAPACITY 10
#define DOTS_HEADER_0_SIDE_LENGTH 14
#define DOTS_SIDE_START_0 18
#define DOTS_FIRST_BYTES_0 22
#define DOTS_NAME_BYTES_0 64
enum { DOTS__STEP_0, DOTS__RESET_0, DOTS__CHANGE_FILE_0, DOTS__CLOSE_0, DOTS__QUERY, DOTS__FAULT };
/* the state channel: offer, save, saved, load, loaded */
enum { DOTS__OFFER, DOTS__SAVE, DOTS__SAVED, DOTS__LOAD, DOTS__LOADED };

static const uint8_t DOTS_PARAMETERS[16] = {0x1e, 0x89, 0x4c, 0x53, 0x0f, 0x81, 0xea, 0x11,
                                            0xa9, 0xd0, 0x82, 0x24, 0x85, 0x86, 0x04, 0x00};
static const uint8_t DOTS_STATISTICS[16] = {0xb7, 0xf7, 0xd8, 0xa1, 0xc8, 0xbe, 0xf8, 0x50,
                                            0xb7, 0x8b, 0xd3, 0xe1, 0x65, 0xa7, 0x85, 0x20};
static const uint8_t DOTS_STATE[16] = {0x29, 0xec, 0xa7, 0xcf, 0xcc, 0x54, 0x0c, 0x4f,
                                       0xb8, 0x55, 0x81, 0x78, 0x1f, 0x71, 0x55, 0x3c};

/* see src/dots_simulator/waiting.py: nanoseconds of looking, and waits without it after failures */
#define DOTS__SPIN 60000
#define DOTS__FIRST_SPIN 250000
#define DOTS__MOST_SKIPPED 2048
#define DOTS__SHORTEST_NAP 10000
#define DOTS__SHORT_NAPS 2000000
#define DOTS__LONGEST_NAP 1000000
/* places in the file .awake: see src/dots_simulator/wake.py */
#define DOTS__TRAINERS 0
#define DOTS__SIMULATORS 64
/* places in the file .sealed: see src/dots_simulator/sealed.py */
#define DOTS__WHOSE 32
#define DOTS__SEALED 48
#define DOTS__CHECK_MS 250
#define DOTS__PATH 4400

/* An array of a group: `rows` numbers of rows of `row` bytes, at `own` in the behaviour's memory, at `there` in the
   group's block of the file; -1: this protocol has none. */
typedef struct {
    size_t row;
    long own, there;
} dots__array;

struct dots_behaviour {
    dots_simulator *simulator;
    dots_spec spec;
    uint8_t *own; /* rows of this turn, and actions of the last */
    dots__array seen[2][DOTS_MAX_OBSERVATIONS], reward[2], id[2], mask, status, done, max_step, continuous, discrete;
    long count[2];         /* places of the counts in the block; protocol 0 has the first */
    int32_t shown[2];      /* rows of this turn: decisions and ends */
    int32_t written[2];    /* of these, in the file */
    int32_t asked;         /* decisions whose actions have come */
    uint8_t *packed;       /* description */
    long packed_size, size; /* of the block */
    long place;            /* behind the side channel; -1: not registered */
    int masked;
};

typedef struct {
    uint8_t guid[16];
    dots_receive receive;
    void *user;
} dots__listener;

typedef struct {
    uint8_t *bytes;
    long length, room;
} dots__bytes;

struct dots_simulator {
    int is_0; /* protocol */
    char first[DOTS__PATH - 256];
    char path[DOTS__PATH]; /* protocol 0: of the newest file */
    int lock, was_locked, read_end, write_end, woken, gone, is_closed, has_begun, has_grown, show_decisions_next;
    uint8_t *flags; /* .awake, or NULL */
    int is_awake, skipped, to_skip;
    long spin; /* nanoseconds */
    pid_t parent;
    uint8_t *header, *data; /* protocol 0: data only */
    long data_size, capacity, group_bytes;
    int32_t number;
    dots_behaviour *behaviours[64];
    int count;
    dots__bytes out;
    struct {
        char key[64];
        float value;
    } parameters[64];
    int parameter_count;
    dots__listener listeners[16];
    int listener_count;
    void *game;
    int32_t game_size;
    int is_offered, has_loaded;
    char error[512];
};

static int dots__fail(dots_simulator *s, const char *form, ...) {
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(s->error, sizeof s->error, form, arguments);
    va_end(arguments);
    return 0;
}

const char *dots_error(const dots_simulator *s) { return s->error; }

/* numbers are little-endian and not aligned */
static int32_t dots__get(const uint8_t *at) {
    return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

static void dots__put(uint8_t *at, int32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)((uint32_t)value >> 8 * i);
}

/* whose turn it is must not be seen before what the turn has written */
static uint8_t dots__look(const uint8_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
static void dots__tell(uint8_t *at, uint8_t value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }

static int dots__append(dots__bytes *b, const void *bytes, long length) {
    if (b->length + length > b->room) {
        long room = 2 * (b->length + length) + 64;
        uint8_t *bigger = realloc(b->bytes, (size_t)room);
        if (!bigger) return 0;
        b->bytes = bigger, b->room = room;
    }
    if (length) memcpy(b->bytes + b->length, bytes, (size_t)length);
    b->length += length;
    return 1;
}

static int dots__append_int(dots__bytes *b, int32_t value) {
    uint8_t bytes[4];
    dots__put(bytes, value);
    return dots__append(b, bytes, 4);
}

/* ---- files ---- */

/* Open what a link names, if that is an open file of a process: the only links that trainers make. */
static int dots__open_link(const char *path) {
    char target[64];
    int process, number, end = 0;
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    if (sscanf(target, "/proc/%d/fd/%d%n", &process, &number, &end) == 2 && end == length)
        return open(target, O_RDWR | O_CLOEXEC);
    errno = ELOOP;
    return -1;
}

static uint8_t *dots__map(dots_simulator *s, const char *path, long size, int is_new) {
    if (is_new) unlink(path);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 && errno == ELOOP) file = dots__open_link(path);
    uint8_t *map = MAP_FAILED;
    struct stat about;
    if (file >= 0 && is_new && posix_fallocate(file, 0, size)) errno = ENOSPC;
    else if (file >= 0 && !fstat(file, &about) && about.st_size >= size)
        map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (map == MAP_FAILED) {
        dots__fail(s, "cannot map %ld bytes of %s: %s", size, path, strerror(errno));
        return NULL;
    }
    return map;
}

static void dots__data_path(const dots_simulator *s, int32_t number, char *path, size_t room) {
    size_t length = (size_t)snprintf(path, room, "%s", s->first);
    for (int32_t i = 0; i < number && length + 1 < room; i++) path[length++] = '_';
    path[length] = 0;
}

/* Remove the first file and all that belongs to it. */
static void dots__remove_family(const dots_simulator *s) {
    char folder[DOTS__PATH], path[DOTS__PATH + 512];
    snprintf(folder, sizeof folder, "%s", s->first);
    char *slash = strrchr(folder, '/');
    const char *name = strrchr(s->first, '/') + 1;
    *slash = 0;
    DIR *files = opendir(slash == folder ? "/" : folder);
    if (!files) return;
    for (struct dirent *entry; (entry = readdir(files));) {
        if (strncmp(entry->d_name, name, strlen(name))) continue;
        const char *rest = entry->d_name + strlen(name);
        if (rest[strspn(rest, "_")] && strcmp(rest, ".to_simulator") && strcmp(rest, ".to_trainer") &&
            strcmp(rest, ".awake") && strcmp(rest, ".sealed") && strcmp(rest, ".lock"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(files);
}

/* ---- the trainer's life, and waiting ---- */

static int dots__is_locked(const dots_simulator *s) {
    if (s->lock < 0) return 0;
    if (flock(s->lock, LOCK_SH | LOCK_NB)) return 1;
    flock(s->lock, LOCK_UN);
    return 0;
}

static int dots__has_ended(const dots_simulator *s) {
    return s->gone || (s->parent && getppid() != s->parent) || (s->was_locked && !dots__is_locked(s));
}

static void dots__watch(dots_simulator *s, int is_parent) {
    char path[DOTS__PATH];
    snprintf(path, sizeof path, "%s.lock", s->first);
    s->lock = open(path, O_RDONLY | O_CLOEXEC);
    s->was_locked = dots__is_locked(s);
    s->parent = is_parent ? getppid() : 0;
    s->write_end = -1;
    s->spin = DOTS__FIRST_SPIN;
    snprintf(path, sizeof path, "%s.to_simulator", s->first);
    s->read_end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (s->read_end < 0) return;
    snprintf(path, sizeof path, "%s.to_trainer", s->first);
    s->write_end = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (s->write_end < 0) { /* left over from a trainer that has ended */
        close(s->read_end);
        s->read_end = -1;
        return;
    }
    signal(SIGPIPE, SIG_IGN);
    snprintf(path, sizeof path, "%s.awake", s->first);
    struct stat about;
    if (!stat(path, &about) && about.st_size > DOTS__SIMULATORS) s->flags = dots__map(s, path, DOTS__SIMULATORS + 1, 0);
    if (!s->flags) s->error[0] = 0; /* it works without */
}

static void dots__signal(dots_simulator *s) {
    s->woken = 1;
    if (s->is_awake) { /* else the other side has slept as well, most likely */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (dots__look(s->flags + DOTS__TRAINERS)) return;
    }
    if (s->write_end >= 0 && write(s->write_end, "\1", 1) < 0 && errno == EPIPE) s->gone = 1;
}

static int dots__is_our_turn(const dots_simulator *s) {
    if (s->is_0) return dots__look(s->data + DOTS_HEADER_0_SIMULATORS_TURN);
    return !dots__look(s->header + DOTS_HEADER_SIMULATOR_BLOCKED) || dots__look(s->header + DOTS_HEADER_CLOSED);
}

static int64_t dots__nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Look for a moment, if that has paid lately. */
static int dots__spin(dots_simulator *s, int woken) {
    if (s->skipped < s->to_skip) {
        s->skipped++;
        return 0;
    }
    s->skipped = 0;
    if (woken && s->flags && !s->is_awake) {
        s->is_awake = 1;
        dots__tell(s->flags + DOTS__SIMULATORS, 1);
    }
    for (int64_t begun = dots__nanoseconds(); dots__nanoseconds() - begun < s->spin;)
        for (int i = 0; i < 64; i++)
            if (dots__is_our_turn(s)) {
                s->spin = DOTS__SPIN, s->to_skip /= 2;
                return 1;
            }
    s->spin = DOTS__FIRST_SPIN;
    s->to_skip = 2 * s->to_skip + 1;
    if (s->to_skip > DOTS__MOST_SKIPPED) s->to_skip = DOTS__MOST_SKIPPED;
    return 0;
}

/* 0: the trainer has ended */
static int dots__await(dots_simulator *s) {
    int woken = s->read_end >= 0 && s->woken;
    if (dots__spin(s, woken)) return 1;
    if (s->is_awake) { /* the trainer may not wake a side that is awake: look once more */
        s->is_awake = 0;
        dots__tell(s->flags + DOTS__SIMULATORS, 0);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
    long pause = DOTS__SHORTEST_NAP, passed = 0, unchecked = 0; /* nanoseconds */
    while (!dots__is_our_turn(s)) {
        if (woken) {
            struct pollfd end = {s->read_end, POLLIN, 0};
            uint8_t wakes[4096];
            if (poll(&end, 1, DOTS__CHECK_MS) > 0 && read(s->read_end, wakes, sizeof wakes) == 0) s->gone = 1;
            if (dots__is_our_turn(s)) return 1;
            unchecked = DOTS__CHECK_MS * 1000000L;
        } else {
            nanosleep(&(struct timespec){0, pause}, NULL);
            passed += pause, unchecked += pause;
            if (passed > DOTS__SHORT_NAPS && pause < DOTS__LONGEST_NAP) pause += pause / 2;
        }
        if ((s->gone || unchecked >= DOTS__CHECK_MS * 1000000L) && (unchecked = 0, dots__has_ended(s)))
            return dots__is_our_turn(s);
    }
    return 1;
}

/* ---- the two protocols ---- */

static void dots__give(dots_simulator *s, int command_0) {
    s->has_grown = 0;
    if (s->is_0) {
        s->data[DOTS_HEADER_0_COMMAND] = (uint8_t)command_0;
        dots__tell(s->data + DOTS_HEADER_0_SIMULATORS_TURN, 0);
    } else {
        dots__tell(s->header + DOTS_HEADER_SIMULATOR_BLOCKED, 1);
        dots__tell(s->header + DOTS_HEADER_TRAINER_BLOCKED, 0);
    }
    dots__signal(s);
}

static long dots__side_start(const dots_simulator *s) { return s->is_0 ? DOTS_SIDE_START_0 : DOTS_SIDE_START; }
static long dots__length_at(const dots_simulator *s) { return s->is_0 ? DOTS_HEADER_0_SIDE_LENGTH : 0; }
/* where the groups begin; in protocol 0, where their number stands */
static long dots__groups_at(const dots_simulator *s, long capacity) { return dots__length_at(s) + capacity; }

/* Map the newest file, whose sizes the trainer may have changed: its side channel only. */
static int dots__open_data(dots_simulator *s) {
    uint8_t *before = s->data;
    long size_before = s->data_size, size;
    if (s->is_0) {
        uint8_t *start = dots__map(s, s->path, DOTS_FIRST_BYTES_0, 0);
        if (!start) return 0;
        size = dots__get(start + DOTS_HEADER_0_FILE_BYTES);
        s->capacity = dots__get(start + DOTS_HEADER_0_SIDE_CAPACITY);
        munmap(start, DOTS_FIRST_BYTES_0);
        if (s->capacity < 4 || size != dots__groups_at(s, s->capacity) + s->group_bytes)
            return dots__fail(s, "the file has %ld bytes, %ld of them side channels", size, s->capacity);
        s->data = dots__map(s, s->path, size, 0);
    } else {
        char path[DOTS__PATH];
        s->number = dots__get(s->header + DOTS_HEADER_FILE_NUMBER);
        s->capacity = dots__get(s->header + DOTS_HEADER_SIDE_CAPACITY);
        if (s->number < 1 || s->number > 200 || s->capacity < 0 ||
            dots__get(s->header + DOTS_HEADER_GROUP_BYTES) != s->group_bytes)
            return dots__fail(s, "the header names file %d with %ld bytes of side channels", s->number, s->capacity);
        dots__data_path(s, s->number, path, sizeof path);
        size = s->capacity + s->group_bytes;
        if (size < DOTS_FIRST_SIDE_CAPACITY) size = DOTS_FIRST_SIDE_CAPACITY;
        s->data = dots__map(s, path, size, 0);
    }
    if (!s->data) return 0;
    s->data_size = size;
    if (before) munmap(before, (size_t)size_before);
    return 1;
}

/* The trainer's sealed header, if there is one and it can be opened from here, or else that of the first file. */
static uint8_t *dots__map_header(dots_simulator *s) {
    char path[DOTS__PATH];
    struct stat about;
    uint8_t *plain = dots__map(s, s->first, DOTS_HEADER_BYTES, 0), *sealed;
    if (!plain || stat(s->first, &about)) return plain;
    uint64_t ours[2] = {about.st_dev, about.st_ino}, theirs[2];
    snprintf(path, sizeof path, "%s.sealed", s->first);
    sealed = dots__map(s, path, DOTS__SEALED, 0);
    s->error[0] = 0; /* it works without */
    if (!sealed) return plain;
    memcpy(theirs, sealed + DOTS__WHOSE, sizeof theirs);
    munmap(memcmp(ours, theirs, sizeof ours) ? sealed : plain, DOTS_HEADER_BYTES);
    return memcmp(ours, theirs, sizeof ours) ? plain : sealed;
}

/* Make a bigger file. A second one in a turn of protocol 0.3.2 takes the place of the first, which nobody has seen. */
static int dots__grow(dots_simulator *s, long capacity, long group_bytes) {
    char path[DOTS__PATH];
    uint8_t *old = s->data;
    long old_size = s->data_size, at = dots__groups_at(s, capacity), old_at = dots__groups_at(s, s->capacity);
    long size = at + group_bytes;
    if (size > INT32_MAX) return dots__fail(s, "the file would have %ld bytes", size);
    if (s->is_0) {
        size_t length = strlen(s->path);
        if (length + 2 > sizeof path) return dots__fail(s, "the path of the file is too long");
        memcpy(path, s->path, length);
        memcpy(path + length, "_", 2);
    } else {
        s->number += !s->has_grown;
        dots__data_path(s, s->number, path, sizeof path);
    }
    uint8_t *data = dots__map(s, path, size, 1);
    if (!data) return 0;
    long kept = s->is_0 ? old_at : DOTS_SIDE_START + dots__get(old);
    if (kept <= at) memcpy(data, old, (size_t)kept);
    memcpy(data + at, old + old_at, (size_t)s->group_bytes);
    if (s->is_0) {
        dots__put(data + DOTS_HEADER_0_FILE_BYTES, (int32_t)size);
        dots__put(data + DOTS_HEADER_0_SIDE_CAPACITY, (int32_t)capacity);
        memcpy(s->path, path, sizeof path);
        old[DOTS_HEADER_0_COMMAND] = DOTS__CHANGE_FILE_0;
        dots__tell(old + DOTS_HEADER_0_SIMULATORS_TURN, 0);
        dots__signal(s);
    } else {
        dots__put(s->header + DOTS_HEADER_FILE_NUMBER, s->number);
        dots__put(s->header + DOTS_HEADER_SIDE_CAPACITY, (int32_t)capacity);
        dots__put(s->header + DOTS_HEADER_GROUP_BYTES, (int32_t)group_bytes);
    }
    munmap(old, (size_t)old_size);
    s->data = data, s->data_size = size, s->capacity = capacity, s->group_bytes = group_bytes, s->has_grown = 1;
    return 1;
}

/* Wait for the simulator's turn: what the trainer wants. */
static int dots__wait(dots_simulator *s) {
    char path[DOTS__PATH];
    for (;;) {
        if (!dots__await(s)) {
            dots__remove_family(s);
            s->is_closed = 1;
            return DOTS__CLOSE_0;
        }
        if (s->is_0) {
            int command = s->data[DOTS_HEADER_0_COMMAND];
            if (command != DOTS__CHANGE_FILE_0) return command;
            unlink(s->path);
            if (strlen(s->path) + 2 > sizeof s->path) return DOTS__FAULT;
            strcat(s->path, "_");
            if (!dots__open_data(s)) return DOTS__FAULT;
            continue;
        }
        if (s->header[DOTS_HEADER_CLOSED]) return DOTS__CLOSE_0;
        int32_t before = s->number;
        if (dots__get(s->header + DOTS_HEADER_FILE_NUMBER) != before) {
            if (!dots__open_data(s)) return DOTS__FAULT;
            for (; before < s->number; before++) {
                dots__data_path(s, before, path, sizeof path);
                unlink(path);
            }
        }
        if (s->header[DOTS_HEADER_QUERY]) return s->header[DOTS_HEADER_QUERY] = 0, DOTS__QUERY;
        if (s->header[DOTS_HEADER_RESET]) return s->header[DOTS_HEADER_RESET] = 0, DOTS__RESET_0;
        return DOTS__STEP_0;
    }
}

dots_simulator *dots_open(int argc, char **argv) {
    dots_simulator *s = calloc(1, sizeof *s);
    const char *name = NULL, *temporary = getenv("TMPDIR");
    if (!s) return NULL;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--memory-path")) name = argv[i + 1];
    if (name && name[0] == '/') snprintf(s->first, sizeof s->first, "%s", name);
    else
        snprintf(s->first, sizeof s->first, "%s/ml-agents/%s", temporary ? temporary : "/tmp", name ? name : "default");
    snprintf(s->path, sizeof s->path, "%s", s->first);
    uint8_t start[DOTS_HEADER_BYTES] = {0};
    int file = open(s->first, O_RDWR | O_CLOEXEC);
    long got = file < 0 ? -1 : (long)read(file, start, sizeof start);
    int version[3] = {dots__get(start), dots__get(start + 4), dots__get(start + 8)};
    s->is_0 = got >= DOTS_FIRST_BYTES_0 && version[0] >= DOTS_FIRST_BYTES_0 && version[1] == 0;
    if (got < 0) dots__fail(s, "no trainer waits at %s", s->first);
    else if (!s->is_0 && (got < DOTS_HEADER_BYTES || version[0] || version[1] != 3 || version[2] != 2)) {
        dots__fail(s, "the trainer speaks version %d.%d.%d, this simulator 0 and 0.3.2", version[0], version[1], version[2]);
        if (got > DOTS_HEADER_CLOSED && !version[0] && version[1] > 0 && version[1] < 100) { /* say so to the trainer, too */
            dots__put(start, 0), dots__put(start + 4, 3), dots__put(start + 8, 2);
            start[DOTS_HEADER_CLOSED] = 1;
            if (pwrite(file, start, DOTS_HEADER_CLOSED + 1, 0) < 0) perror("pwrite");
        }
    } else {
        dots__watch(s, name != NULL);
        int left_behind = s->lock >= 0 && !s->was_locked;
        if (left_behind) dots__fail(s, "no trainer waits at %s: the one that made it has ended", s->first);
        else if (s->is_0) s->group_bytes = 4;
        else s->header = dots__map_header(s);
        if (!left_behind && (s->is_0 || s->header) && dots__open_data(s)) {
            if (!s->is_0) dots__give(s, 0);
            close(file);
            return s;
        }
    }
    if (file >= 0) close(file);
    fprintf(stderr, "%s\n", s->error);
    free(s);
    return NULL;
}

static void dots__pack(dots__bytes *b, const dots_spec *spec, int is_0) {
    uint8_t length = (uint8_t)strlen(spec->name), zeros[DOTS_NAME_BYTES_0] = {0}, kind = !spec->branches;
    dots__append(b, &length, 1);
    dots__append(b, spec->name, length);
    if (is_0) dots__append(b, zeros, DOTS_NAME_BYTES_0 - 1 - length);
    dots__append_int(b, spec->agents);
    if (is_0) {
        dots__append(b, &kind, 1);
        dots__append_int(b, kind ? spec->continuous : spec->branches);
        for (int i = 0; i < spec->branches; i++) dots__append_int(b, spec->choices[i]);
    }
    dots__append_int(b, spec->observations);
    for (int i = 0; i < spec->observations; i++) {
        for (int j = 0; j < 3; j++) dots__append_int(b, spec->shapes[i][j]);
        for (int j = 0; j < 4 && !is_0; j++) dots__append_int(b, 0);
    }
    if (!is_0) {
        dots__append_int(b, spec->continuous);
        dots__append_int(b, spec->branches);
        for (int i = 0; i < spec->branches; i++) dots__append_int(b, spec->choices[i]);
    }
}

static void dots__lay(dots_behaviour *b, dots__array *array, long row, int is_there, long *own) {
    array->row = (size_t)row;
    array->there = is_there ? b->size : -1;
    array->own = *own;
    *own += (row * b->spec.agents + 3) / 4 * 4; /* aligned */
    if (is_there) b->size += row * b->spec.agents;
}

static int dots__enter(dots_simulator *s);

dots_behaviour *dots_register(dots_simulator *s, const dots_spec *spec) {
    size_t length = strlen(spec->name);
    long choices = 0, numbers = 0, own = 0;
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->behaviours[i]->spec.name, spec->name))
            return dots__fail(s, "two behaviours are called '%s'", spec->name), NULL;
    int fits = length && length < 64 && s->count < 64 && spec->agents > 0 && spec->observations >= 0 &&
               spec->observations <= DOTS_MAX_OBSERVATIONS && spec->branches >= 0 &&
               spec->branches <= DOTS_MAX_BRANCHES && spec->continuous >= 0;
    if (!fits || (s->is_0 && spec->branches && spec->continuous))
        return dots__fail(s, "the protocol has no behaviour '%s' with these sizes", spec->name), NULL;
    dots_behaviour *b = calloc(1, sizeof *b);
    if (!b) return dots__fail(s, "no memory"), NULL;
    b->simulator = s, b->spec = *spec, b->place = -1;
    b->spec.name = strdup(spec->name);
    dots__bytes packed = {0};
    dots__pack(&packed, spec, s->is_0);
    b->packed = packed.bytes, b->size = b->packed_size = packed.length;
    for (int i = 0; i < spec->branches; i++) choices += spec->choices[i];
    for (int block = 0; block < 2; block++) {
        int there = !(s->is_0 && block);
        b->count[block] = b->size;
        b->size += there ? 4 : 0;
        for (int i = 0; i < spec->observations; i++) {
            const int32_t *shape = spec->shapes[i];
            numbers = (long)shape[0] * (shape[1] ? shape[1] : 1) * (shape[2] ? shape[2] : 1);
            dots__lay(b, &b->seen[block][i], 4 * numbers, there, &own);
        }
        dots__lay(b, &b->reward[block], 4, there, &own);
        if (s->is_0 && !block) {
            dots__lay(b, &b->done, 1, 1, &own);
            dots__lay(b, &b->max_step, 1, 1, &own);
        }
        if (block) dots__lay(b, &b->status, 1, there, &own);
        dots__lay(b, &b->id[block], 4, there, &own);
        if (!block) dots__lay(b, &b->mask, choices, 1, &own);
    }
    dots__lay(b, &b->continuous, 4L * spec->continuous, 1, &own);
    dots__lay(b, &b->discrete, 4L * spec->branches, 1, &own);
    b->own = calloc(1, (size_t)own + 4);
    if (!b->own) return dots__fail(s, "no memory for %ld bytes", own), free(b), NULL;
    s->behaviours[s->count++] = b;
    return s->has_begun && !dots__enter(s) ? NULL : b;
}

/* Enter behaviours that are new into the file. */
static int dots__enter(dots_simulator *s) {
    for (int i = 0; i < s->count; i++) {
        dots_behaviour *b = s->behaviours[i];
        if (b->place >= 0) continue;
        long place = s->group_bytes;
        uint8_t *number = s->data + dots__groups_at(s, s->capacity);
        if (s->is_0) dots__put(number, dots__get(number) + 1);
        if (!dots__grow(s, s->capacity, place + b->size)) return 0;
        b->place = place;
        memcpy(s->data + dots__groups_at(s, s->capacity) + place, b->packed, (size_t)b->packed_size);
    }
    return 1;
}

/* ---- rows ---- */

static int dots__row(dots_behaviour *b, int block, int32_t id, const float *const *seen, float reward, int32_t *row) {
    *row = b->shown[block];
    if (b->place < 0) return dots__fail(b->simulator, "'%s' cannot show anything before dots_exchange", b->spec.name);
    if (*row >= b->spec.agents)
        return dots__fail(b->simulator, "'%s' shows more than its %d agents", b->spec.name, b->spec.agents);
    for (int i = 0; i < b->spec.observations; i++) {
        dots__array *array = &b->seen[block][i];
        memcpy(b->own + array->own + array->row * (size_t)*row, seen[i], array->row);
    }
    memcpy(b->own + b->reward[block].own + 4 * *row, &reward, 4);
    memcpy(b->own + b->id[block].own + 4 * *row, &id, 4);
    b->shown[block]++;
    return 1;
}

int dots_decide(dots_behaviour *b, int32_t id, const float *const *seen, float reward, const uint8_t *mask) {
    int32_t row;
    if (!dots__row(b, 0, id, seen, reward, &row)) return 0;
    uint8_t *own = b->own + b->mask.own + b->mask.row * (size_t)row;
    if (mask) memcpy(own, mask, b->mask.row), b->masked = 1;
    else memset(own, 0, b->mask.row);
    return 1;
}

int dots_end(dots_behaviour *b, int32_t id, const float *const *seen, float reward, int interrupted) {
    int32_t row;
    if (!dots__row(b, 1, id, seen, reward, &row)) return 0;
    b->own[b->status.own + row] = interrupted != 0;
    return 1;
}

const float *dots_continuous(const dots_behaviour *b, int32_t row) {
    return (const float *)(const void *)(b->own + b->continuous.own + b->continuous.row * (size_t)row);
}

const int32_t *dots_discrete(const dots_behaviour *b, int32_t row) {
    return (const int32_t *)(const void *)(b->own + b->discrete.own + b->discrete.row * (size_t)row);
}

static uint8_t *dots__block(const dots_behaviour *b) {
    return b->simulator->data + dots__groups_at(b->simulator, b->simulator->capacity) + b->place;
}

/* Copy the first rows of an array into the file, behind `first` others. */
static void dots__copy(dots_behaviour *b, const dots__array *from, const dots__array *to, long first, long rows) {
    if (rows && from->row)
        memcpy(dots__block(b) + to->there + (long)to->row * first, b->own + from->own, (size_t)rows * from->row);
}

static void dots__show(dots_behaviour *b, int32_t decided, int32_t ended) {
    uint8_t *block = dots__block(b);
    int is_0 = b->simulator->is_0;
    int32_t rows[2] = {decided, ended};
    b->written[0] = decided, b->written[1] = ended;
    dots__put(block + b->count[0], is_0 ? decided + ended : decided);
    if (!is_0) dots__put(block + b->count[1], ended);
    for (int kind = 0; kind < 2; kind++) {
        int to = is_0 ? 0 : kind;                 /* protocol 0 has one block for both, ends first */
        long first = is_0 && !kind ? ended : 0;
        for (int i = 0; i < b->spec.observations; i++)
            dots__copy(b, &b->seen[kind][i], &b->seen[to][i], first, rows[kind]);
        dots__copy(b, &b->reward[kind], &b->reward[to], first, rows[kind]);
        dots__copy(b, &b->id[kind], &b->id[to], first, rows[kind]);
    }
    if (is_0) {
        memset(block + b->done.there, 1, (size_t)ended);
        memset(block + b->done.there + ended, 0, (size_t)decided);
        dots__copy(b, &b->status, &b->max_step, 0, ended);
        memset(block + b->max_step.there + ended, 0, (size_t)decided);
        memset(block + b->mask.there, 0, b->mask.row * (size_t)ended);
    } else
        dots__copy(b, &b->status, &b->status, 0, ended);
    if (is_0 || b->masked) dots__copy(b, &b->mask, &b->mask, is_0 ? ended : 0, decided);
}

static void dots__collect(dots_behaviour *b) {
    uint8_t *block = dots__block(b);
    const dots__array *kinds[2] = {&b->continuous, &b->discrete};
    long first = b->simulator->is_0 ? b->written[1] : 0;
    b->asked = b->written[0];
    for (int i = 0; i < 2; i++)
        if (kinds[i]->row)
            memcpy(b->own + kinds[i]->own, block + kinds[i]->there + (long)kinds[i]->row * first,
                   (size_t)b->asked * kinds[i]->row);
    for (int i = 0; i < (b->simulator->is_0 ? 1 : 2); i++) dots__put(block + b->count[i], 0);
}

/* ---- side channels ---- */

int dots_send(dots_simulator *s, const uint8_t guid[16], const void *body, int32_t length) {
    return dots__append(&s->out, guid, 16) && dots__append_int(&s->out, length) && dots__append(&s->out, body, length);
}

int dots_statistic(dots_simulator *s, const char *key, float value, int32_t aggregation) {
    dots__bytes body = {0};
    int32_t bits;
    memcpy(&bits, &value, 4);
    dots__append_int(&body, (int32_t)strlen(key));
    dots__append(&body, key, (long)strlen(key));
    dots__append_int(&body, bits);
    int done = dots__append_int(&body, aggregation) && dots_send(s, DOTS_STATISTICS, body.bytes, (int32_t)body.length);
    free(body.bytes);
    return done;
}

int dots_listen(dots_simulator *s, const uint8_t guid[16], dots_receive receive, void *user) {
    if (s->listener_count == 16) return dots__fail(s, "there are 16 listeners already");
    dots__listener *listener = &s->listeners[s->listener_count++];
    memcpy(listener->guid, guid, 16);
    listener->receive = receive, listener->user = user;
    return 1;
}

float dots_parameter(const dots_simulator *s, const char *key, float otherwise) {
    for (int i = 0; i < s->parameter_count; i++)
        if (!strcmp(s->parameters[i].key, key)) return s->parameters[i].value;
    return otherwise;
}

static void dots__set_parameter(dots_simulator *s, const uint8_t *body, int32_t length) {
    int32_t size = length >= 12 ? dots__get(body) : -1, i = 0;
    if (size < 0 || size != length - 12 || size >= 64 || dots__get(body + 4 + size)) return; /* samplers, for example */
    char key[64] = {0};
    memcpy(key, body + 4, (size_t)size);
    while (i < s->parameter_count && strcmp(s->parameters[i].key, key)) i++;
    if (i == 64) return;
    if (i == s->parameter_count) s->parameter_count++;
    memcpy(s->parameters[i].key, key, sizeof key);
    int32_t bits = dots__get(body + 8 + size);
    memcpy(&s->parameters[i].value, &bits, 4);
}

void dots_offer_state(dots_simulator *s, void *game, int32_t size) { s->game = game, s->game_size = size; }

/* The state: parameters, then each group's rows as the file has them, then the game. */
static void dots__save(dots_simulator *s) {
    dots__bytes body = {0};
    dots__append_int(&body, DOTS__SAVED);
    dots__append_int(&body, s->parameter_count);
    dots__append(&body, s->parameters, (long)sizeof s->parameters);
    for (int i = 0; i < s->count; i++) {
        dots_behaviour *b = s->behaviours[i];
        dots__append(&body, dots__block(b) + b->packed_size, b->size - b->packed_size);
    }
    dots__append(&body, s->game, s->game_size);
    dots_send(s, DOTS_STATE, body.bytes, (int32_t)body.length);
    free(body.bytes);
}

static void dots__load(dots_simulator *s, const uint8_t *from, long length) {
    uint8_t reply[64];
    const char *problem = "";
    long expected = 4 + (long)sizeof s->parameters + s->game_size;
    for (int i = 0; i < s->count; i++) expected += s->behaviours[i]->size - s->behaviours[i]->packed_size;
    if (length != expected) problem = "the state is of another simulator";
    else if (!dots__enter(s)) problem = "the groups cannot be registered";
    else {
        s->parameter_count = dots__get(from) & 63;
        memcpy(s->parameters, from + 4, sizeof s->parameters);
        from += 4 + sizeof s->parameters;
        for (int i = 0; i < s->count; i++) {
            dots_behaviour *b = s->behaviours[i];
            long rows = b->size - b->packed_size;
            memcpy(dots__block(b) + b->packed_size, from, (size_t)rows);
            for (int block = 0; block < 2; block++) {
                int32_t shown = dots__get(dots__block(b) + b->count[block]);
                b->written[block] = shown < 0 || shown > b->spec.agents ? 0 : shown;
            }
            from += rows;
        }
        memcpy(s->game, from, (size_t)s->game_size);
        s->has_loaded = 1;
    }
    dots__put(reply, DOTS__LOADED);
    memcpy(reply + 4, problem, strlen(problem));
    dots_send(s, DOTS_STATE, reply, (int32_t)(4 + strlen(problem)));
}

static int dots__read_side(dots_simulator *s) {
    long length = dots__get(s->data + dots__length_at(s)), start = dots__side_start(s), at = 0;
    if (!length) return 1;
    if (length < 0 || length > s->capacity - 4) return dots__fail(s, "side channels have %ld bytes", length);
    uint8_t *payload = malloc((size_t)length);
    if (!payload) return dots__fail(s, "no memory");
    memcpy(payload, s->data + start, (size_t)length);
    memset(s->data + dots__length_at(s), 0, s->is_0 ? (size_t)s->capacity : 4);
    while (at < length) {
        int32_t size = at + 20 <= length ? dots__get(payload + at + 16) : -1;
        const uint8_t *guid = payload + at, *body = guid + 20;
        if (size < 0 || size > length - at - 20) return free(payload), dots__fail(s, "a message at %ld is cut off", at);
        if (!memcmp(guid, DOTS_PARAMETERS, 16)) dots__set_parameter(s, body, size);
        if (!memcmp(guid, DOTS_STATE, 16) && s->game && !s->is_0 && size >= 4) {
            if (dots__get(body) == DOTS__SAVE) dots__save(s);
            if (dots__get(body) == DOTS__LOAD) dots__load(s, body + 4, size - 4);
        }
        for (int i = 0; i < s->listener_count; i++)
            if (!memcmp(guid, s->listeners[i].guid, 16)) s->listeners[i].receive(s->listeners[i].user, body, size);
        at += 20 + size;
    }
    free(payload);
    return 1;
}

static int dots__write_side(dots_simulator *s) {
    long length = s->out.length;
    if (length > s->capacity - 4 && !dots__grow(s, 2 * length + 20, s->group_bytes)) return 0;
    dots__put(s->data + dots__length_at(s), (int32_t)length);
    if (length) memcpy(s->data + dots__side_start(s), s->out.bytes, (size_t)length);
    s->out.length = 0;
    return 1;
}

/* ---- turns ---- */

static int dots__hear(dots_simulator *s) {
    int command = dots__wait(s);
    if (command != DOTS__CLOSE_0 && command != DOTS__FAULT && !dots__read_side(s)) return DOTS__FAULT;
    return command;
}

/* Give the turn, with messages, and hear what the trainer wants; queries are answered. */
static int dots__trade(dots_simulator *s) {
    int command;
    do {
        if (!dots__write_side(s)) return DOTS__FAULT;
        dots__give(s, DOTS__STEP_0);
        command = dots__hear(s);
    } while (command == DOTS__QUERY);
    return command;
}

static void dots__free(dots_simulator *s) {
    if (s->data) munmap(s->data, (size_t)s->data_size);
    if (s->header) munmap(s->header, DOTS_HEADER_BYTES);
    if (s->flags) munmap(s->flags, DOTS__SIMULATORS + 1);
    s->flags = NULL, s->is_awake = 0;
    if (s->lock >= 0) close(s->lock);
    if (s->read_end >= 0) close(s->read_end), close(s->write_end);
    s->data = s->header = NULL;
    s->lock = s->read_end = s->write_end = -1;
}

/* Say that the simulator closes, unless the trainer has, and remove files. */
static int dots__leave(dots_simulator *s) {
    char path[DOTS__PATH];
    if (s->data && !s->is_closed) {
        if (s->is_0) {
            if (dots__is_our_turn(s) && s->data[DOTS_HEADER_0_COMMAND] == DOTS__CLOSE_0) unlink(s->path);
            dots__give(s, DOTS__CLOSE_0);
        } else {
            if (s->header[DOTS_HEADER_CLOSED]) unlink(s->first);
            dots__tell(s->header + DOTS_HEADER_CLOSED, 1);
            dots__data_path(s, s->number, path, sizeof path);
            unlink(path);
            dots__signal(s);
        }
    }
    s->is_closed = 1;
    dots__free(s);
    return DOTS_CLOSED;
}

int dots_exchange(dots_simulator *s) {
    int command = DOTS__STEP_0, shows = 0, together = 1, more = 1;
    if (s->is_closed) return DOTS_CLOSED;
    if (!s->has_begun) {
        command = dots__hear(s);
        if (command == DOTS__QUERY) command = dots__trade(s);
        if (command == DOTS__FAULT || command == DOTS__CLOSE_0 || !dots__enter(s)) return dots__leave(s);
        s->has_begun = 1;
        for (int i = 0; i < s->count && s->has_loaded; i++) dots__collect(s->behaviours[i]);
        return command == DOTS__RESET_0 || !s->has_loaded ? DOTS_RESET : DOTS_STEP;
    }
    if (!dots__enter(s)) return dots__leave(s);
    for (int i = 0; i < s->count; i++) {
        dots_behaviour *b = s->behaviours[i];
        b->asked = 0;
        shows |= b->shown[0] || b->shown[1];
        together &= !s->is_0 || b->shown[0] + b->shown[1] <= b->spec.agents;
    }
    if (!shows) return !s->is_0 && s->header[DOTS_HEADER_CLOSED] ? dots__leave(s) : DOTS_STEP;
    if (s->game && !s->is_0 && !s->is_offered) {
        uint8_t offer[4] = {DOTS__OFFER};
        dots_send(s, DOTS_STATE, offer, 4);
        s->is_offered = 1;
    }
    while (more && command == DOTS__STEP_0) {
        more = !together && !s->show_decisions_next; /* no room for both: the ends first */
        for (int i = 0; i < s->count; i++) {
            dots_behaviour *b = s->behaviours[i];
            dots__show(b, more ? 0 : b->shown[0], s->show_decisions_next ? 0 : b->shown[1]);
        }
        s->show_decisions_next = more;
        command = dots__trade(s);
        if (command == DOTS__FAULT || command == DOTS__CLOSE_0) return dots__leave(s);
        for (int i = 0; i < s->count; i++) dots__collect(s->behaviours[i]);
    }
    s->show_decisions_next = 0;
    for (int i = 0; i < s->count; i++) s->behaviours[i]->shown[0] = s->behaviours[i]->shown[1] = 0;
    return command == DOTS__RESET_0 ? DOTS_RESET : DOTS_STEP;
}

void dots_close(dots_simulator *s) {
    if (!s->is_closed) dots__leave(s);
    for (int i = 0; i < s->count; i++) {
        dots_behaviour *b = s->behaviours[i];
        free((void *)(uintptr_t)b->spec.name), free(b->own), free(b->packed), free(b);
    }
    free(s->out.bytes);
    free(s);
}

#endif
