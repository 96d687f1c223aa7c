"""Judge a message on its way to the mailbox: the answers of the pipe and of the socket."""
