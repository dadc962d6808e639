/* The event list: elements one after another, salvage after damage, several threads on one window. */
#include <stdlib.h>

#include "text.h"

/* The next brace after which an object with members may follow. */
static const uint8_t *next_object(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        p = memchr(p, '{', (size_t)(end - p));
        if (!p)
            return end;
        const uint8_t *inside = skip_space(p + 1);
        if (*inside == '"' || inside >= end)
            return p;
        p++;
    }
    return end;
}

static Damage damage_of(Taken taken, Damage otherwise)
{
    return taken == TOO_DEEP ? EVENT_TOO_DEEP : taken == CUT ? TRUNCATED : otherwise;
}

/* Whether a cut element can only be waited for: more of the file follows and it is not yet too long. */
static int may_wait(const Worker *worker, const uint8_t *start, size_t largest)
{
    return !worker->window->last && (size_t)(worker->window->end - start) < largest;
}

/* After damage: go on at the next object that is an event by its `ph`. */
static int seek(Worker *worker, Position *now, size_t largest)
{
    const uint8_t *end = worker->window->end;
    for (;;) {
        now->at = next_object(now->at, end);
        if (now->at >= end)
            return 0;
        const uint8_t *p = now->at;
        Taken taken = take_event(worker, &p, 1);
        if (taken == TAKEN) {
            *now = (Position){p, IN_LIST, 2};
            return 1;
        }
        if (taken == NO_MEMORY) {
            worker->no_memory = 1;
            return 0;
        }
        if (taken == CUT && may_wait(worker, now->at, largest))
            return 0;
        now->at++;
    }
}

/* One step within the list; returns 0 where this piece ends. */
static int step(Worker *worker, Position *now, size_t largest)
{
    const uint8_t *end = worker->window->end, *start = now->at;
    Taken taken;
    if (start >= end)
        return 0;
    switch (*start) {
    case ',':
        if (now->comma != 2)
            note(worker, EXTRA_COMMA, start);
        now->comma = 1;
        now->at++;
        return 1;
    case ']':
        if (now->comma == 1)
            note(worker, TRAILING_COMMA, start);
        now->at++;
        now->place = AFTER;
        return 0;
    case '{': taken = take_event(worker, &now->at, 0); break;
    default:
        taken = skip_value(&now->at, end, 0);
        if (taken == TAKEN)
            note(worker, NOT_AN_OBJECT, start);
        break;
    }
    if (taken == TAKEN) {
        if (now->comma == 2)
            note(worker, MISSING_COMMA, start);
        now->comma = 2;
        return 1;
    }
    if (taken == NO_MEMORY) {
        worker->no_memory = 1;
        return 0;
    }
    now->at = start;
    if (taken == CUT && may_wait(worker, start, largest))
        return 0;
    if (taken == CUT && !worker->window->last)
        note(worker, LARGE_EVENT, start);
    else
        note(worker, damage_of(taken, *start == '{' ? DAMAGED_EVENT : GARBAGE), start);
    *now = (Position){start + 1, SEEKING, 1};
    return 1;
}

void take_piece(Worker *worker, Piece *piece, size_t largest)
{
    Position now = piece->from;
    for (;;) {
        if (now.place == IN_LIST)
            now.at = skip_space(now.at);
        if (now.at >= piece->limit || worker->no_memory)
            break;
        if (!(now.place == SEEKING ? seek(worker, &now, largest) : step(worker, &now, largest)))
            break;
    }
    piece->stop = now;
}

/* A place at or after p that looks like the start of an event after another. It may be wrong (a nested list of
 * objects looks alike), so a piece counts only if the one before it ends exactly there. */
static const uint8_t *guess_start(const uint8_t *p, const uint8_t *end)
{
    static const char *const FIRST[] = {"\"ph\"", "\"name\"", "\"cat\"", "\"pid\"", "\"tid\"", "\"ts\"",
                                        "\"dur\"", "\"args\"", "\"id\"", "\"s\"", "\"bp\""};
    const uint8_t *stop = end - p > 1 << 16 ? p + (1 << 16) : end;
    for (; p < stop; p++) {
        if (*p != '}')
            continue;
        const uint8_t *q = skip_space(p + 1);
        if (*q != ',')
            continue;
        const uint8_t *start = q = skip_space(q + 1);
        if (*q != '{')
            continue;
        q = skip_space(q + 1);
        for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
            if (strncmp((const char *)q, FIRST[i], strlen(FIRST[i])) == 0)
                return start;
    }
    return NULL;
}

typedef struct {
    Scanner *scanner;
    const Window *window;
    Piece *pieces;
    size_t count, next; /* next: the first piece nobody has taken yet */
    size_t turn;        /* the first piece that is not merged yet */
    int ended, failed;  /* ended: nothing after the pieces merged so far counts */
    pthread_mutex_t lock;
    pthread_cond_t turned;
} Job;

typedef struct {
    Job *job;
    Worker *worker;
} Hand;

static void begin(Worker *worker, Job *job, Piece *piece)
{
    piece->rows.count = 0;
    for (size_t k = 0; k < job->scanner->keys.count; k++)
        piece->rows.args[k].count = 0;
    worker_begin(worker, job->window, &job->scanner->keys, &piece->rows);
}

/* Put a piece after the ones before it; take it again if it did not start where they ended. */
static void settle(Worker *worker, Job *job, size_t which)
{
    Piece *piece = &job->pieces[which];
    if (job->ended || job->failed) {
        begin(worker, job, piece);
        return;
    }
    if (which > 0) {
        Position before = job->pieces[which - 1].stop;
        if (before.at != piece->from.at || before.place != piece->from.place || before.comma != piece->from.comma) {
            begin(worker, job, piece);
            piece->from = before;
            take_piece(worker, piece, job->scanner->largest);
        }
    }
    pthread_mutex_lock(&job->scanner->strings->lock);
    job->failed |= worker->no_memory || merge_texts(worker, job->scanner->strings) < 0;
    pthread_mutex_unlock(&job->scanner->strings->lock);
    add_notes(job->scanner, job->window, &worker->notes);
    job->scanner->position = piece->stop;
    job->ended = piece->stop.place == AFTER || piece->stop.at < piece->limit;
}

static void *work(void *argument)
{
    Hand *hand = argument;
    Job *job = hand->job;
    for (;;) {
        size_t which = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (which >= job->count)
            return NULL;
        begin(hand->worker, job, &job->pieces[which]);
        take_piece(hand->worker, &job->pieces[which], job->scanner->largest);
        pthread_mutex_lock(&job->lock);
        while (job->turn != which)
            pthread_cond_wait(&job->turned, &job->lock);
        pthread_mutex_unlock(&job->lock);
        settle(hand->worker, job, which);
        pthread_mutex_lock(&job->lock);
        job->turn++;
        pthread_cond_broadcast(&job->turned);
        int failed = job->failed;
        pthread_mutex_unlock(&job->lock);
        if (!failed)
            renumber(hand->worker);
    }
}

static int add_piece(Scanner *scanner, Pieces *pieces, Position from)
{
    if (pieces->count == pieces->room) {
        size_t room = pieces->room ? 2 * pieces->room : 16;
        Piece *items = realloc(pieces->items, room * sizeof *items);
        if (!items)
            return -1;
        pieces->items = items;
        pieces->room = room;
    }
    Piece *piece = &pieces->items[pieces->count];
    memset(piece, 0, sizeof *piece);
    piece->from = from;
    piece->rows.args = calloc(scanner->keys.count + 1, sizeof *piece->rows.args);
    if (!piece->rows.args)
        return -1;
    pieces->count++;
    return 0;
}

static int divide(Scanner *scanner, const Window *window, Pieces *pieces)
{
    size_t first = pieces->count;
    if (add_piece(scanner, pieces, scanner->position) < 0)
        return -1;
    const uint8_t *at = scanner->position.at + scanner->piece_size;
    while (scanner->position.place == IN_LIST && at < window->end &&
           (size_t)(window->end - at) > scanner->piece_size / 2) {
        const uint8_t *start = guess_start(at, window->end);
        if (start) {
            if (add_piece(scanner, pieces, (Position){start, IN_LIST, 1}) < 0)
                return -1;
            at = start;
        }
        at += scanner->piece_size;
    }
    for (size_t i = first; i < pieces->count; i++)
        pieces->items[i].limit = i + 1 < pieces->count ? pieces->items[i + 1].from.at : window->end;
    return 0;
}

int scan_list(Scanner *scanner, const Window *window, size_t threads, Pieces *pieces)
{
    size_t first = pieces->count, running = 0;
    if (divide(scanner, window, pieces) < 0)
        return -1;
    Job job = {.scanner = scanner, .window = window, .pieces = pieces->items + first, .count = pieces->count - first};
    if (pthread_mutex_init(&job.lock, NULL) != 0)
        return -1;
    if (pthread_cond_init(&job.turned, NULL) != 0) {
        pthread_mutex_destroy(&job.lock);
        return -1;
    }
    if (threads > scanner->worker_count)
        threads = scanner->worker_count;
    if (threads > job.count)
        threads = job.count;
    Hand *hands = calloc(threads, sizeof *hands);
    pthread_t *others = calloc(threads, sizeof *others);
    if (hands && others) {
        for (size_t i = 0; i < threads; i++)
            hands[i] = (Hand){&job, &scanner->workers[i]};
        /* Where no further thread can be started, this one does all the work. */
        while (running + 1 < threads && pthread_create(&others[running], NULL, work, &hands[running + 1]) == 0)
            running++;
        work(&hands[0]);
        for (size_t i = 0; i < running; i++)
            pthread_join(others[i], NULL);
    } else {
        job.failed = 1;
    }
    free(hands);
    free(others);
    pthread_cond_destroy(&job.turned);
    pthread_mutex_destroy(&job.lock);
    return job.failed ? -1 : 0;
}
