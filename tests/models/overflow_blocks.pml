/* OverflowBlocks, for global_queue.pml: one block per sampler process, which
 * its threads share, for the tasks that are too large for a slot. */
#define IS_LARGE(seq) ((seq) >= 2) /* From the second step on. */

byte place[SLOTS];       /* 0: the slot's own block; else whose overflow block. */
byte held[SAMPLERS + 1]; /* Per block: tag:5 | seq + 1:3 of the batch in it. */
#define HOLDER(w) ((w) & 7)
#define NEXT(w, seq_plus_one) ((((w) & 248) + 8) & 248 | (seq_plus_one))

/* `at`: whose overflow block the task is in; `looked`: a block's word; `seen`:
 * the word of its holder's slot. */
#define OVERFLOW_LOCALS byte at, looked, seen;
#define FORGET seq = NONE; at = 0; looked = 0; seen = 0
#define BLOCK (at != 0 -> SLOTS + at - 1 : SLOT_OF(seq))

#define STORE_PLACE place[SLOT_OF(seq)] = 0;
#define LOAD_PLACE at = place[SLOT_OF(seq)];
#define SWITCH_TO_OVERFLOW switch_to_overflow();
#define ANNOUNCE_SWITCHED

#define SLOT_HELD(w) SLOT_OF(HOLDER(w) - 1)
#define IS_FREE_BELOW(seq) OFFERS_ANY(FREE, seq)
#ifdef MUTANT_EARLIER_NEVER_RETRACTED
#define MAY_RETRACT(w) (HOLDER(w) - 1 > seq)
#else
#define MAY_RETRACT(w) (HOLDER(w) - 1 > seq || IS_FREE_BELOW(HOLDER(w) - 1))
#endif
#define LIES_THERE(w, slot_word)                                      \
  (GENERATION(slot_word) == (HOLDER(w) - 1) / SLOTS &&                \
   STATE(slot_word) != FREE && place[SLOT_HELD(w)] == me)
#define MAY_TAKE                                                      \
  (HOLDER(held[me]) == 0 || HOLDER(held[me]) == seq + 1 ||            \
   !LIES_THERE(held[me], word[SLOT_HELD(held[me])]) ||                \
   (STATE(word[SLOT_HELD(held[me])]) == READY && MAY_RETRACT(held[me])))
#ifdef MUTANT_TAKE_WITHOUT_COMPARE
#define IS_STILL_HELD true
#else
#define IS_STILL_HELD (held[me] == looked)
#endif

inline switch_to_overflow() {
  if
  :: !IS_LARGE(seq) -> goto switched
  :: IS_LARGE(seq)
  fi;
point_at_block:
  place[SLOT_OF(seq)] = me;
try_take:
  looked = held[me];
  do
  :: HOLDER(looked) != 0 && HOLDER(looked) != seq + 1 ->
     seen = word[SLOT_HELD(looked)];
     if
     :: !LIES_THERE(looked, seen)
     :: LIES_THERE(looked, seen) && STATE(seen) == READY &&
        MAY_RETRACT(looked) ->
retract:
        if
        :: FINISHED -> goto detached
        :: d_step {
             !FINISHED && word[SLOT_HELD(looked)] == seen ->
             move(SLOT_HELD(looked), seen, WORD_OF(HOLDER(looked) - 1, FREE, 0),
                  BY_SAMPLER);
             content[SLOTS + me - 1] = 0;
             retractions++
           }
        :: word[SLOT_HELD(looked)] != seen -> goto wait_for_block
        fi
     :: LIES_THERE(looked, seen) &&
        !(STATE(seen) == READY && MAY_RETRACT(looked)) -> goto wait_for_block
     fi;
     goto take
  :: HOLDER(looked) == 0 || HOLDER(looked) == seq + 1 ->
take:
     if
     :: d_step { IS_STILL_HELD -> held[me] = NEXT(looked, seq + 1) };
        break
     :: !IS_STILL_HELD -> looked = held[me]
     fi
  od;
  atomic { at = me; looked = 0; seen = 0 };
  goto switched;

wait_for_block:
  /* Either within the deadline, or giving up and trying again. */
  if
  :: FINISHED -> goto detached
  :: atomic { MAY_TAKE -> looked = 0; seen = 0; goto try_take }
  :: atomic {
       MAY_TAKE -> looked = 0; seen = 0;
       place[SLOT_OF(seq)] = 0;
       goto point_at_block
     }
  fi;
switched:
  skip
}

/* OverflowBlocks::HoldOf() in front of a step to FREE, Free() behind it. */
#define HOLD_OF(seq)                                                     \
  atomic {                                                               \
    at = place[SLOT_OF(seq)];                                            \
    looked = (HOLDER(held[at]) == seq + 1 -> held[at] : 0)               \
  };
/* The reaper leaves the blocks of READING slots alone: they become READY. */
#ifdef MUTANT_READY_TASK_LOSES_BLOCK
#define HOLD_OF_WRITTEN(seq) HOLD_OF(seq)
#else
#define HOLD_OF_WRITTEN(seq)                                             \
  HOLD_OF(seq)                                                           \
  d_step {                                                               \
    if                                                                   \
    :: STATE(word[SLOT_OF(seq)]) != WRITING -> looked = 0                \
    :: else                                                              \
    fi                                                                   \
  };
#endif
#ifdef MUTANT_FREED_WITHOUT_COMPARE
#define IS_HOLD(at) (looked != 0)
#else
#define IS_HOLD(at) (looked != 0 && held[at] == looked)
#endif
#define FREE_BLOCK                                       \
  d_step {                                               \
    if                                                   \
    :: IS_HOLD(at) -> held[at] = NEXT(looked, 0)         \
    :: else                                              \
    fi                                                   \
  };
