/* The parts of a batch, and how their trainers wait for each other
 * (shared/queue, trainer_service/daemon, trainer_service/shuffle). A batch has
 * PARTS tasks, its parts. The trainer of a part publishes a message in each
 * round. Before the next round, it takes the messages of the parts whose rows
 * it needs. Messages lie on a board in shared memory: first the bytes of a
 * message, then a word that says that they are there. These rules keep the job
 * alive:
 *
 *   a. A sampler claims the free parts of the lowest batch with room, waits for
 *      nobody, and publishes the parts in order.
 *   b. A trainer claims a part only if no part of its batch is FREE or WRITING.
 *   c. A trainer that has waited for 100 ms gives back what it has claimed
 *      ahead. It claims nothing ahead until it has published a message or
 *      finished a part.
 *   d. If a missing part is READY, the trainer gives its own part back. Then it
 *      takes the missing one, whether or not the batch is whole.
 *   e. If a missing part is FREE, the trainer gives its own part back and ends
 *      its device's turn.
 *   f. A message that is published stays.
 *
 * A transition here is one store or compare-and-swap there, or half of the copy
 * of a message. A process may be killed between any two transitions. All state
 * is global, so one process has all transitions. README.md says what is left
 * out, `check` which sizes and mutants there are.
 *
 * Two ROUNDS stand for any number. A trainer that is in a round has published
 * all messages of its part up to that round. So if it waits for a part whose
 * trainer waits too, that one is in an earlier round, and waits for a third
 * part. Among 3 PARTS such a chain has at most two links and needs two rounds.
 *
 * The first SHARING devices have one role at a time. Their trainer and their
 * sampler have the same number. All other trainers and samplers always run. */
#define NONE 255
#define TASKS (BATCHES * PARTS)
#define STEPS ((BATCHES + BATCHES_PER_STEP - 1) / BATCHES_PER_STEP)
#define TASK_OF(batch, part) ((batch) * PARTS + (part))
#define BATCH_OF(task) ((task) / PARTS)
#define PART_OF(task) ((task) % PARTS)
#define STEP_OF(batch) ((batch) / BATCHES_PER_STEP)

#if PARTS == 2
#define ANY_PART(has, x) (has(x, 0) || has(x, 1))
#else
#define ANY_PART(has, x) (has(x, 0) || has(x, 1) || has(x, 2))
#endif
#if TASKS == 4
#define ANY_TASK(has) (has(0) || has(1) || has(2) || has(3))
#define ANY_TASK_OF(t, has) (has(t, 0) || has(t, 1) || has(t, 2) || has(t, 3))
#define NUMBER_OF_TASKS(t, has) (has(t, 0) + has(t, 1) + has(t, 2) + has(t, 3))
#elif TASKS == 6
#define ANY_TASK(has) \
  (has(0) || has(1) || has(2) || has(3) || has(4) || has(5))
#define ANY_TASK_OF(t, has)                              \
  (has(t, 0) || has(t, 1) || has(t, 2) || has(t, 3) ||   \
   has(t, 4) || has(t, 5))
#define NUMBER_OF_TASKS(t, has)                          \
  (has(t, 0) + has(t, 1) + has(t, 2) + has(t, 3) +       \
   has(t, 4) + has(t, 5))
#else
#error "no macros for so many tasks"
#endif

/* The state of each task's slot, with the owner. */
#define FREE 0
#define READY 1
#define RELEASED 2
#define WRITING(sampler) (4 + (sampler))
#define READING(trainer) (8 + (trainer))
#define IS_WRITING(state) ((state) >= 4 && (state) < 8)
byte slot[TASKS];
bool is_done[TASKS]; /* Whether the gradient counts. */
byte version;        /* The number of committed steps. */

/* The board of messages has the places of one step. A word is batch + 1. */
#define PLACES (BATCHES_PER_STEP * ROUNDS * PARTS)
#define PLACE_OF(batch, round, part) \
  (((batch) % BATCHES_PER_STEP * ROUNDS + (round)) * PARTS + (part))
#define WORD(batch, round, part) word[PLACE_OF(batch, round, part)]
#define BYTES(batch, round, part) bytes[PLACE_OF(batch, round, part)]
byte word[PLACES];
byte bytes[PLACES];
#define HALF_WRITTEN(trainer) (128 + (trainer))
#define IS_HALF_WRITTEN(content) ((content) >= 128)
#define BATCH_IN(content) ((content) % 16 - 1)
#ifdef MUTANT_MESSAGES_OF_TRAINERS
#define MESSAGE(t) (BATCH(t) + 1 + version * 16 + (t) * 64)
#else
#define MESSAGE(t) (BATCH(t) + 1 + version * 16)
#endif

/* Which parts need messages of which: a bit for each pair of them. A gradient
 * goes back where its row came from, so the pairs of the second round are those
 * of the first, turned round. */
#if ALL_NEED_ALL
#define NEEDS(of_round, part, from) true
#else
byte needs; /* The pairs of the first round. */
#define PAIR(part, from) ((part) * (PARTS - 1) + (from) - ((from) > (part)))
#define HAS_PAIR(part, from) (((needs >> PAIR(part, from)) & 1) == 1)
#define NEEDS(of_round, part, from)                      \
  ((part) != (from) &&                                   \
   (((of_round) % 2 == 0 && HAS_PAIR(part, from)) ||     \
    ((of_round) % 2 == 1 && HAS_PAIR(from, part))))
#endif

/* What each trainer has and knows. */
byte current[TRAINERS] = NONE; /* The task under way. */
byte wanted[TRAINERS] = NONE;  /* The task that it takes next, by rule d. */
byte round[TRAINERS];          /* The round of the task under way. */
byte stage[TRAINERS];          /* How much of its message is written. */
bool is_quiet[TRAINERS];       /* Whether it claims nothing ahead. */
#define NOTHING 0
#define HALF 1
#define WHOLE 2
#define PUBLISHED 3 /* Only in a mutant. */

byte sampled[SAMPLERS] = NONE; /* The batch of which it writes parts. */

/* The turn of a device that has one role at a time. */
#define NOBODY 0
#define SAMPLES 1
#define TRAINS 2
byte turn[TRAINERS];
#define TAKES_TURNS(device) ((device) < SHARING)

/* The state of each process: of the trainers, then of the samplers. */
#define ALIVE 0
#define DEAD 1
#define GONE 2 /* Nobody replaces it. */
#define PROCESSES (TRAINERS + SAMPLERS)
byte life[PROCESSES];

byte kills;       /* The number that may still come. */
byte retractions; /* The number that may still come. */

hidden byte i; /* For use within one transition. */
hidden byte dead_ends;

#define MAY_TRAIN(t) \
  (life[t] == ALIVE && (!TAKES_TURNS(t) || turn[t] == TRAINS))
#define IS_IDLE(t) \
  (MAY_TRAIN(t) && current[t] == NONE && wanted[t] == NONE)

/* Rule b. */
#define BREAKS(batch, part)              \
  (slot[TASK_OF(batch, part)] == FREE || \
   IS_WRITING(slot[TASK_OF(batch, part)]))
#ifdef MUTANT_CLAIMS_PARTS_OF_BROKEN_BATCHES
#define IS_WHOLE(batch) true
#else
#define IS_WHOLE(batch) (!ANY_PART(BREAKS, batch))
#endif

/* Trainers work on the open step alone, so a place of the board serves the next
 * step once its own step is committed. */
#ifdef MUTANT_TRAINS_BEFORE_COMMIT
#define IS_OPEN(batch) (STEP_OF(batch) <= version + 1)
#else
#define IS_OPEN(batch) (STEP_OF(batch) <= version)
#endif
#define IS_NOT_DONE(batch, part) (!is_done[TASK_OF(batch, part)])
#define FIRST_BATCH (version * BATCHES_PER_STEP)
#if BATCHES_PER_STEP == 1
#define IS_STEP_DUE (version < STEPS && !ANY_PART(IS_NOT_DONE, FIRST_BATCH))
#else
#define IS_STEP_DUE                                          \
  (version < STEPS && !ANY_PART(IS_NOT_DONE, FIRST_BATCH) && \
   (FIRST_BATCH + 1 == BATCHES || !ANY_PART(IS_NOT_DONE, FIRST_BATCH + 1)))
#endif

#define IS_NOT_RELEASED(task) (slot[task] != RELEASED)
#define IS_OVER (version == STEPS && !ANY_TASK(IS_NOT_RELEASED))

/* The queue has the slots of QUEUED batches. */
#define HOLDS_SLOT(batch, part) (slot[TASK_OF(batch, part)] != RELEASED)
#define HAS_SLOTS(batch) \
  ((batch) < QUEUED || !ANY_PART(HOLDS_SLOT, (batch) - QUEUED))
#define IS_FREE(batch, part) (slot[TASK_OF(batch, part)] == FREE)
#define IS_TO_SAMPLE(batch) (HAS_SLOTS(batch) && ANY_PART(IS_FREE, batch))
#if BATCHES == 2
#define LOWEST_TO_SAMPLE \
  (IS_TO_SAMPLE(0) -> 0 : (IS_TO_SAMPLE(1) -> 1 : NONE))
#else
#define LOWEST_TO_SAMPLE                          \
  (IS_TO_SAMPLE(0) -> 0 : (IS_TO_SAMPLE(1) -> 1 : \
   (IS_TO_SAMPLE(2) -> 2 : NONE)))
#endif

/* Rule a. A device's turn to sample begins with the claim. The turn ends with
 * the last part that the sampler publishes. */
#define MAY_SAMPLE(s)                                      \
  (life[TRAINERS + (s)] == ALIVE && sampled[s] == NONE && \
   LOWEST_TO_SAMPLE != NONE)
inline claim_free_parts(s) {
  sampled[s] = LOWEST_TO_SAMPLE;
  i = 0;
  do
  :: i < PARTS && IS_FREE(sampled[s], i) ->
     slot[TASK_OF(sampled[s], i)] = WRITING(s);
     i++
  :: i < PARTS && !IS_FREE(sampled[s], i) -> i++
  :: else -> break
  od;
  i = 0
}
inline claim_for_writing(s) {
  d_step {
    MAY_SAMPLE(s) && (!TAKES_TURNS(s) || turn[s] == NOBODY) ->
    claim_free_parts(s);
    if
    :: TAKES_TURNS(s) -> turn[s] = SAMPLES
    :: else
    fi
  }
}
inline find_first_written(s) {
  i = 0;
  do
  :: i < PARTS && slot[TASK_OF(sampled[s], i)] != WRITING(s) -> i++
  :: else -> break
  od
}
/* Moves the first part that the sampler writes to another state. */
inline leave_first_written(s, state) {
  find_first_written(s);
  assert(i < PARTS);
  slot[TASK_OF(sampled[s], i)] = state;
  find_first_written(s);
  if
  :: i == PARTS ->
     sampled[s] = NONE;
     if
     :: TAKES_TURNS(s) -> turn[s] = NOBODY
     :: else
     fi
  :: else
  fi
}
inline publish(s) {
  d_step {
    life[TRAINERS + s] == ALIVE && sampled[s] != NONE ->
    leave_first_written(s, READY)
  }
}
/* A part that was published has to be sampled again: it arrived damaged, or its
 * overflow block went to an earlier task. */
inline retract(task) {
  d_step { retractions > 0 && slot[task] == READY ->
           retractions--;
           slot[task] = FREE }
}

/* A trainer has claimed ahead what it reads, but for the task under way. */
#define IS_AHEAD(t, task) (slot[task] == READING(t) && current[t] != (task))
#define IS_AHEAD_AND_OPEN(t, task) \
  (IS_AHEAD(t, task) && IS_OPEN(BATCH_OF(task)))
#define HAS_AHEAD(t) ANY_TASK_OF(t, IS_AHEAD)
#define HAS_AHEAD_AND_OPEN(t) ANY_TASK_OF(t, IS_AHEAD_AND_OPEN)
inline give_back_ahead(t) {
  i = 0;
  do
  :: i < TASKS && IS_AHEAD(t, i) -> slot[i] = READY; i++
  :: i < TASKS && !IS_AHEAD(t, i) -> i++
  :: else -> break
  od;
  i = 0
}

/* A device takes a turn to train if the open step has work. The model leaves
 * open which role has the next turn. */
#define IS_TRAINABLE(task) \
  (slot[task] == READY && IS_WHOLE(BATCH_OF(task)) && IS_OPEN(BATCH_OF(task)))
#define HAS_WORK (ANY_TASK(IS_TRAINABLE) || IS_STEP_DUE)
inline take_turn(t) {
  d_step {
    TAKES_TURNS(t) && life[t] == ALIVE && turn[t] == NOBODY && HAS_WORK ->
    turn[t] = TRAINS
  }
}
inline end_turn(t) {
  d_step {
    TAKES_TURNS(t) && IS_IDLE(t) && !HAS_WORK && !HAS_AHEAD_AND_OPEN(t) ->
    give_back_ahead(t);
    turn[t] = NOBODY
  }
}
/* The device samples next, though the open step has work. */
inline end_turn_to_sample(t) {
  d_step {
    TAKES_TURNS(t) && IS_IDLE(t) && !HAS_AHEAD_AND_OPEN(t) && MAY_SAMPLE(t) ->
    give_back_ahead(t);
    turn[t] = SAMPLES;
    claim_free_parts(t)
  }
}

/* A trainer takes what it has claimed ahead first. The model leaves open which
 * other part it claims. */
inline claim_for_reading(t, task) {
  d_step {
    IS_IDLE(t) && IS_TRAINABLE(task) && !HAS_AHEAD_AND_OPEN(t) ->
    slot[task] = READING(t);
    current[t] = task
  }
}
inline take_ahead(t, task) {
  d_step { IS_IDLE(t) && IS_AHEAD_AND_OPEN(t, task) -> current[t] = task }
}
/* A trainer claims at most AHEAD tasks ahead, up to the end of the next step.
 * With HOME, all are of its home part. */
#if HOME
#define IS_FOR(t, task) (PART_OF(task) == (t) % PARTS)
#else
#define IS_FOR(t, task) true
#endif
inline claim_ahead(t, task) {
  d_step {
    IS_FOR(t, task) && MAY_TRAIN(t) && !is_quiet[t] &&
    NUMBER_OF_TASKS(t, IS_AHEAD) < AHEAD && slot[task] == READY &&
    IS_WHOLE(BATCH_OF(task)) && STEP_OF(BATCH_OF(task)) <= version + 1 ->
    slot[task] = READING(t)
  }
}

/* A trainer that finds the word of its message does not write the message. A
 * message is a pure function of version, batch and part. */
#define BATCH(t) BATCH_OF(current[t])
#define OWN_WORD(t) WORD(BATCH(t), round[t], PART_OF(current[t]))
#define OWN_BYTES(t) BYTES(BATCH(t), round[t], PART_OF(current[t]))
#ifdef MUTANT_TRAINS_AGAIN
#define IS_TRAINING(t) (MAY_TRAIN(t) && current[t] != NONE)
#else
#define IS_TRAINING(t) \
  (MAY_TRAIN(t) && current[t] != NONE && !is_done[current[t]])
#endif
#ifdef MUTANT_WRITES_AGAIN
#define HAS_WRITTEN(t) (stage[t] == PUBLISHED)
#define AFTER_MESSAGE PUBLISHED
#else
#define HAS_WRITTEN(t) (stage[t] == NOTHING && OWN_WORD(t) == BATCH(t) + 1)
#define AFTER_MESSAGE NOTHING
#endif
#define IS_COMMITTED(batch) (STEP_OF(batch) < version)
inline begin_message(t) {
  d_step {
    IS_TRAINING(t) && round[t] < ROUNDS && stage[t] == NOTHING &&
    !HAS_WRITTEN(t) ->
    assert(OWN_WORD(t) == 0 || OWN_WORD(t) == BATCH(t) + 1 ||
           IS_COMMITTED(OWN_WORD(t) - 1));
    /* A message that is written twice has the same bytes. */
    assert(IS_HALF_WRITTEN(OWN_BYTES(t)) ||
           BATCH_IN(OWN_BYTES(t)) != BATCH(t) || OWN_BYTES(t) == MESSAGE(t));
    OWN_BYTES(t) = HALF_WRITTEN(t);
#ifdef MUTANT_WORD_BEFORE_BYTES
    OWN_WORD(t) = BATCH(t) + 1;
#endif
    stage[t] = HALF
  }
}
inline end_message(t) {
  d_step {
    IS_TRAINING(t) && stage[t] == HALF ->
    assert(slot[current[t]] == READING(t));
    assert(OWN_BYTES(t) == HALF_WRITTEN(t));
    OWN_BYTES(t) = MESSAGE(t);
    stage[t] = WHOLE
  }
}
inline publish_message(t) {
  d_step {
    IS_TRAINING(t) && stage[t] == WHOLE ->
    assert(OWN_BYTES(t) == MESSAGE(t));
    OWN_WORD(t) = BATCH(t) + 1;
    is_quiet[t] = false;
    stage[t] = AFTER_MESSAGE
  }
}
#define IS_MISSING(t, part)                        \
  (NEEDS(round[t], PART_OF(current[t]), part) &&   \
   WORD(BATCH(t), round[t], part) != BATCH(t) + 1)
#define IS_BETWEEN_ROUNDS(t) \
  (IS_TRAINING(t) && round[t] < ROUNDS && HAS_WRITTEN(t))
inline take_messages(t) {
  d_step {
    IS_BETWEEN_ROUNDS(t) && !ANY_PART(IS_MISSING, t) ->
    i = 0;
    do
    :: i < PARTS ->
       assert(!NEEDS(round[t], PART_OF(current[t]), i) ||
              (!IS_HALF_WRITTEN(BYTES(BATCH(t), round[t], i)) &&
               BATCH_IN(BYTES(BATCH(t), round[t], i)) == BATCH(t)));
       i++
    :: else -> break
    od;
    stage[t] = NOTHING;
    round[t]++
  }
}

/* The model leaves time out: a trainer that waits may have waited for 100 ms at
 * any moment. */
#define WAITS(t) (IS_BETWEEN_ROUNDS(t) && ANY_PART(IS_MISSING, t))
#ifdef MUTANT_CLAIMS_AHEAD_WHILE_WAITING
#define NOTE_WAIT(t) skip
#else
#define NOTE_WAIT(t) is_quiet[t] = true
#endif
/* Rule c. */
#ifdef MUTANT_KEEPS_AHEAD
#define KEEPS_AHEAD true
#else
#define KEEPS_AHEAD false
#endif
inline give_back_for_wait(t) {
  d_step {
    WAITS(t) && HAS_AHEAD(t) && !KEEPS_AHEAD ->
    NOTE_WAIT(t);
    give_back_ahead(t)
  }
}
inline forget_current(t) {
  current[t] = NONE;
  round[t] = 0;
  stage[t] = NOTHING
}
inline give_back(t) {
  assert(slot[current[t]] == READING(t));
  slot[current[t]] = READY;
#ifdef MUTANT_WITHDRAWS_MESSAGES
  i = 0;
  do
  :: i < ROUNDS ->
     WORD(BATCH(t), i, PART_OF(current[t])) = 0;
     i++
  :: else -> break
  od;
#endif
  forget_current(t)
}
/* A trainer waits for one part after the other. */
#if PARTS == 2
#define AWAITS(t, part) IS_MISSING(t, part)
#else
#define AWAITS(t, part)                                 \
  (IS_MISSING(t, part) &&                               \
   ((part) == 0 || !IS_MISSING(t, 0)) &&                \
   ((part) <= 1 || !IS_MISSING(t, 1)))
#endif
/* Rule d. Another trainer may take the missing part first. */
#ifdef MUTANT_KEEPS_PART_BESIDE_READY
#define CALLS(t, part) false
#elif defined(MUTANT_LEAVES_FOR_WHOLE_BATCHES_ONLY)
#define CALLS(t, part) \
  (slot[TASK_OF(BATCH(t), part)] == READY && IS_WHOLE(BATCH(t)))
#else
#define CALLS(t, part) (slot[TASK_OF(BATCH(t), part)] == READY)
#endif
inline leave_for_ready(t, part) {
  d_step {
    WAITS(t) && AWAITS(t, part) && CALLS(t, part) ->
    NOTE_WAIT(t);
#ifndef MUTANT_TAKES_ANY_PART
    wanted[t] = TASK_OF(BATCH(t), part);
#endif
    give_back(t)
  }
}
inline take_wanted(t) {
  d_step {
    MAY_TRAIN(t) && wanted[t] != NONE && slot[wanted[t]] == READY ->
    slot[wanted[t]] = READING(t);
    current[t] = wanted[t];
    wanted[t] = NONE
  }
}
inline miss_wanted(t) {
  d_step {
    MAY_TRAIN(t) && wanted[t] != NONE && slot[wanted[t]] != READY ->
#ifdef MUTANT_CLAIMS_AHEAD_TOO_SOON
    is_quiet[t] = false;
#endif
    wanted[t] = NONE
  }
}
/* Rule e. */
#ifdef MUTANT_KEEPS_PART_BESIDE_FREE
#define LACKS(t, part) false
#else
#define LACKS(t, part) \
  (AWAITS(t, part) && slot[TASK_OF(BATCH(t), part)] == FREE)
#endif
inline leave_for_free(t) {
  d_step {
    WAITS(t) && ANY_PART(LACKS, t) ->
    NOTE_WAIT(t);
#ifdef MUTANT_CLAIMS_AHEAD_TOO_SOON
    is_quiet[t] = false;
#endif
    give_back(t);
    give_back_ahead(t);
    if
    :: TAKES_TURNS(t) -> turn[t] = NOBODY
    :: else
    fi
  }
}

/* The gradient, and the step of the optimizer. */
inline mark_done(t) {
  d_step {
    IS_TRAINING(t) && round[t] == ROUNDS ->
    assert(slot[current[t]] == READING(t));
    assert(!is_done[current[t]]);
    assert(STEP_OF(BATCH(t)) == version);
    is_done[current[t]] = true;
    is_quiet[t] = false
  }
}
inline release(t) {
  d_step {
    MAY_TRAIN(t) && current[t] != NONE && is_done[current[t]] ->
    assert(slot[current[t]] == READING(t));
    slot[current[t]] = RELEASED;
    forget_current(t)
  }
}
inline publish_step(t) {
  d_step { IS_IDLE(t) && IS_STEP_DUE -> version++ }
}

/* The reaper gives back what a dead process had, one task at a time. Then a
 * replacement comes, or other processes go on alone. */
inline kill(process) {
  d_step {
    kills > 0 && life[process] == ALIVE && !IS_OVER ->
    kills--;
    life[process] = DEAD
  }
}
#define IS_READ_BY(t, task) (slot[task] == READING(t))
#define HOLDS_ANY(t) ANY_TASK_OF(t, IS_READ_BY)
inline reclaim_slots_of(t) {
  d_step {
    life[t] == DEAD && HOLDS_ANY(t) ->
    i = 0;
    do
    :: !IS_READ_BY(t, i) -> i++
    :: IS_READ_BY(t, i) -> break
    od;
    slot[i] = READY;
    if
    :: current[t] == i -> forget_current(t)
    :: else
    fi;
    i = 0
  }
}
inline release_owner(t, next_life) {
  wanted[t] = NONE;
  is_quiet[t] = false;
  if
  :: TAKES_TURNS(t) && turn[t] == TRAINS -> turn[t] = NOBODY
  :: else
  fi;
  life[t] = next_life
}
#define IS_RECLAIMED(t) (life[t] == DEAD && !HOLDS_ANY(t))
/* Whether one of the processes from `first` on, but the k-th, has not gone. */
#define IS_THERE(first, number, other) \
  ((other) < (number) && life[(first) + (other)] != GONE)
#define HAS_OTHER(first, number, k)            \
  (((k) != 0 && IS_THERE(first, number, 0)) || \
   ((k) != 1 && IS_THERE(first, number, 1)) || \
   ((k) != 2 && IS_THERE(first, number, 2)))
inline replace_trainer(t) {
  d_step { IS_RECLAIMED(t) -> release_owner(t, ALIVE) }
}
inline lose_trainer(t) {
  d_step {
    IS_RECLAIMED(t) && HAS_OTHER(0, TRAINERS, t) -> release_owner(t, GONE)
  }
}
inline reclaim_parts_of(s) {
  d_step {
    life[TRAINERS + s] == DEAD && sampled[s] != NONE ->
    leave_first_written(s, FREE)
  }
}
#define HAS_NO_PARTS(s) (life[TRAINERS + (s)] == DEAD && sampled[s] == NONE)
inline replace_sampler(s) {
  d_step { HAS_NO_PARTS(s) -> life[TRAINERS + s] = ALIVE }
}
inline lose_sampler(s) {
  d_step {
    HAS_NO_PARTS(s) && HAS_OTHER(TRAINERS, SAMPLERS, s) ->
    life[TRAINERS + s] = GONE
  }
}

#define CLAIMS_OF(t, task)      \
  :: claim_for_reading(t, task) \
  :: claim_ahead(t, task)       \
  :: take_ahead(t, task)
#define RETRACTION(nobody, task) :: retract(task)
#if TASKS == 4
#define EACH_TASK(of, t) of(t, 0) of(t, 1) of(t, 2) of(t, 3)
#else
#define EACH_TASK(of, t) of(t, 0) of(t, 1) of(t, 2) of(t, 3) of(t, 4) of(t, 5)
#endif
#define CALL(t, part) :: leave_for_ready(t, part)
#if PARTS == 2
#define EACH_PART(of, t) of(t, 0) of(t, 1)
#else
#define EACH_PART(of, t) of(t, 0) of(t, 1) of(t, 2)
#endif
#define TRAINER(t)         \
  :: take_turn(t)          \
  :: end_turn(t)           \
  :: end_turn_to_sample(t) \
  EACH_TASK(CLAIMS_OF, t)  \
  :: begin_message(t)      \
  :: end_message(t)        \
  :: publish_message(t)    \
  :: take_messages(t)      \
  :: give_back_for_wait(t) \
  EACH_PART(CALL, t)       \
  :: take_wanted(t)        \
  :: miss_wanted(t)        \
  :: leave_for_free(t)     \
  :: mark_done(t)          \
  :: release(t)            \
  :: publish_step(t)       \
  :: kill(t)               \
  :: reclaim_slots_of(t)   \
  :: replace_trainer(t)    \
  :: lose_trainer(t)
#define SAMPLER(s)        \
  :: claim_for_writing(s) \
  :: publish(s)           \
  :: kill(TRAINERS + s)   \
  :: reclaim_parts_of(s)  \
  :: replace_sampler(s)   \
  :: lose_sampler(s)

active proctype Parts() {
  /* Fewer faults may come: a state from which only a fault leads on is a dead
   * end. */
  select (kills : 0 .. KILLS);
  select (retractions : 0 .. RETRACTIONS);
#if !ALL_NEED_ALL
  select (needs : 0 .. (1 << PARTS * (PARTS - 1)) - 1);
#endif
  do
  :: IS_OVER -> break
  EACH_TASK(RETRACTION, 0)
  TRAINER(0)
  SAMPLER(0)
#if TRAINERS > 1
  TRAINER(1)
#endif
#if TRAINERS > 2
  TRAINER(2)
#endif
#if SAMPLERS > 1
  SAMPLER(1)
#endif
#if SAMPLERS > 2
  SAMPLER(2)
#endif
  :: else -> d_step { dead_ends++; assert(dead_ends == 0) }
  od
}
