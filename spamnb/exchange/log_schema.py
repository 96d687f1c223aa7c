"""The tables of the log in PostgreSQL, and how a log of an earlier version becomes one of this version.

account.seq: the place of the last row that was written; its row is the lock under which rows get their places.
account.forgotten_at: when the user was forgotten last. lesson has one row a user and message, whatever is corrected;
seq is its place. lesson.label: NULL where the message is forgotten; the row stays. lesson.tokens: as `row_form` writes
them; they are compressed already, so PostgreSQL is not to try it again. With all but the longest rows in one place a
row takes 25 bytes less: 2,145, of which 1,614 are tokens and 124 indexes (989 messages of csdmc2010). lesson.how: one
of `base.label.How`; a new one is a step that changes nothing but the version, so that hosts that do not know it refuse
the log. spamnb.made: which log this is.

A step is only ever added, and only adds: a host of the version before refuses the log, and tells later what it has
learned meanwhile.
"""

STEPS = (
    """
    CREATE TABLE account (
        id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE NOT NULL,
        seq bigint NOT NULL DEFAULT 0, forgotten_at float8
    ) WITH (fillfactor = 50);
    CREATE TABLE lesson (
        account int NOT NULL REFERENCES account ON DELETE CASCADE, seq bigint NOT NULL, digest bytea NOT NULL,
        label smallint, weak boolean NOT NULL, at float8 NOT NULL, how text NOT NULL, why text NOT NULL,
        host text NOT NULL, tokenizer smallint NOT NULL, tokens bytea NOT NULL, relations bytea NOT NULL,
        summary text NOT NULL,
        PRIMARY KEY (account, seq), UNIQUE (account, digest)
    ) WITH (toast_tuple_target = 4080);
    ALTER TABLE lesson ALTER tokens SET STORAGE EXTERNAL;
    CREATE TABLE spamnb (version int NOT NULL, made uuid NOT NULL DEFAULT gen_random_uuid());
    INSERT INTO spamnb (version) VALUES (1)
    """,
)  # step n makes version n + 1 out of version n; each after the first sets the version

VERSION = len(STEPS)
