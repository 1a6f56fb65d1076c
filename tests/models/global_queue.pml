/* The global queue (shared/queue: global_queue, slot_table, claimed_slots) and
 * its reaper, with a kill between any two steps. A step here is one store or
 * compare-and-swap there; README.md says what stands for what, `check` which
 * sizes and mutants there are. */
#define SLOTS 3
#define LAST_OWNER (SAMPLERS + TRAINERS)
#define THREADS_OF(owner) (1 + (owner == 1) * EXTRA_THREADS)
#define FIRST_TRAINER (SAMPLERS + 1)
#define BATCHES_PER_STEP 2
#define NONE 255

/* A slot's word: generation | owner:3 | state:2. Owner 0 is nobody, then come
 * the samplers, then the trainers. */
#define FREE 0
#define WRITING 1
#define READY 2
#define READING 3
#define WORD(state, owner, generation) \
  (((generation) << 5) | ((owner) << 2) | (state))
#define STATE(w) ((w) & 3)
#define OWNER(w) (((w) >> 2) & 7)
#define GENERATION(w) ((w) >> 5)
#define SLOT_OF(seq) ((seq) % SLOTS)
#define SEQ_IN(slot) (GENERATION(word[slot]) * SLOTS + (slot))
#define WORD_OF(seq, state, owner) WORD(state, owner, (seq) / SLOTS)
#define RELEASED(seq) WORD(FREE, 0, (seq) / SLOTS + 1)

byte word[SLOTS]; /* All FREE at generation 0. */
byte sampling_limit = BATCHES / 2; /* The first epoch is open. */
byte counted;                      /* Bit per batch: its gradient is safe. */
byte changes_of_mind = CHANGES_OF_MIND; /* Of the living: give back, reject. */

/* Blocks: each slot's own, then the samplers' overflow blocks. seq + 1 of the
 * whole task in it, or whose half-written task it is. */
byte content[BLOCKS];
#define HALF_WRITTEN(thread) (16 + (thread))

#define SEQS_OF_SLOT(slot) ((BATCHES - slot + SLOTS - 1) / SLOTS)
#define IS_FINAL(slot) (word[slot] == WORD(FREE, 0, SEQS_OF_SLOT(slot)))
#define IS_COMPLETE (IS_FINAL(0) && IS_FINAL(1) && IS_FINAL(2))
#ifdef OVERFLOW
byte retractions; /* Two threads can undo each other's for ever: cut there. */
#define FINISHED (IS_COMPLETE || retractions > RETRACTIONS)
#else
#define FINISHED IS_COMPLETE
#endif
#define ALL_COUNTED ((1 << BATCHES) - 1)
#define IS_COUNTED(seq) ((counted >> (seq)) & 1)

/* Trainers take batches up to the end of the open step. Steps are made at once
 * here; gradient_board.pml has the details. */
#define STEP(step) ((3 << (2 * step)) & ALL_COUNTED)
#define IS_COMMITTED(step) ((counted & STEP(step)) == STEP(step))
#define END_OF_OPEN_STEP                                        \
  (BATCHES_PER_STEP *                                           \
   (1 + IS_COMMITTED(0) + (IS_COMMITTED(0) && IS_COMMITTED(1)) + \
    (IS_COMMITTED(0) && IS_COMMITTED(1) && IS_COMMITTED(2))))

#include "processes.pml"

/* SlotTable::FindLowest(), a snapshot: who uses what it found compares the
 * whole word again. */
#define OFFERS(slot, in_state, last) \
  (STATE(word[slot]) == in_state && SEQ_IN(slot) < last)
#define OFFERS_ANY(in_state, last)                         \
  (OFFERS(0, in_state, last) || OFFERS(1, in_state, last) || \
   OFFERS(2, in_state, last))
inline find_lowest(in_state, last, found) {
  found = NONE;
  if
  :: OFFERS(0, in_state, last) -> found = SEQ_IN(0)
  :: else
  fi;
  if
  :: OFFERS(1, in_state, last) && SEQ_IN(1) < found -> found = SEQ_IN(1)
  :: else
  fi;
  if
  :: OFFERS(2, in_state, last) && SEQ_IN(2) < found -> found = SEQ_IN(2)
  :: else
  fi
}

/* What the drawing in global_queue.h allows. */
hidden byte from_word, to_word;
#define GOES(from, to) (STATE(from_word) == from && STATE(to_word) == to)
#define HELD_BY(me) (OWNER(from_word) == me && OWNER(to_word) == 0)
#define TAKEN_BY(me) (OWNER(from_word) == 0 && OWNER(to_word) == me)
#define SAME_GENERATION (GENERATION(from_word) == GENERATION(to_word))
#define NEXT_GENERATION (GENERATION(from_word) + 1 == GENERATION(to_word))
#define BY_SAMPLER                                             \
  (SAME_GENERATION &&                                          \
   ((TAKEN_BY(me) && GOES(FREE, WRITING)) ||                   \
    (HELD_BY(me) && (GOES(WRITING, READY) || GOES(WRITING, FREE))) || \
    (HELD_BY(0) && GOES(READY, FREE))))
#define BY_TRAINER                                                      \
  ((SAME_GENERATION &&                                                  \
    ((TAKEN_BY(me) && GOES(READY, READING)) ||                          \
     (HELD_BY(me) && (GOES(READING, READY) || GOES(READING, FREE))))) || \
   (NEXT_GENERATION && HELD_BY(me) && GOES(READING, FREE)))
#define BY_REAPER                                        \
  (SAME_GENERATION && HELD_BY(corpse) && dead[corpse] && \
   (GOES(WRITING, FREE) || GOES(READING, READY)))

/* A compare-and-swap of SlotTable::Move() that cannot fail: nobody else may
 * change the word. */
inline move(slot, from, to, allowed) {
  from_word = from;
  to_word = to;
  assert(word[slot] == from_word);
  assert(allowed);
  word[slot] = to_word;
  from_word = 0;
  to_word = 0
}

/* What samplers wait for, and what trainers wait for. */
#ifdef NO_TIMEOUT
#define ANNOUNCE_FREE COUNT_AND_WAKE(1, 2)
#define ANNOUNCE_READY COUNT_AND_WAKE(3, 4)
#else
#define ANNOUNCE_FREE
#define ANNOUNCE_READY
#endif
#ifdef MUTANT_PUBLISH_UNANNOUNCED
#define ANNOUNCE_PUBLISHED
#else
#define ANNOUNCE_PUBLISHED ANNOUNCE_READY
#endif
#ifdef MUTANT_REAP_UNANNOUNCED
#define ANNOUNCE_REAPED
#else
#define ANNOUNCE_REAPED ANNOUNCE_READY ANNOUNCE_FREE
#endif

#ifdef OVERFLOW
#include "overflow_blocks.pml"
#else
#define BLOCK SLOT_OF(seq)
#define STORE_PLACE
#define SWITCH_TO_OVERFLOW
#define ANNOUNCE_SWITCHED
#define LOAD_PLACE
#define HOLD_OF(seq)
#define HOLD_OF_WRITTEN(seq)
#define FREE_BLOCK
#define OVERFLOW_LOCALS
#define FORGET seq = NONE
#endif

/* Behind the last step on a slot: with it, unless announcements follow. */
#if defined(NO_TIMEOUT) || defined(OVERFLOW)
#define LAST_STEP skip
#define LEFT atomic { FORGET; goto attach }
#else
#define LAST_STEP FORGET; goto attach
#define LEFT goto attach
#endif

/* Looks for a batch until there is one, or all are done. */
#ifdef NO_TIMEOUT
#define SEEK(in_state, last)                                    \
  do                                                            \
  :: FINISHED -> goto detached                                  \
  :: !FINISHED ->                                               \
     READ_COUNTER;                                              \
     d_step { find_lowest(in_state, last, seq) };               \
     if                                                         \
     :: seq != NONE -> break                                    \
     :: seq == NONE && news[me]                                 \
     :: d_step { seq == NONE && !news[me] -> asleep[me] = true }; \
        !asleep[me] || FINISHED                                 \
     fi                                                         \
  od
#else
#define SEEK(in_state, last)                                                \
  if                                                                        \
  :: FINISHED -> goto detached                                              \
  :: d_step { OFFERS_ANY(in_state, last) -> find_lowest(in_state, last, seq) } \
  fi
#endif

#ifdef MUTANT_CLAIM_WITHOUT_COMPARE
#define MAY_CLAIM_FREE(seq) true
#else
#define MAY_CLAIM_FREE(seq) (word[SLOT_OF(seq)] == WORD_OF(seq, FREE, 0))
#endif

proctype Sampler(byte me) {
  byte seq = NONE;
  OVERFLOW_LOCALS
attach:
  {
    SEEK(FREE, sampling_limit);
claim_for_writing:
    if
    :: d_step {
         MAY_CLAIM_FREE(seq) ->
         move(SLOT_OF(seq), word[SLOT_OF(seq)], WORD_OF(seq, WRITING, me),
              BY_SAMPLER)
       }
    :: atomic { !MAY_CLAIM_FREE(seq) -> FORGET; goto attach }
    fi;
    STORE_PLACE
    SWITCH_TO_OVERFLOW
    if
    :: d_step { /* The sampler fills the block, */
         content[BLOCK] = HALF_WRITTEN(_pid)
       }
    :: atomic { changes_of_mind > 0 -> changes_of_mind--; goto give_back }
    fi;
#ifndef MUTANT_PUBLISH_HALF_WRITTEN
    d_step { /* ... and nobody else has. */
      assert(word[SLOT_OF(seq)] == WORD_OF(seq, WRITING, me));
      assert(content[BLOCK] == HALF_WRITTEN(_pid));
      content[BLOCK] = seq + 1
    };
#endif
publish:
    atomic {
      move(SLOT_OF(seq), WORD_OF(seq, WRITING, me), WORD_OF(seq, READY, 0),
           BY_SAMPLER);
      LAST_STEP
    };
    ANNOUNCE_PUBLISHED
    ANNOUNCE_SWITCHED
    LEFT;

give_back:
    HOLD_OF(seq)
    atomic {
      move(SLOT_OF(seq), WORD_OF(seq, WRITING, me), WORD_OF(seq, FREE, 0),
           BY_SAMPLER);
      content[BLOCK] = 0;
      LAST_STEP
    };
    FREE_BLOCK
    ANNOUNCE_FREE
    LEFT
  } UNLESS_KILLED(FORGET);
detached:
  skip
}

proctype Trainer(byte me) {
  byte seq = NONE;
  OVERFLOW_LOCALS
attach:
  {
    SEEK(READY, END_OF_OPEN_STEP);
claim_for_reading:
    if
    :: d_step {
         word[SLOT_OF(seq)] == WORD_OF(seq, READY, 0) ->
         move(SLOT_OF(seq), WORD_OF(seq, READY, 0), WORD_OF(seq, READING, me),
              BY_TRAINER)
       }
    :: atomic {
         word[SLOT_OF(seq)] != WORD_OF(seq, READY, 0) -> FORGET; goto attach
       }
    fi;
    LOAD_PLACE
    if
    :: atomic { IS_COUNTED(seq) -> goto release } /* Its reader died late. */
    :: d_step { !IS_COUNTED(seq) -> assert(content[BLOCK] == seq + 1) }
    :: atomic { changes_of_mind > 0 && !IS_COUNTED(seq) -> changes_of_mind-- };
       if
       :: goto give_back
       :: goto reject
       fi
    fi;
#ifdef MUTANT_RELEASE_BEFORE_DONE
    d_step {
      move(SLOT_OF(seq), WORD_OF(seq, READING, me), RELEASED(seq), BY_TRAINER)
    };
#endif
mark_done:
    d_step {
#ifndef MUTANT_RELEASE_BEFORE_DONE
      assert(word[SLOT_OF(seq)] == WORD_OF(seq, READING, me));
      assert(content[BLOCK] == seq + 1);
#endif
      assert(!IS_COUNTED(seq));
      counted = counted | (1 << seq)
    };
    ANNOUNCE_READY
#ifdef MUTANT_RELEASE_BEFORE_DONE
    LEFT;
#endif
release:
    HOLD_OF(seq)
    atomic {
      content[BLOCK] = 0; /* As worthless from now on as any old content. */
      move(SLOT_OF(seq), WORD_OF(seq, READING, me),
#ifdef MUTANT_RELEASE_AT_SAME_GENERATION
           WORD_OF(seq, FREE, 0),
#else
           RELEASED(seq),
#endif
           BY_TRAINER);
      LAST_STEP
    };
    FREE_BLOCK
    ANNOUNCE_FREE
    LEFT;

give_back:
    atomic {
      move(SLOT_OF(seq), WORD_OF(seq, READING, me), WORD_OF(seq, READY, 0),
           BY_TRAINER);
      LAST_STEP
    };
    ANNOUNCE_READY
    LEFT;

reject:
    HOLD_OF(seq)
    atomic {
      content[BLOCK] = 0;
      move(SLOT_OF(seq), WORD_OF(seq, READING, me), WORD_OF(seq, FREE, 0),
           BY_TRAINER);
      LAST_STEP
    };
    FREE_BLOCK
    ANNOUNCE_FREE
    LEFT
  } UNLESS_KILLED(FORGET);
detached:
  skip
}

#ifdef MUTANT_REAP_READING_AS_FREE
#define REAPED_READING(seq) WORD_OF(seq, FREE, 0)
#elif defined(MUTANT_REAP_READING_AS_RELEASED)
#define REAPED_READING(seq) RELEASED(seq)
#define BY_ANY_REAPER true
#else
#define REAPED_READING(seq) WORD_OF(seq, READY, 0)
#endif
#ifndef BY_ANY_REAPER
#define BY_ANY_REAPER BY_REAPER
#endif

#define OWNED(slot) (OWNER(word[slot]) == corpse)
#define ANY_OWNED (OWNED(0) || OWNED(1) || OWNED(2))
#define FIRST_OWNED (OWNED(0) -> 0 : (OWNED(1) -> 1 : 2))

proctype Reaper() {
  byte corpse, seq = NONE;
  OVERFLOW_LOCALS
again:
  {
    do
    :: FINISHED && !ANYONE_DEAD -> break
    :: BURY_FIRST_ENDED;
#ifdef MUTANT_INDEX_GIVEN_BACK_FIRST
       dead[corpse] = false;
#endif
       do
       :: d_step { ANY_OWNED -> seq = SEQ_IN(FIRST_OWNED) };
          HOLD_OF_WRITTEN(seq)
reclaim_slots_of:
          d_step {
            if
            :: STATE(word[SLOT_OF(seq)]) == WRITING ->
               content[SLOT_OF(seq)] = 0;
               move(SLOT_OF(seq), word[SLOT_OF(seq)], WORD_OF(seq, FREE, 0),
                    BY_ANY_REAPER)
            :: else ->
               move(SLOT_OF(seq), word[SLOT_OF(seq)], REAPED_READING(seq),
                    BY_ANY_REAPER)
            fi
          };
          FREE_BLOCK
          d_step { FORGET }
       :: !ANY_OWNED -> break
       od;
       ANNOUNCE_REAPED
release_owner:
       atomic { dead[corpse] = false; corpse = 0 }
    od
  } UNLESS_REAPER_KILLED(FORGET)
}

/* The scheduler, which opens one epoch after the other. */
proctype Scheduler() {
open_for_sampling:
  sampling_limit = BATCHES;
  ANNOUNCE_READY
  ANNOUNCE_FREE
  FINISHED;
  assert(!IS_COMPLETE || counted == ALL_COUNTED)
}

init {
  atomic {
    byte owner = 1;
    do
    :: owner <= LAST_OWNER ->
       running[owner] = THREADS_OF(owner);
       if
       :: owner <= SAMPLERS -> run Sampler(owner)
       :: else -> run Trainer(owner)
       fi;
       owner++
    :: else -> break
    od;
#if EXTRA_THREADS
    run Sampler(1);
#endif
    run Reaper();
    run Scheduler();
    run Kernel();
    owner = 0
  }
}
