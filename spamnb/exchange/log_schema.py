"""The tables of the log in PostgreSQL, and the steps from an earlier version of the log to this version.

account.seq: the number of the last written row. The account's row is the lock under which rows get their numbers.
account.forgotten_at: when the user was forgotten last. lesson: one row per user and message, whatever is corrected.
lesson.seq: the row's number. lesson.label: NULL if the message is forgotten; the row stays. lesson.tokens: as
`row_form` writes them, already compressed, so PostgreSQL must not try again. If all but the longest rows are stored in
one piece, a row takes 25 bytes less: 2,145 bytes, with 1,614 for tokens and 124 for indexes (989 messages of
csdmc2010). lesson.how: one of `base.label.How`. A new value is a step that changes only the version: hosts that do not
know it refuse the log. spamnb.made: which log this is.

Steps are only ever appended, and each only adds. A host of the version before refuses the log, and sends what it has
learned in the meantime after its own upgrade.
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
    "UPDATE spamnb SET version = 2",  # relations may also say who answers for the message (16 bytes)
)  # step n turns version n into version n + 1; each step after the first sets the version

VERSION = len(STEPS)
