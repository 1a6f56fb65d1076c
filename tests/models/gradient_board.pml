/* The gradient board (shared/queue: gradient_board, step_lease, record_words)
 * and its reaper, with a kill between any two steps. A step here is one store
 * or compare-and-swap there; README.md says what stands for what, `check`
 * which sizes and mutants there are. */
#define BATCHES_PER_EPOCH 3
#define BATCHES 6
#define STEPS_PER_EPOCH \
  ((BATCHES_PER_EPOCH + BATCHES_PER_STEP - 1) / BATCHES_PER_STEP)
#define LAST_VERSION (2 * STEPS_PER_EPOCH)
#define LAST_OWNER 2 /* Two trainers. */
#define THREADS_OF(owner) 1
#define NONE 255

/* With BATCHES_PER_STEP 2, the second step of an epoch has one batch. */
#define PLACES (BATCHES_PER_STEP * (STALENESS + 1))
#define PLACE_OF(seq)                                        \
  (STEP_OF(seq) % (STALENESS + 1) * BATCHES_PER_STEP +       \
   (seq) % BATCHES_PER_EPOCH % BATCHES_PER_STEP)
#define STEP_OF(seq)                                   \
  ((seq) / BATCHES_PER_EPOCH * STEPS_PER_EPOCH +       \
   (seq) % BATCHES_PER_EPOCH / BATCHES_PER_STEP)
#define FIRST_OF(step)                                        \
  ((step) / STEPS_PER_EPOCH * BATCHES_PER_EPOCH +             \
   (step) % STEPS_PER_EPOCH * BATCHES_PER_STEP)
#define IS_FULL(step) \
  (BATCHES_PER_STEP == 2 && (step) % STEPS_PER_EPOCH == 0)
#define LAST_OF(step) (FIRST_OF(step) + 1 + IS_FULL(step))
#define BITS_OF(step) ((1 << LAST_OF(step)) - (1 << FIRST_OF(step)))

/* The board's word: version | owner:3 | state:2. */
#define EMPTY 0
#define LEASED_EMPTY 1
#define OPEN 2
#define LEASED_OPEN 3
#define WORD(state, owner, version) \
  (((version) << 5) | ((owner) << 2) | (state))
#define STATE(w) ((w) & 3)
#define OWNER(w) (((w) >> 2) & 7)
#define VERSION(w) ((w) >> 5)
#define IS_LEASED(w) (((w) & 1) == 1)
#define HAS_WEIGHTS(w) (((w) & 2) == 2)

byte board_word = WORD(EMPTY, 0, 0);
byte training_limit = STEPS_PER_EPOCH; /* The first epoch is open. */
byte changes_of_mind = CHANGES_OF_MIND;

/* The batches in the queue, all sampled: who reads each one. */
#define READY 0
#define GONE 7
byte reader[BATCHES];

/* seq + 1 of what is there; whose half-written thing it is; 0: nothing. */
#define HALF_WRITTEN(thread) (16 + (thread))
byte gradient[PLACES];
byte done[PLACES];
byte record[BATCHES_PER_EPOCH];
#define RECORD_OF(seq) record[(seq) % BATCHES_PER_EPOCH]

/* Version v of the weights is the set of all batches before step v. */
#define HALF 128
#if STALENESS < 2 || defined(MUTANT_TOO_FEW_WEIGHTS)
#define VERSIONS 2
#else
#define VERSIONS (STALENESS + 1)
#endif
byte weights[VERSIONS];
#ifdef MUTANT_STEP_IN_PLACE
#define WEIGHTS(version) weights[0]
#else
#define WEIGHTS(version) weights[(version) % VERSIONS]
#endif
#define ALL_BEFORE(step) ((1 << FIRST_OF(step)) - 1)

#define FINISHED (board_word == WORD(OPEN, 0, LAST_VERSION))

#include "processes.pml"

#ifdef NO_TIMEOUT
#define ANNOUNCE COUNT_AND_WAKE(1, 2)
#else
#define ANNOUNCE
#endif
#ifdef MUTANT_DONE_UNANNOUNCED
#define ANNOUNCE_DONE
#else
#define ANNOUNCE_DONE ANNOUNCE
#endif
#ifdef MUTANT_REAP_UNANNOUNCED
#define ANNOUNCE_REAPED
#else
#define ANNOUNCE_REAPED ANNOUNCE
#endif

#define IS_DONE(seq)                            \
  (STEP_OF(seq) < VERSION(board_word) ||        \
   done[PLACE_OF(seq)] == (seq) + 1)
/* GradientBoard::FindOpenSteps(). */
#define OPEN_END (VERSION(board_word) + STALENESS + 1)
#define EPOCH_END \
  ((VERSION(board_word) / STEPS_PER_EPOCH + 1) * STEPS_PER_EPOCH)
#define IS_OPEN(step)                                          \
  (HAS_WEIGHTS(board_word) && VERSION(board_word) <= (step) && \
   (step) < OPEN_END && (step) < EPOCH_END && (step) < training_limit)
#define ALL_DONE(step)                                         \
  (done[PLACE_OF(FIRST_OF(step))] == FIRST_OF(step) + 1 &&     \
   (!IS_FULL(step) ||                                          \
    done[PLACE_OF(FIRST_OF(step) + 1)] == FIRST_OF(step) + 2))
#define MAY_LEASE                                            \
  (board_word == WORD(EMPTY, 0, 0) ||                        \
   (STATE(board_word) == OPEN && IS_OPEN(VERSION(board_word)) && \
    ALL_DONE(VERSION(board_word))))

/* GlobalQueue::TryClaimForReading() up to the end of the open steps. */
#ifdef MUTANT_READ_AHEAD
#define OFFERS(seq) (reader[seq] == READY)
#else
#define OFFERS(seq)         \
  (reader[seq] == READY &&  \
   (STEP_OF(seq) < VERSION(board_word) || IS_OPEN(STEP_OF(seq))))
#endif
#define MAY_READ                                                          \
  (HAS_WEIGHTS(board_word) && VERSION(board_word) < training_limit &&     \
   (OFFERS(0) || OFFERS(1) || OFFERS(2) || OFFERS(3) || OFFERS(4) ||      \
    OFFERS(5)))
#define LOWEST                                                            \
  (OFFERS(0) -> 0 : (OFFERS(1) -> 1 : (OFFERS(2) -> 2 : (OFFERS(3) -> 3 : \
   (OFFERS(4) -> 4 : 5)))))

#define NEW_VERSION (STATE(leased) == EMPTY -> 0 : VERSION(leased) + 1)
#define FORGET seq = NONE; version = 0; leased = NONE; sum = 0
#ifdef NO_TIMEOUT
#define LEFT atomic { FORGET; goto attach }
#define LAST_STEP skip
#else
#define LEFT goto attach
#define LAST_STEP FORGET; goto attach
#endif

#ifdef MUTANT_LEASE_WITHOUT_COMPARE
#define IS_STILL(word) true
#else
#define IS_STILL(word) (board_word == word)
#endif

/* While a gradient is computed, and while a step is made, what they are made
 * from must stay. */
#define EXPECT_WEIGHTS_OF(version) \
  assert(WEIGHTS(version) == ALL_BEFORE(version))
inline expect_gradients_of(step) {
  assert(gradient[PLACE_OF(FIRST_OF(step))] == FIRST_OF(step) + 1);
  assert(RECORD_OF(FIRST_OF(step)) == FIRST_OF(step) + 1);
  if
  :: IS_FULL(step) ->
     assert(gradient[PLACE_OF(FIRST_OF(step) + 1)] == FIRST_OF(step) + 2);
     assert(RECORD_OF(FIRST_OF(step) + 1) == FIRST_OF(step) + 2)
  :: else
  fi
}

proctype Trainer(byte me) {
  byte seq = NONE, version, sum;
  byte leased = NONE; /* The word before the lease. */
attach:
  {
#ifdef NO_TIMEOUT
    do
    :: FINISHED -> goto detached
    :: !FINISHED ->
       READ_COUNTER;
       if
       :: d_step { MAY_LEASE -> leased = board_word }; break
       :: d_step { !MAY_LEASE && MAY_READ -> seq = LOWEST }; break
       :: !MAY_LEASE && !MAY_READ && news[me]
       :: d_step { !MAY_LEASE && !MAY_READ && !news[me] -> asleep[me] = true };
          !asleep[me] || FINISHED
       fi
    od;
#else
    if
    :: FINISHED -> goto detached
    :: d_step { MAY_LEASE -> leased = board_word }
    :: d_step { !MAY_LEASE && MAY_READ -> seq = LOWEST }
    fi;
#endif
    if
    :: leased != NONE -> goto take_lease
    :: seq != NONE
    fi;

claim_for_reading:
    if
    :: d_step { reader[seq] == READY -> reader[seq] = me }
    :: atomic { reader[seq] != READY -> FORGET; goto attach }
    fi;
    if
#ifndef MUTANT_COUNT_AGAIN
    :: atomic { IS_DONE(seq) -> goto release } /* Its reader died late. */
    :: !IS_DONE(seq)
#else
    :: true
#endif
    fi;
#ifdef MUTANT_DONE_BEFORE_GRADIENT
    d_step { RECORD_OF(seq) = seq + 1; done[PLACE_OF(seq)] = seq + 1 };
#endif
    d_step { /* The trainer computes the gradient. */
      version = VERSION(board_word); /* The newest one. */
      assert(version <= STEP_OF(seq));
      assert(STEP_OF(seq) - version <= STALENESS);
      EXPECT_WEIGHTS_OF(version);
      gradient[PLACE_OF(seq)] = HALF_WRITTEN(me)
    };
    if
    :: d_step {
         assert(gradient[PLACE_OF(seq)] == HALF_WRITTEN(me));
         EXPECT_WEIGHTS_OF(version);
         version = 0;
         gradient[PLACE_OF(seq)] = seq + 1
       }
    :: atomic { changes_of_mind > 0 -> changes_of_mind--; goto give_back }
    fi;
store_record:
    d_step {
      assert(IS_OPEN(STEP_OF(seq)));
      RECORD_OF(seq) = HALF_WRITTEN(me)
    };
    d_step {
      assert(RECORD_OF(seq) == HALF_WRITTEN(me));
      RECORD_OF(seq) = seq + 1
    };
#ifdef MUTANT_RELEASE_BEFORE_DONE
    reader[seq] = GONE;
#endif
mark_done:
    d_step {
#ifndef MUTANT_DONE_BEFORE_GRADIENT
      assert(!IS_DONE(seq));
#endif
      assert(gradient[PLACE_OF(seq)] == seq + 1);
      done[PLACE_OF(seq)] = seq + 1
    };
    ANNOUNCE_DONE
release:
    atomic {
#ifndef MUTANT_RELEASE_BEFORE_DONE
      assert(reader[seq] == me);
#endif
      reader[seq] = GONE; /* Announced to samplers only. */
      FORGET;
      goto attach
    };

give_back:
    atomic { assert(reader[seq] == me); reader[seq] = READY; LAST_STEP };
    ANNOUNCE
    LEFT;

take_lease:
    if
    :: d_step {
         IS_STILL(leased) ->
         board_word = WORD(STATE(leased) + 1, me, VERSION(leased))
       }
    :: atomic { !IS_STILL(leased) -> FORGET; goto attach }
    fi;
    if
    :: atomic { STATE(leased) == EMPTY -> sum = 0; goto write_weights }
    :: STATE(leased) == OPEN
    :: atomic { changes_of_mind > 0 -> changes_of_mind--; goto give_lease_back }
    fi;
    d_step { /* The gradients are summed in batch order. */
      EXPECT_WEIGHTS_OF(VERSION(leased));
      expect_gradients_of(VERSION(leased));
      sum = WEIGHTS(VERSION(leased));
      assert((sum & BITS_OF(VERSION(leased))) == 0);
      WEIGHTS(VERSION(leased) + 1) = HALF | me
    };
    d_step {
#ifndef MUTANT_STEP_IN_PLACE
      EXPECT_WEIGHTS_OF(VERSION(leased));
#endif
      expect_gradients_of(VERSION(leased));
      sum = sum | BITS_OF(VERSION(leased))
    };
write_weights:
    atomic {
      assert(board_word == WORD(STATE(leased) + 1, me, VERSION(leased)));
      WEIGHTS(NEW_VERSION) = sum
    };
publish_step:
    atomic {
      assert(board_word == WORD(STATE(leased) + 1, me, VERSION(leased)));
      assert(WEIGHTS(NEW_VERSION) == ALL_BEFORE(NEW_VERSION));
      board_word = WORD(OPEN, 0, NEW_VERSION);
      LAST_STEP
    };
    ANNOUNCE
    LEFT;

give_lease_back:
    atomic {
      assert(board_word == WORD(STATE(leased) + 1, me, VERSION(leased)));
      board_word = leased;
      LAST_STEP
    };
    ANNOUNCE
    LEFT
  } UNLESS_KILLED(FORGET);
detached:
  skip
}

#define READS(seq) (reader[seq] == corpse)
#define READS_ANY \
  (READS(0) || READS(1) || READS(2) || READS(3) || READS(4) || READS(5))
#define FIRST_READ                                                    \
  (READS(0) -> 0 : (READS(1) -> 1 : (READS(2) -> 2 : (READS(3) -> 3 : \
   (READS(4) -> 4 : 5)))))
#define HOLDS_LEASE (IS_LEASED(board_word) && OWNER(board_word) == corpse)

proctype Reaper() {
  byte corpse;
again:
  {
    do
    :: FINISHED && !ANYONE_DEAD -> break
    :: BURY_FIRST_ENDED;
#ifdef MUTANT_INDEX_GIVEN_BACK_FIRST
       dead[corpse] = false;
#endif
       do
       :: d_step {
            READS_ANY ->
reclaim_slots_of:
            assert(dead[corpse]);
            reader[FIRST_READ] = READY
          }
       :: !READS_ANY -> break
       od;
       ANNOUNCE_REAPED
reclaim_lease_of:
#ifndef MUTANT_LEASE_NOT_REAPED
       if
       :: d_step {
            HOLDS_LEASE ->
            assert(dead[corpse]);
#ifdef MUTANT_LEASE_REAPED_AS_MADE
            board_word = WORD(OPEN, 0, VERSION(board_word) + 1)
#else
            board_word = WORD(STATE(board_word) - 1, 0, VERSION(board_word))
#endif
          }
       :: !HOLDS_LEASE
       fi;
#endif
       ANNOUNCE_REAPED
release_owner:
       atomic { dead[corpse] = false; corpse = 0 }
    od
  } UNLESS_REAPER_KILLED(skip)
}

/* The scheduler reads an epoch's records before it opens the next one. */
proctype Scheduler() {
  HAS_WEIGHTS(board_word) && VERSION(board_word) == STEPS_PER_EPOCH;
  assert(record[0] == 1 && record[1] == 2 && record[2] == 3);
open_for_training:
  training_limit = LAST_VERSION;
  ANNOUNCE
  FINISHED;
  assert(record[0] == 4 && record[1] == 5 && record[2] == 6);
  assert(WEIGHTS(LAST_VERSION) == (1 << BATCHES) - 1)
}

init {
  atomic {
    running[1] = 1;
    running[2] = 1;
    run Trainer(1);
    run Trainer(2);
    run Reaper();
    run Scheduler();
    run Kernel()
  }
}
