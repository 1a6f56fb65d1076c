/* Who is killed, and who notices. For both models; they define LAST_OWNER,
 * THREADS_OF, KILLS, REAPER_KILLS and FINISHED. */

bool dead[5];    /* The kernel killed the process with this owner index, ... */
byte running[5]; /* ... and so many of its threads have not ended yet. */
bool reaper_killed;

/* Closes the body of a process: between any two of its steps it may be killed,
 * all its threads at once. Once the reaper has given its index back, a
 * replacement comes, with that very index: no other one is as likely to be
 * taken for its predecessor. With NO_REPLACEMENT the others finish alone. */
#ifdef NO_REPLACEMENT
#define UNLESS_KILLED(forget)                          \
  unless {                                             \
    dead[me] -> d_step { forget; running[me]-- };      \
    FINISHED && !dead[me]                              \
  }
#else
#define UNLESS_KILLED(forget)                          \
  unless {                                             \
    dead[me] -> d_step { forget; running[me]-- };      \
    atomic { !dead[me] -> running[me]++; goto attach } \
  }
#endif

#define ANYONE_DEAD (dead[1] || dead[2] || dead[3] || dead[4])
#ifdef MUTANT_REAP_THE_LIVING
#define HAS_ENDED(owner) (owner == 1)
#else
#define HAS_ENDED(owner) (dead[owner] && running[owner] == 0)
#endif
#define ANYONE_ENDED \
  (HAS_ENDED(1) || HAS_ENDED(2) || HAS_ENDED(3) || HAS_ENDED(4))
#define FIRST_ENDED                     \
  (HAS_ENDED(1) -> 1 : (HAS_ENDED(2) -> 2 : (HAS_ENDED(3) -> 3 : 4)))

/* DaemonWatch::Bury(), around the steps of JobSegment::ReclaimDead(). A
 * reaper that is killed is followed by one that knows only who is dead. */
#define BURY_FIRST_ENDED d_step { ANYONE_ENDED -> corpse = FIRST_ENDED }
#define UNLESS_REAPER_KILLED(forget)                                      \
  unless {                                                                \
    reaper_killed -> d_step { reaper_killed = false; corpse = 0; forget } \
    goto again                                                            \
  }

/* Kills whom it likes when it likes, or spares them: a state from which only a
 * kill leads on is a deadlock. */
#ifndef LAST_KILLED
#define LAST_KILLED LAST_OWNER
#endif
#define MAY_KILL(owner)                                                    \
  (kills > 0 && !FINISHED && owner <= LAST_KILLED && !dead[owner] &&       \
   running[owner] == THREADS_OF(owner))
proctype Kernel() {
  byte kills = KILLS, reaper_kills = REAPER_KILLS;
  do
  :: FINISHED -> break
  :: d_step { MAY_KILL(1) -> kills--; dead[1] = true }
  :: d_step { MAY_KILL(2) -> kills--; dead[2] = true }
  :: d_step { MAY_KILL(3) -> kills--; dead[3] = true }
  :: d_step { MAY_KILL(4) -> kills--; dead[4] = true }
  :: d_step { kills > 0 && !FINISHED -> kills-- }
  :: d_step { reaper_kills > 0 && ANYONE_DEAD && !FINISHED ->
              reaper_kills--; reaper_killed = true }
  :: d_step { reaper_kills > 0 && ANYONE_DEAD && !FINISHED -> reaper_kills-- }
  od
}

/* Waiting. Every wait of the code ends within 100 ms, so a process that waits
 * goes on as soon as there is something to find. With NO_TIMEOUT it sleeps
 * until it is woken, which shows whether the announcements suffice alone. */
#ifdef NO_TIMEOUT
bool news[5];   /* The counter is not what this process has read. */
bool asleep[5]; /* In FUTEX_WAIT. */
#define READ_COUNTER d_step { news[me] = false; asleep[me] = false }
#define COUNT_AND_WAKE(a, b)                     \
  atomic { news[a] = true; news[b] = true };     \
  atomic { asleep[a] = false; asleep[b] = false };
#endif
