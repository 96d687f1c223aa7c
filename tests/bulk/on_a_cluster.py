"""Work on a Dask cluster of loopback, as a program of its own, since Dask's threads stay until the program ends.

python -m tests.bulk.on_a_cluster DIRECTORY
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from distributed import LocalCluster

from spamnb.base.errors import SpamnbError
from spamnb.base.label import Label
from spamnb.bulk import cluster
from spamnb.bulk.executors import in_order
from spamnb.bulk.learning import learn
from spamnb.bulk.mapping import LeftOut, each, executor_at, read_all, read_batch
from spamnb.bulk.sources import Source
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import Reading
from tests.patience import PATIENCE

MESSAGES = 1000
THREADS = 40  # of one worker: more than any task list of a machine with two cores


def read_or_die(marker: str, chunk: list[Source]) -> list[tuple[Batch, LeftOut]]:
    """As `read_batch`; the first worker that comes to message 200, and to 700, is killed."""
    for number in {"200", "700"} & {source.where for source in chunk}:
        try:
            os.close(os.open(f"{marker}-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)
    return read_batch(chunk)


def exported(where: str, path: Path) -> str:
    """Return the lessons of a ledger at this path by the executor of that name, while its workers are killed."""
    sources = [Source(str(n), content=message("spam", n)) for n in range(MESSAGES)]
    with Ledger(str(path)) as ledger, executor_at(where) as executor:
        work = partial(read_or_die, str(path)) if executor else read_batch
        with each(work, sources, executor) as read:
            assert sum(done.changed for done in learn(ledger, read, Label.SPAM, "a test", lambda: 1.0)) == MESSAGES
        assert ledger.lessons.verify() == []
        return "".join(ledger.lessons.export())


def all_at_once(path: str, task: int) -> int:
    """A task that ends when as many are done at once as the worker has threads."""
    os.close(os.open(f"{path}/task-{task}", os.O_CREAT))
    end = time.monotonic() + PATIENCE
    while len(list(Path(path).glob("task-*"))) < THREADS and time.monotonic() < end:
        time.sleep(0.01)
    return len(list(Path(path).glob("task-*")))


def wide(directory: Path) -> None:
    """Raise AssertionError if a worker with many threads does not get as many tasks."""
    directory.mkdir()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=THREADS, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as local,
        executor_at(f"dask://{local.scheduler_address.removeprefix('tcp://')}") as executor,
    ):
        assert executor is not None
        with in_order(partial(all_at_once, str(directory)), range(4 * THREADS), executor) as done:
            assert next(done) >= THREADS
            assert len(list(done)) == 4 * THREADS - 1


def main(directory: Path) -> None:
    """Raise AssertionError if work on a cluster differs from work on this machine."""
    with LocalCluster(
        n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as local:
        where = f"dask://{local.scheduler_address.removeprefix('tcp://')}"
        assert exported("processes", directory / "own") == exported(where, directory / "theirs")
        assert len(list(directory.glob("theirs-[0-9]*"))) == 2
        sys.stdout.write("the same after two workers were killed\n")
        (directory / "message").write_bytes(message("ham", 1))
        os.chdir(directory)  # where no worker is
        with executor_at(where) as executor, each(read_all, [Source("message", "message")], executor) as read:
            assert isinstance(next(read)[1], Reading)
        sys.stdout.write("a relative path is the same file\n")
        wide(directory / "wide")
        sys.stdout.write("all threads of a worker have work\n")
        cluster.VERSION += 1
        try:
            exported(where, directory / "refused")
        except SpamnbError as fault:
            sys.stdout.write(f"{fault}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
