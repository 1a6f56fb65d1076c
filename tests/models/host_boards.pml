/* The gradient boards of a job's hosts (shared/queue: gradient_board;
 * trainer_service/exchange; scheduler/run/hosts). Each host makes all steps. It
 * trains the batches of its own places, and asks the other hosts for theirs. A
 * transition here is one store of a host, or one message between two hosts.
 * Messages may be late, lost or repeated. The exchange of a host may be killed
 * between any two transitions, and forgets all but its board. A host may be
 * lost: then all hosts begin again, in the next attempt. All state is global,
 * so one process has all transitions. README.md says what stands for what,
 * `check` which sizes and mutants there are. */
#define NONE 255
#define EPOCH_BEGIN(step) ((step) / STEPS_PER_EPOCH * STEPS_PER_EPOCH)
#define EPOCH_END(step) (EPOCH_BEGIN(step) + STEPS_PER_EPOCH)
#define LEAST(a, b) ((a) < (b) -> (a) : (b))

/* The places of a step, and who has them: JobShape::IsLocal(). The last step of
 * an epoch may have fewer batches. */
#define PLACES (SHARE_0 + SHARE_1 + SHARE_2)
#define OWNER(place) \
  ((place) < SHARE_0 -> 0 : ((place) < SHARE_0 + SHARE_1 -> 1 : 2))
#define HAS_PLACES(host) \
  ((host) == 0 -> SHARE_0 > 0 : ((host) == 1 -> SHARE_1 > 0 : SHARE_2 > 0))
#define HAS_BATCH(place, step) \
  ((place) < ((step) + 1 == EPOCH_END(step) -> LAST_PLACES : PLACES))

/* The board of a host keeps the places of two steps: JobShape::PlaceOf(). */
#ifdef MUTANT_PLACES_OF_ONE_STEP
#define KEPT 1
#else
#define KEPT 2
#endif
#define AT(host, place, step) \
  entry[((host) * PLACES + (place)) * KEPT + (step) % KEPT]
/* What a place holds, done: the gradient of a step in an attempt. 0: nothing;
 * HALF: a trainer writes. */
#define HALF 255
#define GRADIENT(step, in_attempt) ((in_attempt) * 16 + (step) + 1)
#define STEP_IN(gradient) ((gradient) % 16 - 1) /* No step for 0 and HALF. */
byte entry[HOSTS * PLACES * KEPT];

byte version[HOSTS]; /* NONE: the host has no weights yet. */
byte attempt[HOSTS]; /* 0: the host has gone. */
bool is_open;        /* The head has opened its attempt for training. */
#define ATTEMPTS (HOST_LOSSES + 2)
byte first_version[ATTEMPTS]; /* By attempt. */
byte limit_of[ATTEMPTS];      /* Limits of training of those that ended. */
byte lost; /* The member that is lost; HOSTS: one that is cut off; 0: none. */

/* The entry that is on its way to the host: step + 1; 0: none. Entries of two
 * steps may be on their way at once. */
#define COMES(host, place, step) \
  comes[((host) * PLACES + (place)) * 2 + (step) % 2]
byte comes[HOSTS * PLACES * 2];

/* What a host was told of the versions of the others: by its exchange, which
 * may forget it, and by the word of its board. */
#define TOLD(host, by) told[(host) * HOSTS + (by)]
byte told[HOSTS * HOSTS];
byte others_version[HOSTS];

byte faults;      /* So many faults may follow. */
byte host_losses; /* So many of them may be losses of hosts. */

hidden byte step, i; /* For use within one transition. */

/* BoardSeat::Use(). */
#define IS_LINKED(host, other) \
  (attempt[host] != 0 && attempt[host] == attempt[other])
#define ARE_THERE(host, other) (attempt[host] != 0 && attempt[other] != 0)
#ifdef MUTANT_TELLS_ANY_ATTEMPT
#define MAY_TELL(host, other) ARE_THERE(host, other)
#else
#define MAY_TELL(host, other) IS_LINKED(host, other)
#endif
#ifdef MUTANT_SENDS_TO_ANY_ATTEMPT
#define MAY_SEND(host, other) ARE_THERE(host, other)
#else
#define MAY_SEND(host, other) IS_LINKED(host, other)
#endif

/* RunHosts::Open(). The head opens the epoch of its newest version, on all
 * hosts. An opening only allows, so it comes at once here: who uses it may be
 * late. */
#define OPENED (is_open -> LEAST(EPOCH_END(version[0]), STEPS) : 0)
#define LIMIT(host) \
  (attempt[host] == attempt[0] -> OPENED : limit_of[attempt[host]])

/* GradientBoard::FindFarSteps(). */
#define IS_TAKEN(host, step)                                                \
  (version[host] != NONE && (step) >= version[host] &&                      \
   (step) <= version[host] + 1 && (step) < EPOCH_END(version[host]) &&      \
   (step) < LIMIT(host))
/* GradientBoard::IsDone(). */
#define IS_DONE(host, place, step) \
  (version[host] != NONE &&        \
   (version[host] > (step) || STEP_IN(AT(host, place, step)) == (step)))
#define LACKS(host, place, step) \
  (HAS_BATCH(place, step) && !IS_DONE(host, place, step))
#define LACKS_OF(host, other, place, step) \
  (OWNER(place) == (other) && LACKS(host, place, step))
#if PLACES == 1
#define ANY_PLACE(lacks, host, other, step) lacks(host, other, 0, step)
#elif PLACES == 2
#define ANY_PLACE(lacks, host, other, step) \
  (lacks(host, other, 0, step) || lacks(host, other, 1, step))
#else
#define ANY_PLACE(lacks, host, other, step)                       \
  (lacks(host, other, 0, step) || lacks(host, other, 1, step) ||  \
   lacks(host, other, 2, step))
#endif

/* GradientBoard::CanStepFrom(). */
#ifdef MUTANT_STEP_WITHOUT_OTHERS
#define HOLDS_UP(host, other, place, step) LACKS_OF(host, host, place, step)
#else
#define HOLDS_UP(host, other, place, step) LACKS(host, place, step)
#endif
#define CAN_STEP(host)                                     \
  (version[host] != NONE && version[host] < LIMIT(host) && \
   !ANY_PLACE(HOLDS_UP, host, host, version[host]))

/* GradientBoard::FindOpenSteps(). Records of an epoch of one step lie where
 * those of the step before do. */
#define FREE_AFTER LEAST(STEPS_PER_EPOCH, 2)
#ifdef MUTANT_RECORDS_OF_TWO_STEPS
#define OTHERS_LIMIT(host) (others_version[host] + 2)
#elif defined(MUTANT_OTHERS_ARE_NOT_ASKED)
#define OTHERS_LIMIT(host) STEPS
#else
#define OTHERS_LIMIT(host) (others_version[host] + FREE_AFTER)
#endif
#define IS_STEP_OPEN(host)                                 \
  (version[host] != NONE && version[host] < LIMIT(host) && \
   version[host] < OTHERS_LIMIT(host))

/* No host of an open attempt waits for its first weights. One that came back in
 * mid-attempt would need no gradients of before, but the others were told a
 * later version of it than that of its weights. */
#ifdef MUTANT_COMES_BACK_IN_MID_ATTEMPT
#define HAS_BEGUN(host) true
#else
#define HAS_BEGUN(host) (version[host] != NONE)
#endif

/* A trainer of the place's host writes to GradientBoard::gradient(). What was
 * there before is of a step for which no other host asks any more. */
inline begin_gradient(host, place) {
  d_step {
    IS_STEP_OPEN(host) && LACKS(host, place, version[host]) &&
    AT(host, place, version[host]) != HALF ->
    step = version[host];
    i = 0;
    do
    :: i < HOSTS ->
       assert(attempt[i] != attempt[host] || step < FREE_AFTER || i == host ||
              (HAS_BEGUN(i) && version[i] + FREE_AFTER > step));
       i++
    :: else -> break
    od;
    AT(host, place, step) = HALF
  }
}
/* GradientBoard::MarkDone(). */
inline mark_done(host, place) {
  d_step {
    version[host] != NONE && AT(host, place, version[host]) == HALF ->
    AT(host, place, version[host]) = GRADIENT(version[host], attempt[host])
  }
}

/* Where each host has a batch in each step, none is two steps ahead. */
#if SHARE_0 > 0 && SHARE_1 > 0 && (HOSTS == 2 || SHARE_2 > 0)
#define MOST_AHEAD (LAST_PLACES == PLACES -> 1 : FREE_AFTER)
#else
#define MOST_AHEAD FREE_AFTER
#endif
/* A member has the openings of so many epochs: OpenAsOrdered(). */
#ifdef MUTANT_ONE_OPENING
#define OPENINGS 1
#else
#define OPENINGS 2
#endif
/* GradientBoard::TryLease() and StepLease::Publish(). */
inline publish_step(host) {
  d_step {
    CAN_STEP(host) ->
    step = version[host];
    i = 0;
    do
    :: i < PLACES ->
       assert(!HAS_BATCH(i, step) ||
              AT(host, i, step) == GRADIENT(step, attempt[host]));
       i++
    :: else -> break
    od;
    version[host]++;
    i = 0;
    do
    :: i < HOSTS ->
       if
       :: attempt[i] == attempt[host] ->
          assert(HAS_BEGUN(i) && version[host] <= version[i] + MOST_AHEAD);
          assert(host != 0 || version[0] == STEPS ||
                 version[0] < EPOCH_BEGIN(version[i]) +
                                  OPENINGS * STEPS_PER_EPOCH)
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* HostFollower::Receive(), OthersVersions::Tell(). `host` says its version to
 * `other` with each request, when it has a new one, and each half second. That
 * changes something if the telling was lost, or if the exchange of the other
 * host has died since. A host without places trains nothing, so it need not
 * know. The last version is not told here: nobody waits for it. */
#ifdef MUTANT_TELLS_ONCE
byte knows[HOSTS * HOSTS]; /* What was told, be it lost or forgotten. */
#define HAS_TOLD(host, by) knows[(host) * HOSTS + (by)]
#else
#define HAS_TOLD(host, by) TOLD(host, by)
#endif
#define HAS_NEWS(host, other)                                          \
  (HAS_PLACES(other) && version[host] != NONE && version[host] < STEPS && \
   version[host] > HAS_TOLD(other, host))
#ifdef MUTANT_HOSTS_WITHOUT_PLACES_DO_NOT_COUNT
#define COUNTS(host) HAS_PLACES(host)
#else
#define COUNTS(host) true
#endif
inline tell(host, other) {
  d_step {
    MAY_TELL(host, other) && HAS_NEWS(host, other) ->
    HAS_TOLD(other, host) = version[host];
    TOLD(other, host) = version[host];
    step = (COUNTS(host) -> version[host] : NONE);
    i = 0;
    do
    :: i < HOSTS ->
       step = (i != other && COUNTS(i) -> LEAST(step, TOLD(other, i)) : step);
       i++
    :: else -> break
    od;
    others_version[other] =
        (step != NONE && step > others_version[other] ->
             step : others_version[other])
  }
}

/* HostFollower::AskForLacking(). `host` asks for what it lacks of both steps
 * that its board takes. */
#define ASKED(host, ahead) (version[host] + (ahead))
#ifdef MUTANT_BEGINS_AT_NEXT_STEP
byte begins_at[HOSTS];
#define ASKS(host, step) ((step) >= begins_at[host])
#else
#define ASKS(host, step) true
#endif
#ifdef MUTANT_SENDS_ONCE
byte sent[HOSTS * PLACES]; /* Step + 1. */
#define IS_SENT(host, place, step) (sent[(host) * PLACES + (place)] > (step))
#else
#define IS_SENT(host, place, step) false
#endif
/* EntrySource::NextPart(). */
inline copy_entry(host, place, ahead) {
  d_step {
    OWNER(place) != host && MAY_SEND(host, OWNER(place)) &&
    version[host] != NONE && COMES(host, place, ASKED(host, ahead)) == 0 &&
    IS_TAKEN(host, ASKED(host, ahead)) &&
    LACKS(host, place, ASKED(host, ahead)) &&
    IS_DONE(OWNER(place), place, ASKED(host, ahead)) &&
    ASKS(host, ASKED(host, ahead)) &&
    !IS_SENT(host, place, ASKED(host, ahead)) ->
    step = ASKED(host, ahead);
    assert(AT(OWNER(place), place, step) == GRADIENT(step, attempt[host]));
#ifdef MUTANT_SENDS_ONCE
    sent[host * PLACES + place] = step + 1;
#endif
    COMES(host, place, step) = step + 1
  }
}

/* HostFollower::Write(). What was there before is of a step that this host has
 * made. */
#ifdef MUTANT_WRITES_AGAIN
#define IS_WRITTEN(host, place, step) false
#else
#define IS_WRITTEN(host, place, step) IS_DONE(host, place, step)
#endif
inline write_entry(host, place, kept) {
  step = COMES(host, place, kept) - 1;
  if
  :: !IS_WRITTEN(host, place, step) ->
     assert(IS_TAKEN(host, step));
     assert(AT(host, place, step) == 0 ||
            STEP_IN(AT(host, place, step)) < version[host]);
     AT(host, place, step) = GRADIENT(step, attempt[host])
  :: else
  fi
}
/* HostFollower::Receive(). An entry comes, comes and will come again, or is
 * lost with its link. Then the follower asks again. */
inline take_entry(host, place, kept) {
  d_step {
    COMES(host, place, kept) != 0 ->
    write_entry(host, place, kept);
    COMES(host, place, kept) = 0
  }
}
inline repeat_entry(host, place, kept) {
  d_step {
    faults > 0 && COMES(host, place, kept) != 0 ->
    write_entry(host, place, kept);
    faults--
  }
}
inline lose_entry(host, place, kept) {
  d_step {
    faults > 0 && COMES(host, place, kept) != 0 ->
    faults--;
    COMES(host, place, kept) = 0
  }
}

/* ExchangeJob::~ExchangeJob(), or the exchange is killed. What comes to it is
 * lost, and what it was told. What it has sent may still come. */
inline forget_exchange(host) {
  i = 0;
  do
  :: i < PLACES -> COMES(host, i, 0) = 0; COMES(host, i, 1) = 0; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < HOSTS ->
     TOLD(host, i) = 0;
#ifdef MUTANT_TELLS_ONCE
     HAS_TOLD(i, host) = 0;
#endif
     i++
  :: else -> break
  od;
  i = 0
}
inline kill_exchange(host) {
  d_step {
    faults > 0 && version[host] < STEPS ->
    faults--;
#ifdef MUTANT_BEGINS_AT_NEXT_STEP
    begins_at[host] = version[host] + 1;
#endif
    forget_exchange(host)
  }
}

/* MemberRun::~MemberRun(), JobRun::Release(). */
inline forget_board(host) {
  forget_exchange(host);
  i = 0;
  do
  :: i < PLACES * KEPT -> entry[host * PLACES * KEPT + i] = 0; i++
  :: else -> break
  od;
  others_version[host] = 0;
  version[host] = NONE
}

/* RunHosts::NoteLoss(). The host has gone, or is cut off from the head and goes
 * on with what it has. */
#define MAY_LOSE \
  (faults > 0 && host_losses > 0 && lost == 0 && version[0] < STEPS)
inline lose_host(host) {
  d_step {
    MAY_LOSE ->
    faults--;
    host_losses--;
    forget_board(host);
#ifndef MUTANT_COMES_BACK_IN_MID_ATTEMPT
    attempt[host] = 0;
    lost = host
#endif
  }
}
inline cut_host_off() {
  d_step {
    MAY_LOSE ->
    faults--;
    host_losses--;
    lost = HOSTS
  }
}

/* RunPreemption::IfAsked(), RunHosts::Prepare(). The head lets go, and begins
 * the next attempt from its newest version, or from an older checkpoint if it
 * has died too. */
inline begin_attempt(from) {
  d_step {
    lost != 0 && version[0] < STEPS ->
    lost = 0;
    limit_of[attempt[0]] = OPENED;
    first_version[attempt[0] + 1] = from;
    forget_board(0);
    attempt[0]++;
    version[0] = first_version[attempt[0]];
#ifdef MUTANT_OPENED_UNPREPARED
    is_open = true
#else
    is_open = false
#endif
  }
}
/* RunHosts::WaitUntilPrepared(): the head opens the attempt for training once
 * all hosts have the first weights. */
inline open_if_prepared() {
  i = 0;
  do
  :: i < HOSTS && attempt[i] == attempt[0] && version[i] != NONE -> i++
  :: else -> break
  od;
  is_open = is_open || i == HOSTS
}
/* MemberRun::Prepare(). The member has let go of what it had, and its board is
 * empty. From version 0 on, each host makes the first weights itself. */
inline prepare(host) {
  d_step {
    attempt[host] != attempt[0] && attempt[0] > 1 && host != lost ->
    forget_board(host);
    attempt[host] = attempt[0];
    version[host] = (first_version[attempt[host]] == 0 -> 0 : NONE);
    open_if_prepared()
  }
}
/* FetchFirstWeights(), FindWeights(). The first weights have not gone while a
 * host needs them. */
inline fetch_first_weights(host, other) {
  d_step {
    IS_LINKED(host, other) && version[host] == NONE &&
    version[other] != NONE ->
#ifndef MUTANT_COMES_BACK_IN_MID_ATTEMPT
    assert(version[other] == first_version[attempt[other]]);
#endif
    version[host] = version[other];
    open_if_prepared()
  }
}

/* A job that ends while a host is lost does not wait for it. */
#if HOSTS == 2
#define ARE_ALL_FINISHED (version[0] == STEPS && version[1] == STEPS)
#else
#define ARE_ALL_FINISHED \
  (version[0] == STEPS && version[1] == STEPS && version[2] == STEPS)
#endif
#define IS_OVER (ARE_ALL_FINISHED || (lost != 0 && version[0] == STEPS))

#define TRAIN(place)                     \
  :: begin_gradient(OWNER(place), place) \
  :: mark_done(OWNER(place), place)
#define GET_KEPT(host, place, kept)  \
  :: copy_entry(host, place, kept)   \
  :: take_entry(host, place, kept)   \
  :: repeat_entry(host, place, kept) \
  :: lose_entry(host, place, kept)
#define GET(host, place)   \
  GET_KEPT(host, place, 0) \
  GET_KEPT(host, place, 1)
#define MEMBER(host, other, third)     \
  :: lose_host(host)                   \
  :: prepare(host)                     \
  :: fetch_first_weights(host, other)  \
  :: fetch_first_weights(host, third)

active proctype Hosts() {
  d_step {
    i = 0;
    do
    :: i < HOSTS -> attempt[i] = 1; i++
    :: else -> break
    od;
    is_open = true
  }
  /* Fewer faults may come: a state from which only a fault leads on is a
   * deadlock. */
  select (faults : 0 .. FAULTS);
  select (host_losses : 0 .. HOST_LOSSES);
  do
  :: IS_OVER -> break
  :: publish_step(0)
  :: publish_step(1)
  :: tell(0, 1)
  :: tell(1, 0)
  TRAIN(0)
  GET(0, 0)
  GET(1, 0)
#if PLACES > 1
  TRAIN(1)
  GET(0, 1)
  GET(1, 1)
#endif
#if PLACES > 2
  TRAIN(2)
  GET(0, 2)
  GET(1, 2)
#endif
  :: kill_exchange(0)
  :: kill_exchange(1)
  :: cut_host_off()
  :: begin_attempt(version[0])
  :: begin_attempt(EPOCH_BEGIN(version[0]))
#if HOSTS == 2
  MEMBER(1, 0, 0)
#else
  :: publish_step(2)
  :: kill_exchange(2)
  :: tell(0, 2)
  :: tell(1, 2)
  :: tell(2, 0)
  :: tell(2, 1)
  GET(2, 0)
#if PLACES > 1
  GET(2, 1)
#endif
#if PLACES > 2
  GET(2, 2)
#endif
  MEMBER(1, 0, 2)
  MEMBER(2, 0, 1)
#endif
  od
}
