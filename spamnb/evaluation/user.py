"""A simulated user: how well the filter works for people who correct it late, and not always.

The filter gets one message after another, in the order of the corpus. It decides with the functions of the service.
These have the effect of a verdict, the lessons of kept and silent mail, and the weak lessons that give way. They also
decide when mail may be moved and when the circuit breaker trips. The user acts later. The usual protocols give the
filter the true label of each message at once. Delayed and partial feedback are those of Cormack, "TREC 2006 Spam Track
Overview", and go further here.

Each time that the user looks into the spam folder, one message there is opened. This is how the filter knows of it. If
the mailbox has a folder for newcomers, the user looks into it as into the inbox: as much of the spam there is moved to
spam, and of the ham to the inbox, and as late. What stays in it teaches nothing. In a folder for newsletters the user
finds the spam, and reads and keeps mail as in the inbox.
"""

import random
from collections.abc import Callable, Collection, Iterable, Sequence

from spamnb.base.label import Role
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.habits import HABITS, USUAL_PACE
from spamnb.evaluation.person import Person
from spamnb.evaluation.simulated_mailbox import Mailbox
from spamnb.evaluation.user_run import UserRun
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted


def simulate(
    samples: Sequence[Sample],
    scoring: Scoring,
    learning: Learning,
    breaker: bool,
    habit: str,
    *,
    seed: int = 0,
    messages_a_day: int = USUAL_PACE,
    in_days: bool = False,
    apart: Collection[Role] = (),
    explained: bool = False,
    trusted: Trusted = NOBODY_TRUSTED,
    shown: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> UserRun:
    """Run the filter over messages, in their order, with a habit of `HABITS`; `messages_a_day` is the clock.

    in_days: the habit's delays keep their days at another pace, not their messages. apart: the roles of the mailbox's
    folders for mail that is put apart. explained: why the filter was mistaken is kept. trusted: the server that vouches
    for senders. shown: is passed each place, to show progress.
    """
    run = UserRun(habit, messages=len(samples), a_day=messages_a_day, apart=apart, is_explained=explained)
    kind = HABITS[habit].at_pace(messages_a_day) if in_days else HABITS[habit]
    mailbox = Mailbox(samples, scoring, learning, breaker, run, trusted)
    person = Person(mailbox, kind, random.Random(seed), round(learning.kept_days * messages_a_day))  # noqa: S311 - repeatable
    for place in shown(range(len(samples))):
        mailbox.now = place
        person.act()
        if place % messages_a_day == 0:
            mailbox.each_day(place // messages_a_day)
        if place < kind.learned:
            mailbox.learn_at_start(place)
        else:
            person.see(place, mailbox.arrive(place))
        mailbox.came(place)
    run.learned = mailbox.learned
    return run
