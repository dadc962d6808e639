/* Walking over JSON text: what the parts that read events have in common. */
#ifndef ASCEND_SN_WALK_H
#define ASCEND_SN_WALK_H

#include "text.h"

/* Depths: the event is container 1, its args container 2. */
#define IN_EVENT 1
#define IN_ARGS 2

enum { HAS_TS = 1, HAS_DUR = 2, HAS_ARGS = 4 };

static inline Taken failed_at(const uint8_t *p, const uint8_t *end)
{
    return p >= end ? CUT : DAMAGED;
}

/* A number that is none: cut if the window ends within its characters. */
Taken broken_number(const uint8_t *p, const uint8_t *end);

/* A key with its quotes and the colon; *at is then at the value. */
Taken take_key(const uint8_t **at, const uint8_t *end, const uint8_t **key, size_t *length, int *escaped);

/* The value of `args`. */
Taken args_field(Worker *worker, const uint8_t **at, Event *event);
/* Take back what the row at hand has got. */
void forget_arguments(Rows *rows, size_t key_count, uint32_t row);

#endif
