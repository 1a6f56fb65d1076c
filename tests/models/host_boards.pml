/* The gradient boards of a job's hosts (shared/queue: gradient_board;
 * trainer_service/exchange). Each host makes all steps. It trains the batches of
 * its own places, and asks the other hosts for theirs. A step here is one store
 * of a host, or one message between two hosts. Messages may be lost; the
 * exchange of a host may be killed between any two steps, and forgets all but
 * its board. README.md says what stands for what. */
#define STEPS_PER_EPOCH 2
#define EPOCH_END(version) (((version) / STEPS_PER_EPOCH + 1) * STEPS_PER_EPOCH)
#define PAIR(host, other) ((host) * HOSTS + (other))

/* An epoch's last step is short: the first host alone has a batch in it. */
#define HAS_BATCH(host, step) ((host) == 0 || (step) % STEPS_PER_EPOCH == 0)

/* The board of a host keeps the places of two steps. */
#ifdef MUTANT_PLACES_OF_ONE_STEP
#define KEPT 1
#else
#define KEPT 2
#endif
#define AT(host, other, step) (PAIR(host, other) * KEPT + (step) % KEPT)
#define HALF 255
byte gradient[HOSTS * HOSTS * KEPT]; /* step + 1 of what is there. */
byte done[HOSTS * HOSTS * KEPT];     /* step + 1 */
byte version[HOSTS];

/* What a host was told of the versions of the others: by its exchange, which
 * may forget it, and by the word of its board. */
byte told[HOSTS * HOSTS];
byte others_version[HOSTS];

byte losses = LOSSES;
bool killed[HOSTS * HOSTS]; /* The exchange of the host, for each follower. */

#define IS_DONE(host, other, step) \
  (version[host] > (step) || done[AT(host, other, step)] == (step) + 1)
#define LACKS(host, other, step) \
  (HAS_BATCH(other, step) && !IS_DONE(host, other, step))
#define FINISHED(host) (version[host] == STEPS)

#if HOSTS == 2
#define ALL_DONE(host, step) (!LACKS(host, 0, step) && !LACKS(host, 1, step))
#define LEAST_TOLD(host) told[PAIR(host, 1 - (host))]
#define ALL_FINISHED (FINISHED(0) && FINISHED(1))
#else
#define ALL_DONE(host, step) \
  (!LACKS(host, 0, step) && !LACKS(host, 1, step) && !LACKS(host, 2, step))
#define TOLD_OF(host, by) told[PAIR(host, ((host) + (by)) % 3)]
#define LEAST_TOLD(host) \
  (TOLD_OF(host, 1) < TOLD_OF(host, 2) -> TOLD_OF(host, 1) : TOLD_OF(host, 2))
#define ALL_FINISHED (FINISHED(0) && FINISHED(1) && FINISHED(2))
#endif

/* The trainers of a host: they compute its gradients and make its steps. */
#ifdef MUTANT_OTHERS_ARE_NOT_ASKED
#define MAY_TRAIN(host, step) true
#else
#define MAY_TRAIN(host, step) ((step) < others_version[host] + 2)
#endif
proctype Trainers(byte host) {
  byte step, i;
  do
  :: FINISHED(host) -> break
  :: d_step {
       LACKS(host, host, version[host]) && MAY_TRAIN(host, version[host]) ->
       step = version[host];
       gradient[AT(host, host, step)] = HALF
     }
mark_done:
     d_step {
       gradient[AT(host, host, step)] = step + 1;
       done[AT(host, host, step)] = step + 1;
       step = 0
     }
  :: d_step {
       !FINISHED(host) && ALL_DONE(host, version[host]) ->
       step = version[host];
       i = 0;
       do
       :: i < HOSTS ->
          assert(!HAS_BATCH(i, step) ||
                 gradient[AT(host, i, step)] == step + 1);
          i++
       :: else -> break
       od;
       i = 0; step = 0
     }
publish_step:
     version[host]++
  od
}

/* What `host` says to `other` of its version. */
inline tell() {
  told[PAIR(other, host)] =
      (version[host] > told[PAIR(other, host)] -> version[host] :
                                                  told[PAIR(other, host)]);
  others_version[other] =
      (LEAST_TOLD(other) > others_version[other] -> LEAST_TOLD(other) :
                                                    others_version[other])
}

/* The board of the host takes entries of the step. */
#define IS_TAKEN(step)                                                 \
  ((step) <= version[host] + 1 && (step) < EPOCH_END(version[host]) && \
   (step) < STEPS)
#define ASKS (next >= version[host] && IS_TAKEN(next) && LACKS(host, other, next))

/* A host tells its version when it asks, and when it has a new one. Each second
 * it tells it again: that changes something if the telling was lost, or if the
 * other host's exchange has died since. */
#define HAS_NEWS (version[host] > told[PAIR(other, host)])

inline copy_entry() {
  assert(gradient[AT(other, other, next)] == next + 1)
}
inline write_entry() {
  assert(next <= version[host] + 1);
  gradient[AT(host, other, next)] = next + 1;
  done[AT(host, other, next)] = next + 1
}

/* The exchange of `host` follows `other`: it gets the entry of step `next`.
 * `comes`: the other host copies the entry from its board. */
proctype Follower(byte host, other) {
  byte next;
  bool comes;
#ifdef MUTANT_TELLS_ONCE
  byte knows; /* The version that was told, though it may be lost. */
#endif
again:
  {
    do
    :: ALL_FINISHED -> break
    :: d_step {
         next < version[host] ->
         next = version[host]; comes = false
       }
    :: d_step {
         next >= version[host] && IS_TAKEN(next) &&
         !LACKS(host, other, next) ->
         next++; comes = false
       }
#ifdef MUTANT_TELLS_ONCE
    :: d_step { version[host] > knows -> tell(); knows = version[host] }
    :: d_step {
         version[host] > knows && losses > 0 ->
         losses--; knows = version[host]
       }
#else
    :: d_step { HAS_NEWS -> tell() }
#endif
    :: d_step {
         !comes && ASKS && IS_DONE(other, other, next) ->
         copy_entry();
         comes = true
       }
    :: d_step { comes && losses > 0 -> losses--; comes = false }
    :: d_step {
         comes && LACKS(host, other, next) ->
         copy_entry(); /* The copy may have taken until now. */
         write_entry();
         comes = false
       }
    od
  } unless {
    killed[PAIR(host, other)] ->
    d_step {
      killed[PAIR(host, other)] = false;
      next = 0; comes = false
#ifdef MUTANT_TELLS_ONCE
      ; knows = 0
#endif
    }
    goto again
  }
}

/* Kills an exchange: its followers begin again, and it has forgotten what it
 * was told. */
proctype Kernel() {
  byte kills = KILLS, host, i;
  do
  :: ALL_FINISHED -> break
  :: kills == 0 -> break
  :: d_step {
       kills > 0 && !ALL_FINISHED ->
       kills--
     }
     if
     :: host = 0
     :: host = 1
#if HOSTS == 3
     :: host = 2
#endif
     fi;
     d_step {
       i = 0;
       do
       :: i < HOSTS ->
          if
          :: i != host ->
             killed[PAIR(host, i)] = !ALL_FINISHED;
             told[PAIR(host, i)] = 0
          :: else
          fi;
          i++
       :: else -> break
       od
     }
  od
}

init {
  atomic {
    run Trainers(0);
    run Trainers(1);
    run Follower(0, 1);
    run Follower(1, 0);
#if HOSTS == 3
    run Trainers(2);
    run Follower(0, 2);
    run Follower(1, 2);
    run Follower(2, 0);
    run Follower(2, 1);
#endif
    run Kernel()
  }
}
